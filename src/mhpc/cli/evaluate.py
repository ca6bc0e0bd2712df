"""``mhpc evaluate``: a run against the truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mhpc.cli.options import as_json, given, setting, show

if TYPE_CHECKING:
    from mhpc.data.scorecard import Scorecard


@click.command(short_help="Measure a run against the truth.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@setting("truth")
@click.option(
    "--view", type=click.Choice(["closed", "specific"]), default="closed", show_default=True,
    help="Count all true labels with their ancestors, or the deepest ones alone.",
)  # fmt: skip
@click.option(
    "--unknown", type=click.Choice(["error", "drop"]), default="error", show_default=True,
    help="Labels and instances that the run does not know: refuse the truth, or leave them out.",
)  # fmt: skip
@as_json
def evaluate(folder: Path, view: Any, unknown: Any, as_json: bool, **values: Any) -> None:
    """Measure the scores and the label sets in OUT/ against a truth."""
    from rich.console import Group

    from mhpc.api import evaluate as measure
    from mhpc.read.run_folder import read_labels, read_run, read_run_document
    from mhpc.read.truth import read_truth
    from mhpc.report.terminal import render_scorecards, render_sets

    settings = given(values)
    if "truth" not in settings:
        raise click.UsageError("--truth FILE is missing")
    truth = read_truth(settings["truth"])
    top = read_run_document(folder).settings.top
    found = read_run(folder)
    decided = read_labels(folder, found)
    card = measure(found, truth, view=view, unknown=unknown, decided=decided)

    def render(card: "Scorecard") -> Any:
        return Group(render_scorecards([(card.method, card)]), render_sets(card))

    show(card, render, as_json=as_json)
    if top != "all" and top < len(found.taxonomy):
        click.echo(
            f"mhpc: warning: {folder} holds the best {top} labels of each instance; the others "
            "count as 0. For exact figures consolidate with --top all.",
            err=True,
        )
