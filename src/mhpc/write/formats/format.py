"""What a format is: parameters, what it can hold, and how that is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, BinaryIO, ClassVar, Literal, TextIO, TypeAlias

from mhpc.core.parameters import Parameters

What: TypeAlias = Literal["votes", "taxonomy", "labels", "scores", "wide"]
"""What there is to write: of a run, its label sets a row a label, its scores, or its label sets a
column a label."""

OF_A_RUN: tuple[What, ...] = ("labels", "scores", "wide")


class Format(Parameters):
    """A way to write something down."""

    name: ClassVar[str]
    writes: ClassVar[tuple[What, ...]]

    def write(self, file: BinaryIO, subject: Any, what: What) -> None:
        """Write votes, a taxonomy or an outcome."""
        raise NotImplementedError


@contextmanager
def as_text(file: BinaryIO, *, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Give a file to write text into; line ends stay as they are written."""
    text = TextIOWrapper(file, encoding=encoding, newline="")
    try:
        yield text
    finally:
        # Flushed, and left open for its owner to close.
        text.detach()
