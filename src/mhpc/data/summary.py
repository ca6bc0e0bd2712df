"""RunSummary, RunCounts, Inspection, Model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mhpc.data.decision import FittedRule
from mhpc.data.disagreement import DisagreementRanking, Disagreements
from mhpc.data.index import Index
from mhpc.data.profiles import SourceProfile
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Step
from mhpc.data.selection import Selection
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.parameters import registered


@dataclass(frozen=True)
class RunSummary:
    """What a run did and found.

    Attributes
    ----------
    method, parameters, converged, trace
        As in `Consolidation`.
    counts : mapping of str to int
        Instances, sources, answers, labels, levels.
    selection : Choice or None
        What was judged and chosen, where the method chooses.
    decision : mapping
        The rule, its parameters, mean labels an instance, instances without a label.
    sources : tuple of SourceFacts
        A row a source.
    conflicts : Conflicts
        What a human should look at.
    scorecards : tuple of Scorecard
        One a view, if a truth was given.
    seconds : mapping of str to float
        Wall time of every stage.
    notes : tuple of str
        What else is to be known of the way it was computed.
    """

    method: str
    parameters: Mapping[str, Any]
    converged: bool
    trace: tuple[Step, ...]
    selection: Selection | None
    counts: Mapping[str, int]
    decision: Mapping[str, Any]
    sources: tuple[SourceProfile, ...]
    conflicts: Disagreements
    scorecards: tuple[Scorecard, ...]
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RunCounts:
    """Counts that add up over instances.

    Attributes
    ----------
    instances, chosen, without : int
        Instances, labels chosen for them, and how many got none.
    by_source : float array, (5, M)
        Answers; votes; their depths; most specific labels said that the label sets have, and those
        of these below which the sets have others.
    by_label : float array, (4, K)
        Answers that say the label itself; instances of which some answer says it or a label below
        it; instances whose set has it; instances on which it is in dispute.
    said, wrong : csr_array, (M, K)
        How often each source said each label as a most specific one, and how often the set does
        not have it.
    disagreements : Contested
        Where one more opinion is worth most.
    """

    instances: int
    chosen: int
    without: int
    by_source: FloatArray
    by_label: FloatArray
    said: Sparse
    wrong: Sparse
    disagreements: DisagreementRanking

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return int(self.by_source[0].sum())

    def __add__(self, other: "RunCounts") -> "RunCounts":
        return RunCounts(
            self.instances + other.instances,
            self.chosen + other.chosen,
            self.without + other.without,
            self.by_source + other.by_source,
            self.by_label + other.by_label,
            self.said + other.said,
            self.wrong + other.wrong,
            self.disagreements + other.disagreements,
        )


@dataclass(frozen=True)
class UnknownLabel:
    """A label that the taxonomy lacks, how often it is said, and which are near."""

    label: str
    votes: int
    nearest: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """Facts about votes and their taxonomy.

    Attributes
    ----------
    instances, sources, answers, votes : int
        How many of each; an answer is what one source said of one instance.
    labels, levels, labels_used : int
        Of the taxonomy, and how many of its labels are said, ancestors not counted.
    coverage : float
        Answers over instances x sources.
    answers_per_instance : mapping
        ``mean``, ``min``, ``max``, and ``single``: the share of instances with one answer.
    none_answers : int
        Answers without a label.
    votes_per_level : mapping of int to int
        How deep sources answer.
    conflict : float
        Of the instances with several answers, the share where no answer holds all that the
        others said; nan if there are none.
    silent_sources : tuple of str
        Sources that never gave a known label.
    unknown_labels : tuple of UnknownLabel
        The most frequent first.
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
    conflict: float
    silent_sources: tuple[str, ...]
    unknown_labels: tuple[UnknownLabel, ...]


@registered("model")
@dataclass(frozen=True, eq=False)
class Model:
    """A method's parameters and what it learnt, the rule it decides by, and whom it knows.

    Attributes
    ----------
    method : str
        The registered name.
    parameters : mapping
        All its parameters.
    fitted : Fitted
        What it learnt.
    rule : Settled
        The rule that makes label sets of its scores.
    sources : Index
        The sources it knows, in the order in which it knows them.
    scope : csr_array, (M, K), or None
        What they can speak about, as in `Panel`.
    """

    method: str
    parameters: dict[str, Any]
    fitted: Any
    rule: FittedRule
    sources: Index
    scope: Sparse | None = None
