"""What a format of taxonomies is."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import UnreadableError
from mhpc.read.files import GZIP_ERRORS, LocalFile

MAX_DOCUMENT = 1 << 28
"""Bytes of a document that is read whole: 256 MiB; ontologies of a million terms are smaller."""


@dataclass(frozen=True, eq=False)
class TaxonomyInput:
    """A file or something in memory, and what the user adds to the name of its format."""

    source: Any
    origin: str
    argument: str | None = None

    @property
    def file(self) -> LocalFile | None:
        """The file, if it is one."""
        return self.source if isinstance(self.source, LocalFile) else None

    @property
    def head(self) -> str:
        """How the file begins."""
        return self.source.head if isinstance(self.source, LocalFile) else ""


class TaxonomyFormat(Protocol):
    """A format is a module with these two functions."""

    def matches(self, told: TaxonomyInput) -> bool:
        """Tell by its content whether something is in this format."""

    def read(self, told: TaxonomyInput) -> Taxonomy:
        """Return the taxonomy."""


def atomic_file(told: TaxonomyInput) -> bytes:
    """Return all of a file, unpacked, if it is not too large."""
    file = told.file
    if file is None:
        raise UnreadableError(f"{told.origin}: this format is read from a file")
    try:
        with _opened(file) as stream:
            content: bytes = stream.read(MAX_DOCUMENT + 1)
    except GZIP_ERRORS as error:
        raise UnreadableError(f"{file.name} cannot be read: {error}") from None
    if len(content) > MAX_DOCUMENT:
        raise UnreadableError(
            f"{file.name} is larger than {MAX_DOCUMENT >> 20} MiB, the most for such a document"
        )
    return content


def _opened(file: LocalFile) -> Any:
    if file.compression == "zstd":
        raise UnreadableError(f"{file.name}: such a document can be plain or gzip, not zstd")
    return gzip.open(file.path) if file.compression == "gzip" else Path(file.path).open("rb")
