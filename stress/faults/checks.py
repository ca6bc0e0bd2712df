"""Checks of right answers, for attacks whose fault does no harm."""

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from stress.faults.runner import Place

Check = Callable[[Path, str], Iterator[str]]


def same_labels(place: Place, method: str, output: str = "OUT") -> Check:
    """Return a check that an output has the labels of the undisturbed run of a method."""
    expected = place.read(f"OUT-{method}/labels.csv")

    def check(folder: Path, _: str) -> Iterator[str]:
        path = folder / output / "labels.csv"
        if not path.is_file() or path.read_bytes() != expected:
            yield "other labels than without the fault"

    return check


def same_table(expected: bytes, key: int = 2) -> Check:
    """Return a check that standard output has the rows of a table, in any order."""

    def read(text: str) -> list[list[str]]:
        return sorted(row[:key] for row in csv.reader(text.splitlines()))

    rows = read(expected.decode())

    def check(_: Path, stdout: str) -> Iterator[str]:
        if read(stdout) != rows:
            yield "other rows than without the fault"

    return check


def scores_in_range(_: Path, stdout: str) -> Iterator[str]:
    """Check that the last column of standard output has numbers between 0 and 1."""
    for row in csv.reader(stdout.splitlines()[1:]):
        try:
            score = float(row[-1])
        except (ValueError, IndexError):
            yield f"{row} has no score"
            return
        if not (math.isfinite(score) and 0 <= score <= 1):
            yield f"the score {row[-1]} of {row[0]}"
            return
