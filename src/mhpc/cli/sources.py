"""``mhpc sources``: what each source of a run is worth."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mhpc.cli.evaluate import read_labels_of
from mhpc.cli.messages import say
from mhpc.cli.options import (
    format_json,
    given_settings,
    json_option,
    parse_pair,
    progress_option,
    setting,
    show,
    votes_option,
)
from mhpc.cli.progress import Display, StderrProgress

if TYPE_CHECKING:
    from mhpc.data.contributions import SourceContributions


def parse_price(text: str) -> tuple[str, float]:
    """Split ``SOURCE=PRICE``, at the last ``=``, since the name of a source may have one."""
    source, _, price = text.rpartition("=")
    if not source:
        source, price = parse_pair(text)
    try:
        return source.strip(), float(price)
    except ValueError:
        raise click.BadParameter(
            f"{price!r} is not a price; give SOURCE=PRICE, such as {source}=0.5"
        ) from None


@click.command(short_help="Measure what each source is worth.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.option(
    "--gold", metavar="FILE",
    help="Correct labels of some instances, to measure accuracy with and without each source.  "
    "[default: those that OUT/ was made with]",
)  # fmt: skip
@setting("columns")
@setting("separator")
@setting("map")
@click.option(
    "--unknown", type=click.Choice(["error", "drop", "nearest", "ancestor"]), default="error",
    show_default=True,
    help="What to do with labels and instances of the gold labels that the run does not have: stop "
    "with an error, or drop them; or take the most similar label (nearest), or the deepest known "
    "label of a path (ancestor), and drop the instances.",
)  # fmt: skip
@click.option(
    "--cost", "costs", metavar="SOURCE=PRICE", type=parse_price, multiple=True,
    help="The price of one answer of a source. May be given several times; give it for all sources "
    "or for none, then every answer costs 1.",
)  # fmt: skip
@click.option(
    "--keep", type=click.FloatRange(0, 1, min_open=True), default=0.95, show_default=True,
    metavar="SHARE",
    help="The panel to keep is the cheapest with at least this share of the quality of all.",
)  # fmt: skip
@click.option(
    "-o", "--output", "target", metavar="FILE",
    help="Write one row per source to a file instead, as CSV, or as JSON with --json or a name "
    "that ends in .json. - is standard output.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@votes_option
@json_option
@progress_option
def sources(
    folder: Path,
    costs: tuple[tuple[str, float], ...],
    keep: float,
    unknown: Any,
    target: str | None,
    force: bool,
    votes: tuple[str, ...],
    as_json: bool,
    display: Display,
    **values: Any,
) -> None:
    """Measure how the result in OUT/ changes without each source, and which sources to keep.

    The fitted model of OUT/ predicts without the answers of a source; nothing is fitted again. Then
    sources are dropped one after the other, each time the one whose absence loses the least quality
    per cost, which gives quality against cost. The votes that OUT/ was made from are read again.
    """
    from mhpc.contributions import source_contributions
    from mhpc.read.run_folder import one_run
    from mhpc.report.contributions import render_contributions
    from mhpc.run import load_run
    from mhpc.system.files import STDOUT, check_target

    settings = given_settings(values)
    if target is not None and target != STDOUT:
        check_target(Path(target), force=force)
    with StderrProgress(display) as progress, one_run(folder):
        progress("reading", 0, 0)
        result = load_run(folder, votes=votes)
        found = source_contributions(
            result,
            gold=read_labels_of(folder, "gold", settings) if "gold" in settings else None,
            costs=dict(costs),
            keep=keep,
            unknown=unknown,
            progress=progress,
        )
    if target is None:
        show(found, render_contributions, as_json=as_json)
        return
    _write(target, found, force=force, as_json=as_json or target.endswith(".json"))


def _write(target: str, found: "SourceContributions", *, force: bool, as_json: bool) -> None:
    from mhpc.errors import pluralize
    from mhpc.report.contributions import COLUMNS, list_rows
    from mhpc.system.files import STDOUT, atomic_file
    from mhpc.write.tables import write_rows

    text = io.StringIO()
    if as_json:
        text.write(f"{format_json(found)}\n")
    else:
        write_rows(text, COLUMNS, list_rows(found))
    with atomic_file(target, force=force) as file:
        file.write(text.getvalue().encode())
    if target != STDOUT:
        say(f"{pluralize(len(found.sources), 'source')} in {target}")
