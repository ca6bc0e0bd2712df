"""``mhpc inspect``: look before you run."""

from typing import Any

import click

from mhpc.cli.options import as_json, given, progress_option, setting, show
from mhpc.cli.progress import Show, StderrProgress


@click.command(short_help="Look at votes before you run.")
@click.argument("votes")
@setting("format")
@setting("taxonomy")
@setting("taxonomy_format")
@setting("columns")
@progress_option
@as_json
def inspect(votes: str, show_progress: Show, as_json: bool, **values: Any) -> None:
    """Show coverage, depth of answers, conflict, unknown labels and silent sources of VOTES."""
    from mhpc.api import inspect as look
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.votes import read_votes
    from mhpc.report.terminal import render_inspection

    settings = given(values)
    if "taxonomy" not in settings:
        raise click.UsageError("--taxonomy FILE is missing")
    with StderrProgress(show_progress) as progress:
        progress("reading", 0, 0)
        taxonomy = read_taxonomy(settings["taxonomy"], format=settings.get("taxonomy_format"))
        table = read_votes(votes, columns=settings.get("columns"), format=settings.get("format"))
        progress("inspecting", 0, 0)
        facts = look(table, taxonomy)
    show(facts, render_inspection, as_json=as_json)
