"""Simulated panels with a known truth, of many kinds, to learn from and to measure on.

The seed of a world determines everything: its taxonomy, how many labels are true of an instance,
who answers, and how. Every instance shows some *evidence* for every leaf of the taxonomy: much for
true ones, some for those that only look true. A source perceives this evidence more or less
clearly, with noise of its own, and turns it into an answer: all labels above a threshold, the best
one, an ancestor that it is sure enough of, scores, or a ranked list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from scipy.special import expit, softmax

from mhpc.data.hierarchy import propagate_up
from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import NONE_OF_THESE, Truth, Votes
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, dense

TruthKind: TypeAlias = Literal["one", "nearly one", "several", "none or some"]
"""How many labels are true: one; rarely two; several; often none."""

PanelKind: TypeAlias = Literal["crowd", "classifiers", "tools"]
"""Who answers: many people, each a few instances; classifiers, every instance; tools, which are
silent more often where instances are unclear, and never answer "none of these"."""

AnswerKind: TypeAlias = Literal["sets", "top", "vague", "scores", "ranked"]
"""What an answer is: all labels above a threshold; the best label; the deepest label that is
likely enough; scores on a scale of the source; the best labels by rank."""

TRUTH_KINDS: Mapping[TruthKind, float] = {
    "one": 0.4, "nearly one": 0.15, "several": 0.3, "none or some": 0.15,
}  # fmt: skip
PANEL_KINDS: Mapping[PanelKind, float] = {"crowd": 0.35, "classifiers": 0.4, "tools": 0.25}
ANSWER_KINDS: Mapping[AnswerKind, float] = {
    "sets": 0.3, "top": 0.17, "vague": 0.21, "scores": 0.2, "ranked": 0.12,
}  # fmt: skip
"""How often each kind occurs, before kinds of answers that do not suit the truth are replaced."""

N_LEVELS: Mapping[int, float] = {1: 0.15, 2: 0.25, 3: 0.3, 4: 0.2, 5: 0.1}
"""How often a taxonomy has each number of levels."""

LOOKS_LIKE = 0.6
"""A leaf looks like the true ones if it shares more than this part of their ancestors below the
root, summed over the true ones: siblings do on four levels or more."""

MIN_SCORE = 0.01
"""Lower scores are not given."""

_TINY = 1e-9

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class WorldSettings:
    """What kind of world a seed drew.

    Attributes
    ----------
    truth, panel, answers : str
        The kinds of truths, sources and answers.
    n_instances, n_sources : int
        The size of the panel.
    inner_share : float
        The share of the instances with one label whose true label is an inner node; mostly 0.
    """

    truth: TruthKind
    panel: PanelKind
    answers: AnswerKind
    n_instances: int
    n_sources: int
    inner_share: float


@dataclass(frozen=True, eq=False)
class World:
    """A simulated panel and its truth."""

    settings: WorldSettings
    taxonomy: Taxonomy
    votes: Votes
    truth: Truth


def make_world(seed: int) -> World:
    """Return the world of a seed: votes of simulated sources, and the truth behind them."""
    rng = np.random.default_rng(seed)
    tree = _draw_tree(rng)
    settings = _draw_settings(rng)
    popularity = _draw_popularity(rng, len(tree.leaves))
    instances = _draw_instances(rng, tree, settings, popularity)
    sources = _draw_sources(rng, tree, settings)
    bias = rng.uniform(0, 0.25) * np.log(popularity * len(tree.leaves))
    ids = Index(tuple(f"i{number}" for number in range(settings.n_instances)))
    votes = _collect_votes(rng, tree, settings, instances, sources, bias, ids)
    return World(settings, tree.taxonomy, votes, _make_truth(instances.truth, tree, ids))


def _draw_settings(rng: np.random.Generator) -> WorldSettings:
    truth, panel = _draw_kind(rng, TRUTH_KINDS), _draw_kind(rng, PANEL_KINDS)
    answers = _draw_kind(rng, ANSWER_KINDS)
    if truth in ("several", "none or some") and answers in ("top", "vague"):
        answers = "sets"
    if truth == "one" and answers == "sets" and rng.random() < 0.4:
        answers = "vague"
    return WorldSettings(
        truth=truth,
        panel=panel,
        answers=answers,
        n_instances=_draw_size(rng, 150, 500),
        n_sources=_draw_n_sources(rng, panel),
        inner_share=rng.uniform(0.1, 0.6) if rng.random() < 0.25 else 0.0,
    )


def _draw_kind(rng: np.random.Generator, kinds: Mapping[Kind, float]) -> Kind:
    return list(kinds)[rng.choice(len(kinds), p=list(kinds.values()))]


def _draw_size(rng: np.random.Generator, low: float, high: float) -> int:
    """Return a whole number between two, small ones as often as large ones."""
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


def _draw_n_sources(rng: np.random.Generator, panel: PanelKind) -> int:
    if panel == "crowd":
        return _draw_size(rng, 4, 60)
    return int(rng.integers(3, 15) if panel == "classifiers" else rng.integers(2, 10))


@dataclass(frozen=True, eq=False)
class _Tree:
    """A taxonomy whose L leaves are all on its last level.

    Attributes
    ----------
    closure : bool array, (K, K)
        Whether the second label is the first one itself or one of its ancestors.
    leaves : int array, (L,)
        The positions of the leaves.
    covers : bool array, (K, L)
        Whether the leaf is the label itself or one of its descendants.
    """

    taxonomy: Taxonomy
    closure: BoolArray
    leaves: IntArray
    covers: BoolArray

    @property
    def n_levels(self) -> int:
        return int(self.taxonomy.depth.max())

    @property
    def is_leaf(self) -> BoolArray:
        return np.isin(np.arange(len(self.taxonomy)), self.leaves)

    def raise_to_labels(self, leaf_scores: FloatArray) -> FloatArray:
        """Return the highest score of a leaf below every label, (n, L) -> (n, K)."""
        scores = np.zeros((len(leaf_scores), len(self.taxonomy)))
        scores[:, self.leaves] = leaf_scores
        return dense(propagate_up(scores, self.taxonomy))


def _draw_tree(rng: np.random.Generator) -> _Tree:
    """Return a tree of 3 to 150 leaves and up to 5 levels, with all leaves on the last level."""
    n_leaves, n_levels = _draw_size(rng, 3, 150), _draw_kind(rng, N_LEVELS)
    exponents = np.arange(1, n_levels + 1) / n_levels
    sizes = np.unique(np.round(n_leaves**exponents).astype(int))
    starts = np.cumsum(sizes) - sizes
    edges = []
    for level in range(1, len(sizes)):
        above, size = sizes[level - 1], sizes[level]
        parent = np.append(np.arange(above), rng.integers(above, size=size - above))
        parent = starts[level - 1] + np.sort(parent)
        edges += [(f"l{starts[level] + k}", f"l{parent[k]}") for k in range(size)]
    taxonomy = build_taxonomy([f"l{k}" for k in range(sizes.sum())], edges)
    closure = dense(taxonomy.closure) > 0
    leaves = np.arange(starts[-1], sizes.sum())
    return _Tree(taxonomy, closure, leaves, closure[leaves].T)


def _draw_popularity(rng: np.random.Generator, n_leaves: int) -> FloatArray:
    """Return the shares of the leaves, which fall with their rank at a random rate, (L,)."""
    share = 1 / np.arange(1, n_leaves + 1) ** rng.uniform(0, 1.2)
    return np.asarray(rng.permutation(share / share.sum()))


@dataclass(frozen=True, eq=False)
class _Instances:
    """What is true, and what it looks like.

    Attributes
    ----------
    truth : bool array, (N, K)
        The true labels and their ancestors.
    clarity : float array, (N,)
        How clear every instance is, from 0 to 1.
    evidence : float array, (N, L)
        How much every leaf seems to apply, to all sources alike.
    """

    truth: BoolArray
    clarity: FloatArray
    evidence: FloatArray


def _draw_instances(
    rng: np.random.Generator, tree: _Tree, settings: WorldSettings, popularity: FloatArray
) -> _Instances:
    leaf_truth = _draw_true_leaves(rng, settings, popularity)
    a, b = rng.choice([(2, 2), (5, 1), (8, 1), (2, 4)])
    clarity = rng.beta(a, b, size=len(leaf_truth))
    truth, evidence = _move_to_inner_labels(rng, tree, settings.inner_share, leaf_truth, clarity)
    evidence += _draw_look_alikes(rng, tree, leaf_truth) * clarity[:, None]
    evidence += _draw_confusion(rng, leaf_truth.shape) * clarity[:, None]
    evidence += rng.choice([0.02, 0.1, 0.2, 0.35]) * rng.standard_normal(evidence.shape)
    return _Instances(truth, clarity, evidence)


def _draw_true_leaves(
    rng: np.random.Generator, settings: WorldSettings, popularity: FloatArray
) -> BoolArray:
    """Return the true leaves of every instance, (N, L), drawn from the shares of its topic."""
    N, L = settings.n_instances, len(popularity)
    concentration = rng.choice([0.3, 1, 5, 50])
    topics = rng.dirichlet(popularity * L * concentration + 1e-3, size=rng.integers(2, 12))
    topics = (topics + _TINY) / (topics + _TINY).sum(axis=1, keepdims=True)
    topic = rng.integers(len(topics), size=N)
    truth = np.zeros((N, L), dtype=bool)
    for instance, count in enumerate(_draw_counts(rng, settings.truth, N)):
        drawn = rng.choice(L, size=min(count, L), replace=False, p=topics[topic[instance]])
        truth[instance, drawn] = True
    return truth


def _draw_counts(rng: np.random.Generator, kind: TruthKind, n_instances: int) -> IntArray:
    """Return how many leaves are true of every instance, (N,)."""
    if kind == "one":
        return np.ones(n_instances, dtype=int)
    if kind == "nearly one":
        return np.asarray(1 + (rng.random(n_instances) < rng.uniform(0.02, 0.3)))
    if kind == "several":
        return np.asarray(1 + rng.poisson(rng.uniform(0.5, 3), n_instances))
    is_empty = rng.random(n_instances) < rng.uniform(0.2, 0.9)
    return np.where(is_empty, 0, 1 + rng.poisson(0.5, n_instances))


def _move_to_inner_labels(
    rng: np.random.Generator,
    tree: _Tree,
    share: float,
    leaf_truth: BoolArray,
    clarity: FloatArray,
) -> tuple[BoolArray, FloatArray]:
    """Return the true labels, (N, K), and the evidence for them, (N, L).

    In a share of the instances with one true leaf, an ancestor is true in its place. Such an
    instance looks a little like one or two leaves below the ancestor.
    """
    truth, evidence = leaf_truth @ tree.covers.T, leaf_truth * clarity[:, None]
    if tree.n_levels == 1:
        return truth, evidence
    is_moved = (rng.random(len(truth)) < share) & (leaf_truth.sum(axis=1) == 1)
    for instance in np.flatnonzero(is_moved):
        leaf = tree.leaves[leaf_truth[instance].argmax()]
        label = rng.choice(np.flatnonzero(tree.closure[leaf] & ~tree.is_leaf))
        below = rng.choice(np.flatnonzero(tree.covers[label]), size=2)
        truth[instance] = tree.closure[label]
        evidence[instance] = 0
        evidence[instance, below] = clarity[instance] * rng.uniform(0.3, 1)
    return truth, evidence


def _draw_look_alikes(rng: np.random.Generator, tree: _Tree, leaf_truth: BoolArray) -> FloatArray:
    """Return the evidence for leaves that look like true ones, as they share ancestors, (N, L)."""
    ancestors = tree.closure[tree.leaves].astype(float)
    likeness = (ancestors @ ancestors.T - 1) / max(1, tree.n_levels - 1)
    np.fill_diagonal(likeness, 0)
    is_alike = (leaf_truth @ likeness > LOOKS_LIKE) & ~leaf_truth
    is_seen = rng.random(leaf_truth.shape) < rng.uniform(0.1, 0.6)
    return np.asarray(rng.uniform(0, 0.4) * (is_alike & is_seen))


def _draw_confusion(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Return the evidence for one random leaf in each of some instances, (N, L)."""
    is_confusing = rng.random(shape[0]) < rng.choice([0, 0.1, 0.3])
    confusion = np.zeros(shape)
    confusion[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = is_confusing
    return np.asarray(confusion * rng.uniform(0.3, 1))


@dataclass(frozen=True, eq=False)
class _Sources:
    """What every source makes of the evidence.

    Attributes
    ----------
    coverage, gain, noise, threshold : float arrays, (M,)
        The share of the instances that it is asked about; how clearly it perceives the evidence,
        0 for a spammer; the size of its noise; how strong a label must be to be given.
    is_copy : bool array, (M,)
        Whether it belongs to a group of near-duplicates.
    dependence : float
        The share of the variance of their noise that the sources of this group have in common.
    scope : bool array, (M, K)
        The labels that it can give.
    """

    coverage: FloatArray
    gain: FloatArray
    noise: FloatArray
    threshold: FloatArray
    is_copy: BoolArray
    dependence: float
    scope: BoolArray


def _draw_sources(rng: np.random.Generator, tree: _Tree, settings: WorldSettings) -> _Sources:
    M = settings.n_sources
    gain = 3 * np.exp(rng.uniform(np.log(0.5), np.log(2))) * rng.beta(3, 1.2, size=M)
    if rng.random() < 0.25:
        gain[rng.random(M) < 0.1] = 0
    typical_gain = np.median(gain[gain > 0]) if gain.any() else 1.0
    return _Sources(
        coverage=_draw_coverage(rng, settings.panel, M),
        gain=gain,
        noise=rng.uniform(0.05, 0.6) * rng.uniform(0.5, 1.5, M),
        threshold=0.6 * rng.uniform(0.2, 1.2) * typical_gain * rng.uniform(0.8, 1.2, M),
        is_copy=_draw_copies(rng, M),
        dependence=rng.uniform(0.6, 1),
        scope=_draw_scope(rng, tree, M),
    )


def _draw_coverage(rng: np.random.Generator, panel: PanelKind, n_sources: int) -> FloatArray:
    if panel == "classifiers":
        return np.ones(n_sources)
    if panel == "tools":
        return rng.uniform(0.3, 1, n_sources)
    evenness, answers_per_instance = rng.choice([0.5, 2, 20]), rng.uniform(1.5, 10)
    share = rng.dirichlet(np.full(n_sources, evenness))
    return np.asarray(np.clip(share * answers_per_instance, 0.01, 1))


def _draw_copies(rng: np.random.Generator, n_sources: int) -> BoolArray:
    is_copy = np.zeros(n_sources, dtype=bool)
    if n_sources > 3 and rng.random() < 0.3:
        some = rng.integers(2, max(3, int(0.7 * n_sources) + 1))
        size = n_sources if rng.random() < 0.3 else some
        is_copy[rng.choice(n_sources, size=size, replace=False)] = True
    return is_copy


def _draw_scope(rng: np.random.Generator, tree: _Tree, n_sources: int) -> BoolArray:
    """Return the labels of every source: mostly all; or for some, upper levels or branches only."""
    scope = np.ones((n_sources, len(tree.taxonomy)), dtype=bool)
    restriction = rng.random()
    if restriction < 0.15 and tree.n_levels > 1:
        for source in np.flatnonzero(rng.random(n_sources) < 0.3):
            scope[source] = tree.taxonomy.depth <= rng.integers(1, tree.n_levels)
    elif restriction < 0.3:
        known = rng.random(len(tree.leaves)) < rng.uniform(0.3, 0.7)
        if known.any():
            scope[rng.random(n_sources) < 0.6] = tree.covers[:, known].any(axis=1)
    return scope


def _collect_votes(
    rng: np.random.Generator,
    tree: _Tree,
    settings: WorldSettings,
    instances: _Instances,
    sources: _Sources,
    bias: FloatArray,
    ids: Index,
) -> Votes:
    """Let all sources answer; the bias, (L,), lets all of them prefer popular leaves."""
    common_noise = rng.standard_normal(instances.evidence.shape)
    columns = []
    for source in range(settings.n_sources):
        noise = rng.standard_normal(instances.evidence.shape)
        if sources.is_copy[source]:
            shared, own = np.sqrt([sources.dependence, 1 - sources.dependence])
            noise = shared * common_noise + own * noise
        strength = sources.gain[source] * instances.evidence + sources.noise[source] * noise
        asked = _draw_asked(rng, settings, sources.coverage[source], instances.clarity)
        threshold = sources.threshold[source]
        answers = _answer(rng, tree, settings.answers, (strength + bias)[asked], threshold)
        answers = answers * sources.scope[source]
        columns.append(_list_votes(answers, asked, source, with_empty=settings.panel != "tools"))
    instance, by, label, score = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    names = Index(tuple(f"s{number}" for number in range(settings.n_sources)))
    return Votes(ids, names, tree.taxonomy.labels, instance, by, label, score)


def _draw_asked(
    rng: np.random.Generator, settings: WorldSettings, coverage: float, clarity: FloatArray
) -> IntArray:
    """Return the instances that a source answers; tools skip unclear ones more often."""
    is_asked = rng.random(settings.n_instances) < coverage
    if settings.panel == "tools":
        is_asked &= rng.random(settings.n_instances) < 0.5 + 0.5 * clarity
    return np.flatnonzero(is_asked)


def _list_votes(
    answers: FloatArray, asked: IntArray, source: int, *, with_empty: bool
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return instance, source, label and score of the votes of one source."""
    row, label = np.nonzero(answers)
    empty = np.flatnonzero(~answers.any(axis=1)) if with_empty else row[:0]
    instance = asked[np.append(row, empty)]
    label = np.append(label, np.full(len(empty), NONE_OF_THESE))
    score = np.append(answers[answers > 0], np.ones(len(empty)))
    return instance, np.full(len(instance), source), label, score


def _answer(
    rng: np.random.Generator,
    tree: _Tree,
    kind: AnswerKind,
    strength: FloatArray,
    threshold: float,
) -> FloatArray:
    """Return the answers of one source as scores of labels with ancestors, (n, L) -> (n, K)."""
    if kind == "sets":
        return tree.raise_to_labels((strength > threshold).astype(float))
    if kind == "top":
        return _answer_by_path(tree, strength, least=0.0)
    if kind == "vague":
        return _answer_by_path(tree, strength, least=rng.uniform(0.2, 0.8))
    if kind == "scores":
        slope, shift = rng.uniform(1, 8), rng.uniform(-1.5, 1.5)
        score = expit(slope * (strength - threshold) + shift)
        return tree.raise_to_labels(np.where(score < MIN_SCORE, 0.0, score))
    rank = np.argsort(np.argsort(-strength, axis=1), axis=1) + 1
    return tree.raise_to_labels(np.where(rank <= rng.integers(2, 8), 1 / rank, 0.0))


def _answer_by_path(tree: _Tree, strength: FloatArray, *, least: float) -> FloatArray:
    """Return the deepest label on the path to the best leaf that is likely enough, (n, K)."""
    likelihood = softmax(4 * strength, axis=1) @ tree.covers.T
    on_path = tree.closure[tree.leaves[strength.argmax(axis=1)]]
    depth = np.where(on_path & (likelihood >= least), tree.taxonomy.depth, 0)
    answers = tree.closure[depth.argmax(axis=1)] & (depth.max(axis=1, keepdims=True) > 0)
    return np.asarray(answers, dtype=float)


def _make_truth(truth: BoolArray, tree: _Tree, ids: Index) -> Truth:
    instance, label = np.nonzero(truth)
    empty = np.flatnonzero(~truth.any(axis=1))
    return Truth(
        instances=ids,
        labels=tree.taxonomy.labels,
        instance=np.concatenate([instance, empty]),
        label=np.concatenate([label, np.full(len(empty), NONE_OF_THESE)]),
        origin="the simulated truth",
    )
