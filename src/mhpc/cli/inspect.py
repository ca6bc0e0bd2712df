"""``mhpc inspect``: look at votes before a run."""

from typing import Any

import click

from mhpc.cli.options import (
    check_taxonomy_options,
    given_settings,
    json_option,
    progress_option,
    setting,
    show,
)
from mhpc.cli.progress import Display, StderrProgress


@click.command(short_help="Look at votes before a run.")
@click.argument("votes")
@setting("format")
@setting("taxonomy")
@setting("taxonomy_format")
@setting("taxonomy_columns")
@setting("columns")
@progress_option
@json_option
def inspect(votes: str, display: Display, as_json: bool, **values: Any) -> None:
    """Show how complete, specific and contradictory VOTES are, and labels that are unknown."""
    from mhpc.api import inspect as inspect_votes
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.votes import read_votes
    from mhpc.report.terminal import render_inspection

    settings = given_settings(values)
    check_taxonomy_options(settings)
    with StderrProgress(display) as progress:
        progress("reading", 0, 0)
        taxonomy = None
        if "taxonomy" in settings:
            taxonomy = read_taxonomy(
                settings["taxonomy"], columns=settings.get("taxonomy_columns"),
                format=settings.get("taxonomy_format"),
            )  # fmt: skip
        table = read_votes(votes, columns=settings.get("columns"), format=settings.get("format"))
        progress("inspecting", 0, 0)
        inspection = inspect_votes(table, taxonomy)
    show(inspection, render_inspection, as_json=as_json)
