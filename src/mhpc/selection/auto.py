"""Auto, the default: several methods combined into one probability."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.combination import Combination, GoldCalibration, ScopeOrigin
from mhpc.data.hierarchy import deepest, most_specific, propagate_up
from mhpc.data.panel import (
    Panel,
    PanelPartitions,
    drop_gold,
    panel_rows,
    sample_rows,
    set_scope,
    transform_partitions,
)
from mhpc.data.profiles import BySource, SourceDependence
from mhpc.data.scores import Scores
from mhpc.data.size import Size, measure_size
from mhpc.methods.base import DENSE_SCORE_BYTES, BaseMethod
from mhpc.methods.channel import Channel, FittedChannel
from mhpc.methods.channel.answers import VoteCounts
from mhpc.methods.dawid_skene import DawidSkene, FittedDawidSkene
from mhpc.methods.fitted import FittedMethod, SourceChange
from mhpc.methods.memory import explain_memory
from mhpc.methods.mhpc import MAX_EXACT, LocalMHPC
from mhpc.methods.mhpc.fitted import FittedMHPC
from mhpc.methods.registry import make_method
from mhpc.methods.scope import infer_scope
from mhpc.methods.source_dependence import estimate_dependence
from mhpc.methods.source_weights import (
    SourceWeights,
    count_effective_sources,
    learn_source_weights,
    weight_by_independence,
)
from mhpc.numerics.arrays import Block, FloatArray, IntArray, Single, Sparse, dense
from mhpc.numerics.sparse import average_in_single, canonical, incidence
from mhpc.parameters import MAX_FOLDS, Seed
from mhpc.selection.calibration import (
    IDENTITY,
    Calibration,
    calibration_error,
    compare_uncertainty,
    cross_validated_error,
    fit_calibration,
    sample_gold,
)
from mhpc.selection.scope_test import ScopeTest, try_scope
from mhpc.selection.screening import find_uninformative, leave_out
from mhpc.selection.stacking import (
    WEIGHTS,
    GivenLabels,
    find_given,
    make_features,
    stack,
    weigh_one_truth,
)
from mhpc.system.caching import cached_property
from mhpc.system.checkpoints import checkpointed
from mhpc.system.memory import memory_budget

MIN_ONE_TRUTH_WEIGHT = 0.01
"""Below this weight `one-truth` is not fitted: it would change no label set."""

N_LANDMARKS = 10_000
"""Instances in the graph of `mhpc-local` if there are more: as many as are all in one graph."""

MIN_GOLD = 5
"""Instances with gold labels from which on scores are calibrated on them."""

MAX_GOLD = 20_000
"""Instances with gold labels that are enough for a calibration."""

N_OTHERS = 2000
"""Instances without gold labels that those with gold labels are compared with."""


class Auto(BaseMethod):
    """The probability that a label applies, from several methods and what they know together.

    1. **Scales.** `dawid-skene` learns what the scores of every source mean; the other methods
       then work on probabilities instead of scores.
    2. **Stacking.** The probability that a label is true (`dawid-skene`), the share of sources that
       give it, smoothed over similar instances (`mhpc-local`), and its popularity enter a logistic
       regression whose weights were learned beforehand from panels with a truth
       (`mhpc.selection.stacking`). A label that nobody gave keeps the smoothed share.
    3. **One truth, by degree.** The more answers consist of one label, the more `one-truth` counts
       in the mean of the two.
    4. **Gold.** With gold labels for five instances or more, the probabilities are calibrated on
       them. The methods do not see gold labels, so that their scores of gold instances are as good
       as those of others. Label sets change only if gold shows that this is an improvement
       (`mhpc.rules.expected_f`).

    Sources that add no information (constant, random or exact copies) are left out first, and
    correlated sources share one weight.

    `specific` is that of `channel`, which knows how vague sources are, mixed with `one-truth` in
    the same way. A label that a source never gives although others often do is taken to be outside
    its scope, unless held-out answers are predicted worse then. Methods that do not fit in memory
    are left out. The cost is one fit of every method.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.Auto(seed=1)).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "probabilities from several methods combined, the default"
    reference: ClassVar[str] = "this package: docs/methods/auto.md"

    folds: Annotated[int, Field(ge=2, le=MAX_FOLDS)] = 4
    """Folds of the cross-validation that an inferred scope has to pass."""

    seed: Seed = 0
    """Seed of the random split into these folds."""

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes of the largest method that fits, and of the scores."""
        optional = (method.estimate_memory(size) for method in _optional_members().values())
        largest = max((needed for needed in optional if needed <= memory_budget()), default=0)
        return largest + min(3 * 8 * size.cells, DENSE_SCORE_BYTES)

    def needs_all(self, instances: int) -> bool:
        """Return whether there are few enough instances for methods that need all at once."""
        return instances <= MAX_EXACT

    def fit(self, partitions: PanelPartitions) -> "FittedAuto":
        """Fit the methods to all answers, and calibrate their combination on gold labels."""
        answers = transform_partitions(partitions, drop_gold)
        left_out = find_uninformative(answers)
        answers = transform_partitions(answers, partial(leave_out, sources=left_out))
        scope, scope_origin, scope_notes = self._find_scope(answers)
        answers = transform_partitions(answers, partial(set_scope, scope=scope))
        dependence = estimate_dependence(answers)
        independent = transform_partitions(
            answers, partial(weight_by_independence, dependence=dependence)
        )
        dawid_skene = cast(FittedDawidSkene, DawidSkene().fit_checkpointed(independent))
        answers = transform_partitions(answers, dawid_skene.calibrate)
        single, answered = answers.sum(_count_single_labels)
        one_truth_weight = weigh_one_truth(single / max(answered, 1))
        source_weights = cast(SourceWeights, learn_source_weights(answers, "learned"))
        weighted = transform_partitions(answers, source_weights)
        optional, notes = _usable_members(answers, one_truth_weight)
        members: dict[str, FittedMethod] = {
            name: method.fit_checkpointed(answers if name == "one-truth" else weighted)
            for name, method in optional.items()
        }
        channel = cast(FittedChannel | None, members.get("channel"))
        smoother = members.get("mhpc-local") or members["majority"]
        fitted = FittedAuto(
            dawid_skene=dawid_skene,
            smoother=smoother,
            channel=channel,
            neighbor_votes=None if channel is None else _count_votes(weighted, smoother, channel),
            one_truth_model=members.get("one-truth"),
            popularity=_estimate_popularity(answers),
            left_out=left_out,
            dependence=dependence,
            source_weights=source_weights,
            weights=WEIGHTS,
            scope=scope,
            combination=_describe(
                answers,
                ("dawid-skene", *members),
                single,
                answered,
                scope_origin,
                tuple(partitions.sources[m] for m in left_out),
            ),
            trace=dawid_skene.trace,
            converged=all(each.converged for each in (dawid_skene, *members.values())),
            threshold=0.5,
            is_probability=True,
            notes=(*scope_notes, *notes, *_notes_of(members, partitions.instances)),
        )
        return _calibrate_on_gold(fitted, partitions)

    def fit_checkpointed(self, partitions: PanelPartitions) -> "FittedAuto":
        """Fit without a checkpoint of its own: the methods have theirs."""
        return self.fit(partitions)

    def _find_scope(
        self, partitions: PanelPartitions
    ) -> tuple[Sparse | None, ScopeOrigin, tuple[str, ...]]:
        """Return an inferred scope that passes its test, where it comes from, and a note."""
        if partitions.sample(1).scope is not None:
            return None, "declared", ()
        scope = infer_scope(partitions)
        if scope is None:
            return None, "all", ()
        tested = checkpointed("testing the scope", partial(self._test_scope, partitions, scope))
        note = (tested.describe(),)
        return (None, "rejected", note) if tested.is_harmful else (scope, "inferred", note)

    def _test_scope(self, partitions: PanelPartitions, scope: Sparse) -> ScopeTest:
        return try_scope(partitions, scope, n_folds=self.folds, seed=self.seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedAuto(FittedMethod, saved_as="auto.fitted"):
    """The fitted methods and how they are combined.

    Attributes
    ----------
    dawid_skene : FittedDawidSkene
        `dawid-skene`.
    smoother : FittedMethod
        `mhpc-local` or, where it does not fit in memory, `majority`.
    channel : FittedChannel or None
        The noise model of `channel`, where it fits in memory. Its neighbours are the smoother's, so
        that they are searched once.
    neighbor_votes : VoteCounts or None
        The votes of the smoother's vertices, which the prior of the channel is made of.
    one_truth_model : FittedMethod or None
        `one-truth`, where it fits in memory and counts.
    popularity : float array, (K,)
        The share of the answers that contain each label.
    left_out : int array
        The sources that add no information, which do not count.
    dependence : SourceDependence
        By which correlated sources share one weight in `dawid-skene`.
    source_weights : SourceWeights
        The weights of the answers in the smoother and in the channel.
    weights : float array, (4,)
        The weights of the stacking, which a saved model keeps when later versions have others.
    scope : csr_array, (M, K), or None
        The labels that each source can give, as inferred from the answers.
    combination : Combination
        Weights and findings, for people to read.
    calibration : Calibration
        From combined to final probabilities, by gold labels.
    """

    dawid_skene: FittedDawidSkene
    smoother: FittedMethod
    channel: FittedChannel | None
    neighbor_votes: VoteCounts | None
    one_truth_model: FittedMethod | None
    popularity: FloatArray
    left_out: IntArray
    dependence: SourceDependence
    source_weights: SourceWeights
    weights: FloatArray
    scope: Annotated[Sparse | None, BySource(new=1.0)]
    combination: Combination
    calibration: Calibration = IDENTITY

    def predict(self, panel: Panel) -> Scores:
        """Return the probability of every label, in both views, whatever gold labels say."""
        panel = self.prepare(panel)
        calibrated = self.dawid_skene.calibrate(panel)
        smoothed, specific = self._smooth(self.source_weights(calibrated))
        given, features = self._make_features(panel, smoothed)
        score = _fill_in(smoothed, given, stack(features, self.weights))
        if self.one_truth_model is not None:
            one_truth = self.one_truth_model.predict(calibrated)
            weight = self.combination.one_truth_weight
            score = _mix(score, one_truth.score, weight)
            specific = None if specific is None else _mix(specific, one_truth.specific, weight)
        score = self.calibration(propagate_up(score, panel.taxonomy))
        if specific is None:
            specific = most_specific(canonical(sparse.csr_array(score)), panel.taxonomy)
        return Scores(score, _limit_specific(specific, score, given))

    def with_sources(self, sources: SourceChange) -> "FittedAuto":
        """Return the model for other sources; new ones are like those that are not left out."""
        return super().with_sources(sources.average_without(self.left_out))

    def prepare(self, panel: Panel) -> Panel:
        """Return the panel with the answers that count, and with the scope."""
        panel = leave_out(drop_gold(panel), sources=self.left_out)
        return set_scope(panel, scope=self.scope)

    def stack_given(self, panel: Panel) -> tuple[GivenLabels, FloatArray]:
        """Return the given labels of a prepared panel, and their features."""
        calibrated = self.dawid_skene.calibrate(panel)
        return self._make_features(panel, self._smooth(self.source_weights(calibrated))[0])

    def _make_features(self, panel: Panel, smoothed: Block) -> tuple[GivenLabels, FloatArray]:
        independent = weight_by_independence(panel, dependence=self.dependence)
        truth, given = self.dawid_skene.predict_truth(independent), find_given(independent)
        features = make_features(
            given, dawid_skene=truth, smoothed=smoothed, popularity=self.popularity
        )
        return given, features

    def _smooth(self, panel: Panel) -> tuple[Block, FloatArray | None]:
        """Return the smoothed shares of a weighted panel, and the origins of its votes."""
        if self.channel is None or not isinstance(self.smoother, FittedMHPC):
            return self.smoother.predict(panel).score, None
        scores, neighbors = self.smoother.predict_with_neighbors(panel)
        _, votes, answered = self.channel.read_votes(panel)
        averaging = neighbors.averaging_matrix(self.smoother.extension.counts)
        x = self.channel.invert(votes, [average_in_single(averaging, self._neighbor_origins)])
        if len(answered) == len(panel.instances):
            return scores.score, x
        origins = np.zeros((len(panel.instances), len(panel.taxonomy)))
        origins[answered] = x
        return scores.score, origins

    @cached_property
    def _neighbor_origins(self) -> Single:
        """The expected origins of the votes of the smoother's vertices, (V, K)."""
        x = cast(FittedChannel, self.channel).invert(cast(VoteCounts, self.neighbor_votes))
        return x.astype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        # What is derived from the rest is computed again where it is needed, rather than sent.
        return {key: value for key, value in vars(self).items() if key != "_neighbor_origins"}


