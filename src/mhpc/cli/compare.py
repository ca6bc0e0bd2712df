"""``mhpc compare``: methods side by side, judged without truth, and with it where it is given."""

from typing import Any

import click

from mhpc.cli.options import as_json, given, parameter, progress_option, setting, show
from mhpc.cli.progress import Show, StderrProgress


@click.command(short_help="Compare methods without truth.")
@click.argument("votes")
@setting("format")
@setting("taxonomy")
@setting("taxonomy_format")
@setting("columns")
@setting("scope")
@setting("unknown")
@setting("truth")
@click.option(
    "--method", "methods", multiple=True, metavar="NAME",
    help="Compare this one; may be given several times. Unless given, every method.",
)  # fmt: skip
@click.option(
    "--set", "choices", multiple=True, metavar="KEY=VALUE[,VALUE…]", type=parameter,
    help="A parameter of the methods that have it; several values: each is tried, with each of the "
    "others. May be given several times.",
)  # fmt: skip
@click.option(
    "--folds", default=4, show_default=True, type=click.IntRange(min=2),
    help="How many times a part of the answers is hidden.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="For folds.")
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(min=1),
    help="Processes that try methods side by side.",
)  # fmt: skip
@progress_option
@as_json
def compare(
    votes: str,
    methods: tuple[str, ...],
    choices: tuple[tuple[str, str | None], ...],
    folds: int,
    seed: int,
    jobs: int,
    show_progress: Show,
    as_json: bool,
    **values: Any,
) -> None:
    """Judge methods on VOTES by how well they foretell answers that were hidden from them.

    A surprise of 0 means that the labels which hidden sources gave stand on top of what a method
    foretells, 1 that they stand last. With --truth the usual metrics stand beside.
    """
    from mhpc.api import compare as run
    from mhpc.methods.registry import METHODS, grid
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.truth import read_truth
    from mhpc.read.votes import read_votes
    from mhpc.report.terminal import render_comparison
    from mhpc.settings import RunSettings

    chosen = given(values)
    if "taxonomy" not in chosen:
        raise click.UsageError("--taxonomy FILE is missing")
    settings = RunSettings(votes=votes, **chosen)
    candidates = grid(methods or METHODS, _listed(choices))
    with StderrProgress(show_progress) as progress:
        progress("reading", 0, 0)
        table = read_votes(
            settings.votes, columns=settings.columns, scope=settings.scope, format=settings.format
        )
        taxonomy = read_taxonomy(settings.taxonomy, format=settings.taxonomy_format)
        truth = read_truth(settings.truth) if settings.truth else None
        progress("encoding", 0, 0)
        found = run(
            table,
            taxonomy,
            candidates,
            truth=truth,
            unknown=settings.unknown,
            folds=folds,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    show(found, render_comparison, as_json=as_json)


def _listed(choices: tuple[tuple[str, str | None], ...]) -> dict[str, list[str | None]]:
    """Split values at commas."""
    return {
        key: [None if part.strip().lower() == "none" else part.strip() for part in value.split(",")]
        if value is not None
        else [None]
        for key, value in choices
    }
