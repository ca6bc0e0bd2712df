"""Tables: votes, taxonomies and outcomes as columns, block by block."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from mhpc.core.arrays import dense
from mhpc.core.best import scored_cells
from mhpc.core.consolidation import BLOCK_CELLS
from mhpc.core.outcome import Outcome
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.votes import Votes
from mhpc.write.formats.format import What

Kind: TypeAlias = Literal["text", "number", "flag"]
Block: TypeAlias = tuple[np.ndarray, ...]

_ROWS = 1 << 17
"""Rows of a block."""


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, and blocks of their cells; None is an empty cell."""

    columns: Mapping[str, Kind]
    blocks: Callable[[], Iterator[Block]]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Walk over the rows, as plain Python values."""
        for block in self.blocks():
            yield from zip(*(column.tolist() for column in block), strict=True)


def table_of(subject: Any, what: What) -> Table:
    """Return whatever can be written as a table."""
    return _TABLES[what](subject)


def votes_table(votes: Votes) -> Table:
    """Return instance, source, label and, where some vote is graded, score."""
    graded = bool((votes.score != 1).any())
    ids = [_ids(axis.ids) for axis in (votes.instances, votes.sources)]
    # One more, at the end, for the answer without a label: its position is -1.
    ids.append(_ids((*votes.labels.ids, None)))
    positions = (votes.instance, votes.source, votes.label)

    def blocks() -> Iterator[Block]:
        for span in _spans(len(votes)):
            texts = [of[at[span]] for of, at in zip(ids, positions, strict=True)]
            yield (*texts, *([votes.score[span]] if graded else []))

    columns: dict[str, Kind] = {"instance": "text", "source": "text", "label": "text"}
    return Table({**columns, **({"score": "number"} if graded else {})}, blocks)


def taxonomy_table(taxonomy: Taxonomy) -> Table:
    """Return label, parent and name: a row a parent, an empty one for roots."""
    parents, labels = taxonomy.parents, len(taxonomy)
    count = np.maximum(np.diff(parents.indptr), 1)
    child = np.repeat(np.arange(labels), count)
    above = np.full(len(child), -1)
    above[np.diff(parents.indptr)[child] > 0] = parents.indices
    ids = _ids((*taxonomy.labels.ids, None))
    names = _ids(taxonomy.names)
    return Table(
        {"label": "text", "parent": "text", "name": "text"},
        lambda: iter([(ids[child], ids[above], names[child])]),
    )


def labels_table(outcome: Outcome) -> Table:
    """Return instance, label and score of every label that was chosen, as in ``labels.csv``."""
    chosen = outcome.chosen
    instances, labels = _ids(outcome.instances.ids), _ids(outcome.taxonomy.labels.ids)
    row = np.repeat(np.arange(chosen.shape[0]), np.diff(chosen.indptr))

    def blocks() -> Iterator[Block]:
        for span in _spans(chosen.nnz):
            yield instances[row[span]], labels[chosen.indices[span]], chosen.data[span]

    return Table({"instance": "text", "label": "text", "score": "number"}, blocks)


def scores_table(outcome: Outcome) -> Table:
    """Return instance, label, score and specific of every label with a score."""
    instances, labels = _ids(outcome.instances.ids), _ids(outcome.taxonomy.labels.ids)

    def blocks() -> Iterator[Block]:
        for cells in scored_cells(outcome.consolidation):
            yield instances[cells.row], labels[cells.label], cells.score, cells.specific

    numbers: dict[str, Kind] = {"score": "number", "specific": "number"}
    return Table({"instance": "text", "label": "text", **numbers}, blocks)


def wide_table(outcome: Outcome) -> Table:
    """Return a row an instance and a column a label: 1 where the instance has it, else 0."""
    chosen, labels = outcome.chosen, outcome.taxonomy.labels
    instances = _ids(outcome.instances.ids)

    def blocks() -> Iterator[Block]:
        for span in _spans(chosen.shape[0], step=max(1, BLOCK_CELLS // len(labels))):
            some = chosen[span].copy()
            some.data = np.ones(some.nnz, dtype=np.float64)
            yield (instances[span], *dense(some).astype(np.int8).T)

    # A label may be called "instance" too; columns are told apart by a mark that no label has.
    first = "instance"
    while first in labels:
        first += "_"
    return Table({first: "text", **dict.fromkeys(labels, "flag")}, blocks)


_TABLES: Mapping[str, Callable[[Any], Table]] = {
    "votes": votes_table,
    "taxonomy": taxonomy_table,
    "labels": labels_table,
    "scores": scores_table,
    "wide": wide_table,
}


def _ids(texts: Sequence[str | None]) -> np.ndarray:
    return np.array(texts, dtype=object)


def _spans(rows: int, *, step: int = _ROWS) -> Iterator[slice]:
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
