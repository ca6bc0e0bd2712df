"""The stages, top to bottom. Only here, in the CLI and in engines do stages meet."""

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mhpc.choose.judge import judge
from mhpc.consolidate.grid import grid
from mhpc.consolidate.method import Method
from mhpc.consolidate.registry import METHODS, make_method
from mhpc.consolidate.voices import kinship_in
from mhpc.core.arrays import FloatArray
from mhpc.core.best import scored_cells
from mhpc.core.choice import Compared
from mhpc.core.consolidation import Consolidation, Step
from mhpc.core.decision import Decision
from mhpc.core.inspection import Inspection
from mhpc.core.memory import as_bytes, within_memory
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts, Whole
from mhpc.core.progress import Progress, silent
from mhpc.core.scorecard import Scorecard, View
from mhpc.core.sources import SourceFacts
from mhpc.core.tally import Tally
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import Truth
from mhpc.core.votes import Votes
from mhpc.decide.one_path import OnePath
from mhpc.decide.rule import Rule, decided
from mhpc.decide.threshold import Threshold
from mhpc.encode.gold import clamped
from mhpc.encode.labels import Unknown
from mhpc.encode.panel import encode
from mhpc.encode.truth import encode_truth
from mhpc.engine.local import sample_seen, with_known
from mhpc.errors import MhpcWarning, ParameterError
from mhpc.evaluate.scorecard import score
from mhpc.explain.inspection import inspection
from mhpc.explain.sources import source_facts, tally


@dataclass(frozen=True, eq=False)
class Result:
    """Everything that `consolidate` found."""

    panel: Panel
    consolidation: Consolidation
    decision: Decision
    sources: tuple[SourceFacts, ...]

    @property
    def scores(self) -> dict[str, list[str] | FloatArray]:
        """Columns instance, label, score, specific, as in scores.parquet, for any dataframe."""
        found, cells = self.consolidation, list(scored_cells(self.consolidation))
        return {
            "instance": [found.instances[i] for part in cells for i in part.row],
            "label": [found.taxonomy.labels[k] for part in cells for k in part.label],
            "score": np.concatenate([part.score for part in cells]),
            "specific": np.concatenate([part.specific for part in cells]),
        }

    @property
    def labels(self) -> dict[str, list[str]]:
        """The label set of every instance, closed under ancestors."""
        return self.decision.labels()

    @property
    def trace(self) -> tuple[Step, ...]:
        """The iterations of the method."""
        return self.consolidation.trace


def consolidate(
    votes: Votes,
    taxonomy: Taxonomy,
    *,
    method: str | Method | None = None,
    rule: Rule | None = None,
    unknown: Unknown = "error",
    instances: Iterable[str] = (),
    gold: Truth | None = None,
    memory: str | int | None = None,
    progress: Progress = silent,
) -> Result:
    """Consolidate what sources said into scores, label sets and facts about the sources.

    Parameters
    ----------
    votes, taxonomy
        As `mhpc.read_votes` and `mhpc.read_taxonomy` give them.
    method : str or method, optional
        A registered name, or a method with its parameters: ``mhpc.MHPC(lam=1)``. Unless given,
        ``mhpc.Auto()``, which chooses by foretelling hidden answers.
    rule : Rule, optional
        How scores become label sets; unless given, one path where the method takes it that
        instances have one true label, else a threshold.
    unknown : "error", "drop" or "graft"
        What to do with labels that the taxonomy lacks.
    instances : iterable of str, optional
        Further instances that nobody answered.
    gold : Truth, optional
        Instances whose labels are known: they are taken as they are, and teach what is learnt of
        the others. Unless given, what the votes' own file marks as known.
    memory : str or int, optional
        Bytes, or a text such as "6GB", that the work may take; unless given, half of what is
        free. Scores that do not fit are made when they are asked for.
    progress : callable, optional
        Told how far the work is.
    """
    panel = encode(votes, taxonomy, unknown=unknown, instances=instances)
    panel = with_known(panel, votes.gold if gold is None else gold, unknown=unknown)
    chosen = method if method is not None and not isinstance(method, str) else make_method(method)
    with within_memory(as_bytes(memory)):
        return _consolidate_panel(panel, chosen, rule, progress)


