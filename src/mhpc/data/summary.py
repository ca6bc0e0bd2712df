"""What a run found, what `mhpc inspect` finds, and the model that a run saves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mhpc.data.combination import Combination
from mhpc.data.decision import FittedRule
from mhpc.data.denials import DenialWeights
from mhpc.data.disagreement import DisagreementRanking, Disagreements
from mhpc.data.exclusive import ExclusiveConflicts
from mhpc.data.index import Index
from mhpc.data.profiles import SourceProfile
from mhpc.data.scorecard import Scorecard
from mhpc.data.scores import Step
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import MatchKind
from mhpc.errors import UnreadableError, pluralize, quote_list
from mhpc.numerics.arrays import FloatArray, Sparse
from mhpc.parameters import registered
from mhpc.system.display import Shown, ShownTable, percent


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
        Remarks on how far the result can be trusted, and on how it was computed.
    input_notes : tuple of str
        What was said about the input while it was read: how it was understood, what was left out.
    technical_notes : tuple of str
        Those of both kinds of notes that ask nothing of a reader: how the result was computed, and
        how the input was understood.
    names : mapping of str to str
        The names of the labels under which sources err most, by id, as far as they differ from the
        ids.
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
    input_notes: tuple[str, ...] = ()
    technical_notes: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RunCounts:
    """Counts over instances; counts of different blocks of instances can be added.

    Attributes
    ----------
    instances, chosen, without_label : int
        The number of instances, of labels chosen for them, and of instances that got none.
    by_source : float array, (9, M)
        For every source: its answers; its votes; the sum of their depths; its answers with labels;
        the sum over these of the share of their most specific labels that is not in the label
        sets, and of the share below which the sets have another label; its answers whose most
        specific labels are exactly those of the label sets; the instances on which it abstained;
        and its negative votes.
    by_label : float array, (4, K)
        For every label: the answers that give the label itself; the instances for which some answer
        gives it or a descendant; the instances whose set has it; the instances on which it is
        disputed.
    given, rejected : csr_array, (M, K)
        How often each source gave each label as a most specific one, and how often the label set
        does not have it.
    disagreements : DisagreementRanking
        The instances whose review has the largest expected gain.
    exclusive : ExclusiveConflicts
        The instances whose label sets have labels that exclude each other.
    """

    instances: int
    chosen: int
    without_label: int
    by_source: FloatArray
    by_label: FloatArray
    given: Sparse
    rejected: Sparse
    disagreements: DisagreementRanking
    exclusive: ExclusiveConflicts = field(default_factory=ExclusiveConflicts)

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
            self.exclusive + other.exclusive,
        )


@dataclass(frozen=True)
class MatchedLabel:
    """A label that is not in the taxonomy as it is written, but is understood.

    Attributes
    ----------
    label : str
        The label as it is written.
    votes : int
        Its number of votes.
    to : str
        The id of the label that it is taken for; ``abstain`` or ``none of these`` for words that
        mean this.
    how : MatchKind
        How it was understood.
    """

    label: str
    votes: int
    to: str
    how: MatchKind


@dataclass(frozen=True)
class UnknownLabel:
    """A label that is not in the taxonomy, in any spelling.

    Attributes
    ----------
    label : str
        The label as it is written.
    votes : int
        Its number of votes.
    nearest : tuple of str
        Ids and names that look like it, for the most frequent labels.
    to : str or None
        The label to take it for, if there is a suggestion.
    how : "nearest", "ancestor" or None
        Which policy for unknown labels would do so.
    """

    label: str
    votes: int
    nearest: tuple[str, ...]
    to: str | None = None
    how: MatchKind | None = None


@dataclass(frozen=True, repr=False)
class Inspection(Shown):
    """Facts about votes and their taxonomy, before anything is consolidated.

    Attributes
    ----------
    instances, sources, answers, votes : int
        How many there are of each; an answer is all that one source says of one instance. Votes
        for unknown labels are counted, but no answer consists of them alone.
    labels, levels, labels_used : int
        The size of the taxonomy, and the number of its labels that sources give (without the
        ancestors that those imply).
    coverage : float
        Answers / (instances x sources).
    answers_per_instance : mapping
        ``mean``, ``min``, ``max``, and ``single``: the proportion of instances with one answer.
    none_answers : int
        The number of answers that say that no label applies.
    votes_per_level : mapping of int to int
        How specific the votes are.
    disputed : int
        The number of instances on which sources disagree, as in `Disagreements`.
    disagreement : float
        Their proportion of the instances that several sources answered; nan if there are none.
    silent_sources : tuple of str
        Sources that never gave a label of the taxonomy.
    unknown_labels : tuple of UnknownLabel
        Labels that are not in the taxonomy, the most frequent first.
    abstentions, unknown_answers, denials : int
        How often a source did not know, how often of these because it gave nothing but unknown
        labels, and the number of negative votes.
    matched_labels : tuple of MatchedLabel
        Labels that are understood although they are not in the taxonomy as they are written, the
        most frequent first.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "oak"}, "2": {"ann": "oak", "bob": "oak"}}
    >>> print(mhpc.inspect(votes, ["rose", "oak"]))
    2 sources gave 4 answers with 4 votes about 2 instances
      fact                           value
      taxonomy                       2 labels on 1 level, 2 of them used
      coverage                       100 % of all (instance, source) pairs
      answers per instance           2.0 (from 2 to 2); 0 % have only one
      votes by level                 4 on level 1
      none of these                  0 answers
      disagreement                   1 instance, 50 % of those that several sources answered
      sources without a known label  none
      labels not in the taxonomy     0
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
    matched_labels: tuple[MatchedLabel, ...] = ()
    abstentions: int = 0
    denials: int = 0
    disputed: int = 0
    unknown_answers: int = 0

    @property
    def label_map(self) -> tuple[tuple[str, str, int, str], ...]:
        """All labels that are not in the taxonomy as they are written, the most frequent first.

        Each with what it is or could be taken for (or nothing), its votes, and how.
        """
        entries: list[MatchedLabel | UnknownLabel] = [*self.matched_labels, *self.unknown_labels]
        rows = [(entry.label, entry.to or "", entry.votes, entry.how or "") for entry in entries]
        return tuple(sorted(rows, key=lambda row: -row[2]))

    def __repr__(self) -> str:
        return (
            f"Inspection({pluralize(self.answers, 'answer')} of "
            f"{pluralize(self.sources, 'source')} on {pluralize(self.instances, 'instance')}, "
            f"{pluralize(len(self.unknown_labels), 'unknown label')})"
        )

    def _special_answers(self) -> dict[str, str]:
        """Return the facts that most inputs do not have."""
        facts = {
            "asked, did not know": pluralize(self.abstentions, "time")
            + (f" ({self.unknown_answers:,} by unknown labels)" if self.unknown_answers else ""),
            "not this": pluralize(self.denials, "vote"),
        }
        counts = (self.abstentions, self.denials)
        return {fact: text for (fact, text), n in zip(facts.items(), counts, strict=True) if n}

    def shown_tables(self) -> Iterator[ShownTable]:
        """Return the facts, and the labels that the taxonomy lacks."""
        answers = self.answers_per_instance
        facts = {
            "taxonomy": f"{pluralize(self.labels, 'label')} on {pluralize(self.levels, 'level')}, "
            f"{self.labels_used:,} of them used",
            "coverage": f"{percent(self.coverage)} of all (instance, source) pairs",
            "answers per instance": f"{answers['mean']:.1f} (from {answers['min']:.0f} to "
            f"{answers['max']:.0f}); {percent(answers['single'])} have only one",
            "votes by level": ", ".join(
                f"{votes:,} on level {level}" for level, votes in self.votes_per_level.items()
            ),
            "none of these": pluralize(self.none_answers, "answer"),
            **self._special_answers(),
            "disagreement": "no instance was answered by several sources"
            if self.disagreement != self.disagreement
            else f"{pluralize(self.disputed, 'instance')}, {percent(self.disagreement)} of those "
            "that several sources answered",
            "sources without a known label": quote_list(self.silent_sources) or "none",
            "labels not in the taxonomy": f"{len(self.unknown_labels):,}",
        }
        yield ShownTable(
            f"{pluralize(self.sources, 'source')} gave {pluralize(self.answers, 'answer')} with "
            f"{pluralize(self.votes, 'vote')} about {pluralize(self.instances, 'instance')}",
            ("fact", "value"),
            list(facts.items()),
            len(facts),
        )
        if self.label_map:
            yield ShownTable(
                "Labels that are not in the taxonomy as they are written:",
                ("from", "to", "votes", "how"),
                list(self.label_map),
                len(self.label_map),
            )


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
    denial_weights : DenialWeights or None
        How much negative votes count, as in `Consolidation`.
    has_gold : bool
        Whether the last of the sources is that of gold labels.
    taxonomy : str
        The fingerprint of the taxonomy; empty if the model is of an earlier version.
    """

    method: str
    parameters: dict[str, Any]
    fitted: Any
    rule: FittedRule
    sources: Index
    scope: Sparse | None = None
    denial_weights: DenialWeights | None = None
    has_gold: bool = False
    taxonomy: str = ""

    def check_taxonomy(self, taxonomy: Taxonomy) -> None:
        """Refuse a taxonomy with other labels, or in another order, than that of the model."""
        if self.taxonomy not in ("", taxonomy.fingerprint):
            raise UnreadableError(
                "taxonomy.csv of the run is not the taxonomy that its model.npz was fitted to: "
                "labels or parents differ, or the order of the rows; put the file back, or "
                "consolidate again"
            )
