"""Scores propagated up a taxonomy, reduced to the deepest labels, and filled down."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from mhpc.data.hierarchy import deepest, fill_down, most_specific, propagate_up
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN, Row, panel_of


def sparse_scores(taxonomy: Taxonomy) -> FloatArray:
    """Return random scores of 20 instances, most of them 0."""
    rng = np.random.default_rng(5)
    scores = rng.random((20, len(taxonomy)))
    return np.where(rng.random(scores.shape) < 0.6, 0.0, scores)


def test_a_parent_gets_the_score_of_its_best_descendant_sparse_or_dense() -> None:
    for taxonomy in (GARDEN, DAG):
        scores = sparse_scores(taxonomy)
        is_descendant = dense(taxonomy.closure).T > 0
        expected = np.stack([np.where(is_descendant, row, 0).max(axis=1) for row in scores])
        np.testing.assert_array_equal(propagate_up(scores, taxonomy), expected)
        np.testing.assert_array_equal(
            dense(propagate_up(sparse.csr_array(scores), taxonomy)), expected
        )


def test_propagating_up_does_not_change_its_input() -> None:
    scores = sparse_scores(GARDEN)
    before = scores.copy()
    propagate_up(scores, GARDEN)
    np.testing.assert_array_equal(scores, before)


def test_the_deepest_labels_of_a_set_are_those_without_a_child_in_it() -> None:
    sets = sparse.csr_array(np.array([[1.0, 1, 1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]]))
    # a above b above c; e below a.
    assert dense(deepest(sets, DAG)).tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0] * 5]


@pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("table_cells", [1, 20, 1 << 20])
def test_the_deepest_labels_do_not_depend_on_the_size_of_the_table(
    taxonomy: Taxonomy, table_cells: int
) -> None:
    sets = np.random.default_rng(0).random((9, len(taxonomy))).round()
    expected = sets.copy()
    for row in expected:
        members = np.flatnonzero(row).tolist()
        row[[k for k in members if np.isin(taxonomy.children_of(k), members).any()]] = 0
    found = deepest(sparse.csr_array(sets), taxonomy, table_cells=table_cells)
    np.testing.assert_array_equal(dense(found), expected)


def test_the_most_specific_labels_of_an_answer_are_its_deepest() -> None:
    panel = panel_of([("p", "ann", "monarda"), ("p", "ann", "plant"), ("p", "ann", "bird")])
    (specific,) = dense(most_specific(panel.augmented, GARDEN))
    assert {GARDEN.labels[k] for k in np.flatnonzero(specific)} == {"monarda", "bird"}


def test_an_uncertain_vote_leaves_the_rest_with_the_parent() -> None:
    panel = panel_of(
        [("p", "ann", "flower"), ("p", "ann", "oak", 0.25), ("p", "ann", "monarda", 0.4)]
    )
    (specific,) = dense(most_specific(panel.augmented, GARDEN))
    by_label = dict(zip(GARDEN, specific.round(12).tolist(), strict=True))
    assert {k: v for k, v in by_label.items() if v} == {"flower": 0.6, "monarda": 0.4, "oak": 0.25}


def test_in_a_dag_the_best_child_counts_whichever_parent_it_is_reached_by() -> None:
    panel = panel_of([("p", "ann", "d", 0.5), ("p", "ann", "e", 0.75)], DAG)
    (specific,) = dense(most_specific(panel.augmented, DAG))
    assert dict(zip(DAG, specific.tolist(), strict=True)) == {
        "a": 0,
        "b": 0,
        "c": 0,
        "d": 0.5,
        "e": 0.75,
    }


def fill_down_by_recursion(
    y: FloatArray, n: float, popularity: FloatArray, total: float, taxonomy: Taxonomy, t: float
) -> FloatArray:
    """Return the scores of one instance, each computed from those of its parents."""

    def ratio(numerator: float, denominator: float) -> float:
        return min(numerator / denominator, 1.0) if denominator > 0 else 0.0

    def score(k: int) -> float:
        parents = [int(p) for p in taxonomy.parents_of(k)]
        if not parents:
            return ratio(n * max(y[k], 0) + t * popularity[k] / total, n + t)
        parts = []
        for p in parents:
            even = 1 / len(taxonomy.children_of(p))
            below = min((popularity[k] + even) / (popularity[p] + 1), 1.0)
            part = ratio(n * max(y[k], 0) + t * below, n * max(y[p], 0) + t)
            parts.append(score(p) * part)
        return min(float(np.mean(parts)), *(score(p) for p in parents))

    return np.array([score(k) for k in range(len(taxonomy))])


@pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("strength", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("strip_cells", [20, 1 << 17])
def test_filling_down_is_the_recursion_from_the_roots(
    taxonomy: Taxonomy, strength: float, strip_cells: int
) -> None:
    rng = np.random.default_rng(0)
    K = len(taxonomy)
    mean, evidence = rng.normal(0.3, 0.4, (8, K)), rng.integers(1, 5, 8).astype(float)
    popularity = rng.integers(0, 9, K).astype(float)
    scores = fill_down(
        mean, evidence, popularity, taxonomy, strength=strength, strip_cells=strip_cells
    )
    for row, y, n in zip(scores, mean, evidence, strict=True):
        expected = fill_down_by_recursion(y, n, popularity, evidence.sum(), taxonomy, strength)
        np.testing.assert_allclose(row, expected, atol=1e-14)


@settings(max_examples=50)
@given(
    arrays(float, (3, 5), elements=st.floats(-1, 2)),
    arrays(float, 3, elements=st.floats(0, 10)),
    arrays(float, 5, elements=st.floats(0, 100)),
    st.floats(0, 10),
)
def test_filled_down_a_parent_never_scores_below_its_child(
    mean: FloatArray, evidence: FloatArray, popularity: FloatArray, strength: float
) -> None:
    # d has two parents on different levels, c and b; c is below b.
    scores = fill_down(mean, evidence, popularity, DAG, strength=strength)
    child, parent = DAG.parents.nonzero()
    assert (scores[:, child] <= scores[:, parent]).all()
    assert ((scores >= 0) & np.isfinite(scores)).all()


def test_the_mean_over_parents_is_at_most_the_lowest_of_them() -> None:
    a, b, c, d, _ = range(5)
    mean = np.array([[1.0, 1.0, 0.1, 1.0, 0.0]])
    scores = fill_down(mean, np.ones(1), np.zeros(5), DAG, strength=0.0)[0]
    assert scores[[a, b, c, d]].tolist() == pytest.approx([1.0, 1.0, 0.1, 0.1])


def test_without_strength_mean_answers_do_not_change() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "tree"), ("q", "ann", "bird", 0.4)]
    panel = panel_of(rows)
    mean = dense(panel.mean("augmented", "answers"))
    scores = fill_down(mean, panel.evidence, panel.popularity, GARDEN, strength=0.0)
    np.testing.assert_allclose(scores, mean, atol=1e-15)


def test_below_a_given_label_the_most_popular_child_ranks_first() -> None:
    # bob's answer ends at flower; elsewhere monarda is given twice, fuchsia once.
    rows: list[Row] = [
        ("p", "bob", "flower"),
        ("q", "ann", "monarda"), ("r", "ann", "monarda"), ("s", "ann", "fuchsia"),
    ]  # fmt: skip
    panel = panel_of(rows)
    mean = dense(panel.mean("augmented", "answers"))
    scores = fill_down(mean, panel.evidence, panel.popularity, GARDEN, strength=0.3)[0]
    by_label = dict(zip(GARDEN, scores.tolist(), strict=True))
    ranked = [by_label[label] for label in ("flower", "monarda", "fuchsia", "oak")]
    assert ranked == sorted(ranked, reverse=True)
    assert len(set(ranked)) == 4
    assert ranked[-1] > 0


def test_more_answers_leave_less_to_popularity() -> None:
    mean = np.array([[1.0, 1.0, 0.0, 0.0, 0.0]] * 2)
    scores = fill_down(mean, np.array([1.0, 20.0]), np.ones(5), DAG, strength=0.3)
    assert scores[0, 2] > 5 * scores[1, 2] > 0
