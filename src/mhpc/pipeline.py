"""The stages, top to bottom. Only here, in the CLI and in engines do stages meet."""

import logging
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from mhpc.consolidate.method import Method
from mhpc.consolidate.registry import make_method
from mhpc.consolidate.voices import kinship_in
from mhpc.core.algebra import one_thread_each
from mhpc.core.arrays import Sparse
from mhpc.core.conflicts import KEPT
from mhpc.core.consolidation import Consolidation, among, walk
from mhpc.core.decision import Decision, Settled
from mhpc.core.inspection import Inspection
from mhpc.core.memory import as_bytes, within_memory
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts, Whole, part_of
from mhpc.core.progress import Progress, silent
from mhpc.core.scorecard import Scorecard, View
from mhpc.core.sources import SourceFacts
from mhpc.core.tally import Tally
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import Truth
from mhpc.core.votes import Votes
from mhpc.decide.registry import make_rule
from mhpc.decide.rule import Rule
from mhpc.decide.rule import decided as decided_by
from mhpc.encode.gold import clamped
from mhpc.encode.labels import Unknown
from mhpc.encode.panel import encode
from mhpc.encode.truth import encode_truth
from mhpc.engine.foresee import refuse_what_will_not_fit
from mhpc.engine.local import sample_seen, with_known
from mhpc.errors import MhpcWarning, ParameterError
from mhpc.evaluate.scorecard import score
from mhpc.explain.inspection import inspection
from mhpc.explain.sources import source_facts, tally
from mhpc.result import Result

_LOG = logging.getLogger("mhpc")


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
        How scores become label sets, as ``mhpc.ExpectedF(depth_bias=1)``; unless given, one path
        where the method takes it that instances have one true label, expected F where its scores
        are shares of sources, else a threshold.
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
    _LOG.info("consolidating %r by %s", panel, chosen.name)
    with within_memory(as_bytes(memory)), one_thread_each():
        result = _consolidate_panel(panel, chosen, rule, progress)
    tell_found(result.consolidation)
    return result


def evaluate(
    result: Result | Consolidation,
    truth: Truth,
    *,
    view: View = "closed",
    unknown: Unknown = "error",
    decided: Sparse | None = None,
) -> Scorecard:
    """Measure scores and label sets against a truth; who is not in it does not count.

    Parameters
    ----------
    result : Result or Consolidation
        What to measure; label sets are those of a Result, unless given.
    truth : Truth
        As `mhpc.read_truth` gives it.
    view : "closed" or "specific"
        Measure scores against all true labels with their ancestors, or against the deepest ones.
    unknown : "error", "drop" or "graft"
        What to do with labels and instances that the result does not know.
    decided : csr_array, optional
        An entry where an instance is given a label, (N, K).
    """
    if view not in ("closed", "specific"):
        raise ParameterError(f"view = {view!r} is not allowed; give closed | specific")
    found = result.consolidation if isinstance(result, Result) else result
    if decided is None and isinstance(result, Result):
        decided = result.decision.reason
    known = encode_truth(truth, found.taxonomy, found.instances, unknown=unknown)
    return score(found, known, view=view, decided=decided)


def inspect(votes: Votes, taxonomy: Taxonomy) -> Inspection:
    """Return coverage, depth, conflict, unknown labels and silent sources of votes."""
    with warnings.catch_warnings():
        # What is left out here is listed in the result.
        warnings.simplefilter("ignore", MhpcWarning)
        panel = encode(votes, taxonomy, unknown="drop")
    return inspection(votes, taxonomy, panel)


def _consolidate_panel(
    panel: Panel, method: Method, rule: Rule | None, progress: Progress
) -> Result:
    refuse_what_will_not_fit(method, panel)
    consolidation = clamped(method.consolidate(panel, progress=progress), panel.gold)
    decision = decided_by(settled_for(consolidation, panel, rule), consolidation)
    facts = facts_of(Whole(panel), panel, counted(panel, consolidation, decision))
    return Result(panel, consolidation, decision, facts)


def tell_found(found: Consolidation) -> None:
    """Log what came out: why a method was chosen, and whether it settled."""
    if found.choice is not None:
        _LOG.info("chosen: %s", found.choice.reason)
    if found.trace:
        settled = "converged" if found.converged else "stopped"
        _LOG.info("%s %s after %d iterations", found.method, settled, found.trace[-1].iteration)


def settled_for(found: Consolidation, panel: Panel, rule: Rule | None = None) -> Settled:
    """Return what decides on all instances, by a rule or by the usual one."""
    seen = sample_seen(found, panel)
    return (rule or rule_for(found)).settle(seen, labels_per_answer=panel.labels_per_answer)


def rule_for(consolidation: Consolidation, name: str | None = None, **parameters: Any) -> Rule:
    """Return a rule by name, or the one that decides unless another is given; as `make_rule`."""
    if name is None:
        usual = "expected-f" if consolidation.probable else "threshold"
        name = "one-path" if consolidation.one_truth else usual
    return make_rule(name, **parameters)


def counted(
    panel: Panel, consolidation: Consolidation, decision: Decision, *, most: int = KEPT
) -> Tally:
    """Count what sources said and how far label sets uphold it, block by block."""
    level = decision.parameters.get("level")
    tallies = (
        tally(
            part_of(panel, span), consolidation.score[span], decision.reason[span], level=level,
            most=most,
        )
        for span in walk(consolidation)
    )  # fmt: skip
    return reduce(add, tallies)


def facts_of(parts: Parts, shape: Panel, found: Tally) -> tuple[SourceFacts, ...]:
    """Return what there is to tell of the sources."""
    facts = source_facts(found, parts.sources, kinship_in(parts), parts.taxonomy)
    # What is known is a source to learn from, not one to tell of.
    return facts if shape.gold is None else facts[:-1]


def scorecards(
    found: Consolidation, settled: Settled, truth: Truth, unknown: Unknown
) -> tuple[Scorecard, ...]:
    """Measure both views, and the label sets of those instances that the truth knows."""
    views: tuple[View, ...] = ("closed", "specific")
    known = encode_truth(truth, found.taxonomy, found.instances, unknown=unknown)
    some = among(found, known.rows)
    here = replace(known, rows=np.arange(len(known.rows)))
    reason = decided_by(settled, some).reason
    return tuple(score(some, here, view=view, decided=reason) for view in views)