def _count_votes(
    partitions: PanelPartitions, smoother: FittedMethod, channel: FittedChannel
) -> VoteCounts:
    """Return the mean votes of the instances that each vertex of the smoother stands for."""
    if not isinstance(smoother, FittedMHPC):
        raise TypeError("the channel takes its neighbours from a graph")
    sample = partitions.sample(smoother.n_sampled)
    panel, votes, _ = channel.read_votes(sample)
    vertex, counts = smoother.find_vertices(panel), smoother.extension.counts
    mean = incidence(vertex, shape=(len(counts), len(vertex)), values=1 / counts[vertex])
    return VoteCounts((mean @ votes.votes).tocsr(), np.asarray(mean @ votes.answers))


def _fill_in(smoothed: Block, given: GivenLabels, probability: FloatArray) -> Block:
    """Return smoothed shares with the probabilities of the labels that were given."""
    if not isinstance(smoothed, np.ndarray):
        return given.to_matrix(probability)
    score = smoothed.copy()
    score[given.instance, given.label] = probability
    return score


def _limit_specific(specific: Block, score: Block, given: GivenLabels) -> Block:
    """Return `specific`, dense if the score is, and for given labels not above the score.

    The two come from different methods. Labels that nobody gave have a score for ranking, too low
    for a limit: it would change the order in which vague answers let more specific labels follow.
    """
    if not isinstance(score, np.ndarray):
        return sparse.csr_array(specific).minimum(score)
    limited, cells = dense(specific).copy(), (given.instance, given.label)
    limited[cells] = np.minimum(limited[cells], score[cells])
    return limited


