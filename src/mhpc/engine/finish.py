"""The last block of every run: scores to label sets, both to files, and what adds up of them."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mhpc.core.ahead import ahead
from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.best import best_cells
from mhpc.core.consolidation import Consolidation, ScoredCells, Top, walk
from mhpc.core.decision import Settled
from mhpc.core.entries import values_at
from mhpc.core.panel import Panel
from mhpc.core.parts import part_of
from mhpc.core.progress import Progress, silent
from mhpc.core.tally import Tally
from mhpc.explain.sources import tally
from mhpc.write.streams import labels_stream, scores_stream


def finish(
    folder: Path,
    panel: Panel,
    consolidation: Consolidation,
    settled: Settled,
    *,
    top: Top,
    scope: Sparse | None = None,
    progress: Progress = silent,
) -> Tally:
    """Write ``scores.parquet`` and ``labels.csv`` in one walk over the instances.

    Scores that are made when they are asked for are so made once.

    Parameters
    ----------
    folder : Path
        Where to.
    panel, consolidation, settled
        The answers, the scores, and what decides on them.
    top : int or "all"
        How many labels of each instance to keep in scores.parquet.
    scope : csr_array, (M, K), or None
        What sources can speak about where it comes to who contradicts whom; None: as the panel has
        it.
    progress : callable
        Told after every block.
    """
    instances, labels = consolidation.instances, consolidation.taxonomy.labels
    panel = panel if scope is None else replace(panel, scope=scope)
    found: Tally | None = None

    def work(span: slice) -> _Finished:
        return _finished(span, panel, consolidation, settled, top)

    with ExitStack() as files:
        add_scores = files.enter_context(
            scores_stream(folder / "scores.parquet", instances, labels)
        )
        add_labels = files.enter_context(labels_stream(folder / "labels.csv", instances, labels))
        for block in ahead(work, walk(consolidation)):
            add_scores(block.cells)
            add_labels(block.row, block.label, block.score)
            found = block.counts if found is None else found + block.counts
            progress("writing", found.instances, len(instances))
    if found is None:
        raise ValueError("a panel has at least one instance")
    return found


@dataclass(frozen=True, eq=False)
class _Finished:
    """A block of instances: cells of the scores, label sets, and what was counted."""

    cells: ScoredCells
    row: IntArray
    label: IntArray
    score: FloatArray
    counts: Tally


def _finished(
    span: slice, panel: Panel, consolidation: Consolidation, settled: Settled, top: Top
) -> _Finished:
    score, specific = consolidation.score[span], consolidation.specific[span]
    reason = settled.sets(score, specific, consolidation.taxonomy)
    row = np.repeat(np.arange(reason.shape[0]), np.diff(reason.indptr))
    return _Finished(
        cells=best_cells(span.start, score, specific, top=top),
        row=row + span.start,
        label=reason.indices,
        score=values_at(score, row, reason.indices),
        counts=tally(part_of(panel, span), score, reason, level=settled.parameters.get("level")),
    )
