"""The verbs of the package: consolidate, evaluate, inspect, compare."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np

from mhpc.data.comparison import CandidateScore, Comparison
from mhpc.data.decision import FittedRule
from mhpc.data.disagreement import Disagreements, Explanation
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.scorecard import Scorecard, View
from mhpc.data.scores import Consolidation, select_instances
from mhpc.data.summary import Inspection, Model
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import NewSources, Truth, Unknown, Votes, join_votes
from mhpc.encoding.gold import encode_truth
from mhpc.errors import MhpcWarning, ParameterError
from mhpc.explanation.inspection import inspect_panel
from mhpc.explanation.queries import explain_instance, find_conflicts
from mhpc.methods.base import BaseMethod, Method
from mhpc.methods.memory import check_memory
from mhpc.methods.registry import METHODS, make_grid, make_method
from mhpc.metrics.scorecard import score
from mhpc.model import read_model
from mhpc.numerics.arrays import Sparse
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.result import Result
from mhpc.rules.base import Rule, apply_rule
from mhpc.selection.racing import MIN_INSTANCES, race
from mhpc.steps import (
    adapt_model,
    apply_model,
    encode_votes,
    fit_and_score,
    fit_rule,
    known_sources,
    log_scores,
    profile,
)
from mhpc.system.display import Progress, silent
from mhpc.system.memory import parse_size, use_memory_budget
from mhpc.system.parallel import single_threaded_blas

Readable: TypeAlias = Any
"""A path, a dataframe, a mapping of columns or a list of mappings."""


def consolidate(
    votes: Votes | Readable,
    taxonomy: Taxonomy | Readable | None = None,
    *,
    method: str | Method | None = None,
    rule: Rule | None = None,
    unknown: Unknown = "error",
    instances: Iterable[str] = (),
    gold: Truth | Readable | None = None,
    apply: Result | str | Path | None = None,
    new_sources: NewSources = "error",
    update: Result | None = None,
    memory: str | int | None = None,
    progress: Progress = silent,
) -> Result:
    """Consolidate the votes of many sources into scores, label sets and source profiles.

    Parameters
    ----------
    votes, taxonomy
        As `mhpc.read_votes` and `mhpc.read_taxonomy` return them, or anything that they read.
    method : str or method, optional
        A registered name, or a method with its parameters: ``mhpc.MHPC(lam=1)``. By default
        ``mhpc.Auto()``, which combines several methods into one probability.
    rule : Rule, optional
        How scores become label sets, such as ``mhpc.ExpectedF(depth_bias=1)``. By default one path
        where the method assumes one true label per instance, expected F where scores are
        probabilities, else a threshold.
    unknown : "error", "drop" or "graft"
        What to do with labels that the taxonomy lacks.
    instances : iterable of str, optional
        Further instances, which no source answered.
    gold : Truth, or anything that `mhpc.read_truth` reads, optional
        Instances whose labels are known, best drawn at random. They keep these labels. From five
        instances on, ``auto`` calibrates its probabilities on them; ``dawid-skene`` and
        ``one-truth`` learn from them how good sources are. By default, the instances that the file
        of the votes marks as known.
    apply : Result or path, optional
        An earlier result, or the folder of a run: its model scores these votes, and its rule
        decides. Nothing is fitted, and taxonomy, method, rule and gold are those of that run.
    new_sources : "error", "ignore" or "prior"
        What to do, with `apply`, with sources that the earlier run does not know: refuse them,
        leave their answers out, or count each as reliable as the known ones are on average.
    update : Result, optional
        An earlier result to learn from together with these votes, by its taxonomy and method: as
        if all votes had been consolidated at once.
    memory : str or int, optional
        Bytes that may be used, or a text such as "6GB"; by default half of what is free. Scores
        that do not fit are computed when they are needed.
    progress : callable, optional
        Called with the name of a stage, how much of it is done, and how much there is.
    """
    votes, gold = _as_votes(votes), _as_truth(gold)
    _check_earlier(
        apply, update, new_sources, taxonomy=taxonomy, method=method,
        **({"rule": rule, "gold": gold} if apply is not None else {}),
    )  # fmt: skip
    with use_memory_budget(parse_size(memory)), single_threaded_blas():
        if apply is not None:
            model, taxonomy = _load_model(apply)
            panel = encode_votes(
                votes, taxonomy, unknown=unknown, instances=instances, gold=votes.gold,
                known_sources=known_sources(model, new_sources),
            )  # fmt: skip
            model = adapt_model(model, panel, n_labels=len(taxonomy))
            scores, fitted_rule = apply_model(model, panel, progress=progress), model.rule
        else:
            if update is not None:
                votes, taxonomy, method = _join_earlier(update, votes)
            panel = encode_votes(
                votes, _as_taxonomy(taxonomy), unknown=unknown, instances=instances,
                gold=votes.gold if gold is None else gold,
            )  # fmt: skip
            chosen = make_method(method) if method is None or isinstance(method, str) else method
            scores = fit_and_score(chosen, panel, progress=progress)
            fitted_rule = fit_rule(rule, scores, panel)
        decision = apply_rule(fitted_rule, scores)
        sources = profile(panel, scores, decision)
    log_scores(scores)
    return Result(panel, scores, decision, sources, votes=votes, rule=fitted_rule)


def _check_earlier(
    apply: Any, update: Any, new_sources: NewSources, *, taxonomy: Any, **fixed: Any
) -> None:
    """Refuse arguments that an earlier result has fixed, or that mean nothing without one."""
    if apply is not None and update is not None:
        raise ParameterError("apply and update cannot be given together; only update learns")
    if new_sources not in get_args(NewSources):
        raise ParameterError(
            f"new_sources = {new_sources!r} is not allowed; give error | ignore | prior"
        )
    if new_sources != "error" and apply is None:
        raise ParameterError("new_sources can only be given with apply; else all are learned")
    if apply is None and update is None:
        if taxonomy is None:
            raise ParameterError(
                "taxonomy is missing; give a taxonomy, or an earlier result to apply"
            )
        return
    which = "apply" if update is None else "update"
    for name, value in {"taxonomy": taxonomy, **fixed}.items():
        if value is not None:
            raise ParameterError(f"{name} cannot be given with {which}, which has it already")


def _load_model(earlier: Result | str | Path) -> tuple[Model, Taxonomy]:
    """Return the model of an earlier result, or of the folder of a run, and its taxonomy."""
    if not isinstance(earlier, Result):
        return read_model(Path(earlier)), read_taxonomy(Path(earlier) / "taxonomy.csv")
    scores, panel = earlier.consolidation, earlier.panel
    if scores.fitted is None or earlier.rule is None:
        raise ParameterError(
            "apply needs what was fitted; give a result of mhpc.consolidate, or the folder of a run"
        )
    model = Model(
        method=scores.method,
        parameters=dict(scores.parameters),
        fitted=scores.fitted(),
        rule=earlier.rule,
        sources=panel.sources,
        scope=panel.scope,
        has_gold=panel.gold is not None,
    )
    return model, scores.taxonomy


def _join_earlier(earlier: Result, votes: Votes) -> tuple[Votes, Taxonomy, BaseMethod]:
    """Return the votes of an earlier result with new ones, its taxonomy and its method."""
    if earlier.votes is None:
        raise ParameterError("update needs the earlier votes; give a result of mhpc.consolidate")
    scores = earlier.consolidation
    method = make_method(scores.method, dict(scores.parameters))
    return join_votes([earlier.votes, votes]), scores.taxonomy, method


def evaluate(
    result: Result | Consolidation,
    truth: Truth | Readable,
    *,
    view: View = "closed",
    unknown: Unknown = "error",
    decided: Sparse | None = None,
) -> Scorecard:
    """Measure scores and label sets on the instances whose true labels are known.

    Parameters
    ----------
    result : Result or Consolidation
        What to measure.
    truth : Truth, or anything that `mhpc.read_truth` reads
        The true labels.
    view : "closed" or "specific"
        Measure scores against all true labels with their ancestors, or against the deepest ones.
    unknown : "error", "drop" or "graft"
        What to do with labels and instances of the truth that the result does not know.
    decided : csr_array, (N, K), optional
        An entry where an instance has a label; by default, the label sets of the Result.
    """
    if view not in ("closed", "specific"):
        raise ParameterError(f"view = {view!r} is not allowed; give closed | specific")
    scores = result.consolidation if isinstance(result, Result) else result
    if decided is None and isinstance(result, Result):
        decided = result.decision.reason
    encoded = encode_truth(_as_truth(truth), scores.taxonomy, scores.instances, unknown=unknown)
    return score(scores, encoded, view=view, decided=decided)


def evaluate_views(
    scores: Consolidation, rule: FittedRule, truth: Truth, unknown: Unknown
) -> tuple[Scorecard, ...]:
    """Measure both views, and the label sets, of the instances that the truth knows."""
    views: tuple[View, ...] = ("closed", "specific")
    encoded = encode_truth(truth, scores.taxonomy, scores.instances, unknown=unknown)
    known_scores = select_instances(scores, encoded.rows)
    encoded = replace(encoded, rows=np.arange(len(encoded.rows)))
    label_sets = apply_rule(rule, known_scores).reason
    return tuple(score(known_scores, encoded, view=view, decided=label_sets) for view in views)


def explain(result: Result, instance: str, label: str | None = None) -> Explanation:
    """Explain why an instance has a label: who supports or contradicts it, and to what effect.

    Parameters
    ----------
    result : Result
        As `mhpc.consolidate` returns it.
    instance : str
        The id of the instance.
    label : str, optional
        An id, or a name or path that only one label has. By default all labels that are chosen or
        disputed.
    """
    return explain_instance(result.panel, result.consolidation, result.decision, instance, label)


def conflicts(result: Result, *, top: int = 50) -> Disagreements:
    """Return the instances that a person should review first, and the labels that sources confuse.

    Parameters
    ----------
    result : Result
        As `mhpc.consolidate` returns it.
    top : int
        How many instances, and pairs of labels, to return at most.
    """
    return find_conflicts(result.panel, result.consolidation, result.decision, limit=top)


def inspect(votes: Votes | Readable, taxonomy: Taxonomy | Readable) -> Inspection:
    """Summarize votes before they are consolidated.

    The summary has coverage, depth, disagreement, labels that the taxonomy lacks and sources that
    never answer.
    """
    votes, taxonomy = _as_votes(votes), _as_taxonomy(taxonomy)
    with warnings.catch_warnings():
        # Dropped labels are part of the summary.
        warnings.simplefilter("ignore", MhpcWarning)
        panel = encode_votes(votes, taxonomy, unknown="drop")
    return inspect_panel(votes, taxonomy, panel)


def compare(
    votes: Votes | Readable,
    taxonomy: Taxonomy | Readable,
    methods: Iterable[str] | Mapping[str, Method] = (),
    *,
    truth: Truth | Readable | None = None,
    unknown: Unknown = "error",
    folds: int = 4,
    seed: int = 0,
    jobs: int | None = None,
    instances: int = MIN_INSTANCES,
    progress: Progress = silent,
    report: Callable[[CandidateScore], None] = lambda score: None,
) -> tuple[Comparison, ...]:
    """Compare methods by how well they predict held-out sources, and by truth where it is known.

    Methods are compared on a sample of the instances. It is doubled for those that may be the best,
    until the best is clear or the sample is large; the others keep what they got until then.

    Parameters
    ----------
    votes, taxonomy, unknown
        As `consolidate` takes them.
    methods : iterable of str, or mapping of str to method
        Registered names, for methods with their default parameters; or methods by the names they
        should have. By default, all registered methods.
    truth : Truth, or anything that `mhpc.read_truth` reads, optional
        True labels to measure the results against, which are then computed for all instances.
    folds : int
        The highest number of folds of the cross-validation.
    seed : int
        Which sources are held out together.
    jobs : int, optional
        How many folds are worked on at the same time; by default one per core. The results are
        the same for any number.
    instances : int
        Instances that all methods are compared on, if there are so many. Methods that learn from
        the answers of many instances do better on more.
    progress : callable
        Called with the name of a stage, how much of it is done, and how much there is.
    report : callable
        Called with the score of a method as soon as it is known, and again if it is measured on
        more instances.
    """
    candidates = methods if isinstance(methods, Mapping) else make_grid(methods or METHODS)
    panel = encode_votes(_as_votes(votes), _as_taxonomy(taxonomy), unknown=unknown)
    with single_threaded_blas():
        losses = race(
            panel, candidates, n_folds=folds, seed=seed, jobs=jobs, min_instances=instances,
            progress=progress, report=report,
        )  # fmt: skip
        by_name = {candidate.name: candidate for candidate in losses}
        if truth is None:
            return tuple(_comparison(name, by_name.get(name)) for name in candidates)
        return _consolidate_each(panel, candidates, by_name, _as_truth(truth), unknown, progress)


def _consolidate_each(
    panel: Panel,
    candidates: Mapping[str, Method],
    losses: Mapping[str, CandidateScore],
    truth: Truth,
    unknown: Unknown,
    progress: Progress,
) -> tuple[Comparison, ...]:
    for method in candidates.values():
        check_memory(method, SinglePartition(panel))
    comparisons: list[Comparison] = []
    for name, method in candidates.items():
        progress(f"consolidating by {name}", len(comparisons), len(candidates))
        start = time.perf_counter()
        scores = method.consolidate(panel)
        seconds = time.perf_counter() - start
        cards = evaluate_views(scores, fit_rule(None, scores, panel), truth, unknown)
        comparisons.append(_comparison(name, losses.get(name), cards, seconds))
    return tuple(comparisons)


def _comparison(
    name: str,
    candidate: CandidateScore | None,
    cards: tuple[Scorecard, ...] = (),
    seconds: float = 0.0,
) -> Comparison:
    """Return a method in a comparison; `seconds` are those beside the cross-validation."""
    seconds += 0.0 if candidate is None else candidate.seconds
    return Comparison(name, candidate, cards, seconds)


def _as_votes(votes: Any) -> Votes:
    return votes if isinstance(votes, Votes) else read_votes(votes)


def _as_taxonomy(taxonomy: Any) -> Taxonomy:
    return taxonomy if isinstance(taxonomy, Taxonomy) else read_taxonomy(taxonomy)


def _as_truth(truth: Any) -> Any:
    return truth if truth is None or isinstance(truth, Truth) else read_truth(truth)
