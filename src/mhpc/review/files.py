"""The folder of a review: reviews.csv, gold.csv and the result of the newest consolidation."""

import csv
import io
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from mhpc.errors import DataError, OutputExistsError, ParameterError, UnreadableError, option
from mhpc.review.answers import Drawn, ReviewAnswer, Reviews, SettledInstance
from mhpc.system.files import atomic_file, check_name, check_writable, resolve_path
from mhpc.system.locks import exclusive_lock, is_locked
from mhpc.write.tables import write_rows

REVIEW_COLUMNS = ("instance", "source", "label", "drawn", "time")
GOLD_COLUMNS = ("instance", "label", "reviewer", "drawn")

_REQUIRED = ("instance", "source", "label")
_LEFTOVER = re.compile(r"\.(reviews\.csv|gold\.csv|result-gold\.csv|result)-[0-9a-f]{16}")
"""A hidden folder that a killed process left."""


@dataclass(frozen=True)
class ReviewFolder:
    """Where the answers on a run are saved.

    Attributes
    ----------
    path : Path
        The folder; by default beside that of the run.
    """

    path: Path

    @property
    def reviews(self) -> Path:
        """The answers of every reviewer, as votes."""
        return self.path / "reviews.csv"

    @property
    def gold(self) -> Path:
        """The settled instances, as gold labels."""
        return self.path / "gold.csv"

    @property
    def result(self) -> Path:
        """The run folder of the newest consolidation."""
        return self.path / "result"

    @property
    def result_gold(self) -> Path:
        """The gold labels of the newest consolidation, which `gold` is ahead of."""
        return self.path / "result-gold.csv"

    def save(self, reviews: Reviews) -> None:
        """Write both tables; when this returns, they survive a crash of the machine."""
        write_reviews(self.reviews, reviews)
        write_gold(self.gold, reviews.settle())


@contextmanager
def open_review_folder(run: Path, path: Path | None = None) -> Iterator[ReviewFolder]:
    """Make and lock the folder of the review of a run, as long as the block lasts.

    Parameters
    ----------
    run : Path
        The folder of the run, which stays as it is.
    path : Path, optional
        The folder of the review; by default ``OUT-review`` beside ``OUT``.
    """
    if path is None:
        whole = run if run.name not in ("", "..") else resolve_path(run)
        path = whole.with_name(f"{whole.name}-review")
    check_name(path)
    if resolve_path(path).is_relative_to(resolve_path(run)):
        raise ParameterError(
            f"{path} is within {run}, which a review does not change; choose another folder with "
            f"{option('reviews', 'FOLDER', command='review')}"
        )
    check_writable(path)
    if path.exists() and not path.is_dir():
        raise OutputExistsError(f"{path} is a file; move it away, or choose another folder")
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    in_use = f"another mhpc review saves answers in {path}; use that one, or stop it first"
    try:
        with exclusive_lock(path, in_use):
            _remove_leftovers(path)
            yield ReviewFolder(path)
    finally:
        # A review without any answer, such as that of a folder that is no run, leaves nothing.
        with suppress(OSError):
            for folder in missing:
                folder.rmdir()


def _remove_leftovers(folder: Path) -> None:
    for path in folder.iterdir():
        if _LEFTOVER.fullmatch(path.name) and not is_locked(path):
            shutil.rmtree(path, ignore_errors=True)


def write_reviews(path: Path, reviews: Reviews) -> None:
    """Write the answers of all reviewers as votes; an answer without labels has one empty cell."""
    rows = (
        (answer.instance, answer.reviewer, label, answer.drawn, answer.time)
        for answer in reviews.answers
        for label in answer.labels or ("",)
    )
    _write_table(path, REVIEW_COLUMNS, rows)


def write_gold(path: Path, settled: Mapping[str, SettledInstance]) -> None:
    """Write settled instances as gold labels, one row per label."""
    rows = (
        (instance, label, " + ".join(each.reviewers), each.drawn)
        for instance, each in settled.items()
        for label in each.labels or ("",)
    )
    _write_table(path, GOLD_COLUMNS, rows)


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO(newline="")
    write_rows(text, header, rows)
    with atomic_file(path, durable=True) as file:
        file.write(text.getvalue().encode())


def read_reviews(path: Path) -> Reviews:
    """Read ``reviews.csv`` exactly as it was written; no file is no answers.

    The columns drawn and time may be missing, as in votes.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
    except FileNotFoundError:
        return Reviews()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableError(f"{path} cannot be read: {error}") from None
    labels: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], Mapping[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        if any(not isinstance(row.get(name), str) for name in _REQUIRED):
            raise DataError(
                f"{path}: row {number:,} lacks one of the columns {', '.join(_REQUIRED)}"
            )
        key = row["instance"], row["source"]
        first.setdefault(key, row)
        labels.setdefault(key, []).extend([row["label"]] if row["label"] else [])
    return Reviews().add(
        ReviewAnswer(
            *(key[0], tuple(labels[key]), key[1]),
            drawn=_read_drawn(row.get("drawn") or "gain", path),
            time=row.get("time") or "",
        )
        for key, row in first.items()
    )


def _read_drawn(text: str, path: Path) -> Drawn:
    for drawn in get_args(Drawn):
        if text == drawn:
            return drawn  # type: ignore[no-any-return]
    raise DataError(f"{path}: drawn is {text!r}; it is {' or '.join(get_args(Drawn))}")
