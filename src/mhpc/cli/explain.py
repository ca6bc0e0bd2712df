"""``mhpc explain``: why this label."""

from pathlib import Path

import click

from mhpc.cli.options import as_json, votes_option
from mhpc.cli.output import show


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
    from mhpc.inquire import explain as why
    from mhpc.report.inquiries import render_explanation
    from mhpc.revisit import revisit

    found = why(revisit(folder, votes=votes).result, instance, label)
    show(found, render_explanation, as_json=as_json)
