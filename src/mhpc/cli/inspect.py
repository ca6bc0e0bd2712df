"""``mhpc inspect``: look at votes before a run."""

from dataclasses import replace
from typing import Any

import click

from mhpc.cli.options import (
    given_settings,
    json_option,
    progress_option,
    setting,
    show,
    votes_argument,
)
from mhpc.cli.progress import Display, StderrProgress
from mhpc.settings import RunSettings


@click.command(short_help="Look at votes before a run.")
@votes_argument()
@setting("format")
@setting("taxonomy")
@setting("taxonomy_format")
@setting("columns")
@setting("separator")
@setting("score_max")
@setting("negative")
@setting("map")
@progress_option
@json_option
def inspect(votes: tuple[str, ...], display: Display, as_json: bool, **values: Any) -> None:
    """Show how complete, specific and contradictory VOTES are, and labels that are unknown."""
    from mhpc.api import inspect as inspect_votes
    from mhpc.read.label_map import read_label_map
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.votes import read_votes_as
    from mhpc.report.terminal import render_inspection

    settings = given_settings(values)
    if "taxonomy" not in settings:
        raise click.UsageError("--taxonomy FILE is missing")
    with StderrProgress(display) as progress:
        progress("reading", 0, 0)
        taxonomy = read_taxonomy(settings["taxonomy"], format=settings.get("taxonomy_format"))
        options = RunSettings(votes=votes, **settings).read_options()
        options = replace(options, label_map=read_label_map(settings.get("map")))
        table = read_votes_as(votes, options)
        progress("inspecting", 0, 0)
        inspection = inspect_votes(table, taxonomy)
    show(inspection, render_inspection, as_json=as_json)
