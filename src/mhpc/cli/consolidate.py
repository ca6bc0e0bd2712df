"""``mhpc consolidate``: the main job."""

from pathlib import Path
from typing import Any

import click

from mhpc.cli.options import as_json, given, progress_option, setting
from mhpc.cli.output import show
from mhpc.cli.progress import Show, StderrProgress
from mhpc.settings import NAMED, RunSettings, read_settings

_FILES = ("votes", "taxonomy", "truth", "gold", "scope", "apply")
"""The settings that name files."""


@click.command(short_help="The main job: votes to scores and labels.")
@click.argument("votes", required=False)
@setting("format")
@setting("taxonomy")
@setting("taxonomy_format")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="OUT/",
    help="Folder for scores.parquet, labels.csv, sources.csv, taxonomy.csv, model.npz, run.json.",
)  # fmt: skip
@setting("method")
@setting("parameters")
@setting("apply")
@setting("seed")
@setting("columns")
@setting("scope")
@setting("unknown")
@setting("threshold")
@setting("top")
@setting("memory")
@setting("engine")
@setting("gold")
@setting("truth")
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE",
    help="Settings from a TOML file, or from the run.json of an earlier run, which repeats it. "
    "Options given here go before it.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace OUT/ if it is there.")
@progress_option
@as_json
def consolidate(
    output: Path,
    config: Path | None,
    force: bool,
    show_progress: Show,
    as_json: bool,
    **values: Any,
) -> None:
    """Consolidate VOTES into a score for every label, a label set and facts about sources.

    VOTES is a table instance, source, label[, score]: CSV, TSV, JSON Lines, Parquet or Arrow,
    plain or packed with gzip or zstd, or a folder of Parquet files; - is standard input. An empty
    label says "none of these".
    """
    from mhpc.report.terminal import render_summary
    from mhpc.run import run

    values = _merged(read_settings(config) if config else {}, given(values))
    if values.get("apply"):
        _refuse_beside_apply(values)
        values["taxonomy"] = str(Path(values["apply"]) / "taxonomy.csv")
    for name, spelt in (("votes", "VOTES"), ("taxonomy", "--taxonomy FILE")):
        if name not in values:
            raise click.UsageError(f"{spelt} is missing; see mhpc consolidate --help")
    if [values.get(name) for name in _FILES].count("-") > 1:
        raise click.UsageError(
            "only one of VOTES, --taxonomy, --truth, --gold and --scope can be standard input"
        )
    settings = _absolute(RunSettings(**values))
    with StderrProgress(show_progress) as progress:
        summary = run(settings, output=output, force=force, progress=progress)
    show(summary, render_summary, as_json=as_json)
    click.echo(f"written to {output}{'' if str(output).endswith('/') else '/'}", err=True)


def _refuse_beside_apply(values: dict[str, Any]) -> None:
    """Refuse what an earlier run has settled already."""
    settled = {
        "taxonomy": "--taxonomy", "method": "--method", "parameters": "--set", "gold": "--gold",
        "threshold": "--threshold", "scope": "--scope",
    }  # fmt: skip
    for name, option in settled.items():
        if values.get(name):
            raise click.UsageError(
                f"{option} cannot be given with --apply, which takes it from the earlier run"
            )


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Lay settings over others; of mappings such as the parameters, entry by entry."""
    entries = {
        name: {**below.get(name, {}), **value} if isinstance(value, dict) else value
        for name, value in above.items()
    }
    return below | entries


def _absolute(settings: RunSettings) -> RunSettings:
    """Make paths absolute, so that run.json can be run again from anywhere."""
    files = {
        name: str(Path(path).absolute())
        for name in _FILES
        if (path := getattr(settings, name)) not in (None, "-", "all", "used", *NAMED)
    }
    return settings.model_copy(update=files)
