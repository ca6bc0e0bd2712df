"""Summary: the plain facts of a run, for whatever renders them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mhpc.core.choice import Choice
from mhpc.core.conflicts import Conflicts
from mhpc.core.consolidation import Step
from mhpc.core.scorecard import Scorecard
from mhpc.core.sources import SourceFacts


@dataclass(frozen=True)
class Summary:
    """What a run did and found.

    Attributes
    ----------
    method, parameters, converged, trace
        As in `Consolidation`.
    counts : mapping of str to int
        Instances, sources, answers, labels, levels.
    choice : Choice or None
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
    choice: Choice | None
    counts: Mapping[str, int]
    decision: Mapping[str, Any]
    sources: tuple[SourceFacts, ...]
    conflicts: Conflicts
    scorecards: tuple[Scorecard, ...]
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
