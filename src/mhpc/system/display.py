"""What is shown to people: text without control characters, tables in notebooks, progress."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any, TypeAlias

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, marks that turn the direction of writing, halves of characters, rare line ends."""

_PLAIN = {"\n", "\u200c", "\u200d"}
"""Line ends, and characters that join or separate letters in some scripts."""


def escape_control(text: str) -> str:
    r"""Return text with the characters that a terminal would obey, or not show, as escapes.

    >>> print(escape_control("\x1b[2Jbee"))
    \x1b[2Jbee
    """
    if text.isprintable():
        return text
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character in _PLAIN or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()


MAX_ROWS = 10
"""How many rows a table shows."""

MAX_CHARACTERS = 200
"""How many characters a cell shows."""

MAX_COLUMN = 90
"""How many characters it shows in plain text."""

_NUMBER = re.compile(r"([-+]?[\d.,]+( %)?)?")
"""A cell that is aligned at the right."""


def short_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, total: int
) -> str:
    """Return HTML: a caption, the first rows, and how many more there are of a total."""
    if not header:
        return f"<div><p>{escape(caption)}</p></div>"
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)}</tr>"
        for row in islice(rows, MAX_ROWS)
    )
    more = f"<p>… and {total - MAX_ROWS:,} more</p>" if total > MAX_ROWS else ""
    return (
        f"<div><p>{escape(caption)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def text_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, total: int
) -> str:
    """Return plain text: a caption, the first rows in columns, and how many more there are.

    >>> print(text_table("Two labels", ("label", "score"), [("bee", 0.5), ("ant", 0.25)], total=2))
    Two labels
      label  score
      bee      0.5
      ant     0.25
    """
    cells = [tuple(header), *islice(rows, MAX_ROWS)]
    texts = [[escape_control(_text(cell, MAX_COLUMN)) for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    numbers = [all(map(_NUMBER.fullmatch, column)) for column in zip(*texts[1:], strict=True)]
    lines = [
        "  ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in texts
        if numbers
    ]
    more = [f"… and {total - MAX_ROWS:,} more"] if total > MAX_ROWS else []
    return "\n".join([escape_control(caption), *(f"  {line}" for line in [*lines, *more])])


@dataclass(frozen=True)
class ShownTable:
    """A table to show: a caption, the names of columns, rows, and how many rows there are."""

    caption: str
    header: Sequence[str] = ()
    rows: Iterable[Sequence[Any]] = ()
    total: int = 0


class Shown:
    """What print and notebooks show as tables, of which only the first rows."""

    def shown_tables(self) -> Iterable[ShownTable]:
        """Return the tables."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(
            text_table(table.caption, table.header, table.rows, total=table.total)
            for table in self.shown_tables()
        )

    def _repr_html_(self) -> str:
        return "".join(
            short_table(table.caption, table.header, table.rows, total=table.total)
            for table in self.shown_tables()
        )


def percent(share: float) -> str:
    """Return a share as ``38 %``, or nothing if it is not known."""
    return "" if share != share else f"{share:.0%}".replace("%", " %")


def _text(cell: Any, limit: int = MAX_CHARACTERS) -> str:
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a stage, how many of its steps are done, and how many there are."""

PER_CENT = 100
"""The steps of a stage whose parts take unequally long: per cent of the work."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
