"""Short HTML tables, for notebooks. Whatever is shown is data, and escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

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
