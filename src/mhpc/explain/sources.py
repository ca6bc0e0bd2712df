"""How each source answered, and how far the result upholds it."""

import numpy as np
from scipy import sparse

from mhpc.core.arrays import Block, FloatArray, Sparse
from mhpc.core.conflicts import KEPT
from mhpc.core.entries import values_at
from mhpc.core.index import Index
from mhpc.core.kinship import Kinship
from mhpc.core.panel import Panel
from mhpc.core.sources import Copy, SourceFacts
from mhpc.core.tally import Tally
from mhpc.core.taxonomy import Taxonomy
from mhpc.explain.disputes import Disputes, disputes_in
from mhpc.explain.gain import EVEN, contested
from mhpc.explain.intervals import share
from mhpc.explain.said import Said, said_in
from mhpc.explain.weaknesses import weaknesses

_COPY, _NEAR = 0.95, 0.5
"""Kinship of a copy: all but a twentieth of what skill leaves open is shared; and of a near-copy:
more of it is shared than its own."""


def tally(
    panel: Panel, score: Block, reason: Sparse, *, level: float | None = None, most: int = KEPT
) -> Tally:
    """Count what sources said, how far label sets uphold it, and what is in dispute.

    Parameters
    ----------
    panel : Panel
        Some instances.
    score : array or csr_array, (N, K)
        Their scores.
    reason : csr_array, (N, K)
        Their label sets, as `Decision.reason` has them.
    level : float, optional
        The score from which on labels are chosen; a half where the rule has none.
    most : int
        How many contested instances to keep.
    """
    said = said_in(panel)
    found = disputes_in(panel, said)
    sizes = np.diff(reason.indptr)
    owned, wrong, by_answer = _held(panel, said, reason)
    return Tally(
        instances=len(panel.instances),
        chosen=int(sizes.sum()),
        without=int((sizes == 0).sum()),
        by_source=by_answer,
        by_label=_by_label(panel, found, reason),
        said=owned,
        wrong=wrong,
        contested=contested(panel, found, score, reason, level or EVEN, most=most),
    )


def source_facts(
    found: Tally, sources: Index, kin: Kinship, taxonomy: Taxonomy
) -> tuple[SourceFacts, ...]:
    """Return the facts of every source, in the order of the index."""
    answers, votes, depths, upheld, refined = found.by_source
    said = np.asarray(found.said.sum(axis=1)).ravel()
    mean_depth, voice = _ratio(depths, votes), kin.voice
    nearest, kinship = kin.nearest
    errs = weaknesses(found.said, found.wrong, taxonomy)
    return tuple(
        SourceFacts(
            source=source,
            answers=int(answers[m]),
            coverage=float(answers[m] / found.instances),
            mean_depth=float(mean_depth[m]),
            accurate=share(upheld[m] - refined[m], said[m]),
            vague=share(refined[m], said[m]),
            wrong=share(said[m] - upheld[m], said[m]),
            voice=float(voice[m]),
            kin=sources[nearest[m]] if kinship[m] > 0 else "",
            kinship=float(kinship[m]),
            copy=_copy(float(kinship[m])),
            errs=errs[m],
        )
        for m, source in enumerate(sources)
    )


def _held(panel: Panel, said: Said, reason: Sparse) -> tuple[Sparse, Sparse, FloatArray]:
    """Return what sources said at their most specific, what of it is wrong, and their counts."""
    K = len(panel.taxonomy)
    answer = np.repeat(np.arange(len(panel.source)), np.diff(said.deepest.indptr))
    label, row = said.deepest.indices.astype(np.int64), panel.instance[answer]
    wrong = values_at(reason, row, label) == 0
    # With a label a set has its ancestors, so that parents of what it has are in it.
    refined = values_at((reason.astype(float) @ panel.taxonomy.parents).tocsr(), row, label) > 0
    source = panel.source[answer]
    shape = (len(panel.sources), K)
    ones = np.ones(len(label))
    owned = sparse.csr_array((ones, (source, label)), shape=shape)
    unheld = sparse.csr_array((ones[wrong], (source[wrong], label[wrong])), shape=shape)
    votes = np.diff(panel.raw.indptr).astype(float)
    depths = np.asarray(panel.raw.astype(bool) @ panel.taxonomy.depth.astype(float))
    counts = [
        *(
            np.bincount(panel.source, values, minlength=shape[0])
            for values in (None, votes, depths)
        ),
        *(np.bincount(source, mask, minlength=shape[0]) for mask in (~wrong, refined)),
    ]
    return owned, unheld, np.stack(counts).astype(float)


def _by_label(panel: Panel, found: Disputes, reason: Sparse) -> FloatArray:
    K = len(panel.taxonomy)
    labels = (panel.raw.indices, found.upheld.indices, reason.indices, found.label)
    return np.stack([np.bincount(each, minlength=K) for each in labels]).astype(float)


def _copy(kinship: float) -> Copy | None:
    return "copy" if kinship >= _COPY else "near-copy" if kinship > _NEAR else None


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    found = np.full(len(part), np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found
