"""``mhpc consolidate``: votes to scores, label sets and profiles of sources."""

import shlex
from pathlib import Path
from typing import Any

import click

from mhpc.cli.messages import say
from mhpc.cli.options import (
    check_taxonomy_options,
    given_settings,
    json_option,
    one_or_all,
    progress_option,
    setting,
    show,
    votes_argument,
)
from mhpc.cli.progress import Display, StderrProgress
from mhpc.rules.registry import RULES, make_rule, rule_class
from mhpc.settings import NAMED_TAXONOMIES, RunSettings, read_settings

_FILES = ("taxonomy", "truth", "gold", "scope", "map", "apply", "update", "show")
"""The settings that name one file."""


@click.command(short_help="Consolidate votes into scores and labels: the main job.")
@votes_argument(required=False)
@setting("format")
@setting("taxonomy")
@setting("taxonomy_format")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="OUT/",
    help="Folder for items.csv (one row per instance), labels.csv, scores.parquet, sources.csv, "
    "taxonomy.csv, model.npz and run.json.",
)  # fmt: skip
@setting("method")
@setting("parameters")
@setting("apply")
@setting("new_sources")
@setting("update")
@setting("seed")
@setting("columns")
@setting("separator")
@setting("score_max")
@setting("negative")
@setting("map")
@setting("scope")
@setting("unknown")
@setting("abstain")
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
@setting("show")
@setting("embed_images")
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE",
    help="Read settings from a TOML or YAML file, or from the run.json of an earlier run to repeat "
    "it. Options on the command line take precedence.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace OUT/ if it exists.")
@click.option(
    "--resume", is_flag=True,
    help="Resume a run into OUT/ that was interrupted or failed, if its settings and files are "
    "unchanged; otherwise start again and say why.",
)  # fmt: skip
@progress_option
@json_option
def consolidate(
    output: Path,
    config: Path | None,
    force: bool,
    resume: bool,
    display: Display,
    as_json: bool,
    **values: Any,
) -> None:
    """Consolidate VOTES into scores, a label set per instance, and a profile per source.

    VOTES is a table with the columns instance, source, label and optionally score: CSV, TSV, JSON,
    Parquet, Arrow, Excel or OpenDocument (votes.xlsx:NAME is one sheet), also compressed with gzip
    or zstd; or a table with one column per source or per label; or the export of an annotation
    tool. Several files, patterns, folders and zip archives are read as one; a file that does not
    name its source is named after it. An empty label means "none of these". - is standard input.
    """
    from mhpc.report.run_summary import render_summary
    from mhpc.run import run

    given = given_settings(values)
    if "votes" in given:
        given["votes"] = one_or_all(given["votes"])
    settings = _make_settings(read_settings(config) if config else {}, given)
    with StderrProgress(display) as progress:
        summary = run(settings, output=output, force=force, resume=resume, progress=progress)
    show(summary, render_summary, as_json=as_json)
    folder = str(output).rstrip("/")
    top, n_labels = settings.top, summary.counts["labels"]
    kept = f" (the {top} highest)" if top != "all" and top < n_labels else ""
    say(
        f"Written to {folder}/: items.csv (one row per instance), labels.csv, "
        f"scores.parquet{kept}, …"
    )
    if settings.report:
        say(f"Next: open {output / 'report.html'}")
    else:
        word = shlex.quote(folder)
        say(f"Next: mhpc report {word}, mhpc conflicts {word}")


