"""Escape control characters; notebook tables; progress callable."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any, TypeAlias

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, marks that turn the direction of writing, halves of characters, odd line ends."""

_PLAIN = {"\n", "\u200c", "\u200d"}
"""Line ends, and what joins or parts letters in some scripts."""


def escape_control(text: str) -> str:
    r"""Return text with what a terminal would obey, or would not show, as Python spells it.

    >>> print(visible("\x1b[2Jbee"))
    \x1b[2Jbee
    """
    if text.isprintable():
        return text
    return "".join(map(_spelt, text))


def _spelt(character: str) -> str:
    if character in _PLAIN or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode()


MOST_ROWS = 10
"""Rows that a table shows."""

MOST_CHARACTERS = 200
"""Characters that a cell shows."""


def short_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, total: int
) -> str:
    """Return HTML: a caption, the first rows, and how many more there are of a total."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)}</tr>"
        for row in islice(rows, MOST_ROWS)
    )
    more = f"<p>… and {total - MOST_ROWS:,} more</p>" if total > MOST_ROWS else ""
    return (
        f"<div><p>{escape(caption)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def _text(cell: Any) -> str:
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage's name, the steps done and the steps at most."""


def silent(stage: str, done: int, most: int) -> None:
    """Tell nobody."""
