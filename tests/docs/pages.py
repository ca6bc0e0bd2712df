"""Split a page into its fenced blocks, with instructions to the tests from hidden comments.

These comments are understood:

``<!-- setup ... -->``
    Commands to run at this point, so that the files which the page mentions exist.
    ``sample NAME`` writes those of `tests.docs.samples`.
``<!-- file: NAME -->``
    The next block is the content of this file, which is written.
``<!-- not run: REASON -->``
    The next block cannot be run here.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<kind>[^`]*)$")
_COMMENT = re.compile(r"^ *<!--\s*(?P<word>setup|file|not run)\b:?\s*(?P<rest>.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, or a comment with commands."""

    line: int
    kind: str
    """The word after the ticks; "setup" for commands that readers do not see."""
    text: str
    file: str | None = None
    """The file to write the text to."""
    not_run: str | None = None
    """Why it cannot be run."""


def split_into_blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page and its commands to the tests."""
    lines = iter(enumerate(page.splitlines(), start=1))
    marks: dict[str, str] = {}
    for number, line in lines:
        if comment := _COMMENT.match(line):
            word, rest = comment["word"], comment["rest"]
            if word == "setup":
                yield Block(number, "setup", _commands(rest, lines))
            else:
                marks["file" if word == "file" else "not_run"] = rest.removesuffix("-->").strip()
        elif fence := _FENCE.match(line):
            text = _take_until(fence["ticks"], lines)
            yield Block(number, fence["kind"].strip(), text, **marks)
            marks = {}
        elif line.strip() and marks:
            raise ValueError(f"line {number}: a mark must be followed by a fenced block")


def _commands(rest: str, lines: Iterator[tuple[int, str]]) -> str:
    """Return the commands of a comment on one line or on several."""
    if rest.endswith("-->"):
        return f"{rest.removesuffix('-->').strip()}\n"
    return _take_until("-->", lines)


def _take_until(end: str, lines: Iterator[tuple[int, str]]) -> str:
    """Return the lines before the end mark, without their common indentation."""
    block: list[str] = []
    for _, line in lines:
        if line.strip() == end:
            return textwrap.dedent("".join(f"{text}\n" for text in block))
        block.append(line)
    raise ValueError(f"{end} is missing after {block[:1]}")
