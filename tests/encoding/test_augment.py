import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data.taxonomy import Taxonomy
from mhpc.encoding.panel import augment
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN


def algorithm_1(votes: FloatArray, taxonomy: Taxonomy) -> FloatArray:
    """The paper's loop, with several parents and scores: walk up from every label."""
    augmented = np.zeros_like(votes)

    def climb(answer: int, label: int, score: float) -> None:
        augmented[answer, label] = max(augmented[answer, label], score)
        for parent in taxonomy.parents_of(label):
            climb(answer, int(parent), score)

    for answer, label in np.argwhere(votes > 0):
        climb(int(answer), int(label), float(votes[answer, label]))
    return augmented


votes_on = st.lists(
    st.dictionaries(st.integers(0, 4), st.sampled_from([0.25, 0.5, 1.0])), min_size=1, max_size=6
)


@given(votes_on, st.booleans(), st.sampled_from([GARDEN, DAG]))
def test_augmentation_agrees_with_the_papers_loop(
    answers: list[dict[int, float]], graded: bool, taxonomy: Taxonomy
) -> None:
    votes = np.zeros((len(answers), len(taxonomy)))
    for row, answer in enumerate(answers):
        for label, score in answer.items():
            votes[row, label] = score if graded else 1.0
    augmented = augment(sparse.csr_array(votes), taxonomy.closure)
    np.testing.assert_array_equal(dense(augmented), algorithm_1(votes, taxonomy))


def test_an_empty_answer_stays_empty() -> None:
    votes = sparse.csr_array(np.zeros((2, len(DAG))))
    assert augment(votes, DAG.closure).nnz == 0


def test_votes_are_left_as_they_were() -> None:
    votes = sparse.csr_array(np.eye(len(DAG)) * 0.5)
    before = votes.copy()
    augment(votes, DAG.closure)
    np.testing.assert_array_equal(dense(votes), dense(before))
