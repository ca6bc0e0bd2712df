"""Format base class, registry."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, ClassVar, Literal, TextIO, TypeAlias

from mhpc.errors import ParameterError, quote_list
from mhpc.parameters import Parameters, class_by_name

Content: TypeAlias = Literal["votes", "taxonomy", "labels", "scores", "wide"]
"""What there is to write: of a run, its label sets a row a label, its scores, or its label sets a
column a label."""

RUN_CONTENTS: tuple[Content, ...] = ("labels", "scores", "wide")


class Format(Parameters):
    """A way to write something down."""

    name: ClassVar[str]
    writes: ClassVar[tuple[Content, ...]]

    def write(self, file: BinaryIO, subject: Any, what: Content) -> None:
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


FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "csv": "mhpc.write.formats.tabular:Csv",
        "tsv": "mhpc.write.formats.tabular:Tsv",
        "jsonl": "mhpc.write.formats.tabular:JsonLines",
        "parquet": "mhpc.write.formats.tabular:Parquet",
        "spreadsheet": "mhpc.write.formats.tabular:Spreadsheet",
        "label-studio": "mhpc.write.formats.label_studio:LabelStudio",
        "label-studio-config": "mhpc.write.formats.label_studio:LabelStudioConfig",
        "argilla": "mhpc.write.formats.argilla:Argilla",
        "cafa": "mhpc.write.formats.cafa:Cafa",
    }
)
"""Name and home of every format, in the order in which they are shown."""

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".csv": "csv",
        ".tsv": "tsv",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".parquet": "parquet",
        ".xml": "label-studio-config",
    }
)
"""The format that a file's name tells, a last ``.gz`` aside."""


def format_class(name: str) -> "type[Format]":
    """Return the class of a format."""
    return class_by_name(name, FORMATS, what="format")


def make_format(
    name: str, what: "Content", parameters: Mapping[str, Any] | None = None
) -> "Format":
    """Return a format that can hold what is to be written, with some of its parameters set."""
    kind = format_class(name)
    if what not in kind.writes:
        able = [other for other in FORMATS if what in format_class(other).writes]
        raise ParameterError(
            f"{name} cannot hold {what}, only {' or '.join(kind.writes)}; "
            f"{what} can be written as {quote_list(able, most=20)}"
        )
    return kind(**(parameters or {}))


def format_from_suffix(target: str | Path) -> str | None:
    """Return the format that the name of a file tells, if it does."""
    suffixes = [suffix.lower() for suffix in Path(target).suffixes if suffix.lower() != ".gz"]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None
