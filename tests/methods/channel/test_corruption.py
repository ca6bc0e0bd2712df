import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.channel.corruption import (
    NoiseModel,
    corruption_paths,
    count_paths,
    default_noise,
)
from mhpc.numerics.arrays import dense
from tests.fixtures.build import DAG, GARDEN
from tests.methods.channel.reference import matrix_by_loops, random_noise, tree_and_dag


@tree_and_dag
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_the_matrix_equals_that_by_loops(taxonomy: Taxonomy, noise: float) -> None:
    model = random_noise(taxonomy, noise)
    C = dense(model.matrix(corruption_paths(taxonomy)))
    np.testing.assert_allclose(C, matrix_by_loops(taxonomy, model), atol=1e-14)
    np.testing.assert_allclose(C.sum(axis=1), 1.0)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_rows_of_the_matrix_add_up_to_one_in_any_taxonomy(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    labels = [f"k{k}" for k in range(8)]
    edges = [(labels[k], labels[p]) for k in range(8) for p in range(k) if rng.random() < 0.25]
    taxonomy = build_taxonomy(labels, edges)
    C = dense(random_noise(taxonomy, noise, seed).matrix(corruption_paths(taxonomy)))
    np.testing.assert_allclose(C.sum(axis=1), 1.0)
    assert C.min() >= 0


def test_without_vagueness_and_noise_the_true_label_is_given() -> None:
    exact = NoiseModel(np.eye(3)[[0, 0, 0]], 0.0)
    np.testing.assert_allclose(dense(exact.matrix(corruption_paths(GARDEN))), np.eye(9))


def test_by_default_each_further_level_up_is_half_as_likely() -> None:
    expected = np.array([[1, 0, 0], [2 / 3, 1 / 3, 0], [4 / 7, 2 / 7, 1 / 7]])
    np.testing.assert_allclose(default_noise(corruption_paths(GARDEN)).vagueness, expected)


@tree_and_dag
def test_paths_are_counted_without_being_computed(taxonomy: Taxonomy) -> None:
    n_paths = sum(sideways.nnz for sideways in corruption_paths(taxonomy).sideways)
    # With several parents, siblings may be shared; the count is then an estimate.
    assert count_paths(taxonomy) == pytest.approx(n_paths, rel=0.1 if taxonomy is DAG else 0)
