"""``mhpc convert``: votes, hierarchies and results from one format to another."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mhpc.cli.options import given, parameter, setting
from mhpc.write.formats import FORMATS

if TYPE_CHECKING:
    from mhpc.write.formats import Content

WHAT = ("votes", "taxonomy", "labels", "scores", "wide")


@click.command(short_help="Write votes, taxonomies or results in another format.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--to", "format_", type=click.Choice(list(FORMATS)),
    help="The format to write. Unless given, the end of OUT tells: .csv, .tsv, .jsonl, .parquet, "
    ".xml; csv for standard output.",
)  # fmt: skip
@click.option(
    "--what", type=click.Choice(WHAT),
    help="What IN is, votes or taxonomy, where its columns do not tell; or what to write of a "
    "result: labels, a row a label; scores; wide, a column a label.",
)  # fmt: skip
@click.option(
    "--set", "parameters", multiple=True, metavar="KEY=VALUE", type=parameter,
    help="A parameter of the format. May be given several times.",
)  # fmt: skip
@click.option(
    "--tasks", type=click.Path(path_type=Path), metavar="FILE",
    help="The JSON export that the votes came from: what it holds of each task goes with the "
    "labels to label-studio or argilla.",
)  # fmt: skip
@setting("format")
@setting("columns")
@click.option("--force", is_flag=True, help="Replace OUT if it is there.")
def convert(
    source: str,
    target: str,
    format_: str | None,
    what: "Content | None",
    parameters: tuple[tuple[str, str | None], ...],
    tasks: Path | None,
    force: bool,
    **values: Any,
) -> None:
    """Write IN as OUT, in another format.

    IN is a table of votes, a hierarchy, or the folder OUT/ of mhpc consolidate; - is standard
    input or output. csv, tsv, jsonl and parquet hold anything, exactly; spreadsheet is CSV in
    which nothing can be taken for a formula. Of a result, label-studio and argilla hold the labels,
    the least sure first, and cafa the scores; label-studio-config holds a hierarchy.
    """
    from mhpc.system.files import STDOUT, check_target
    from mhpc.write.tables import write_file

    if target != STDOUT:
        check_target(Path(target), force=force)
    format_ = format_ or _told(target)
    settings: dict[str, Any] = dict(parameters)
    if (Path(source) / "run.json").is_file():
        subject, what, told = _result(Path(source), what, format_, tasks)
        settings = told | settings
    else:
        if tasks is not None:
            raise click.UsageError("--tasks goes with a result, the folder OUT/ of a run")
        subject, what = _table(source, what, **given(values))
    write_file(target, subject, what, format=format_, parameters=settings, force=force)
    _warn_of_formulas(subject, format_)


def _told(target: str) -> str:
    from mhpc.errors import ParameterError
    from mhpc.write.tables import choose_format

    try:
        return choose_format(target)
    except ParameterError as error:
        raise click.UsageError(f"{error} with --to") from None


def _result(
    folder: Path, what: "Content | None", format_: str, tasks: Path | None
) -> "tuple[Any, Content, dict[str, str]]":
    """Return what a run found, what to write of it, and what the tasks tell of the format."""
    from mhpc.read.run_folder import read_labelled_scores
    from mhpc.read.tasks import read_tasks
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.write.formats import RUN_CONTENTS, format_class

    writes = format_class(format_).writes
    if what == "votes":
        raise click.UsageError(f"{folder} is a result, which holds no votes")
    if what == "taxonomy" or (what is None and writes == ("taxonomy",)):
        return read_taxonomy(folder / "taxonomy.csv"), "taxonomy", {}
    chosen: Content = next((each for each in RUN_CONTENTS if each in writes), "labels")
    chosen = chosen if what is None else what
    outcome = read_labelled_scores(folder)
    if tasks is None:
        return outcome, chosen, {}
    if format_ not in ("label-studio", "argilla"):
        raise click.UsageError(f"--tasks goes with label-studio and argilla, not with {format_}")
    held = read_tasks(tasks)
    told = dict(held.control) if format_ == "label-studio" else {}
    return replace(outcome, fields=held.fields), chosen, told


def _table(
    source: str,
    what: "Content | None",
    columns: dict[str, str] | None = None,
    format: str | None = None,  # noqa: A002
) -> "tuple[Any, Content]":
    """Read votes, or a taxonomy where that is asked for or the columns are those of one."""
    from mhpc.errors import MissingColumnError, UnreadableError
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.votes import read_votes

    if what in ("labels", "scores", "wide"):
        raise click.UsageError(f"--what {what} is of a result; {source} is no folder of a run")
    if what == "taxonomy":
        return read_taxonomy(source, columns=columns, format=format), "taxonomy"
    try:
        return read_votes(source, columns=columns, format=format), "votes"
    except (MissingColumnError, UnreadableError):
        # Standard input is read once, and then it is gone.
        if what == "votes" or source == "-" or columns or format or _has_answers(source):
            raise
        return read_taxonomy(source), "taxonomy"


def _has_answers(source: str) -> bool:
    """Tell whether a table has instances or sources, so that it is no taxonomy."""
    from mhpc.errors import MhpcError
    from mhpc.read.columns import ALIASES
    from mhpc.read.tables import open_table

    try:
        with open_table(source) as table:
            columns = {column.strip().lower() for column in table.columns}
    except MhpcError:
        return False
    return not columns.isdisjoint({*ALIASES["instance"], *ALIASES["source"]})


def _warn_of_formulas(subject: Any, format_: str) -> None:
    import warnings

    from mhpc.errors import MhpcWarning, quote_list
    from mhpc.write.formats.tabular import formulas_in

    if format_ in ("csv", "tsv") and (found := formulas_in(subject)):
        warnings.warn(
            f"a spreadsheet would take ids such as {quote_list(found[:3])} for formulas; they are "
            "written as they are, for programs. For a spreadsheet: --to spreadsheet",
            MhpcWarning,
            stacklevel=2,
        )
