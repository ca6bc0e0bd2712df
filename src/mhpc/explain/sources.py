"""How each source answered, and how far the result upholds it."""

import numpy as np

from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.decision import Decision
from mhpc.core.panel import Panel
from mhpc.core.sources import SourceFacts


def source_facts(panel: Panel, decision: Decision) -> tuple[SourceFacts, ...]:
    """Return the facts of every source, in the panel's order."""
    votes = np.diff(panel.raw.indptr)
    depths = _row_sums(panel.raw.astype(bool) * panel.taxonomy.depth.astype(float))
    chosen = decision.reason[panel.instance].astype(bool)
    said = _row_sums(panel.augmented)
    upheld = _row_sums(panel.augmented.multiply(chosen).tocsr())
    answers = panel.answers_per_source
    mean_depth = _ratio(_by_source(panel, depths), _by_source(panel, votes))
    agreement = _ratio(_by_source(panel, upheld), _by_source(panel, said))
    return tuple(
        SourceFacts(
            source=source,
            answers=int(answers[m]),
            coverage=float(answers[m] / len(panel.instances)),
            mean_depth=float(mean_depth[m]),
            agreement=float(agreement[m]),
        )
        for m, source in enumerate(panel.sources)
    )


def _row_sums(matrix: Sparse) -> FloatArray:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _by_source(panel: Panel, values: FloatArray) -> FloatArray:
    totals = np.bincount(panel.source, weights=values, minlength=len(panel.sources))
    return totals.astype(np.float64)


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    share = np.full(len(part), np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share
