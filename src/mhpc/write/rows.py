"""Rows out, as CSV."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a small table; nan and None become empty cells."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, header, rows)


def write_rows(
    file: TextIO, header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ","
) -> None:
    """Write a table to an open file; nan and None become empty cells."""
    writer = csv.writer(_UnixLines(file), delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(["" if cell != cell else cell for cell in row] for row in rows)


@dataclass(frozen=True)
class _UnixLines:
    """Ends lines as Unix does; told to do so itself, csv leaves a carriage return unquoted."""

    file: TextIO

    def write(self, line: str) -> int:
        return self.file.write(line.removesuffix("\r\n") + "\n")
