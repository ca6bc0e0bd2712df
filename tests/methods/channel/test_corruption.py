from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.channel.corruption import (
    NoiseModel,
    corruption_paths,
    count_paths,
    default_noise,
    multiply,
)
from mhpc.numerics.arrays import dense
from tests.fixtures.build import DAG, GARDEN
from tests.methods.channel.reference import matrix_by_loops, random_noise, tree_and_dag


@tree_and_dag
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_the_matrix_equals_that_by_loops(taxonomy: Taxonomy, noise: float) -> None:
    model = random_noise(taxonomy, noise)
    C = model.corruption(corruption_paths(taxonomy)).matrix()
    np.testing.assert_allclose(C, matrix_by_loops(taxonomy, model), atol=1e-14)
    np.testing.assert_allclose(C.sum(axis=1), 1.0)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_rows_of_the_matrix_add_up_to_one_in_any_taxonomy(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    labels = [f"k{k}" for k in range(8)]
    edges = [(labels[k], labels[p]) for k in range(8) for p in range(k) if rng.random() < 0.25]
    taxonomy = build_taxonomy(labels, edges)
    C = random_noise(taxonomy, noise, seed).corruption(corruption_paths(taxonomy)).matrix()
    np.testing.assert_allclose(C.sum(axis=1), 1.0)
    assert C.min() >= 0


def test_without_vagueness_and_noise_the_true_label_is_given() -> None:
    exact = NoiseModel(np.eye(3)[[0, 0, 0]], 0.0)
    np.testing.assert_allclose(exact.corruption(corruption_paths(GARDEN)).matrix(), np.eye(9))


def test_by_default_each_further_level_up_is_half_as_likely() -> None:
    expected = np.array([[1, 0, 0], [2 / 3, 1 / 3, 0], [4 / 7, 2 / 7, 1 / 7]])
    np.testing.assert_allclose(default_noise(corruption_paths(GARDEN)).vagueness, expected)


@tree_and_dag
def test_paths_are_counted_without_being_computed(taxonomy: Taxonomy) -> None:
    n_paths = sum(up.nnz for up in corruption_paths(taxonomy).up)
    # With several parents, a label may be reached from another in several ways.
    assert n_paths <= count_paths(taxonomy) <= 2 * n_paths
    assert taxonomy is DAG or count_paths(taxonomy) == n_paths


def test_paths_of_a_dag_are_counted_by_ancestors_and_lengths() -> None:
    layers = [[f"l{n}-{a}" for a in range(4)] for n in range(10)]
    edges = [
        (label, parent) for above, here in pairwise(layers) for label in here for parent in above
    ]
    taxonomy = build_taxonomy([label for layer in layers for label in layer], edges)
    assert count_paths(taxonomy) == sum(up.nnz for up in corruption_paths(taxonomy).up)
    labels = [f"k{k}" for k in range(20)]
    every = build_taxonomy(labels, [(labels[k], labels[p]) for k in range(20) for p in range(k)])
    n_paths = sum(up.nnz for up in corruption_paths(every).up)
    assert n_paths <= count_paths(every) <= 2 * n_paths


@tree_and_dag
@pytest.mark.parametrize("max_dense_labels", [0, 100], ids=["factors", "dense"])
def test_products_with_factors_equal_those_with_the_matrix(
    taxonomy: Taxonomy, max_dense_labels: int
) -> None:
    C = replace(
        random_noise(taxonomy, 0.3).corruption(corruption_paths(taxonomy)),
        max_dense_labels=max_dense_labels,
    )
    x = np.random.default_rng(0).random((5, len(taxonomy)))
    np.testing.assert_allclose(C.forward(x), x @ C.matrix(), atol=1e-14)
    for votes in (x, sparse.csr_array(x * (x > 0.6))):
        np.testing.assert_allclose(C.backward(votes), dense(votes) @ C.matrix().T, atol=1e-14)


@pytest.mark.parametrize("strip_cells", [1, 20, 1 << 17])
def test_a_product_does_not_depend_on_the_strips(strip_cells: int) -> None:
    rng = np.random.default_rng(0)
    x, matrix = (rng.random(shape) * (rng.random(shape) < 0.3) for shape in ((5, 7), (7, 6)))
    product = multiply(x, sparse.csr_array(matrix), strip_cells=strip_cells)
    np.testing.assert_allclose(product, x @ matrix)
