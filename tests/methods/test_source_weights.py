import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.panel import Panel
from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.methods.source_weights import answer_independence, weight_answers
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN, Row, panel_of
from tests.methods.dependent_sources import ROWS, simulated, with_copy


def mean(panel: Panel) -> FloatArray:
    return dense(panel.mean("augmented", "answers"))


@pytest.mark.parametrize("source", ["s1", "s2", "s3"])
def test_a_copy_hardly_changes_the_weighted_mean(source: str) -> None:
    panel = simulated()
    copied = with_copy(panel, source)
    weighted = np.abs(mean(weight_answers(copied)) - mean(weight_answers(panel))).mean()
    equal = np.abs(mean(copied) - mean(panel)).mean()
    assert weighted < 0.25 * equal


@pytest.mark.parametrize(
    "method",
    [
        mhpc.LocalMHPC(lam=1, n_neighbors=5, fill_strength=0),
        mhpc.CrossSource(source_weights="learned"),
        mhpc.Channel(source_weights="learned"),
    ],
)
def test_a_copy_hardly_changes_scores_with_learned_weights(
    method: mhpc.MHPC | mhpc.CrossSource | mhpc.Channel,
) -> None:
    panel, equal = simulated(), method.model_copy(update={"source_weights": "equal"})
    copied = with_copy(panel, "s2")

    def change(weighting: mhpc.MHPC | mhpc.CrossSource | mhpc.Channel) -> float:
        before, after = (dense(weighting.consolidate(p).score) for p in (panel, copied))
        return float(np.abs(after - before).mean())

    assert change(method) < 0.6 * change(equal)


def test_an_answer_is_independent_where_the_dependent_source_gave_none() -> None:
    panel = panel_of([("x", "s", "a"), ("x", "t", "a"), ("x", "u", "b"), ("y", "s", "a")], DAG)
    matrix = np.zeros((3, 3))
    matrix[0, 1] = matrix[1, 0] = 1.0
    dependence = SourceDependence(np.ones(3), sparse.csr_array(matrix))
    assert answer_independence(panel, dependence).tolist() == [0.5, 0.5, 1.0, 1.0]


@pytest.mark.parametrize("block_cells", [1, 20, 1 << 22])
def test_independence_is_one_over_the_dependence_on_those_that_answered(block_cells: int) -> None:
    panel = panel_of(ROWS, instances=["lonely"])
    half = np.triu(np.random.default_rng(0).random((4, 4)), 1)
    matrix = half + half.T
    expected = [
        1 / (1 + sum(matrix[m, n] for n in panel.source[panel.instance == i]))
        for m, i in zip(panel.source, panel.instance, strict=True)
    ]
    dependence = SourceDependence(np.ones(4), sparse.csr_array(matrix))
    independence = answer_independence(panel, dependence, block_cells=block_cells)
    np.testing.assert_allclose(independence, expected)


def test_a_weight_is_skill_over_mean_skill_for_independent_sources() -> None:
    panel = panel_of(ROWS)
    dependence = SourceDependence(
        np.array([0.2, 0.4, 0.6, 0.8]), sparse.csr_array(np.zeros((4, 4)))
    )
    weight = weight_answers(panel, dependence).weight
    assert weight is not None
    np.testing.assert_allclose(weight, dependence.skill[panel.source] / 0.5)


def test_independent_sources_of_equal_skill_have_weight_one() -> None:
    panel = panel_of(ROWS)
    weight = weight_answers(panel, independent_sources(4)).weight
    assert weight is not None
    assert weight.tolist() == [1.0] * len(panel.source)


@pytest.mark.parametrize(
    "rows",
    [
        [("x", "s", "d")],
        [("x", "s", None), ("x", "t", None), ("x", "u", None)],
        [("x", "s", "d"), ("y", "t", "d"), ("z", "u", "d")],
        [("x", "s", "d"), ("x", "t", "d"), ("x", "u", "d")],
    ],
    ids=["one source", "empty answers", "nothing in common", "one instance"],
)
def test_weights_are_equal_if_sources_cannot_be_compared(rows: list[Row]) -> None:
    weight = weight_answers(panel_of(rows, DAG)).weight
    assert weight is not None
    np.testing.assert_allclose(weight, 1.0)


def test_weighting_does_not_change_the_votes() -> None:
    panel = panel_of(ROWS)
    assert weight_answers(panel).raw is panel.raw
    assert weight_answers(panel).taxonomy is GARDEN
    assert panel.weight is None
