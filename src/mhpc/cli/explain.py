"""Mhpc explain, mhpc conflicts."""

from dataclasses import replace
from pathlib import Path

import click

from mhpc.cli.options import as_json, show, votes_option


@click.command(short_help="Why an instance has a label, or has not.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.argument("instance")
@click.argument("label", required=False)
@votes_option
@as_json
def explain(
    folder: Path, instance: str, label: str | None, votes: str | None, as_json: bool
) -> None:
    """Tell who upholds LABEL for INSTANCE, who contradicts it, and what their answers do.

    Without LABEL: all labels that were chosen for INSTANCE, or are in dispute. The votes that OUT/
    was made of are read again.
    """
    from mhpc.explanation.queries import explain as why
    from mhpc.model import model_errors
    from mhpc.report.terminal import render_explanation
    from mhpc.run import load_run

    result = load_run(folder, votes=votes).result
    with model_errors(folder):
        found = why(result, instance, label)
    show(found, render_explanation, as_json=as_json)


@click.command(short_help="What a human should look at.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.option(
    "--top", type=click.IntRange(min=1), default=50, show_default=True, metavar="COUNT",
    help="How many instances, and pairs of labels, to show.",
)  # fmt: skip
@as_json
def conflicts(folder: Path, top: int, as_json: bool) -> None:
    """Show the instances on which one more opinion is worth most, and labels that are confused."""
    from mhpc.data.disagreement import MAX_RANKED
    from mhpc.read.run_folder import read_run_document
    from mhpc.report.terminal import render_conflicts

    found = read_run_document(folder).summary.conflicts
    shown = replace(found, instances=found.instances[:top], confusions=found.confusions[:top])
    show(shown, render_conflicts, as_json=as_json)
    if top > len(found.instances) < found.disputed:
        click.echo(f"mhpc: a run keeps its {MAX_RANKED} most contested instances", err=True)
