"""``mhpc explain`` and ``mhpc conflicts``: why this label, and what to review."""

from dataclasses import replace
from pathlib import Path

import click

from mhpc.cli.options import json_option, show, votes_option


@click.command(short_help="Show why an instance has a label.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.argument("instance")
@click.argument("label", required=False)
@votes_option
@json_option
def explain(
    folder: Path, instance: str, label: str | None, votes: str | None, as_json: bool
) -> None:
    """Show which sources support LABEL for INSTANCE, which contradict it, and to what effect.

    Without LABEL: all labels of INSTANCE that are chosen or disputed. The votes that OUT/ was made
    from are read again.
    """
    from mhpc.api import explain as explain_result
    from mhpc.model import model_errors
    from mhpc.report.terminal import render_explanation
    from mhpc.run import load_run

    result = load_run(folder, votes=votes)
    with model_errors(folder):
        explanation = explain_result(result, instance, label)
    show(explanation, render_explanation, as_json=as_json)


@click.command(short_help="List the instances that a person should review.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.option(
    "--top", type=click.IntRange(min=1), default=50, show_default=True, metavar="COUNT",
    help="How many instances, and pairs of labels, to show.",
)  # fmt: skip
@json_option
def conflicts(folder: Path, top: int, as_json: bool) -> None:
    """List the instances on which sources disagree, and the labels that they confuse.

    Instances come first on which one more answer is expected to correct the most labels.
    """
    from mhpc.data.disagreement import MAX_RANKED
    from mhpc.read.run_folder import read_run_document
    from mhpc.report.terminal import render_conflicts

    recorded = read_run_document(folder).summary.conflicts
    shown = replace(
        recorded, instances=recorded.instances[:top], confusions=recorded.confusions[:top]
    )
    show(shown, render_conflicts, as_json=as_json)
    if top > len(recorded.instances) < recorded.disputed:
        click.echo(f"mhpc: a run records only the {MAX_RANKED} instances to review first", err=True)
