"""``mhpc consolidate``: the main job."""

from pathlib import Path
from typing import Any

import click

from mhpc.cli.options import as_json, given, setting
from mhpc.cli.output import show


@click.command(short_help="The main job: votes to scores and labels.")
@click.argument("votes", required=False)
@setting("taxonomy")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="OUT/",
    help="Folder for scores.parquet, labels.csv, sources.csv, taxonomy.csv and run.json.",
)  # fmt: skip
@setting("method")
@setting("parameters")
@setting("columns")
@setting("scope")
@setting("unknown")
@setting("threshold")
@setting("top")
@setting("truth")
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE",
    help="Settings from a TOML file, or from the run.json of an earlier run, which repeats it. "
    "Options given here go before it.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace OUT/ if it is there.")
@as_json
def consolidate(
    output: Path, config: Path | None, force: bool, as_json: bool, **values: Any
) -> None:
    """Consolidate VOTES into a score for every label, a label set and facts about sources.

    VOTES is a table instance, source, label[, score]: CSV, TSV, JSON Lines, Parquet or Arrow,
    plain or packed with gzip or zstd; - is standard input. An empty label says "none of these".
    """
    from mhpc.cli.progress import StderrProgress
    from mhpc.pipeline import run
    from mhpc.report.terminal import render_summary
    from mhpc.settings import RunSettings, read_settings

    settings = {**(read_settings(config) if config else {}), **given(values)}
    for name in ("votes", "taxonomy"):
        if name not in settings:
            raise click.UsageError(
                f"{'VOTES' if name == 'votes' else '--taxonomy FILE'} is missing; see "
                "mhpc consolidate --help"
            )
    if settings["votes"] == settings["taxonomy"] == "-":
        raise click.UsageError("only one of VOTES and --taxonomy can be standard input")
    with StderrProgress() as progress:
        summary = run(
            RunSettings(**_absolute(settings)), output=output, force=force, progress=progress
        )
    show(summary, render_summary, as_json=as_json)
    click.echo(f"written to {output}{'' if str(output).endswith('/') else '/'}", err=True)


def _absolute(settings: dict[str, Any]) -> dict[str, Any]:
    """Make paths absolute, so that run.json can be run again from anywhere."""
    files = {
        name: str(Path(settings[name]).absolute())
        for name in ("votes", "taxonomy", "truth", "scope")
        if settings.get(name) not in (None, "-", "all", "used")
    }
    return settings | files
