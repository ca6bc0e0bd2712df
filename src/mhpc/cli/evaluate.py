"""``mhpc evaluate``: a run against the truth."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mhpc.cli.messages import say
from mhpc.cli.options import (
    format_json,
    given_settings,
    json_option,
    print_rich,
    progress_option,
    setting,
    votes_option,
)
from mhpc.cli.progress import Display, show_stage

if TYPE_CHECKING:
    from mhpc.data.accuracy import Accuracy
    from mhpc.data.scorecard import Scorecard
    from mhpc.data.scores import Consolidation
    from mhpc.data.votes import Truth, Unknown
    from mhpc.numerics.arrays import Sparse


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
@votes_option
@json_option
@progress_option
def evaluate(
    folder: Path,
    view: Any,
    unknown: Any,
    votes: tuple[str, ...],
    as_json: bool,
    display: Display,
    **values: Any,
) -> None:
    """Measure the scores and the label sets in OUT/ against a truth.

    If the truth does not have all instances, the accuracy of the others is estimated from those
    that it has, as if they had been drawn at random. A column drawn says which of them were:
    random. If the run used gold labels, this reads its votes again.
    """
    from mhpc.api import evaluate as evaluate_run
    from mhpc.errors import pluralize
    from mhpc.read.run_folder import one_run, read_labels, read_run, read_run_document
    from mhpc.report.summary import to_json

    settings = given_settings(values)
    if "truth" not in settings:
        raise click.UsageError("--truth FILE is missing")
    accuracy = None
    with show_stage("evaluating", display), one_run(folder):
        truth = read_labels_of(folder, "truth", settings)
        top = read_run_document(folder).settings.top
        consolidation = read_run(folder)
        decided = read_labels(folder, consolidation)
        card = evaluate_run(consolidation, truth, view=view, unknown=unknown, decided=decided)
        if len(truth.instances) < len(consolidation.instances):
            accuracy = _estimate(folder, consolidation, decided, truth, unknown, votes)
    if as_json:
        found = to_json(card)
        click.echo(format_json({**found, "accuracy": accuracy} if accuracy else found))
    else:
        print_rich(_render(card, accuracy))
    if top != "all" and top < len(consolidation.taxonomy):
        say(
            f"mhpc: warning: {folder} holds only {pluralize(top, 'score')} per instance, the "
            "highest; the others count as 0. For exact metrics, use mhpc consolidate --top all"
        )


def read_labels_of(
    folder: Path, table: 'Literal["truth", "gold"]', settings: Mapping[str, Any]
) -> "Truth":
    """Read the correct labels of instances as the run read its tables, where nothing else is given.

    Parameters
    ----------
    folder : path
        The folder of the run.
    table : "truth" or "gold"
        The option that names the file.
    settings : mapping
        The options that are given.
    """
    from mhpc.read.label_map import read_label_map
    from mhpc.read.run_folder import read_run_document
    from mhpc.read.truth import read_truth_as
    from mhpc.settings import RunSettings

    recorded = read_run_document(folder).settings
    # Of a role without a table, the table is this one: no other is read.
    columns = {
        key if "." in key else f"{table}.{key}": name
        for key, name in settings.get("columns", {}).items()
    }
    options = RunSettings(
        votes=recorded.votes,
        taxonomy="-",
        columns=recorded.columns | columns,
        separator=settings.get("separator", recorded.separator),
    ).read_options(table)
    label_map = read_label_map(settings.get("map", recorded.map))
    return read_truth_as(settings[table], replace(options, label_map=label_map))


def _estimate(
    folder: Path,
    consolidation: "Consolidation",
    decided: "Sparse",
    truth: "Truth",
    unknown: "Unknown",
    votes: tuple[str, ...],
) -> "Accuracy | None":
    """Estimate how accurate the other instances are; None if a run with gold lost its votes."""
    from mhpc.accuracy import estimate_others, predict_sets
    from mhpc.encoding.gold import encode_truth
    from mhpc.errors import MhpcError, silence_warnings
    from mhpc.estimate import estimate_accuracy
    from mhpc.run import load_run

    with silence_warnings():
        # Measuring has warned.
        if not _has_gold(folder):
            taxonomy, instances = consolidation.taxonomy, consolidation.instances
            encoded = encode_truth(truth, taxonomy, instances, unknown=unknown)
            return estimate_others(predict_sets(consolidation, decided), consolidation, encoded)
        try:
            return estimate_accuracy(load_run(folder, votes=votes), truth, unknown=unknown)
        except MhpcError as error:
            say(f"mhpc: warning: the other instances are not estimated: {error.message}")
            return None


def _has_gold(folder: Path) -> bool:
    """Return whether a run used gold labels, which may be in the file of its votes."""
    from mhpc.model import read_model
    from mhpc.read.run_folder import read_run_document

    if read_run_document(folder).settings.gold is not None:
        return True
    return (folder / "model.npz").is_file() and read_model(folder).has_gold


def _render(card: "Scorecard", accuracy: "Accuracy | None") -> Any:
    from rich.console import Group

    from mhpc.report.terminal import render_label_sets, render_scorecards

    sentences = ("", *accuracy.sentences()) if accuracy else ()
    return Group(render_scorecards([(card.method, card)]), render_label_sets(card), *sentences)