def _mix(score: Block, other: Block, weight: float) -> Block:
    mixed = (1 - weight) * score + weight * other
    return mixed if isinstance(mixed, np.ndarray) else mixed.tocsr()


def _optional_members() -> dict[str, BaseMethod]:
    """Return the methods that are left out if they do not fit in memory or do not count.

    Answers are weighted before they get them, except for `one-truth`, which learns who is right.
    Only the noise model of `channel` is fitted: it has the neighbours of `mhpc-local`.
    """
    return {
        "mhpc-local": LocalMHPC(
            lam=1.0, votes="augmented", source_weights="equal", landmarks=N_LANDMARKS
        ),
        "channel": Channel(steps=0),
        "one-truth": make_method("one-truth"),
    }


def _usable_members(
    partitions: PanelPartitions, one_truth_weight: float
) -> tuple[dict[str, BaseMethod], tuple[str, ...]]:
    """Return the methods to fit, and a note for each that needs too much memory or time."""
    usable, notes = _optional_members(), list[str]()
    if one_truth_weight < MIN_ONE_TRUTH_WEIGHT:
        del usable["one-truth"]
    size, budget = measure_size(partitions), memory_budget()
    for name, method in tuple(usable.items()):
        needed = method.estimate_memory(size)
        reason = method.explain_duration(size)
        if needed > budget:
            reason = explain_memory(method, size, needed, budget)
        if reason:
            notes.append(f"{name} was left out: {reason}")
            del usable[name]
    if "mhpc-local" not in usable:
        # The channel takes its neighbours from the graph of `mhpc-local`.
        usable.pop("channel", None)
        usable = {"majority": make_method("majority"), **usable}
    return usable, tuple(notes)


