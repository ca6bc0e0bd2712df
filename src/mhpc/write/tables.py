"""Tables out: CSV and Parquet through DuckDB."""

import csv
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

import duckdb
import numpy as np

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.consolidation import Consolidation, blocks
from mhpc.core.decision import Decision
from mhpc.core.sources import SourceFacts
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.votes import Votes
from mhpc.errors import UnwritableError

Top: TypeAlias = int | Literal["all"]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a small table; nan and None become empty cells."""
    with path.open("w", encoding="utf-8", newline="") as file:
        _write_rows(file, header, rows)


def write_labels(path: Path, decision: Decision, consolidation: Consolidation) -> None:
    """Write ``labels.csv``: instance, label, score; nothing for an instance without labels."""
    reason, labels = decision.reason, decision.taxonomy.labels

    def rows() -> Iterator[tuple[str, str, float]]:
        for span, block in blocks(consolidation.score):
            for at, scores in zip(range(*span.indices(reason.shape[0])), block, strict=True):
                for label in reason.indices[reason.indptr[at] : reason.indptr[at + 1]]:
                    yield decision.instances[at], labels[label], float(scores[label])

    write_csv(path, ("instance", "label", "score"), rows())


def write_sources(path: Path, sources: Sequence[SourceFacts]) -> None:
    """Write ``sources.csv``, a row a source."""
    rows = ((s.source, s.answers, s.coverage, s.mean_depth, s.agreement) for s in sources)
    write_csv(path, ("source", "answers", "coverage", "mean_depth", "agreement"), rows)


def write_taxonomy(path: Path, taxonomy: Taxonomy) -> None:
    """Write ``taxonomy.csv``: label, parent, name; a row a parent, an empty one for roots."""

    def rows() -> Iterator[tuple[str, str, str]]:
        for label, (id_, name) in enumerate(zip(taxonomy.labels, taxonomy.names, strict=True)):
            above = [taxonomy.labels[parent] for parent in taxonomy.parents_of(label)]
            for parent in above or [""]:
                yield id_, parent, name

    write_csv(path, ("label", "parent", "name"), rows())


def write_votes(target: str | Path, votes: Votes) -> None:
    """Write the canonical votes table as CSV; ``-`` is standard output.

    A file is written beside its place and moved there, so that it is whole or not there. The
    column ``score`` is left out where no vote is graded.
    """
    graded = bool((votes.score != 1).any())
    header = ("instance", "source", "label", *(("score",) if graded else ()))
    if str(target) == "-":
        _write_rows(sys.stdout, header, _votes_rows(votes, graded=graded))
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


def write_scores(path: Path, consolidation: Consolidation, *, top: Top) -> None:
    """Write ``scores.parquet``: instance, label, score, specific; the best of each instance first.

    ``top=20`` keeps the labels that are among the best 20 in either view and above 0. An
    instance without any keeps one label, so that it is not lost.
    """
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE cells (row BIGINT, label BIGINT, score DOUBLE, specific DOUBLE)"
        )
        for columns in _cells(consolidation, top):
            connection.register("block", dict(columns))
            connection.execute("INSERT INTO cells SELECT * FROM block")
            connection.unregister("block")
        _register_ids(connection, "instances", consolidation.instances.ids)
        _register_ids(connection, "labels", consolidation.taxonomy.labels.ids)
        _copy_scores(connection, path)


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


def _copy_scores(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    target = str(path).replace("'", "''")
    try:
        connection.execute(
            "COPY (SELECT instances.id AS instance, labels.id AS label, score, specific "
            "FROM cells JOIN instances ON cells.row = instances.place "
            "JOIN labels ON cells.label = labels.place "
            "ORDER BY cells.row, score DESC, specific DESC, cells.label) "
            f"TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
        )
    except duckdb.IOException as error:
        raise UnwritableError(f"{path} cannot be written: {error}") from None


def _write_rows(file: TextIO, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    writer = csv.writer(_UnixLines(file), lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(["" if cell != cell else cell for cell in row] for row in rows)


@dataclass(frozen=True)
class _UnixLines:
    """Ends lines as Unix does; told to do so itself, csv leaves a carriage return unquoted."""

    file: TextIO

    def write(self, line: str) -> int:
        return self.file.write(line.removesuffix("\r\n") + "\n")


def _votes_rows(votes: Votes, *, graded: bool) -> Iterator[tuple[str | float, ...]]:
    for i, s, k, score in zip(
        votes.instance.tolist(), votes.source.tolist(), votes.label.tolist(), votes.score.tolist(),
        strict=True,
    ):  # fmt: skip
        label = votes.labels[k] if k >= 0 else ""
        yield (votes.instances[i], votes.sources[s], label, *((score,) if graded else ()))


def _cells(consolidation: Consolidation, top: Top) -> Iterator[Mapping[str, Any]]:
    pairs = zip(blocks(consolidation.score), blocks(consolidation.specific), strict=True)
    for (span, score), (_, specific) in pairs:
        keep = (score > 0) | (specific > 0)
        if top != "all":
            keep &= _among_best(score, top) | _among_best(specific, top)
        keep[~keep.any(axis=1), 0] = True
        row, label = np.nonzero(keep)
        yield {
            "row": (row + span.start).astype(np.int64),
            "label": label.astype(np.int64),
            "score": score[row, label],
            "specific": specific[row, label],
        }


def _among_best(scores: FloatArray, top: int) -> Any:
    """Mark the best labels of each row, the earlier label first in a tie."""
    mask = np.zeros(scores.shape, dtype=bool)
    best: IntArray = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    np.put_along_axis(mask, best, True, axis=1)
    return mask


def _register_ids(connection: duckdb.DuckDBPyConnection, name: str, ids: tuple[str, ...]) -> None:
    columns = {"place": np.arange(len(ids)), "id": np.array(ids, dtype=object)}
    connection.register("ids", columns)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM ids")
    connection.unregister("ids")
