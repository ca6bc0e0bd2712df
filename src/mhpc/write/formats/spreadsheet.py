"""CSV for spreadsheets, which take some texts for formulas and run them."""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, ClassVar

from mhpc.core.taxonomy import Taxonomy
from mhpc.core.votes import Votes
from mhpc.write.formats.format import OF_A_RUN, Format, What, as_text
from mhpc.write.formats.tables import Table, table_of
from mhpc.write.rows import write_rows

MARK = "'"
"""What tells a spreadsheet that a cell is text."""

_RUN = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - those are meant
"""How a text begins that some spreadsheet takes for a formula."""


class Spreadsheet(Format):
    """CSV that is safe to open in a spreadsheet, and opens there as UTF-8.

    A text that begins like a formula, or with the mark itself, gets an apostrophe in front, so
    that taking one away from every text that begins with it gives the texts back.
    """

    name: ClassVar[str] = "spreadsheet"
    writes: ClassVar[tuple[What, ...]] = ("votes", "taxonomy", *OF_A_RUN)

    def write(self, file: BinaryIO, subject: Any, what: What) -> None:
        """Write a table, its header included, with no cell that can be run."""
        table = table_of(subject, what)
        # The mark of byte order is how spreadsheets know UTF-8.
        with as_text(file, encoding="utf-8-sig") as text:
            write_rows(text, [guarded(name) for name in table.columns], _guarded_rows(table))


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return MARK + text if text.startswith((*_RUN, MARK)) else text


def unguarded(text: str) -> str:
    """Return the text that was guarded."""
    return text.removeprefix(MARK)


def formulas_in(subject: Any) -> list[str]:
    """Return the ids of what is written that a spreadsheet would take for formulas."""
    return [text for axis in _axes(subject) for text in axis if text.startswith(_RUN)]


def _axes(subject: Any) -> Iterator[Iterable[str]]:
    if isinstance(subject, Votes):
        yield from (subject.instances, subject.sources, subject.labels)
    elif isinstance(subject, Taxonomy):
        yield from (subject.labels, subject.names)
    else:
        yield from (subject.instances, subject.taxonomy.labels)


def _guarded_rows(table: Table) -> Iterator[list[Any]]:
    for row in table.rows():
        yield [guarded(cell) if isinstance(cell, str) else cell for cell in row]
