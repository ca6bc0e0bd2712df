"""``mhpc evaluate``: a run against the truth."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mhpc.cli.options import given_settings, json_option, setting, show

if TYPE_CHECKING:
    from mhpc.data.scorecard import Scorecard


@click.command(short_help="Measure a run against the truth.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@setting("truth")
@setting("columns")
@setting("separator")
@setting("map")
@click.option(
    "--view", type=click.Choice(["closed", "specific"]), default="closed", show_default=True,
    help="Measure scores against the true labels with their ancestors (closed), or against the "
    "most specific true labels only.",
)  # fmt: skip
@click.option(
    "--unknown", type=click.Choice(["error", "drop", "nearest", "ancestor"]), default="error",
    show_default=True,
    help="What to do with labels and instances of the truth that the run does not have: stop with "
    "an error, or drop them; or take the most similar label (nearest), or the deepest known label "
    "of a path (ancestor), and drop the instances.",
)  # fmt: skip
@json_option
def evaluate(folder: Path, view: Any, unknown: Any, as_json: bool, **values: Any) -> None:
    """Measure the scores and the label sets in OUT/ against a truth."""
    from mhpc.api import evaluate as evaluate_run
    from mhpc.errors import pluralize
    from mhpc.read.label_map import read_label_map
    from mhpc.read.run_folder import read_labels, read_run, read_run_document
    from mhpc.read.truth import read_truth_as
    from mhpc.settings import RunSettings

    settings = given_settings(values)
    if "truth" not in settings:
        raise click.UsageError("--truth FILE is missing")
    recorded = read_run_document(folder).settings
    options = replace(
        RunSettings(
            votes=recorded.votes,
            taxonomy="-",
            columns=recorded.columns | _columns_of_truth(settings.get("columns", {})),
            separator=settings.get("separator", recorded.separator),
        ).read_options("truth"),
        label_map=read_label_map(settings.get("map", recorded.map)),
    )
    truth = read_truth_as(settings["truth"], options)
    top = recorded.top
    consolidation = read_run(folder)
    decided = read_labels(folder, consolidation)
    card = evaluate_run(consolidation, truth, view=view, unknown=unknown, decided=decided)
    show(card, _render, as_json=as_json)
    if top != "all" and top < len(consolidation.taxonomy):
        click.echo(
            f"mhpc: warning: {folder} holds only {pluralize(top, 'score')} per instance, the "
            "highest; the others count as 0. For exact metrics, consolidate with --top all.",
            err=True,
        )


def _columns_of_truth(columns: dict[str, str]) -> dict[str, str]:
    """Return columns with the name of their table: no other table is read here."""
    return {key if "." in key else f"truth.{key}": name for key, name in columns.items()}


def _render(card: "Scorecard") -> Any:
    from rich.console import Group

    from mhpc.report.terminal import render_label_sets, render_scorecards

    return Group(render_scorecards([(card.method, card)]), render_label_sets(card))