def _notes_of(members: Mapping[str, FittedMethod], instances: int) -> Iterator[str]:
    """Return what methods say about how they treat many instances, each after its name."""
    for name, member in members.items() if instances > MAX_EXACT else ():
        yield from (f"{name}: {note}" for note in member.notes)


def _describe(
    partitions: PanelPartitions,
    members: tuple[str, ...],
    single: int,
    answered: int,
    scope: ScopeOrigin,
    left_out: tuple[str, ...],
) -> Combination:
    effective, answers = count_effective_sources(partitions)
    share = single / max(answered, 1)
    weight = weigh_one_truth(share) if "one-truth" in members else 0.0
    return Combination(
        members=members,
        single_label_share=share,
        one_truth_weight=weight,
        effective_sources=effective,
        answers_per_instance=answers,
        scope=scope,
        left_out=left_out,
    )


def _count_single_labels(panel: Panel) -> tuple[int, int]:
    """Return the number of answers with one most specific label, and of those with any."""
    n_labels = np.diff(deepest(panel.augmented, panel.taxonomy).indptr)
    return int((n_labels == 1).sum()), int((n_labels > 0).sum())


def _estimate_popularity(partitions: PanelPartitions) -> FloatArray:
    given, possible = partitions.sum(_count_labels)
    return np.asarray(given / np.maximum(possible, 1.0))


def _count_labels(panel: Panel) -> tuple[FloatArray, FloatArray]:
    return panel.occurrences, panel.answers_per_label


def _calibrate_on_gold(
    fitted: FittedAuto, partitions: PanelPartitions, *, n_others: int = N_OTHERS
) -> FittedAuto:
    """Return the fitted methods with probabilities calibrated on gold labels, if there are enough.

    Gold instances count by how well they represent the others: if they were selected because they
    are hard, they say little about easy ones.
    """
    panel = partitions.sample(MAX_GOLD)
    truth = panel.gold
    if truth is None or len(truth.rows) < MIN_GOLD:
        return fitted
    others = np.setdiff1d(sample_rows(panel, len(truth.rows) + n_others), truth.rows)
    score = dense(fitted.predict(panel_rows(panel, truth.rows)).score)
    representation = 1.0
    if len(others):
        of_others = dense(fitted.predict(panel_rows(panel, others)).score)
        representation = compare_uncertainty(score, of_others)
    gold = sample_gold(score, truth.closed)
    calibration, plausible = fit_calibration(gold, representation)
    improvement = GoldCalibration(
        instances=len(truth.rows),
        before=calibration_error(IDENTITY, gold),
        after=cross_validated_error(gold),
        plausible=tuple(each.relative_to(calibration) for each in (IDENTITY, *plausible)),
    )
    combination = replace(fitted.combination, gold=improvement)
    return replace(fitted, calibration=calibration, combination=combination)
