"""Votes, taxonomies and outcomes out, in a format by name or by the name of the file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mhpc.errors import ParameterError, quoted
from mhpc.write.formats.format import What
from mhpc.write.formats.registry import FORMATS, SUFFIXES, format_by_name_of, make_format
from mhpc.write.whole import STDOUT, whole_file


def write_as(
    target: str | Path,
    subject: Any,
    what: What,
    *,
    format: str | None = None,  # noqa: A002 - what readers call it too
    parameters: Mapping[str, Any] | None = None,
    force: bool = True,
) -> None:
    """Write something whole or not at all; ``-`` is standard output.

    Parameters
    ----------
    target : path or "-"
        A name that ends in ``.gz`` is packed.
    subject : Votes, Taxonomy or Outcome
        What to write.
    what : str
        What of it.
    format : str, optional
        A registered name; unless given, what the name of the file tells.
    parameters : mapping, optional
        Of the format.
    force : bool
        Whether a file that is there is replaced.
    """
    made = make_format(format or format_told(target), what, parameters)
    with whole_file(target, force=force) as file:
        made.write(file, subject, what)


def format_told(target: str | Path) -> str:
    """Return the format that a file's name tells, CSV for standard output, or refuse."""
    if str(target) == STDOUT:
        return "csv"
    found = format_by_name_of(target)
    if found is None:
        raise ParameterError(
            f"{target}: the name does not tell the format; end it in {', '.join(SUFFIXES)}, or "
            f"say which: {quoted(list(FORMATS), most=20)}"
        )
    return found
