"""Consolidate, evaluate, inspect, compare: the verbs, one screen each."""

import logging
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mhpc.data.decision import FittedRule
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.scorecard import Scorecard, View
from mhpc.data.scores import Consolidation, select_instances
from mhpc.data.selection import CandidateScore, Comparison
from mhpc.data.summary import Inspection
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Unknown, Votes
from mhpc.encoding.gold import clamp_gold, encode_truth
from mhpc.encoding.panel import encode
from mhpc.engines.local import add_gold, rule_sample
from mhpc.errors import MhpcWarning, ParameterError
from mhpc.explanation.inspection import inspection
from mhpc.explanation.sources import count_run, profile_sources
from mhpc.methods.base import Method
from mhpc.methods.memory import check_memory
from mhpc.methods.registry import METHODS, grid, make_method
from mhpc.metrics.scorecard import score
from mhpc.numerics.arrays import Sparse
from mhpc.result import Result
from mhpc.rules.base import Rule
from mhpc.rules.base import apply_rule as decided_by
from mhpc.rules.registry import make_rule
from mhpc.selection.cross_validation import cross_validate
from mhpc.system.display import Progress, silent
from mhpc.system.memory import parse_size, use_memory_budget
from mhpc.system.parallel import single_threaded_blas

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
    panel = add_gold(panel, votes.gold if gold is None else gold, unknown=unknown)
    chosen = method if method is not None and not isinstance(method, str) else make_method(method)
    _LOG.info("consolidating %r by %s", panel, chosen.name)
    with use_memory_budget(parse_size(memory)), single_threaded_blas():
        result = _consolidate_panel(panel, chosen, rule, progress)
    log_consolidation(result.consolidation)
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
    check_memory(method, SinglePartition(panel))
    consolidation = clamp_gold(method.consolidate(panel, progress=progress), panel.gold)
    decision = decided_by(fit_rule(consolidation, panel, rule), consolidation)
    facts = profile_sources(
        SinglePartition(panel), panel, count_run(panel, consolidation, decision)
    )
    return Result(panel, consolidation, decision, facts)


def log_consolidation(found: Consolidation) -> None:
    """Log what came out: why a method was chosen, and whether it settled."""
    if found.selection is not None:
        _LOG.info("chosen: %s", found.selection.reason)
    if found.trace:
        settled = "converged" if found.converged else "stopped"
        _LOG.info("%s %s after %d iterations", found.method, settled, found.trace[-1].iteration)


def fit_rule(found: Consolidation, panel: Panel, rule: Rule | None = None) -> FittedRule:
    """Return what decides on all instances, by a rule or by the usual one."""
    seen = rule_sample(found, panel)
    return (rule or rule_for(found)).fit(seen, labels_per_answer=panel.labels_per_answer)


def rule_for(consolidation: Consolidation, name: str | None = None, **parameters: Any) -> Rule:
    """Return a rule by name, or the one that decides unless another is given; as `make_rule`."""
    if name is None:
        usual = "expected-f" if consolidation.is_probability else "threshold"
        name = "one-path" if consolidation.one_truth else usual
    return make_rule(name, **parameters)


def scorecards(
    found: Consolidation, settled: FittedRule, truth: Truth, unknown: Unknown
) -> tuple[Scorecard, ...]:
    """Measure both views, and the label sets of those instances that the truth knows."""
    views: tuple[View, ...] = ("closed", "specific")
    known = encode_truth(truth, found.taxonomy, found.instances, unknown=unknown)
    some = select_instances(found, known.rows)
    here = replace(known, rows=np.arange(len(known.rows)))
    reason = decided_by(settled, some).reason
    return tuple(score(some, here, view=view, decided=reason) for view in views)


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
) -> tuple[Comparison, ...]:
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
    with single_threaded_blas():
        judged = cross_validate(
            panel, candidates, n_folds=folds, seed=seed, jobs=jobs, progress=progress
        )
        return _measured(panel, candidates, judged, truth, unknown, progress)


def _measured(
    panel: Panel,
    candidates: Mapping[str, Method],
    judged: Iterable[CandidateScore],
    truth: Truth | None,
    unknown: Unknown,
    progress: Progress,
) -> tuple[Comparison, ...]:
    by_name = {each.name: each for each in judged}
    found: list[Comparison] = []
    for name, method in candidates.items():
        progress(f"consolidating by {name}", len(found), len(candidates))
        began = time.perf_counter()
        result = method.consolidate(panel)
        seconds = time.perf_counter() - began
        cards = scorecards(result, fit_rule(result, panel), truth, unknown) if truth else ()
        found.append(Comparison(name, by_name.get(name), cards, seconds))
    return tuple(found)
