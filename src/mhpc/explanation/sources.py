"""Source profiles and where they err."""

from functools import reduce
from operator import add

import numpy as np
from scipy import sparse

from mhpc.data.decision import Decision
from mhpc.data.disagreement import MAX_RANKED
from mhpc.data.index import Index
from mhpc.data.panel import Panel, PanelPartitions, panel_block
from mhpc.data.profiles import Copy, Proportion, SourceDependence, SourceProfile, Weakness
from mhpc.data.scores import Consolidation, instance_blocks
from mhpc.data.summary import RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.explanation.disagreement import (
    EVEN,
    Disputes,
    Said,
    collect_answers,
    find_disputes,
    rank_disagreements,
)
from mhpc.methods.source_dependence import estimate_dependence
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import values_at

_NINETY_FIVE = 1.959964
"""The normal quantile of a 95 % interval."""


def proportion(part: float, whole: float) -> Proportion:
    """Return a share with its 95 % interval; nan where there is nothing to have a share of."""
    if whole <= 0:
        return Proportion(np.nan, np.nan, np.nan)
    low, high = wilson(np.array([part]), np.array([whole]))
    return Proportion(float(part / whole), float(low[0]), float(high[0]))


def wilson(part: FloatArray, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's 95 % intervals, which stay within 0 and 1 and off their edges."""
    p, z = part / whole, _NINETY_FIVE**2 / whole
    middle = (p + z / 2) / (1 + z)
    reach = np.sqrt(z * (p * (1 - p) + z / 4)) / (1 + z)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


MOST = 5
"""Subtrees that are told of a source."""


def weaknesses(said: Sparse, wrong: Sparse, taxonomy: Taxonomy) -> tuple[tuple[Weakness, ...], ...]:
    """Return, for every source, the subtrees in which it errs more than elsewhere.

    They come by how many more of its labels are wrong there than its share of wrong labels would
    let expect, as far as that is sure: said x (lower end of the interval of wrong / said - share).
    None lies within another. So neither a subtree counts that merely holds many labels, as the
    whole hierarchy, nor one mistake out of one.

    Parameters
    ----------
    said, wrong : csr_array, (M, K)
        Most specific labels that each source said, and those that are not in the result.
    """
    within = [(each @ taxonomy.closure).tocsr() for each in (said, wrong)]
    totals = [np.asarray(each.sum(axis=1)).ravel() for each in (said, wrong)]
    found: list[tuple[Weakness, ...]] = []
    for m, (all_said, all_wrong) in enumerate(zip(*totals, strict=True)):
        if not all_wrong:
            found.append(())
            continue
        label, errors = _row(within[1], m)
        spoken, count = _row(within[0], m)
        # Who was wrong at a label said it, so that all of these are there.
        count = count[np.searchsorted(spoken, label)]
        found.append(_worst(label, count, errors, all_wrong / all_said, taxonomy))
    return tuple(found)


def _worst(
    label: IntArray, said: FloatArray, wrong: FloatArray, rate: float, taxonomy: Taxonomy
) -> tuple[Weakness, ...]:
    excess = said * (wilson(wrong, said)[0] - rate)
    taken: list[int] = []
    # Of a chain with the same errors the deepest says most.
    for at in np.lexsort((label, -taxonomy.depth[label], -excess)):
        if len(taken) == MOST or excess[at] <= 0:
            break
        if not any(_related(label[at], label[other], taxonomy) for other in taken):
            taken.append(int(at))
    return tuple(
        Weakness(taxonomy.labels[label[at]], int(said[at]), int(wrong[at])) for at in taken
    )


def _related(one: int, other: int, taxonomy: Taxonomy) -> bool:
    return bool(one in taxonomy.ancestors_of(other) or other in taxonomy.ancestors_of(one))


def _row(matrix: Sparse, row: int) -> tuple[IntArray, FloatArray]:
    """Return the labels of a row, in order, and their values."""
    cells = slice(matrix.indptr[row], matrix.indptr[row + 1])
    label = matrix.indices[cells].astype(np.int64)
    order = np.argsort(label)
    return label[order], matrix.data[cells][order]


_COPY, _NEAR = 0.95, 0.5
"""Kinship of a copy: all but a twentieth of what skill leaves open is shared; and of a near-copy:
more of it is shared than its own."""


def count_block(
    panel: Panel,
    score: Block,
    reason: Sparse,
    *,
    level: float | None = None,
    most: int = MAX_RANKED,
) -> RunCounts:
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
    said = collect_answers(panel)
    found = find_disputes(panel, said)
    sizes = np.diff(reason.indptr)
    owned, wrong, by_answer = _held(panel, said, reason)
    return RunCounts(
        instances=len(panel.instances),
        chosen=int(sizes.sum()),
        without=int((sizes == 0).sum()),
        by_source=by_answer,
        by_label=_by_label(panel, found, reason),
        said=owned,
        wrong=wrong,
        disagreements=rank_disagreements(panel, found, score, reason, level or EVEN, most=most),
    )


def make_profiles(
    found: RunCounts, sources: Index, kin: SourceDependence, taxonomy: Taxonomy
) -> tuple[SourceProfile, ...]:
    """Return the facts of every source, in the order of the index."""
    answers, votes, depths, upheld, refined = found.by_source
    said = np.asarray(found.said.sum(axis=1)).ravel()
    mean_depth, voice = _ratio(depths, votes), kin.independence
    nearest, kinship = kin.nearest
    errs = weaknesses(found.said, found.wrong, taxonomy)
    return tuple(
        SourceProfile(
            source=source,
            answers=int(answers[m]),
            coverage=float(answers[m] / found.instances),
            mean_depth=float(mean_depth[m]),
            accurate=proportion(upheld[m] - refined[m], said[m]),
            vague=proportion(refined[m], said[m]),
            wrong=proportion(said[m] - upheld[m], said[m]),
            independence=float(voice[m]),
            nearest_source=sources[nearest[m]] if kinship[m] > 0 else "",
            dependence=float(kinship[m]),
            copy=_copy(float(kinship[m])),
            weaknesses=errs[m],
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


def count_run(
    panel: Panel, consolidation: Consolidation, decision: Decision, *, most: int = MAX_RANKED
) -> RunCounts:
    """Count what sources said and how far label sets uphold it, block by block."""
    level = decision.parameters.get("threshold")
    tallies = (
        count_block(
            panel_block(panel, span), consolidation.score[span], decision.reason[span], level=level,
            most=most,
        )
        for span in instance_blocks(consolidation)
    )  # fmt: skip
    return reduce(add, tallies)


def profile_sources(
    parts: PanelPartitions, shape: Panel, found: RunCounts
) -> tuple[SourceProfile, ...]:
    """Return what there is to tell of the sources."""
    facts = make_profiles(found, parts.sources, estimate_dependence(parts), parts.taxonomy)
    # What is known is a source to learn from, not one to tell of.
    return facts if shape.gold is None else facts[:-1]
