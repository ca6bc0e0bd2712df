"""The formats in which votes, taxonomies and results can be written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, ClassVar, Literal, TextIO, TypeAlias

from mhpc.errors import ParameterError, quote_list
from mhpc.parameters import Parameters, class_by_name

Content: TypeAlias = Literal[
    "votes", "taxonomy", "labels", "scores", "wide", "items", "sources", "conflicts"
]
"""What can be written.

Of a result: its label sets with one row per label, its scores, its scores with one column per label
(``"wide"``), one row per instance (``"items"``), one row per source, or one row per disputed label
(``"conflicts"``).
"""

RUN_CONTENTS: tuple[Content, ...] = ("labels", "scores", "wide", "items", "sources", "conflicts")
"""What can be written of a result."""

WRITE_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "csv": "mhpc.write.formats.tabular:Csv",
        "tsv": "mhpc.write.formats.tabular:Tsv",
        "jsonl": "mhpc.write.formats.tabular:JsonLines",
        "parquet": "mhpc.write.formats.tabular:Parquet",
        "spreadsheet": "mhpc.write.formats.tabular:Spreadsheet",
        "xlsx": "mhpc.write.formats.excel:Excel",
        "label-studio": "mhpc.write.formats.label_studio:LabelStudio",
        "label-studio-config": "mhpc.write.formats.label_studio:LabelStudioConfig",
        "argilla": "mhpc.write.formats.argilla:Argilla",
        "cafa": "mhpc.write.formats.cafa:Cafa",
    }
)
"""The class of every format by name, in the order in which they are shown; loaded when needed."""

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".csv": "csv",
        ".tsv": "tsv",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".parquet": "parquet",
        ".xlsx": "xlsx",
        ".xml": "label-studio-config",
    }
)
"""The format that belongs to the suffix of a file, before a final ``.gz``."""


class WriteFormat(Parameters):
    """A way to write votes, a taxonomy or a result; its parameters are options of the format."""

    name: ClassVar[str]
    writes: ClassVar[tuple[Content, ...]]

    def write(self, file: BinaryIO, data: Any, content: Content) -> None:
        """Write Votes, a Taxonomy or the part of LabelledScores that `content` names."""
        raise NotImplementedError


def format_class(name: str) -> type[WriteFormat]:
    """Return the class of a format."""
    return class_by_name(name, WRITE_FORMATS, what="format")


def make_format(
    name: str, content: Content, parameters: Mapping[str, Any] | None = None
) -> WriteFormat:
    """Return a format with some of its parameters set, if it can hold the content."""
    chosen = format_class(name)
    if content not in chosen.writes:
        able = [other for other in WRITE_FORMATS if content in format_class(other).writes]
        raise ParameterError(
            f"{name} cannot hold {content}, only {' or '.join(chosen.writes)}; "
            f"{content} can be written as {quote_list(able, most=20)}"
        )
    return chosen(**(parameters or {}))


def format_from_suffix(target: str | Path) -> str | None:
    """Return the format that belongs to the suffix of a file, or None."""
    suffixes = [suffix.lower() for suffix in Path(target).suffixes if suffix.lower() != ".gz"]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


@contextmanager
def as_text(file: BinaryIO, *, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open a binary file for text, with line ends as they are written."""
    text = TextIOWrapper(file, encoding=encoding, newline="")
    try:
        yield text
    finally:
        # Flush the text, but leave the file open for its owner.
        text.detach()
