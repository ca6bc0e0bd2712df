"""How each source answered, and how far the result upholds it."""

import numpy as np

from mhpc.core.arrays import FloatArray, Sparse
from mhpc.core.hierarchy import deepest
from mhpc.core.index import Index
from mhpc.core.kinship import Kinship
from mhpc.core.panel import Panel
from mhpc.core.sources import Share, SourceFacts
from mhpc.core.tally import Tally

_NINETY_FIVE = 1.959964
"""The normal quantile of a 95 % interval."""


def tally(panel: Panel, reason: Sparse) -> Tally:
    """Count what sources said and how far label sets, as `Decision.reason` has them, uphold it."""
    votes = np.diff(panel.raw.indptr).astype(float)
    depths = _row_sums(panel.raw.astype(bool) * panel.taxonomy.depth.astype(float))
    ones = np.ones(len(panel.source))
    counts = (ones, votes, depths, *_held(panel, reason))
    sizes = np.diff(reason.indptr)
    return Tally(
        instances=len(panel.instances),
        chosen=int(sizes.sum()),
        without=int((sizes == 0).sum()),
        by_source=np.stack([_by_source(panel, count) for count in counts]),
    )


def source_facts(found: Tally, sources: Index, kin: Kinship) -> tuple[SourceFacts, ...]:
    """Return the facts of every source, in the order of the index."""
    answers, votes, depths, said, upheld, refined = found.by_source
    mean_depth, voice = _ratio(depths, votes), kin.voice
    nearest, kinship = kin.nearest
    return tuple(
        SourceFacts(
            source=source,
            answers=int(answers[m]),
            coverage=float(answers[m] / found.instances),
            mean_depth=float(mean_depth[m]),
            reliability=share(upheld[m], said[m]),
            vagueness=share(refined[m], upheld[m]),
            voice=float(voice[m]),
            kin=sources[nearest[m]] if kinship[m] > 0 else "",
            kinship=float(kinship[m]),
        )
        for m, source in enumerate(sources)
    )


def share(part: float, whole: float) -> Share:
    """Return a share with its Wilson interval, which stays within 0 and 1 and off their edges."""
    if whole <= 0:
        return Share(np.nan, np.nan, np.nan)
    p, z = part / whole, _NINETY_FIVE**2 / whole
    middle = (p + z / 2) / (1 + z)
    reach = np.sqrt(z * (p * (1 - p) + z / 4)) / (1 + z)
    return Share(float(p), float(max(middle - reach, 0.0)), float(min(middle + reach, 1.0)))


def _held(panel: Panel, reason: Sparse) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, for every answer, how many most specific labels it has, upheld, and refined.

    Upheld are those that the result has too, refined those of them below which it has others.
    """
    said = deepest(panel.augmented.astype(bool).astype(float), panel.taxonomy)
    chosen = reason.astype(bool).astype(float).tocsr()
    refined = (chosen - deepest(chosen, panel.taxonomy)).tocsr()
    rows = panel.instance
    return (
        _row_sums(said),
        _row_sums(said.multiply(chosen[rows]).tocsr()),
        _row_sums(said.multiply(refined[rows]).tocsr()),
    )


def _row_sums(matrix: Sparse) -> FloatArray:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _by_source(panel: Panel, values: FloatArray) -> FloatArray:
    totals = np.bincount(panel.source, weights=values, minlength=len(panel.sources))
    return totals.astype(np.float64)


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    found = np.full(len(part), np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found
