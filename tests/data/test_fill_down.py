import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mhpc.data.hierarchy import fill_down
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN, Row, panel_of


def by_recursion(
    y: FloatArray, n: float, popularity: FloatArray, total: float, taxonomy: Taxonomy, t: float
) -> FloatArray:
    """The scores of one instance, each label asking its parents."""

    def ratio(part: float, whole: float) -> float:
        return min(part / whole, 1.0) if whole > 0 else 0.0

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
def test_descent_is_the_recursion_from_the_roots(taxonomy: Taxonomy, strength: float) -> None:
    rng = np.random.default_rng(0)
    K = len(taxonomy)
    mean, evidence = rng.normal(0.3, 0.4, (8, K)), rng.integers(1, 5, 8).astype(float)
    popularity = rng.integers(0, 9, K).astype(float)
    found = fill_down(mean, evidence, popularity, taxonomy, strength=strength)
    for row, y, n in zip(found, mean, evidence, strict=True):
        expected = by_recursion(y, n, popularity, evidence.sum(), taxonomy, strength)
        np.testing.assert_allclose(row, expected, atol=1e-14)


@settings(max_examples=50)
@given(
    arrays(float, (3, 5), elements=st.floats(-1, 2)),
    arrays(float, 3, elements=st.floats(0, 10)),
    arrays(float, 5, elements=st.floats(0, 100)),
    st.floats(0, 10),
)
def test_a_parent_is_never_below_its_child_whatever_comes_in(
    mean: FloatArray, evidence: FloatArray, popularity: FloatArray, strength: float
) -> None:
    # d has two parents on different levels, c and b; c is below b.
    found = fill_down(mean, evidence, popularity, DAG, strength=strength)
    child, parent = DAG.parents.nonzero()
    assert (found[:, child] <= found[:, parent]).all()
    assert ((found >= 0) & np.isfinite(found)).all()


def test_the_mean_over_parents_does_not_rise_above_the_lowest() -> None:
    a, b, c, d, _ = range(5)
    mean = np.array([[1.0, 1.0, 0.1, 1.0, 0.0]])
    found = fill_down(mean, np.ones(1), np.zeros(5), DAG, strength=0.0)[0]
    assert found[[a, b, c, d]].tolist() == pytest.approx([1.0, 1.0, 0.1, 0.1])


def test_with_no_strength_mean_answers_stay_as_they_are() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "tree"), ("q", "ann", "bird", 0.4)]
    panel = panel_of(rows)
    mean = dense(panel.mean("augmented", "answers"))
    found = fill_down(mean, panel.evidence, panel.popularity, GARDEN, strength=0.0)
    np.testing.assert_allclose(found, mean, atol=1e-15)


def test_below_what_was_said_the_popular_label_comes_first() -> None:
    # bob stopped at flower; elsewhere monarda is said twice, fuchsia once.
    rows: list[Row] = [
        ("p", "bob", "flower"),
        ("q", "ann", "monarda"), ("r", "ann", "monarda"), ("s", "ann", "fuchsia"),
    ]  # fmt: skip
    panel = panel_of(rows)
    mean = dense(panel.mean("augmented", "answers"))
    found = fill_down(mean, panel.evidence, panel.popularity, GARDEN, strength=0.3)[0]
    at = GARDEN.labels.positions
    assert found[at["flower"]] > found[at["monarda"]] > found[at["fuchsia"]] > found[at["oak"]] > 0


def test_the_more_answers_the_less_is_filled_in() -> None:
    mean = np.array([[1.0, 1.0, 0.0, 0.0, 0.0]] * 2)
    found = fill_down(mean, np.array([1.0, 20.0]), np.ones(5), DAG, strength=0.3)
    assert found[0, 2] > 5 * found[1, 2] > 0
