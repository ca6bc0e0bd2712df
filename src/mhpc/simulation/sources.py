"""Algorithm 2 of the paper: simulated answers of vague and noisy sources to labelled instances."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy, unknown_label_message
from mhpc.data.votes import NONE_OF_THESE, Truth, Votes
from mhpc.errors import ParameterError, TooLargeError, UnknownLabelError, pluralize
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.parameters import check_seed, is_number, show_value
from mhpc.system.memory import format_size, memory_limit

_BYTES_PER_LABEL = 200
"""Memory that a true label takes while the answer of a source to it is simulated."""

ABOVE = -1
"""The position above all roots: a label that gets there is not given at all."""


@dataclass(frozen=True)
class Profile:
    """How a simulated source answers.

    Attributes
    ----------
    specificity : float in [0, 1]
        The paper's alpha_vague: a label on level l is not replaced by its parent with probability
        specificity ** l, so a *smaller* value means a vaguer source. 1 is never vague.
    accuracy : float in [0, 1]
        The paper's alpha_noise: the probability that a label is *not* replaced by one drawn
        from its siblings, itself among them. A smaller value means more noise.
    coverage : float in [0, 1]
        The probability that the source answers an instance at all.

    Examples
    --------
    >>> Profile(accuracy=0.9)
    Profile(specificity=0.8, accuracy=0.9, coverage=1.0)
    """

    specificity: float = 0.8
    accuracy: float = 0.5
    coverage: float = 1.0

    def __post_init__(self) -> None:
        for name in ("specificity", "accuracy", "coverage"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value <= 1:
                raise ParameterError(
                    f"{name} = {show_value(value)} is not allowed; give a number from 0 to 1"
                )


def simulate(
    truth: Truth,
    taxonomy: Taxonomy,
    sources: Sequence[Profile],
    *,
    seed: int,
    names: Sequence[str] | None = None,
) -> Votes:
    """Return the simulated votes of sources with the given profiles (Algorithm 2).

    Every source draws p_V and p_N for every true label. The label is replaced by its parent as
    long as p_V > specificity ** level; above a root it is lost. Then, if p_N > accuracy, it is
    replaced by a label drawn from its siblings and itself. An answer that loses all its labels is
    "none of these".

    Parameters
    ----------
    truth : Truth
        The labels to corrupt, usually the most specific ones.
    taxonomy : Taxonomy
        Of several parents, one is drawn at random.
    sources : sequence of Profile
        One profile per source.
    seed : int
        The same seed gives the same votes.
    names : sequence of str, optional
        Ids of the sources; ``s1``, ``s2``, … unless given.
    """
    if not sources:
        raise ParameterError("sources = 0 is not allowed; simulate at least one source")
    if names is not None and len(names) != len(sources):
        raise ParameterError(
            f"names has {pluralize(len(names), 'id')}, and there are {len(sources):,} sources; "
            "give one for each"
        )
    check_seed(seed)
    rng = np.random.default_rng(seed)
    M, N, R = len(sources), len(truth.instances), len(truth)
    _check_memory(M, R)
    true = _locate_labels(truth, taxonomy)
    asked = rng.random((M, N)) < _column(sources, "coverage")
    p_V, p_N = rng.random((M, R)), rng.random((M, R))
    label = np.broadcast_to(true, (M, R)).ravel().copy()
    specificity = np.repeat(_column(sources, "specificity").ravel(), R)
    accuracy = np.repeat(_column(sources, "accuracy").ravel(), R)
    label = make_vague(label, p_V.ravel(), specificity, taxonomy, rng)
    label = make_noisy(label, p_N.ravel() > accuracy, taxonomy, rng)
    source = np.repeat(np.arange(M), R)
    instance = np.tile(truth.instance, M)
    is_asked = asked[source, instance]
    index = Index(tuple(names) if names is not None else tuple(f"s{m + 1}" for m in range(M)))
    return make_votes(truth, taxonomy, index, instance[is_asked], source[is_asked], label[is_asked])


def _check_memory(n_sources: int, n_labels: int) -> None:
    needed, limit = _BYTES_PER_LABEL * n_sources * n_labels, memory_limit()
    if needed > limit:
        raise TooLargeError(
            f"answers of {pluralize(n_sources, 'source')} to {pluralize(n_labels, 'true label')} "
            f"need about {format_size(needed)}, and {format_size(limit)} may be used; simulate "
            "fewer sources"
        )


def _locate_labels(truth: Truth, taxonomy: Taxonomy) -> IntArray:
    position = taxonomy.locate(truth.labels)
    if (position < 0).any():
        unknown = truth.labels[int(np.flatnonzero(position < 0)[0])]
        raise UnknownLabelError(
            f"{truth.origin}: {unknown_label_message(taxonomy, unknown)}; "
            "correct it, or add it to the taxonomy"
        )
    return np.append(position, ABOVE)[truth.label]


def _column(sources: Sequence[Profile], name: str) -> FloatArray:
    return np.array([[getattr(profile, name)] for profile in sources])


def make_vague(
    label: IntArray,
    p_V: FloatArray,
    specificity: FloatArray,
    taxonomy: Taxonomy,
    rng: np.random.Generator,
) -> IntArray:
    """Replace labels by their parents, one level at a time, while p_V > specificity ** level."""
    level = np.append(taxonomy.depth, 0)
    while True:
        moving = np.flatnonzero((label != ABOVE) & (p_V > specificity ** level[label]))
        if not len(moving):
            return label
        label[moving] = _draw_parents(label[moving], taxonomy, rng)


def make_noisy(
    label: IntArray, swapped: BoolArray, taxonomy: Taxonomy, rng: np.random.Generator
) -> IntArray:
    """Replace the swapped labels by a sibling or themselves: a child of one of their parents."""
    swapped_rows = np.flatnonzero(swapped & (label != ABOVE))
    parent = _draw_parents(label[swapped_rows], taxonomy, rng)
    is_root = parent == ABOVE
    label[swapped_rows[is_root]] = rng.choice(taxonomy.roots, size=int(is_root.sum()))
    label[swapped_rows[~is_root]] = _draw_columns(taxonomy.children, parent[~is_root], rng)
    return label


def _draw_parents(label: IntArray, taxonomy: Taxonomy, rng: np.random.Generator) -> IntArray:
    parent = np.full(len(label), ABOVE)
    has_parent = np.diff(taxonomy.parents.indptr)[label] > 0
    parent[has_parent] = _draw_columns(taxonomy.parents, label[has_parent], rng)
    return parent


def _draw_columns(matrix: Sparse, row: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw one of the stored columns of each row."""
    start, stop = matrix.indptr[row], matrix.indptr[row + 1]
    return np.asarray(matrix.indices[rng.integers(start, stop)], dtype=np.int64)


def make_votes(
    truth: Truth,
    taxonomy: Taxonomy,
    sources: Index,
    instance: IntArray,
    source: IntArray,
    label: IntArray,
) -> Votes:
    """Return votes without duplicates; an answer without labels is one "none of these"."""
    votes = np.unique(np.stack([instance, source, label], axis=1), axis=0)
    instance, source, label = votes.T
    answer = instance * len(sources) + source
    is_empty = ~np.isin(answer, answer[label != ABOVE])
    keep = (label != ABOVE) | is_empty
    return Votes(
        instances=truth.instances,
        sources=sources,
        labels=taxonomy.labels,
        instance=instance[keep],
        source=source[keep],
        label=np.where(label[keep] == ABOVE, NONE_OF_THESE, label[keep]),
        score=np.ones(int(keep.sum())),
        origin="the simulated votes",
    )
