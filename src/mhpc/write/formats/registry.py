"""The formats by name. A format's module is imported when it is asked for, not before."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mhpc.core.homes import class_by_name
from mhpc.errors import ParameterError, quoted

if TYPE_CHECKING:
    from mhpc.write.formats.format import Format, What

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "csv": "mhpc.write.formats.separated:Csv",
        "tsv": "mhpc.write.formats.separated:Tsv",
        "jsonl": "mhpc.write.formats.jsonl:JsonLines",
        "parquet": "mhpc.write.formats.parquet:Parquet",
        "spreadsheet": "mhpc.write.formats.spreadsheet:Spreadsheet",
        "label-studio": "mhpc.write.formats.label_studio:LabelStudio",
        "label-studio-config": "mhpc.write.formats.label_studio_config:LabelStudioConfig",
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


def make_format(name: str, what: "What", parameters: Mapping[str, Any] | None = None) -> "Format":
    """Return a format that can hold what is to be written, with some of its parameters set."""
    kind = format_class(name)
    if what not in kind.writes:
        able = [other for other in FORMATS if what in format_class(other).writes]
        raise ParameterError(
            f"{name} cannot hold {what}, only {' or '.join(kind.writes)}; "
            f"{what} can be written as {quoted(able, most=20)}"
        )
    return kind(**(parameters or {}))


def format_by_name_of(target: str | Path) -> str | None:
    """Return the format that the name of a file tells, if it does."""
    suffixes = [suffix.lower() for suffix in Path(target).suffixes if suffix.lower() != ".gz"]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None