def evaluate(
    result: Result | Consolidation,
    truth: Truth,
    *,
    view: View = "closed",
    unknown: Unknown = "error",
) -> Scorecard:
    """Measure scores against a truth; instances without a known truth do not count."""
    if view not in ("closed", "specific"):
        raise ParameterError(f"view = {view!r} is not allowed; give closed | specific")
    found = result.consolidation if isinstance(result, Result) else result
    known = encode_truth(truth, found.taxonomy, found.instances, unknown=unknown)
    return score(found, known, view=view)


def inspect(votes: Votes, taxonomy: Taxonomy) -> Inspection:
    """Return coverage, depth, conflict, unknown labels and silent sources of votes."""
    with warnings.catch_warnings():
        # What is left out here is listed in the result.
        warnings.simplefilter("ignore", MhpcWarning)
        panel = encode(votes, taxonomy, unknown="drop")
    return inspection(votes, taxonomy, panel)


def compare(
    votes: Votes,
    taxonomy: Taxonomy,
    methods: Iterable[str] | Mapping[str, Method] = (),
    *,
    truth: Truth | None = None,
    unknown: Unknown = "error",
    folds: int = 4,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress = silent,
) -> tuple[Compared, ...]:
    """Judge methods by how well they foretell hidden answers; measure them where truth is known.

    Parameters
    ----------
    votes, taxonomy, unknown
        As `consolidate` takes them.
    methods : iterable of str, or mapping of str to method
        Registered names, which stand for methods as they come; or methods with any parameters, by
        the names they are to have. None: all as they come.
    truth : Truth, optional
        To measure the results against; it changes none.
    folds : int
        How many times a part of the answers is hidden, at most.
    seed : int
        Which answers are hidden together.
    jobs : int
        Processes that try methods side by side.
    progress : callable
        Told how far the work is.
    """
    candidates = methods if isinstance(methods, Mapping) else grid(methods or METHODS)
    panel = encode(votes, taxonomy, unknown=unknown)
    judged = {
        each.name: each
        for each in judge(panel, candidates, count=folds, seed=seed, jobs=jobs, progress=progress)
    }
    found: list[Compared] = []
    for name, method in candidates.items():
        progress(f"consolidating by {name}", len(found), len(candidates))
        began = time.perf_counter()
        result = method.consolidate(panel)
        seconds = time.perf_counter() - began
        cards = scorecards(result, truth, unknown) if truth else ()
        found.append(Compared(name, judged.get(name), cards, seconds))
    return tuple(found)


def _consolidate_panel(
    panel: Panel, method: Method, rule: Rule | None, progress: Progress
) -> Result:
    consolidation = clamped(method.consolidate(panel, progress=progress), panel.gold)
    rule = rule or rule_for(consolidation)
    settled = rule.settle(
        sample_seen(consolidation, panel), labels_per_answer=panel.labels_per_answer
    )
    decision = decided(settled, consolidation)
    facts = facts_of(Whole(panel), panel, tally(panel, decision.reason))
    return Result(panel, consolidation, decision, facts)


def rule_for(consolidation: Consolidation) -> Rule:
    """Return the rule that decides unless another is given."""
    return OnePath() if consolidation.one_truth else Threshold()


def facts_of(parts: Parts, shape: Panel, found: Tally) -> tuple[SourceFacts, ...]:
    """Return what there is to tell of the sources."""
    facts = source_facts(found, parts.sources, kinship_in(parts))
    # What is known is a source to learn from, not one to tell of.
    return facts if shape.gold is None else facts[:-1]


def scorecards(found: Consolidation, truth: Truth, unknown: Unknown) -> tuple[Scorecard, ...]:
    """Measure both views."""
    views: tuple[View, ...] = ("closed", "specific")
    known = encode_truth(truth, found.taxonomy, found.instances, unknown=unknown)
    return tuple(score(found, known, view=view) for view in views)
