"""What a taxonomy format is, and what it reads from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import UnreadableError
from mhpc.read.files import LocalFile, decode_document, read_document


class TaxonomyFormat(Protocol):
    """One way of storing a taxonomy. The formats are listed in `mhpc.read.taxonomy_formats`."""

    @property
    def name(self) -> str:
        """The name by which users choose the format."""

    def matches(self, source: "TaxonomyInput", /) -> bool:
        """Return whether the content of an input is in this format."""

    def read(self, source: "TaxonomyInput", /) -> Taxonomy:
        """Return the taxonomy."""


@dataclass(frozen=True, eq=False)
class TaxonomyInput:
    """A file or an object in memory, and how the user wants it to be read.

    Attributes
    ----------
    value : LocalFile or object
        What is to be read.
    origin : str
        How messages refer to it.
    argument : str, optional
        What the user added to the name of the format, as in ``obo=part_of``.
    columns : mapping of role to column, optional
        The columns of a table that the user chose.
    """

    value: Any
    origin: str
    argument: str | None = None
    columns: Mapping[str, str] | None = None

    @property
    def file(self) -> LocalFile | None:
        """The file, if it is one."""
        return self.value if isinstance(self.value, LocalFile) else None

    @property
    def head(self) -> str:
        """The beginning of the file, if it is text."""
        return self.value.head if isinstance(self.value, LocalFile) else ""

    def require_file(self) -> LocalFile:
        """Return the file, or raise an error for an object in memory."""
        if self.file is None:
            raise UnreadableError(f"{self.origin}: this format is read from a file")
        return self.file

    def read_content(self) -> bytes:
        """Return the whole content of the file, decompressed."""
        return read_document(self.require_file())

    def read_text(self) -> str:
        """Return the whole content of the file as text, which must be UTF-8."""
        return decode_document(self.read_content(), self.origin)
