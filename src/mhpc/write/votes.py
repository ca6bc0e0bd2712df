"""Votes out."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mhpc.core.votes import Votes
from mhpc.errors import UnwritableError
from mhpc.write.rows import write_csv, write_rows


def write_votes(target: str | Path, votes: Votes) -> None:
    """Write the canonical votes table as CSV; ``-`` is standard output.

    A file is written beside its place and moved there, so that it is whole or not there. The
    column ``score`` is left out where no vote is graded.
    """
    graded = bool((votes.score != 1).any())
    header = ("instance", "source", "label", *(("score",) if graded else ()))
    if str(target) == "-":
        write_rows(sys.stdout, header, _votes_rows(votes, graded=graded))
        return
    path = Path(target)
    if not path.parent.is_dir():
        raise UnwritableError(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    if path.is_dir():
        raise UnwritableError(f"{path} is a folder; give a file in it")
    try:
        _write_whole(path, header, _votes_rows(votes, graded=graded))
    except OSError as error:
        raise UnwritableError(f"{path} cannot be written: {error.strerror}") from None


def _write_whole(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    if path.exists() and not path.is_file():
        # A device or a pipe, such as /dev/null, is written to, never replaced.
        write_csv(path, header, rows)
        return
    beside = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        write_csv(beside, header, rows)
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink()


def _votes_rows(votes: Votes, *, graded: bool) -> Iterator[tuple[str | float, ...]]:
    for i, s, k, score in zip(
        votes.instance.tolist(), votes.source.tolist(), votes.label.tolist(), votes.score.tolist(),
        strict=True,
    ):  # fmt: skip
        label = votes.labels[k] if k >= 0 else ""
        yield (votes.instances[i], votes.sources[s], label, *((score,) if graded else ()))
