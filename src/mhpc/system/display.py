"""What is shown to people: text without control characters, tables in notebooks, progress."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
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


def short_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, total: int
) -> str:
    """Return HTML: a caption, the first rows, and how many more there are of a total."""
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


def _text(cell: Any) -> str:
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a stage, how many of its steps are done, and how many there are."""

PER_CENT = 100
"""The steps of a stage whose parts take unequally long: per cent of the work."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
