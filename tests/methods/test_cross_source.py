from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mhpc.data.hierarchy import fill_down
from mhpc.data.panel import Panel, SinglePartition, VotesKind
from mhpc.data.votes import Scope
from mhpc.methods.cross_source import (
    CrossSource,
    fit_from_answers,
    fit_from_sums,
    sum_products,
)
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN, Row, panel_of


def predict_answers(panel: Panel, target: VotesKind, *, penalty: float) -> FloatArray:
    return CrossSource(penalty=penalty).fit(SinglePartition(panel)).predict_answers(panel, target)


def random_panel(seed: int, *, instances: int = 12, scope: Scope = "all") -> Panel:
    """Votes on the DAG with scores and missing answers; nobody gives e."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for i in range(instances):
        for source in "stuv":
            if rng.random() < 0.7:
                labels = "abcd" if scope == "all" or source != "s" else "ab"
                given_labels = [k for k in labels if rng.random() < 0.4]
                rows += [(f"x{i}", source, k, float(rng.choice([0.5, 1.0]))) for k in given_labels]
                rows += [] if given_labels else [(f"x{i}", source, None)]
    return panel_of(rows, DAG, scope=scope)


def with_weights(panel: Panel, seed: int) -> Panel:
    weight = np.random.default_rng(seed).uniform(0.3, 2, len(panel.instance))
    return replace(panel, weight=weight)


def predict_by_loops(panel: Panel, target: VotesKind, penalty: float) -> FloatArray:
    """Features of every answer by a loop over the others, then dense least squares."""
    votes, target_votes = dense(panel.augmented), dense(panel.votes(target))
    answers = range(len(panel.instance))
    weight = np.ones(len(answers)) if panel.weight is None else panel.weight
    in_scope = np.ones_like(votes) if panel.scope is None else dense(panel.scope)[panel.source]
    used = [k for k in range(votes.shape[1]) if votes[:, k].any()]

    def mean_of(rows: list[int]) -> FloatArray:
        mean = np.zeros(len(used))
        for column, k in enumerate(used):
            has_label = [b for b in rows if in_scope[b, k]]
            if has_label:
                mean[column] = np.average(
                    [votes[b, k] for b in has_label], weights=weight[has_label]
                )
        return mean

    X, targets = [], []
    for a in answers:
        others = [b for b in answers if panel.instance[b] == panel.instance[a] and b != a]
        if others:
            X.append(mean_of(others))
            targets.append(a)
    F = np.array(X)
    centred = F - F.mean(axis=0)
    ridge = max(penalty * np.sum(centred**2) / len(used), 1e-9)
    tall = np.vstack([centred, np.sqrt(ridge) * np.eye(len(used))])
    rows_of = [[b for b in answers if panel.instance[b] == i] for i in range(len(panel.instances))]
    features = np.array([mean_of(rows) for rows in rows_of])
    result = np.zeros((len(panel.instances), votes.shape[1]))
    for k in used:
        has_label = in_scope[targets, k] > 0
        level = target_votes[targets, k][has_label].mean()
        # Sources without the label in scope add nothing; the others stand for them.
        y = (
            np.where(has_label, target_votes[targets, k] - level, 0.0)
            * len(has_label)
            / has_label.sum()
        )
        slope = np.linalg.lstsq(tall, np.append(y, np.zeros(len(used))), rcond=None)[0]
        result[:, k] = level + (features - F.mean(axis=0)) @ slope
    return result


@pytest.mark.parametrize("target", ["raw", "augmented"])
@pytest.mark.parametrize("penalty", [0.1, 1.0])
@pytest.mark.parametrize("instances", [1, 12])
def test_predictions_are_dense_least_squares(
    target: VotesKind, penalty: float, instances: int
) -> None:
    panel = random_panel(3, instances=instances)
    predicted = predict_answers(panel, target, penalty=penalty)
    np.testing.assert_allclose(predicted, predict_by_loops(panel, target, penalty), atol=1e-8)


@pytest.mark.parametrize("target", ["raw", "augmented"])
def test_weighted_answers_are_weighted_in_the_mean_of_the_others(target: VotesKind) -> None:
    panel = with_weights(random_panel(4), 0)
    predicted = predict_answers(panel, target, penalty=1.0)
    np.testing.assert_allclose(predicted, predict_by_loops(panel, target, 1.0), atol=1e-8)


def test_silence_on_a_label_out_of_scope_does_not_count_against_it() -> None:
    panel = with_weights(random_panel(5, scope={"s": ("b",)}), 1)
    predicted = predict_answers(panel, "augmented", penalty=1.0)
    np.testing.assert_allclose(predicted, predict_by_loops(panel, "augmented", 1.0), atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 10), st.booleans())
def test_the_primal_and_the_dual_system_have_one_solution(
    seed: int, penalty: float, scoped: bool
) -> None:
    panel = with_weights(random_panel(seed, scope={"s": ("b",)} if scoped else "all"), seed)
    used = np.flatnonzero(panel.occurrences > 0)
    primal = fit_from_sums(sum_products(panel, weights=None, used=used), penalty)
    dual = fit_from_answers(panel, used, penalty)
    for from_sums, from_answers in zip(primal, dual, strict=True):
        assert from_sums is not None
        assert from_answers is not None
        np.testing.assert_allclose(from_sums.B, from_answers.B, atol=1e-8 / penalty)
        np.testing.assert_allclose(from_sums.mean_y, from_answers.mean_y, atol=1e-12)


def test_weights_of_one_change_nothing() -> None:
    panel = random_panel(6)
    ones = replace(panel, weight=np.ones(len(panel.instance)))
    unweighted, weighted = (CrossSource().consolidate(votes) for votes in (panel, ones))
    np.testing.assert_allclose(dense(weighted.score), dense(unweighted.score), atol=1e-12)
    np.testing.assert_allclose(dense(weighted.specific), dense(unweighted.specific), atol=1e-12)


def test_score_is_the_prediction_filled_down_and_specific_is_never_negative() -> None:
    panel = random_panel(7)
    consolidation = CrossSource(penalty=0.5, fill_strength=0.7).consolidate(panel)
    closed = predict_answers(panel, "augmented", penalty=0.5)
    expected = fill_down(closed, panel.evidence, panel.popularity, DAG, strength=0.7)
    np.testing.assert_allclose(dense(consolidation.score), expected)
    raw = predict_answers(panel, "raw", penalty=0.5)
    np.testing.assert_allclose(dense(consolidation.specific), np.maximum(raw, 0))


def test_labels_that_go_together_predict_each_other() -> None:
    # ann and bob give oak and finch together: where cid gives oak alone, finch is likely.
    rows: list[Row] = []
    for i in range(10):
        labels = ("oak", "finch") if i % 2 else ("monarda",)
        rows += [(f"p{i}", s, k) for s in ("ann", "bob") for k in labels]
    rows += [("last", "cid", "oak")]
    panel = panel_of(rows)
    predicted = dense(CrossSource().consolidate(panel).specific)[10]
    position = GARDEN.labels.positions
    assert predicted[position["finch"]] > 0.5 > predicted[position["monarda"]]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_parent_is_never_below_its_child(seed: int) -> None:
    score = dense(CrossSource().consolidate(random_panel(seed)).score)
    child, parent = DAG.parents.nonzero()
    assert (score[:, child] <= score[:, parent]).all()


def test_one_source_alone_gives_its_own_answers() -> None:
    panel = panel_of([("x", "s", "c"), ("y", "s", "e")], DAG)
    consolidation = CrossSource(fill_strength=0).consolidate(panel)
    np.testing.assert_allclose(dense(consolidation.specific), dense(panel.mean("raw", "answers")))
    np.testing.assert_allclose(
        dense(consolidation.score), dense(panel.mean("augmented", "answers"))
    )


def test_sources_that_give_no_label_are_predicted_to_give_none() -> None:
    panel = panel_of([("x", "s", None), ("x", "t", None), ("y", "s", None)], DAG)
    assert not dense(CrossSource().consolidate(panel).specific).any()


def test_an_instance_without_answers_scores_zero_in_both_views() -> None:
    panel = panel_of([("x", "s", "d"), ("x", "t", "c")], DAG, instances=["lonely"])
    consolidation = CrossSource().consolidate(panel)
    assert not dense(consolidation.score)[1].any()
    assert not dense(consolidation.specific)[1].any()


def test_a_larger_penalty_shrinks_predictions_to_the_mean() -> None:
    panel = random_panel(8)
    mean = dense(panel.raw).mean(axis=0)
    distances = [
        np.abs(predict_answers(panel, "raw", penalty=penalty) - mean).mean()
        for penalty in (0.1, 10.0, 1000.0)
    ]
    assert all(before > after for before, after in pairwise(distances))
