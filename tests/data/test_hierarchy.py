import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import deepest, most_specific, propagate_up
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN, panel_of


def some_scores(taxonomy: Taxonomy) -> FloatArray:
    rng = np.random.default_rng(5)
    scores = rng.random((20, len(taxonomy)))
    return np.where(rng.random(scores.shape) < 0.6, 0.0, scores)


def test_a_parent_is_raised_to_its_best_child_sparse_or_not() -> None:
    for taxonomy in (GARDEN, DAG):
        scores = some_scores(taxonomy)
        below = dense(taxonomy.closure).T > 0
        expected = np.stack([np.where(below, row, 0).max(axis=1) for row in scores])
        np.testing.assert_array_equal(propagate_up(scores, taxonomy), expected)
        np.testing.assert_array_equal(
            dense(propagate_up(sparse.csr_array(scores), taxonomy)), expected
        )


def test_raising_leaves_its_input_as_it_was() -> None:
    scores = some_scores(GARDEN)
    before = scores.copy()
    propagate_up(scores, GARDEN)
    np.testing.assert_array_equal(scores, before)


def test_the_deepest_labels_of_a_set_are_those_without_a_child_in_it() -> None:
    sets = sparse.csr_array(np.array([[1.0, 1, 1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]]))
    # a above b above c; e below a.
    assert dense(deepest(sets, DAG)).tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0] * 5]


def test_the_most_specific_labels_of_an_answer_are_the_deepest_said() -> None:
    panel = panel_of([("p", "ann", "monarda"), ("p", "ann", "plant"), ("p", "ann", "bird")])
    (found,) = dense(most_specific(panel.augmented, GARDEN))
    assert {GARDEN.labels[k] for k in np.flatnonzero(found)} == {"monarda", "bird"}


def test_a_half_sure_vote_leaves_the_rest_with_the_parent() -> None:
    panel = panel_of(
        [("p", "ann", "flower"), ("p", "ann", "oak", 0.25), ("p", "ann", "monarda", 0.4)]
    )
    (found,) = dense(most_specific(panel.augmented, GARDEN))
    by_label = dict(zip(GARDEN, found.round(12).tolist(), strict=True))
    assert {k: v for k, v in by_label.items() if v} == {"flower": 0.6, "monarda": 0.4, "oak": 0.25}


def test_in_a_dag_the_best_child_is_taken_whichever_way_it_is_reached() -> None:
    panel = panel_of([("p", "ann", "d", 0.5), ("p", "ann", "e", 0.75)], DAG)
    (found,) = dense(most_specific(panel.augmented, DAG))
    assert dict(zip(DAG, found.tolist(), strict=True)) == {
        "a": 0,
        "b": 0,
        "c": 0,
        "d": 0.5,
        "e": 0.75,
    }
