"""Labels with their ancestors: the same as by walking up, and only for the labels asked for."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.closure import close_labels
from mhpc.data.hierarchy import close_rows
from mhpc.data.taxonomy import Taxonomy, build_taxonomy


def random_dag(seed: int, *, n_labels: int = 40, max_parents: int = 3) -> Taxonomy:
    rng = np.random.default_rng(seed)
    labels = [f"k{k}" for k in range(n_labels)]
    edges = [
        (labels[k], labels[parent])
        for k in range(1, n_labels)
        for parent in rng.choice(k, size=min(k, int(rng.integers(max_parents + 1))), replace=False)
    ]
    return build_taxonomy(labels, edges)


def walk_up(taxonomy: Taxonomy, label: int) -> set[int]:
    reached, waiting = {label}, [label]
    while waiting:
        above = set(map(int, taxonomy.parents_of(waiting.pop()))) - reached
        reached |= above
        waiting += above
    return reached


@pytest.mark.parametrize("max_parents", [0, 1, 3, 30])
@pytest.mark.parametrize("seed", range(5))
def test_closure_is_what_walking_up_reaches(seed: int, max_parents: int) -> None:
    taxonomy = random_dag(seed, max_parents=max_parents)
    for label in range(len(taxonomy)):
        reached = taxonomy.closure.indices[slice(*taxonomy.closure.indptr[label : label + 2])]
        assert reached.tolist() == sorted(walk_up(taxonomy, label))


def test_rows_of_labels_that_nobody_asked_for_are_empty() -> None:
    taxonomy, asked = random_dag(1), np.array([7, 30, 39])
    rows = close_labels(asked, taxonomy.parents, taxonomy.depth)
    assert rows is not None
    expected = taxonomy.closure.toarray()
    expected[np.setdiff1d(np.arange(40), asked)] = 0
    np.testing.assert_array_equal(rows.toarray(), expected)


def test_too_many_pairs_are_not_computed() -> None:
    for max_parents in (1, 3):
        taxonomy = random_dag(2, max_parents=max_parents)
        n_pairs, all_labels = taxonomy.closure.nnz, np.arange(40)
        for limit, is_computed in ((n_pairs, True), (n_pairs - 1, False)):
            rows = close_labels(all_labels, taxonomy.parents, taxonomy.depth, max_pairs=limit)
            assert (rows is not None) == is_computed


def test_paths_through_dense_layers_are_not_counted_one_by_one() -> None:
    labels = [f"{layer}-{k}" for layer in range(60) for k in range(3)]
    edges = [(labels[k], labels[k - k % 3 - 3 + p]) for k in range(3, 180) for p in range(3)]
    taxonomy = build_taxonomy(labels, edges)
    assert np.diff(taxonomy.closure.indptr).tolist() == [1 + k - k % 3 for k in range(180)]


def test_rows_are_added_as_more_labels_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mhpc.data.taxonomy.MAX_PAIRS", 10)
    taxonomy, whole = random_dag(3), random_dag(3).closure.toarray()
    for asked in ([39], [39, 39, 12], [5], list(range(20))):
        rows = taxonomy.closure_of(np.array(asked))
        np.testing.assert_array_equal(rows.toarray()[asked], whole[asked])
    # Labels 20 to 38 were never asked for, so that nothing was spent on them.
    assert np.flatnonzero(np.diff(rows.indptr)).tolist() == [*range(20), 39]


@pytest.mark.parametrize("max_parents", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_columns_of_ancestors_that_matter_are_computed_alone(
    monkeypatch: pytest.MonkeyPatch, seed: int, max_parents: int
) -> None:
    monkeypatch.setattr("mhpc.data.taxonomy.MAX_PAIRS", 10)
    taxonomy = random_dag(seed, max_parents=max_parents)
    whole = random_dag(seed, max_parents=max_parents).closure.toarray()
    rng = np.random.default_rng(seed)
    asked, among = rng.integers(40, size=9), rng.integers(40, size=4)
    columns = taxonomy.closure_of(asked, among=among)
    np.testing.assert_array_equal(columns.toarray()[asked][:, among], whole[asked][:, among])
    assert not np.delete(columns.toarray(), among, axis=1).any()


@pytest.mark.parametrize("max_parents", [0, 1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_closed_level_by_level_as_by_the_closure(
    monkeypatch: pytest.MonkeyPatch, seed: int, max_parents: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((6, 40)) * (rng.random((6, 40)) < 0.1)
    scores = sparse.csr_array(values)
    scores.data[0] = 0.0
    expected = close_rows(scores, random_dag(seed, max_parents=max_parents))
    monkeypatch.setattr("mhpc.data.taxonomy.MAX_PAIRS", -1)
    taxonomy = random_dag(seed, max_parents=max_parents)
    assert not taxonomy.has_small_closure
    for matrix in (scores, expected):
        closed = close_rows(matrix, taxonomy)
        np.testing.assert_array_equal(closed.toarray(), expected.toarray())
        assert closed.nnz == expected.nnz
    assert close_rows(scores[:0], taxonomy).shape == (0, 40)
