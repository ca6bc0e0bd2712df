"""``mhpc compare``: methods side by side, without truth, and with it if it is given."""

from dataclasses import replace
from typing import Any

import click

from mhpc.cli.options import (
    check_taxonomy_options,
    given_settings,
    json_option,
    parse_parameter,
    progress_option,
    setting,
    show,
    votes_argument,
)
from mhpc.cli.progress import Display, StderrProgress
from mhpc.parameters import MAX_FOLDS, MAX_SEED


@click.command(short_help="Compare methods, without needing a truth.")
@votes_argument()
@setting("format")
@setting("taxonomy")
@setting("taxonomy_format")
@setting("columns")
@setting("separator")
@setting("score_max")
@setting("negative")
@setting("map")
@setting("scope")
@setting("unknown")
@setting("abstain")
@setting("truth")
@click.option(
    "--method", "methods", multiple=True, metavar="NAME",
    help="Method to compare. May be given several times. Default: all methods.",
)  # fmt: skip
@click.option(
    "--set", "grid_values", multiple=True, metavar="KEY=VALUE[,VALUE…]", type=parse_parameter,
    help="Parameter of the methods that have it; of several values every combination is compared. "
    "May be given several times.",
)  # fmt: skip
@click.option(
    "--folds", default=4, show_default=True, type=click.IntRange(2, MAX_FOLDS),
    help="Number of cross-validation folds.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, MAX_SEED),
    help="Seed for the random division into folds.",
)  # fmt: skip
@click.option(
    "--instances", metavar="COUNT", type=click.IntRange(min=1),
    help="Compare all methods on at least so many instances. Methods that may be the best are "
    "compared on more if there are more.  [default: 500]",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(min=1),
    help="Number of folds to work on at the same time, which changes no result.  "
    "[default: one per core]",
)  # fmt: skip
@progress_option
@json_option
def compare(
    votes: tuple[str, ...],
    methods: tuple[str, ...],
    grid_values: tuple[tuple[str, str | None], ...],
    folds: int,
    seed: int,
    instances: int | None,
    jobs: int | None,
    display: Display,
    as_json: bool,
    **values: Any,
) -> None:
    """Compare methods on VOTES by cross-validation: how well they predict held-out sources.

    The log-rank loss is 0 if the labels that held-out sources gave rank first among a method's
    predictions, and 1 if they rank last. With --truth, the usual metrics are shown too. Results
    are shown on standard error as soon as they are known, and the tables at the end.
    """
    from mhpc.comparison import compare as compare_methods
    from mhpc.methods.registry import METHODS, make_grid
    from mhpc.read.label_map import read_label_map
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.truth import read_truth_as
    from mhpc.read.votes import read_votes_as
    from mhpc.report.terminal import format_score, render_comparison
    from mhpc.selection.racing import MIN_INSTANCES
    from mhpc.settings import RunSettings

    named = given_settings(values)
    check_taxonomy_options(named)
    settings = RunSettings(votes=votes, **named)
    candidates = make_grid(methods or METHODS, _split_values(grid_values))
    with StderrProgress(display) as progress:
        progress("reading", 0, 0)
        label_map = read_label_map(settings.map)
        options = replace(settings.read_options(), label_map=label_map)
        table = read_votes_as(settings.votes, options, scope=settings.scope)
        taxonomy = None
        if settings.taxonomy:
            taxonomy = read_taxonomy(
                settings.taxonomy, columns=settings.columns_of("taxonomy"),
                format=settings.taxonomy_format,
            )  # fmt: skip
        truth = None
        if settings.truth:
            options = replace(settings.read_options("truth"), label_map=label_map)
            truth = read_truth_as(settings.truth, options)
        progress("encoding", 0, 0)
        comparisons = compare_methods(
            table,
            taxonomy,
            candidates,
            truth=truth,
            unknown=settings.unknown,
            abstain=settings.abstain,
            folds=folds,
            seed=seed,
            instances=instances or MIN_INSTANCES,
            jobs=jobs,
            progress=progress,
            report=lambda score: progress.write(format_score(score)),
        )
    show(comparisons, render_comparison, as_json=as_json)


def _split_values(
    grid_values: tuple[tuple[str, str | None], ...],
) -> dict[str, list[str | None]]:
    """Split values at commas."""
    return {
        key: [None if part.strip().lower() == "none" else part.strip() for part in value.split(",")]
        if value is not None
        else [None]
        for key, value in grid_values
    }
