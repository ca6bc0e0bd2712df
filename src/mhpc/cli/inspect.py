"""``mhpc inspect``: look at votes before a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mhpc.cli.messages import say
from mhpc.cli.options import (
    check_taxonomy_options,
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
@setting("unknown")
@setting("abstain")
@click.option(
    "--write-map", "map_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Write a CSV file with the columns from, to, votes and how, one row for every label that "
    "is not in the taxonomy as it is written, with what it is or could be taken for. Edit it, and "
    "give it to mhpc consolidate as --map FILE.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file of --write-map if it exists.")
@progress_option
@json_option
def inspect(
    votes: tuple[str, ...],
    map_file: Path | None,
    force: bool,
    display: Display,
    as_json: bool,
    **values: Any,
) -> None:
    """Show how complete, specific and contradictory VOTES are, and labels that are unknown."""
    from mhpc.api import inspect as inspect_votes
    from mhpc.errors import pluralize
    from mhpc.read.label_map import read_label_map
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.votes import read_votes_as
    from mhpc.report.terminal import render_inspection
    from mhpc.system.files import STDOUT, check_target
    from mhpc.write.tables import write_label_map

    settings = given_settings(values)
    check_taxonomy_options(settings)
    if map_file is not None:
        if str(map_file) == STDOUT:
            raise click.UsageError("--write-map needs a file: the facts are on standard output")
        check_target(map_file, force=force)
    with StderrProgress(display) as progress:
        progress("reading", 0, 0)
        run_settings = RunSettings(votes=votes, **settings)
        taxonomy = None
        if "taxonomy" in settings:
            taxonomy = read_taxonomy(
                settings["taxonomy"], columns=run_settings.columns_of("taxonomy"),
                format=settings.get("taxonomy_format"),
            )  # fmt: skip
        options = replace(
            run_settings.read_options(), label_map=read_label_map(settings.get("map"))
        )
        table = read_votes_as(votes, options)
        progress("inspecting", 0, 0)
        inspection = inspect_votes(
            table, taxonomy, unknown=settings.get("unknown", "auto"),
            abstain=settings.get("abstain", ()),
        )  # fmt: skip
    if map_file is not None:
        write_label_map(map_file, inspection.label_map, force=force)
    show(inspection, render_inspection, as_json=as_json)
    if map_file is not None:
        labels = pluralize(len(inspection.label_map), "label")
        say(f"Written to {map_file}: {labels}. Next: edit it, give it as --map")
