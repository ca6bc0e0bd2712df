"""``mhpc conflicts``: what a human should look at."""

from dataclasses import replace
from pathlib import Path

import click

from mhpc.cli.options import as_json
from mhpc.cli.output import show


@click.command(short_help="What a human should look at.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@click.option(
    "--top", type=click.IntRange(min=1), default=50, show_default=True, metavar="COUNT",
    help="How many instances, and pairs of labels, to show.",
)  # fmt: skip
@as_json
def conflicts(folder: Path, top: int, as_json: bool) -> None:
    """Show the instances on which one more opinion is worth most, and labels that are confused."""
    from mhpc.core.conflicts import KEPT
    from mhpc.report.inquiries import render_conflicts
    from mhpc.revisit import read_conflicts

    found = read_conflicts(folder)
    shown = replace(found, instances=found.instances[:top], confusions=found.confusions[:top])
    show(shown, render_conflicts, as_json=as_json)
    if top > len(found.instances) < found.disputed:
        click.echo(f"mhpc: a run keeps its {KEPT} most contested instances", err=True)
