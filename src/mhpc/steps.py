"""The four steps from votes to results: encode, fit and score, decide, profile.

`mhpc.consolidate`, ``mhpc consolidate``, the Dask engine, `mhpc.run.load_run` and the adapters all
take these steps, so that the same votes give the same results everywhere.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from mhpc.data.decision import RULE_SAMPLE, Decision, FittedRule
from mhpc.data.denials import DenialWeights
from mhpc.data.index import UNKNOWN
from mhpc.data.panel import Panel, SinglePartition, panel_rows, sample_rows
from mhpc.data.profiles import SourceProfiles
from mhpc.data.scorecard import Scorecard, View
from mhpc.data.scores import Consolidation, select_instances
from mhpc.data.summary import Model
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import EncodedTruth, NewSources, Policy, Truth, Votes
from mhpc.encoding.denials import apply_denials, weigh_denials
from mhpc.encoding.gold import append_gold_source, clamp_gold, encode_truth
from mhpc.encoding.known_sources import KnownSources, align_sources
from mhpc.encoding.panel import encode
from mhpc.explanation.sources import count_run, profile_sources
from mhpc.methods.base import BaseMethod, Method, predict_scores
from mhpc.methods.fitted import FittedMethod, SourceChange
from mhpc.methods.memory import check_memory
from mhpc.methods.registry import make_method
from mhpc.methods.used_labels import put_back_labels
from mhpc.metrics.scorecard import score as measure
from mhpc.numerics.arrays import IntArray
from mhpc.rules.base import Rule, apply_rule
from mhpc.rules.registry import make_rule
from mhpc.system.display import Progress, silent

_LOG = logging.getLogger("mhpc")


def encode_votes(
    votes: Votes,
    taxonomy: Taxonomy,
    *,
    unknown: Policy = "error",
    gold: Truth | None = None,
    known_sources: KnownSources | None = None,
    instances: Iterable[str] = (),
) -> Panel:
    """Encode votes, with the labels that are known of some instances.

    Parameters
    ----------
    votes, taxonomy, unknown, instances
        As `mhpc.encode` takes them.
    gold : Truth, optional
        Instances whose labels are known.
    known_sources : KnownSources, optional
        The sources of a run that is applied to these votes.
    """
    panel = encode(votes, taxonomy, unknown=unknown, instances=instances)
    if gold is None:
        return add_known(panel, known_sources=known_sources)
    encoded = encode_truth(gold, panel.taxonomy, panel.instances, unknown=unknown)
    return add_known(panel, gold=encoded, known_sources=known_sources)


def add_known(
    panel: Panel,
    *,
    gold: EncodedTruth | None = None,
    known_sources: KnownSources | None = None,
) -> Panel:
    """Return a panel with its gold labels as a last source, and sources numbered as before."""
    if gold is not None:
        panel = append_gold_source(panel, gold)
    if known_sources is not None:
        panel = align_sources(panel, known_sources)
    return panel


def fit_and_score(method: Method, panel: Panel, *, progress: Progress = silent) -> Consolidation:
    """Fit a method to a panel and score all its instances, as `use_all_votes` does."""
    _LOG.info("consolidating %r by %s", panel, method.name)
    check_memory(method, SinglePartition(panel))
    return use_all_votes(method.consolidate(panel, progress=progress), panel)


def score(
    method: BaseMethod,
    fitted: FittedMethod,
    panel: Panel,
    *,
    denial_weights: DenialWeights | None = None,
    progress: Progress = silent,
) -> Consolidation:
    """Score the instances of a panel by what a method fitted before, on these or on others.

    `denial_weights` are those of the earlier scores, if they have any.
    """
    scores = predict_scores(method, fitted, panel, progress=progress)
    return use_all_votes(scores, panel, denial_weights=denial_weights)


def use_all_votes(
    scores: Consolidation, panel: Panel, *, denial_weights: DenialWeights | None = None
) -> Consolidation:
    """Return the scores of a method with all that it does not see: gold labels, negative votes.

    Parameters
    ----------
    scores : Consolidation
        The scores of a method.
    panel : Panel
        The panel that they are for.
    denial_weights : DenialWeights, optional
        How much negative votes count; by default, what these scores show.
    """
    scores = clamp_gold(scores, panel.gold)
    if panel.denials is None:
        return scores
    if denial_weights is None:
        denial_weights = _weigh_denials(scores, panel)
    return replace(apply_denials(scores, panel, denial_weights), denial_weights=denial_weights)


def _weigh_denials(
    scores: Consolidation, panel: Panel, *, sample: int = RULE_SAMPLE
) -> DenialWeights:
    """Estimate how much negative votes count, from a sample that is the same on every engine."""
    rows = sample_rows(panel, sample)
    sampled, part = select_instances(scores, rows), panel_rows(panel, rows)
    return weigh_denials(sampled, decide(None, sampled, part).reason, part)


def known_sources(model: Model, new: NewSources = "error") -> KnownSources:
    """Return the sources that a model knows, and what to do with others."""
    return KnownSources(model.sources, model.scope, model.has_gold, new)


def adapt_model(model: Model, panel: Panel, *, taxonomy: Taxonomy) -> Model:
    """Return a model for the sources and labels of a panel, some of which may be new.

    A new source is as reliable as the known ones are on average. A new label scores the share of
    the answers that contain it.

    Parameters
    ----------
    model : Model
        The model of an earlier run.
    panel : Panel
        Any panel with the sources and labels of the votes, aligned with those of the model.
    taxonomy : Taxonomy
        The taxonomy of the earlier run, whose labels come first.
    """
    model.check_taxonomy(taxonomy)
    fitted, n_known = model.fitted, len(model.sources) - model.has_gold
    denial_weights = model.denial_weights
    if len(panel.sources) != len(model.sources):
        gold = [len(model.sources) - 1 if model.has_gold else UNKNOWN] * (panel.gold is not None)
        n_new = len(panel.sources) - n_known - len(gold)
        origin = np.array([*range(n_known), *[UNKNOWN] * n_new, *gold], dtype=np.int64)
        fitted = fitted.with_sources(SourceChange(origin, averaged=np.arange(n_known)))
        if denial_weights is not None:
            denial_weights = denial_weights.with_sources(origin)
    if len(panel.taxonomy) > len(taxonomy):
        fitted = put_back_labels(fitted, np.arange(len(taxonomy)))
    if fitted is model.fitted:
        return model
    return replace(
        model, fitted=fitted, sources=panel.sources, scope=panel.scope,
        has_gold=panel.gold is not None, denial_weights=denial_weights,
        taxonomy=panel.taxonomy.fingerprint,
    )  # fmt: skip


def apply_model(model: Model, panel: Panel, *, progress: Progress = silent) -> Consolidation:
    """Score the instances of a panel by the model of an earlier run."""
    method = make_method(model.method, model.parameters)
    return score(
        method, model.fitted, panel, denial_weights=model.denial_weights, progress=progress
    )


def decide(rule: Rule | None, scores: Consolidation, panel: Panel) -> Decision:
    """Turn scores into label sets, by a rule or by the default one for these scores."""
    return apply_rule(fit_rule(rule, scores, panel), scores)


def fit_rule(
    rule: Rule | None, scores: Consolidation, panel: Panel, *, sample: int = RULE_SAMPLE
) -> FittedRule:
    """Fit a rule, or the default one, to the scores of at most `sample` instances.

    They are the same instances on every engine. Instances with gold labels are left out: their
    labels are certain, so that a threshold that suits them would be too high for the others.
    """
    rule, rows = rule or make_default_rule(scores), sample_rows(panel, sample)
    rows = leave_out_gold(rows, panel.gold)
    if len(rows) < len(panel.instances):
        scores = select_instances(scores, rows)
    return rule.fit(scores, labels_per_answer=panel.labels_per_answer)


def leave_out_gold(rows: IntArray, gold: EncodedTruth | None) -> IntArray:
    """Return the rows of instances without gold labels; all rows if all have them."""
    others = rows if gold is None else np.setdiff1d(rows, gold.rows)
    return others if len(others) else rows


def make_default_rule(scores: Consolidation, name: str | None = None, **parameters: Any) -> Rule:
    """Return the rule of a name, or the one that suits the scores.

    That is one path where the method assumes one true label per instance, expected F where scores
    are probabilities, else a threshold.
    """
    if name is None:
        usual = "expected-f" if scores.is_probability else "threshold"
        name = "one-path" if scores.one_truth else usual
    return make_rule(name, **parameters)


def make_model(scores: Consolidation, rule: FittedRule, panel: Panel) -> Model:
    """Return what a run fitted; `panel` has its sources and their scope."""
    return Model(
        method=scores.method,
        parameters=dict(scores.parameters),
        fitted=scores.fitted() if scores.fitted else None,
        rule=rule,
        sources=panel.sources,
        scope=panel.scope,
        denial_weights=scores.denial_weights,
        has_gold=panel.gold is not None,
        taxonomy=panel.taxonomy.fingerprint,
    )


def profile(panel: Panel, scores: Consolidation, decision: Decision) -> SourceProfiles:
    """Describe every source: how much it answers, how reliable it is, whom it resembles."""
    counts = count_run(panel, scores, decision)
    return SourceProfiles(profile_sources(SinglePartition(panel), panel, counts))


def evaluate_views(
    scores: Consolidation, rule: FittedRule, truth: Truth, unknown: Policy
) -> tuple[Scorecard, ...]:
    """Measure both views, and the label sets, of the instances that the truth knows."""
    views: tuple[View, ...] = ("closed", "specific")
    encoded = encode_truth(truth, scores.taxonomy, scores.instances, unknown=unknown)
    known_scores = select_instances(scores, encoded.rows)
    encoded = replace(encoded, rows=np.arange(len(encoded.rows)))
    label_sets = apply_rule(rule, known_scores).reason
    return tuple(measure(known_scores, encoded, view=view, decided=label_sets) for view in views)


def log_scores(scores: Consolidation) -> None:
    """Log which methods were combined and whether they converged."""
    if scores.combination is not None:
        _LOG.info("combined: %s", ", ".join(scores.combination.members))
    if scores.trace:
        end = "converged" if scores.converged else "stopped"
        _LOG.info("%s %s after %d iterations", scores.method, end, scores.trace[-1].iteration)
