"""``mhpc explain`` and ``mhpc conflicts``: why this label, and what to review."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mhpc.cli.messages import say
from mhpc.cli.options import format_json, json_option, progress_option, show, votes_option
from mhpc.cli.progress import Display, show_stage
from mhpc.parameters import MAX_SEED

if TYPE_CHECKING:
    from mhpc.data.disagreement import Disagreements, Strategy
    from mhpc.data.scores import Top


@click.command(short_help="Show why an instance has a label.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.argument("instance")
@click.argument("label", required=False)
@votes_option
@json_option
@progress_option
def explain(
    folder: Path,
    instance: str,
    label: str | None,
    votes: tuple[str, ...],
    as_json: bool,
    display: Display,
) -> None:
    """Show which sources support LABEL for INSTANCE, which contradict it, and to what effect.

    Without LABEL: all labels of INSTANCE that are chosen or disputed. The votes that OUT/ was made
    from are read again.
    """
    from mhpc.api import explain as explain_result
    from mhpc.read.run_folder import one_run
    from mhpc.report.terminal import render_explanation
    from mhpc.run import load_run

    with show_stage("explaining", display), one_run(folder):
        explanation = explain_result(load_run(folder, votes=votes), instance, label)
    show(explanation, render_explanation, as_json=as_json)


def parse_top(text: str) -> "Top":
    """Return a count, or ``all``."""
    if text == "all":
        return "all"
    if not text.isdecimal() or not int(text):
        raise click.BadParameter(f"{text!r} is neither a count, from 1 on, nor all")
    return int(text)


@click.command(short_help="List the instances that a person should review.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.option(
    "--top", type=parse_top, metavar="COUNT|all",
    help="How many instances, and pairs of labels, to list.  [default: 50; all in a FILE]",
)  # fmt: skip
@click.option(
    "--strategy", type=click.Choice(["gain", "random", "mixed"]), default="gain", show_default=True,
    help="Which instances: those with the largest expected gain; a random sample of all without "
    "gold labels, from which mhpc evaluate estimates how accurate the rest is; or by turns one of "
    "each.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, MAX_SEED), default=0, show_default=True,
    help="Which random sample.",
)  # fmt: skip
@click.option(
    "-o", "--output", "target", metavar="FILE",
    help="Write them to a file instead: .json, or a table with one row per disputed label (.csv, "
    ".tsv, .jsonl, .parquet or .xlsx). - is standard output, as CSV.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@votes_option
@json_option
@progress_option
def conflicts(
    folder: Path,
    top: "Top | None",
    strategy: "Strategy",
    seed: int,
    target: str | None,
    force: bool,
    votes: tuple[str, ...],
    as_json: bool,
    display: Display,
) -> None:
    """List the instances that a person should review, and the labels that sources confuse.

    These are the instances on which sources disagree, and those whose labels are uncertain for
    other reasons, such as a single vague answer. The largest expected gain comes first: 1 minus the
    expected F of the labels, which a review makes right. Of the disputed labels the most specific
    ones are listed, with the number of answers for and against.
    For more instances than OUT/ records (at most 200), and for random ones, the votes that it was
    made from are read again. The column drawn says for each instance how it was selected.
    """
    from mhpc.errors import pluralize
    from mhpc.read.run_folder import one_run
    from mhpc.report.terminal import render_conflicts
    from mhpc.system.files import STDOUT, atomic_file, check_target
    from mhpc.write.tables import write_file

    def load(top: "Top") -> "Disagreements":
        with show_stage("ranking instances", display), one_run(folder):
            if strategy == "gain":
                return load_conflicts(folder, top, votes)
            return _draw_conflicts(folder, top, votes, strategy, seed)

    if target is None:
        show(load(top or _SHOWN), render_conflicts, as_json=as_json)
        return
    format_ = "json" if as_json else _choose_format(target)
    if target != STDOUT:
        check_target(Path(target), force=force)
    found = load(top or "all")
    if format_ == "json":
        with atomic_file(target, force=force) as file:
            file.write(f"{format_json(found)}\n".encode())
    else:
        write_file(target, found, "conflicts", format=format_, force=force)
    if target != STDOUT:
        say(f"{pluralize(len(found.instances), 'instance')} in {target}")


_SHOWN = 50
"""Instances, and pairs of labels, that are shown by default."""


def load_conflicts(folder: Path, top: "Top", votes: Sequence[str] = ()) -> "Disagreements":
    """Return the instances of a run to review, the largest expected gain first.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    top : int or "all"
        How many instances, and pairs of labels.
    votes : sequence of str, optional
        Where the votes are now, which are read again if the run does not record as many.
    """
    from mhpc.data.disagreement import are_all_recorded
    from mhpc.explanation.queries import find_conflicts
    from mhpc.read.run_folder import read_run_document
    from mhpc.run import load_run

    document = read_run_document(folder)
    recorded, n_instances = document.summary.conflicts, document.summary.counts["instances"]
    limit = n_instances if top == "all" else top
    if limit <= len(recorded.instances) or are_all_recorded(recorded.instances):
        return replace(
            recorded,
            instances=recorded.instances[:limit],
            confusions=recorded.confusions[:limit],
        )
    result = load_run(folder, votes=votes)
    found = find_conflicts(
        result.panel, result.consolidation, result.decision, limit=limit, pairs=0
    )
    return replace(
        found,
        confusions=recorded.confusions[:limit],
        names={**recorded.names, **found.names},
    )


def _draw_conflicts(
    folder: Path, top: "Top", votes: Sequence[str], strategy: "Strategy", seed: int
) -> "Disagreements":
    """Return a random sample of the instances of a run, or one mixed with those to review first."""
    from mhpc.api import conflicts as find
    from mhpc.run import load_run

    result = load_run(folder, votes=votes)
    limit = len(result.panel.instances) if top == "all" else top
    return find(result, top=limit, strategy=strategy, seed=seed)


def _choose_format(target: str) -> str:
    """Return the format that belongs to the ending of a file; CSV for standard output."""
    from mhpc.system.files import STDOUT
    from mhpc.write.formats import SUFFIXES, format_class

    if target == STDOUT:
        return "csv"
    formats = {".json": "json"} | {
        suffix: name
        for suffix, name in SUFFIXES.items()
        if "conflicts" in format_class(name).writes
    }
    suffix = Path(target.removesuffix(".gz")).suffix.lower()
    if suffix not in formats:
        raise click.UsageError(f"{target}: end the name in {', '.join(formats)}")
    return formats[suffix]