def _make_settings(from_file: dict[str, Any], from_options: dict[str, Any]) -> RunSettings:
    """Merge and check settings, before anything is computed; options take precedence."""
    values = _merge(from_file, from_options)
    if earlier := _check_earlier(values):
        values["taxonomy"] = str(Path(earlier) / "taxonomy.csv")
    if "votes" not in values:
        raise click.UsageError("VOTES is missing; see mhpc consolidate --help")
    check_taxonomy_options(values)
    votes = (values["votes"],) if isinstance(values["votes"], str) else tuple(values["votes"])
    if [*votes, *(values.get(name) for name in _FILES)].count("-") > 1:
        raise click.UsageError(
            "only one of VOTES, --taxonomy, --truth, --gold and --scope can be standard input"
        )
    if values.get("report") and "-" in votes and values.get("engine", "local") != "local":
        raise click.UsageError(
            "--report reads the votes a second time, which is not possible for standard input with "
            "--engine dask; give a file"
        )
    if values.get("embed_images") and not values.get("show"):
        raise click.UsageError("--embed-images needs a table that names images; give --show FILE")
    if values.get("show") and not values.get("report"):
        raise click.UsageError("--show is for the page of a run; give --report, too")
    settings = _make_paths_absolute(RunSettings(**values))
    _check_rule(settings)
    return settings


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Override settings; mappings such as the parameters entry by entry."""
    entries = {
        name: {**below.get(name, {}), **value} if isinstance(value, dict) else value
        for name, value in above.items()
    }
    return below | entries


_FIXED = {
    "taxonomy": "--taxonomy", "method": "--method", "parameters": "--set", "gold": "--gold",
    "rule": "--rule", "threshold": "--threshold", "paths": "--paths",
    "depth_bias": "--depth-bias", "scope": "--scope",
}  # fmt: skip
"""The options that an earlier run has fixed."""

_FIXED_BY_UPDATE = {
    **_FIXED, "taxonomy_format": "--taxonomy-format", "format": "--format", "columns": "--column",
    "seed": "--seed", "separator": "--separator", "score_max": "--score-max",
    "negative": "--negative", "map": "--map",
}  # fmt: skip
"""The options that hold for the votes of the earlier run and for new ones alike."""


def _check_earlier(values: dict[str, Any]) -> str | None:
    """Return the earlier run that is applied or updated, and refuse options that it has fixed."""
    apply, update = values.get("apply"), values.get("update")
    if apply and update:
        raise click.UsageError(
            "--apply and --update cannot be given together: --apply learns nothing from the new "
            "votes, --update does"
        )
    if values.get("new_sources", "error") != "error" and not apply:
        raise click.UsageError(
            "--new-sources can only be given with --apply; otherwise all sources are learned"
        )
    earlier = apply or update
    if not earlier:
        return None
    option, fixed = ("--apply", _FIXED) if apply else ("--update", _FIXED_BY_UPDATE)
    # What the run.json of such a run records is nothing that was asked for.
    recorded = {"taxonomy": str(Path(earlier) / "taxonomy.csv"), "scope": "all"}
    for name, spelling in fixed.items():
        if values.get(name) and values[name] != recorded.get(name):
            raise click.UsageError(
                f"{spelling} cannot be given with {option}, which takes it from the earlier run"
            )
    return str(earlier)


def _check_rule(settings: RunSettings) -> None:
    """Refuse options that the rule does not have."""
    name = settings.rule or ("threshold" if settings.threshold else None)
    for option, parameter, value in (
        ("--threshold", "threshold", settings.threshold),
        ("--paths", "paths", settings.paths),
    ):
        rules = [rule for rule in RULES if parameter in rule_class(rule).model_fields]
        if value is not None and name not in rules:
            context = f"with --rule {name}" if name else "without --rule"
            raise click.UsageError(
                f"{option} cannot be given {context}; the rules that have it: {', '.join(rules)}"
            )
    if name:
        threshold, paths = settings.threshold, settings.paths
        make_rule(name, depth_bias=settings.depth_bias, threshold=threshold, paths=paths)


def _make_paths_absolute(settings: RunSettings) -> RunSettings:
    """Make paths absolute, so that run.json can be used from any folder."""
    not_paths = (None, "-", "all", "used", *NAMED_TAXONOMIES)
    files: dict[str, Any] = {
        name: str(Path(path).absolute())
        for name in _FILES
        if (path := getattr(settings, name)) not in not_paths
    }
    files["votes"] = one_or_all(
        tuple(path if path == "-" else str(Path(path).absolute()) for path in settings.vote_paths)
    )
    return settings.model_copy(update=files)
