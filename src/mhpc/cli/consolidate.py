"""``mhpc consolidate``: the main job."""

from pathlib import Path
from typing import Any

import click

from mhpc.cli.options import as_json, given, progress_option, setting, show
from mhpc.cli.progress import Show, StderrProgress
from mhpc.rules.registry import RULES, make_rule, rule_class
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
@setting("rule")
@setting("threshold")
@setting("paths")
@setting("depth_bias")
@setting("top")
@setting("memory")
@setting("engine")
@setting("gold")
@setting("truth")
@setting("report")
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE",
    help="Settings from a TOML file, or from the run.json of an earlier run, which repeats it. "
    "Options given here go before it.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace OUT/ if it is there.")
@click.option(
    "--resume", is_flag=True,
    help="Go on from what the last run into OUT/ had finished when it was killed, interrupted or "
    "failed, if its settings and files were the same; else begin afresh, and say why.",
)  # fmt: skip
@progress_option
@as_json
def consolidate(
    output: Path,
    config: Path | None,
    force: bool,
    resume: bool,
    show_progress: Show,
    as_json: bool,
    **values: Any,
) -> None:
    """Consolidate VOTES into a score for every label, a label set and facts about sources.

    VOTES is a table instance, source, label[, score]: CSV, TSV, JSON Lines, Parquet or Arrow,
    plain or packed with gzip or zstd, or a folder of Parquet files; - is standard input. An empty
    label says "none of these".
    """
    from mhpc.report.run_summary import render_summary
    from mhpc.run import run

    values = _merged(read_settings(config) if config else {}, given(values))
    if values.get("apply"):
        _check_with_apply(values)
        values["taxonomy"] = str(Path(values["apply"]) / "taxonomy.csv")
    for name, spelt in (("votes", "VOTES"), ("taxonomy", "--taxonomy FILE")):
        if name not in values:
            raise click.UsageError(f"{spelt} is missing; see mhpc consolidate --help")
    if [values.get(name) for name in _FILES].count("-") > 1:
        raise click.UsageError(
            "only one of VOTES, --taxonomy, --truth, --gold and --scope can be standard input"
        )
    if values.get("report") and values["votes"] == "-" and values.get("engine", "local") != "local":
        raise click.UsageError(
            "--report reads the votes once more, which standard input does not allow with --engine "
            "dask; give a file"
        )
    settings = _absolute(RunSettings(**values))
    _check_with_rule(settings)
    with StderrProgress(show_progress) as progress:
        summary = run(settings, output=output, force=force, resume=resume, progress=progress)
    show(summary, render_summary, as_json=as_json)
    _tell_where(output, report=settings.report)


def _tell_where(output: Path, *, report: bool) -> None:
    """Say where the files are, and what may come next."""
    click.echo(f"written to {str(output).rstrip('/')}/: labels.csv, scores.parquet, …", err=True)
    if report:
        click.echo(f"look at it: {output / 'report.html'}", err=True)
    else:
        click.echo(f"look at it: mhpc report {output}, mhpc conflicts {output}", err=True)


def _check_with_apply(values: dict[str, Any]) -> None:
    """Refuse what an earlier run has settled already."""
    settled = {
        "taxonomy": "--taxonomy", "method": "--method", "parameters": "--set", "gold": "--gold",
        "rule": "--rule", "threshold": "--threshold", "paths": "--paths",
        "depth_bias": "--depth-bias", "scope": "--scope",
    }  # fmt: skip
    for name, option in settled.items():
        if values.get(name):
            raise click.UsageError(
                f"{option} cannot be given with --apply, which takes it from the earlier run"
            )


def _check_with_rule(settings: RunSettings) -> None:
    """Refuse what the rule does not have, before anything is computed."""
    name = settings.rule or ("threshold" if settings.threshold else None)
    for option, parameter, value in (
        ("--threshold", "threshold", settings.threshold),
        ("--paths", "paths", settings.paths),
    ):
        having = [rule for rule in RULES if parameter in rule_class(rule).model_fields]
        if value is not None and name not in having:
            beside = f"with --rule {name}" if name else "without --rule"
            raise click.UsageError(
                f"{option} cannot be given {beside}; the rules that have it: {', '.join(having)}"
            )
    if name:
        threshold, paths = settings.threshold, settings.paths
        make_rule(name, depth_bias=settings.depth_bias, threshold=threshold, paths=paths)


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
