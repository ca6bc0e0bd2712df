"""Pages taken apart: what stands in their fences, and what is to be done with it.

A page speaks to its reader and, in comments that no reader sees, to the tests:

``<!-- setup ... -->``
    a command, or lines of commands, that are run where the comment stands, so that files of which
    the page speaks exist; ``sample NAME`` leaves those of `tests.docs.samples`;
``<!-- file: NAME -->``
    the next fence is the content of that file, which is written;
``<!-- not run: REASON -->``
    the next fence cannot be run here.
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
    """A fence of a page, or a comment with commands."""

    line: int
    kind: str
    """What follows the ticks; "setup" for commands that readers do not see."""
    text: str
    file: str | None = None
    """Where the text is to be written."""
    not_run: str | None = None
    """Why it cannot be run."""


def blocks(page: str) -> Iterator[Block]:
    """Take a page apart."""
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
            text = _until(fence["ticks"], lines)
            yield Block(number, fence["kind"].strip(), text, **marks)
            marks = {}
        elif line.strip() and marks:
            raise ValueError(f"line {number}: a mark stands before something that is no fence")


def _commands(rest: str, lines: Iterator[tuple[int, str]]) -> str:
    """Return the commands of a comment, which may stand on one line with it."""
    if rest.endswith("-->"):
        return f"{rest.removesuffix('-->').strip()}\n"
    return _until("-->", lines)


def _until(end: str, lines: Iterator[tuple[int, str]]) -> str:
    """Return the lines before the one that ends, without what all are indented by."""
    taken: list[str] = []
    for _, line in lines:
        if line.strip() == end:
            return textwrap.dedent("".join(f"{each}\n" for each in taken))
        taken.append(line)
    raise ValueError(f"no {end} ends what began with {taken[:1]}")
