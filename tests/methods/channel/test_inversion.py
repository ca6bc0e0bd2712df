import numpy as np
import pytest
from scipy import sparse

from mhpc.methods.channel.answers import count_votes
from mhpc.methods.channel.corruption import corruption_paths
from mhpc.methods.channel.em import estimate_popularity
from mhpc.methods.channel.inversion import (
    MISS_RATE,
    first_guess,
    invert,
    multiply,
    multiply_votes,
)
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, panel_of
from tests.methods.channel.reference import ROWS, random_noise


def test_a_matrix_is_inverted_by_bayes_rule() -> None:
    C = random_noise(GARDEN, 0.3).matrix(corruption_paths(GARDEN))
    popularity = np.linspace(0.1, 0.9, 9)
    origins, forward = dense(invert(C, popularity)), dense(C)
    for v in range(9):
        total = sum(popularity[s] * forward[s, v] for s in range(9))
        for t in range(9):
            assert origins[v, t] == pytest.approx(popularity[t] * forward[t, v] / total)


def test_the_first_guess_without_answers_is_popularity() -> None:
    panel = panel_of(ROWS, instances=["unanswered"])
    model, paths = random_noise(GARDEN, 0.3), corruption_paths(GARDEN)
    votes = count_votes(panel, panel.raw)
    popularity = estimate_popularity(votes, model, paths)
    x = first_guess(votes, model.matrix(paths), popularity)
    np.testing.assert_allclose(x[4], MISS_RATE * popularity)


@pytest.mark.parametrize("sparse_cells", [0, 10**9], ids=["sparse", "dense"])
def test_sparse_and_dense_products_are_equal(sparse_cells: int) -> None:
    rng = np.random.default_rng(0)
    x, matrix = (rng.random(shape) * (rng.random(shape) < 0.3) for shape in ((5, 7), (7, 6)))
    csr = sparse.csr_array(matrix)
    np.testing.assert_allclose(multiply(x, csr, sparse_cells=sparse_cells), x @ matrix)
    votes = multiply_votes(sparse.csr_array(x), csr, sparse_cells=sparse_cells)
    np.testing.assert_allclose(votes, x @ matrix)
