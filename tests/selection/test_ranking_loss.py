"""Surprise against a slow twin, and at its ends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.numerics.arrays import FloatArray
from mhpc.selection.cross_validation import log_rank_loss


def slow(scores: FloatArray, said: FloatArray, scope: FloatArray | None) -> list[float]:
    found = []
    for answer in range(len(said)):
        allowed = [k for k in range(said.shape[1]) if scope is None or scope[answer, k]]
        total = weight = 0.0
        for k in np.flatnonzero(said[answer]):
            above = sum(scores[answer, other] > scores[answer, k] for other in allowed)
            level = sum(scores[answer, other] == scores[answer, k] for other in allowed)
            rank = above + (level - 1) / 2
            total += said[answer, k] * math.log1p(rank) / math.log1p(len(allowed))
            weight += said[answer, k]
        found.append(total / weight if weight else math.nan)
    return found


cells = st.lists(
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=5, max_size=5), min_size=1, max_size=4
)


@given(scores=cells, said=cells)
def test_surprise_is_the_mean_log_rank_of_what_was_said(
    scores: list[list[float]], said: list[list[float]]
) -> None:
    rows = min(len(scores), len(said))
    S, Y = np.array(scores[:rows]), np.array(said[:rows])
    found = log_rank_loss(S, np.arange(rows), sparse.csr_array(Y), None)
    np.testing.assert_allclose(found, slow(S, Y, None))


def test_labels_out_of_scope_stand_in_nobodys_way() -> None:
    scores = np.array([[0.9, 0.5, 0.1]])
    said = sparse.csr_array([[0.0, 1.0, 0.0]])
    scope = sparse.csr_array([[0.0, 1.0, 1.0]])
    assert log_rank_loss(scores, np.array([0]), said, scope).tolist() == [0.0]
    assert log_rank_loss(scores, np.array([0]), said, None)[0] == pytest.approx(
        math.log(2) / math.log(4)
    )


def test_what_was_foretold_is_no_surprise_and_what_stands_last_is_the_most() -> None:
    scores = np.array([[0.9, 0.5, 0.1]])
    first = log_rank_loss(scores, np.array([0]), sparse.csr_array([[1.0, 0.0, 0.0]]), None)
    last = log_rank_loss(scores, np.array([0]), sparse.csr_array([[0.0, 0.0, 1.0]]), None)
    assert first[0] == 0.0
    assert first[0] < last[0] <= 1.0


def test_an_answer_without_labels_has_no_surprise() -> None:
    found = log_rank_loss(np.ones((1, 3)), np.array([0]), sparse.csr_array((1, 3)), None)
    assert np.isnan(found).all()


def test_sparse_scores_are_read_as_dense_ones() -> None:
    scores = np.array([[0.0, 0.5, 0.1], [0.2, 0.0, 0.0]])
    said = sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    there = log_rank_loss(scores, np.array([1, 0]), said, None)
    here = log_rank_loss(sparse.csr_array(scores), np.array([1, 0]), said, None)
    np.testing.assert_array_equal(here, there)
