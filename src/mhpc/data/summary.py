"""What a run found, what `mhpc inspect` finds, and the model that a run saves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mhpc.data.combination import Combination
from mhpc.data.decision import FittedRule
from mhpc.data.disagreement import DisagreementRanking, Disagreements
from mhpc.data.index import Index
from mhpc.data.profiles import SourceProfile
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Step
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.parameters import registered


@dataclass(frozen=True)
class RunSummary:
    """What a run did and found; ``run.json`` holds it together with the settings.

    Attributes
    ----------
    method, parameters, converged, trace
        As in `Consolidation`.
    combination : Combination or None
        The methods that were combined and what was found out about the panel, if the method
        combines others.
    counts : mapping of str to int
        The number of instances, sources, answers, labels and levels.
    decision : mapping
        The rule, its parameters, the mean number of labels per instance, and the number of
        instances without a label.
    sources : tuple of SourceProfile
        One profile per source.
    conflicts : Disagreements
        What a person should review.
    scorecards : tuple of Scorecard
        One per view if a truth was given.
    seconds : mapping of str to float
        The wall time of every stage.
    notes : tuple of str
        Remarks on how the result was computed, and how far it can be trusted.
    """

    method: str
    parameters: Mapping[str, Any]
    converged: bool
    trace: tuple[Step, ...]
    combination: Combination | None
    counts: Mapping[str, int]
    decision: Mapping[str, Any]
    sources: tuple[SourceProfile, ...]
    conflicts: Disagreements
    scorecards: tuple[Scorecard, ...]
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RunCounts:
    """Counts over instances; counts of different blocks of instances can be added.

    Attributes
    ----------
    instances, chosen, without_label : int
        The number of instances, of labels chosen for them, and of instances that got none.
    by_source : float array, (6, M)
        For every source: its answers; its votes; the sum of their depths; its most specific labels
        that are in the label sets; those of them below which the sets have another label; and its
        answers whose most specific labels are exactly those of the label sets.
    by_label : float array, (4, K)
        For every label: the answers that give the label itself; the instances for which some answer
        gives it or a descendant; the instances whose set has it; the instances on which it is
        disputed.
    given, rejected : csr_array, (M, K)
        How often each source gave each label as a most specific one, and how often the label set
        does not have it.
    disagreements : DisagreementRanking
        The instances with the largest expected gain of one more answer.
    """

    instances: int
    chosen: int
    without_label: int
    by_source: FloatArray
    by_label: FloatArray
    given: Sparse
    rejected: Sparse
    disagreements: DisagreementRanking

    def __add__(self, other: "RunCounts") -> "RunCounts":
        return RunCounts(
            self.instances + other.instances,
            self.chosen + other.chosen,
            self.without_label + other.without_label,
            self.by_source + other.by_source,
            self.by_label + other.by_label,
            self.given + other.given,
            self.rejected + other.rejected,
            self.disagreements + other.disagreements,
        )


@dataclass(frozen=True)
class UnknownLabel:
    """A label that is not in the taxonomy, its number of votes, and the labels nearest to it."""

    label: str
    votes: int
    nearest: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """Facts about votes and their taxonomy, before anything is consolidated.

    Attributes
    ----------
    instances, sources, answers, votes : int
        How many there are of each; an answer is all that one source says of one instance.
    labels, levels, labels_used : int
        The size of the taxonomy, and the number of its labels that sources give (without the
        ancestors that those imply).
    coverage : float
        Answers / (instances x sources).
    answers_per_instance : mapping
        ``mean``, ``min``, ``max``, and ``single``: the proportion of instances with one answer.
    none_answers : int
        The number of answers without a label.
    votes_per_level : mapping of int to int
        How specific the votes are.
    disagreement : float
        The proportion, among instances with several answers, of those on which no answer includes
        all the others; nan if there are none.
    silent_sources : tuple of str
        Sources that never gave a label of the taxonomy.
    unknown_labels : tuple of UnknownLabel
        Labels that are not in the taxonomy, the most frequent first.
    """

    instances: int
    sources: int
    answers: int
    votes: int
    labels: int
    levels: int
    labels_used: int
    coverage: float
    answers_per_instance: Mapping[str, float]
    none_answers: int
    votes_per_level: Mapping[int, int]
    disagreement: float
    silent_sources: tuple[str, ...]
    unknown_labels: tuple[UnknownLabel, ...]


@registered("model")
@dataclass(frozen=True, eq=False)
class Model:
    """A fitted method with its rule and its sources: what ``model.npz`` holds.

    Attributes
    ----------
    method : str
        The registered name of the method.
    parameters : mapping
        All parameters of the method.
    fitted : FittedMethod
        The fitted method.
    rule : FittedRule
        The rule that turns scores into label sets.
    sources : Index
        The sources in the order in which the fitted method knows them.
    scope : csr_array, (M, K), or None
        The scope of the sources, as in `Panel`.
    has_gold : bool
        Whether the last of the sources is that of gold labels.
    """

    method: str
    parameters: dict[str, Any]
    fitted: Any
    rule: FittedRule
    sources: Index
    scope: Sparse | None = None
    has_gold: bool = False
