"""``mhpc convert``: votes, taxonomies and results from one format to another."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mhpc.cli.options import given_settings, parse_parameter, progress_option, setting
from mhpc.cli.progress import Display, show_stage
from mhpc.write.formats import WRITE_FORMATS

if TYPE_CHECKING:
    from mhpc.write.formats import Content

CONTENTS = ("votes", "taxonomy", "labels", "scores", "wide", "items", "sources", "conflicts")


@click.command(short_help="Convert votes, taxonomies or results to another format.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--to", "format_", type=click.Choice(list(WRITE_FORMATS)),
    help="Format to write. Default: by the ending of OUT (.csv, .tsv, .jsonl, .parquet, .xlsx, "
    ".xml); csv for standard output.",
)  # fmt: skip
@click.option(
    "--what", type=click.Choice(CONTENTS),
    help="What IN is, votes or taxonomy, if its columns do not show it; or what to write of a "
    "result: labels (one row per label of an instance), scores, wide (one row per instance, one "
    "column per label with its score), items (one row per instance), sources, or conflicts (one "
    "row per disputed label).",
)  # fmt: skip
@click.option(
    "--set", "parameters", multiple=True, metavar="KEY=VALUE", type=parse_parameter,
    help="Parameter of the format. May be given several times.",
)  # fmt: skip
@click.option(
    "--tasks", type=click.Path(path_type=Path), metavar="FILE",
    help="The JSON export that the votes came from: the data of each task are written with its "
    "labels, for label-studio and argilla.",
)  # fmt: skip
@setting("format")
@setting("taxonomy_format")
@setting("columns")
@setting("separator")
@setting("score_max")
@setting("negative")
@setting("map")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@progress_option
def convert(
    source: str,
    target: str,
    format_: str | None,
    what: "Content | None",
    parameters: tuple[tuple[str, str | None], ...],
    tasks: Path | None,
    force: bool,
    display: Display,
    **values: Any,
) -> None:
    """Convert IN to OUT, in another format.

    IN is a table of votes, a taxonomy, or the folder OUT/ of mhpc consolidate; - is standard input
    or output. csv, tsv, jsonl, parquet and xlsx can hold all of these without loss; spreadsheet is
    CSV whose cells cannot be mistaken for formulas. Of a result, label-studio and argilla hold the
    labels, the least certain first, and cafa holds the scores. label-studio-config holds a
    taxonomy.
    """
    from mhpc.read.run_folder import one_run
    from mhpc.system.files import STDOUT, check_target, restore_folder
    from mhpc.write.tables import write_file

    if target != STDOUT:
        check_target(Path(target), force=force)
    format_ = format_ or _choose_format(target)
    settings: dict[str, Any] = dict(parameters)
    restore_folder(Path(source))
    with show_stage("reading", display):
        if (Path(source) / "run.json").is_file():
            with one_run(Path(source)):
                content, what, task_settings = _read_result(Path(source), what, format_, tasks)
            settings = task_settings | settings
        else:
            if tasks is not None:
                raise click.UsageError("--tasks needs a result, that is, the folder OUT/ of a run")
            content, what = _read_table(source, what, **given_settings(values))
    # What is written to standard output shows by itself that the command is at work.
    with show_stage("writing", "none" if target == STDOUT else display):
        write_file(target, content, what, format=format_, parameters=settings, force=force)
    _warn_of_formulas(content, format_)


def _choose_format(target: str) -> str:
    from mhpc.errors import ParameterError, spell_options
    from mhpc.write.tables import format_for

    try:
        return format_for(target)
    except ParameterError as error:
        raise click.UsageError(spell_options(f"{error.message} with --to")) from None


def _read_result(
    folder: Path, what: "Content | None", format_: str, tasks: Path | None
) -> "tuple[Any, Content, dict[str, str]]":
    """Return the result of a run, what to write of it, and format parameters from the tasks."""
    from mhpc.read.run_folder import read_labelled_scores
    from mhpc.read.tasks import read_tasks
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.write.formats import RUN_CONTENTS, format_class, make_format

    writes = format_class(format_).writes
    if what == "votes":
        raise click.UsageError(f"{folder} is a result, which contains no votes")
    if what == "taxonomy" or (what is None and writes == ("taxonomy",)):
        return read_taxonomy(folder / "taxonomy.csv"), "taxonomy", {}
    if tasks is not None and format_ not in ("label-studio", "argilla"):
        raise click.UsageError(f"--tasks works with label-studio and argilla, not with {format_}")
    default: Content = next((content for content in RUN_CONTENTS if content in writes), "labels")
    what = what or default
    make_format(format_, what)
    if what in ("items", "sources", "conflicts"):
        return _read_part(folder, what), what, {}
    scores = read_labelled_scores(folder)
    if tasks is None:
        return scores, what, {}
    export = read_tasks(tasks)
    parameters = dict(export.control) if format_ == "label-studio" else {}
    scores = replace(scores, fields=export.fields, task_numbers=export.numbers)
    return scores, what, parameters


def _read_part(folder: Path, what: "Content") -> Any:
    """Return the items, sources or disputed instances of a run."""
    from mhpc.cli.explain import load_conflicts
    from mhpc.read.run_folder import read_items, read_run_document

    if what == "items":
        return read_items(folder)
    if what == "sources":
        return read_run_document(folder).summary.sources
    return load_conflicts(folder, "all")


def _read_table(
    source: str,
    what: "Content | None",
    columns: dict[str, str] | None = None,
    format: str | None = None,  # noqa: A002
    taxonomy_format: str | None = None,
    **options: Any,
) -> "tuple[Any, Content]":
    """Read votes, or a taxonomy if that is asked for or the columns are those of one."""
    from mhpc.errors import MissingColumnError, UnreadableError
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.votes import read_votes

    if what not in (None, "votes", "taxonomy"):
        raise click.UsageError(f"--what {what} needs a result; {source} is not the folder of a run")
    of_taxonomy = {key.removeprefix("taxonomy."): name for key, name in (columns or {}).items()}
    if what is None and (taxonomy_format or of_taxonomy != (columns or {})):
        what = "taxonomy"
    if what == "taxonomy":
        form = taxonomy_format or format
        return read_taxonomy(source, columns=of_taxonomy, format=form), "taxonomy"
    try:
        return read_votes(source, columns=columns, format=format, **options), "votes"
    except (MissingColumnError, UnreadableError):
        is_chosen = what == "votes" or columns or format or options
        # Standard input can be read only once.
        if is_chosen or source == "-" or _has_vote_columns(source):
            raise
        return read_taxonomy(source), "taxonomy"


def _has_vote_columns(source: str) -> bool:
    """Return whether a table has a column of instances or sources, unlike a taxonomy."""
    from mhpc.errors import MhpcError
    from mhpc.read.columns import ALIASES
    from mhpc.read.tables import open_table

    try:
        with open_table(source) as table:
            columns = {column.strip().lower() for column in table.columns}
    except MhpcError:
        return False
    return not columns.isdisjoint({*ALIASES["instance"], *ALIASES["source"]})


def _warn_of_formulas(content: Any, format_: str) -> None:
    from mhpc.errors import MhpcWarning, quote_list, warn
    from mhpc.write.formats.tabular import formulas_in

    if format_ in ("csv", "tsv") and (formulas := formulas_in(content)):
        warn(
            f"a spreadsheet program would take ids such as {quote_list(formulas[:3])} for "
            "formulas; they are written unchanged. For a spreadsheet program, use --to spreadsheet",
            MhpcWarning,
            stacklevel=2,
        )
