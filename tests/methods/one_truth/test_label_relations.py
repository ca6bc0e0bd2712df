import numpy as np
import pytest

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.one_truth.label_relations import (
    Relation,
    build_label_relations,
    relate_labels,
)
from tests.fixtures.build import DAG, GARDEN


def random_dag(seed: int) -> Taxonomy:
    rng = np.random.default_rng(seed)
    labels = [f"l{k}" for k in range(12)]
    edges = [
        (labels[k], labels[p])
        for k in range(2, 12)
        for p in rng.choice(k, size=rng.integers(0, min(k, 3) + 1), replace=False)
    ]
    return build_taxonomy(labels, edges)


def relation_by_sets(taxonomy: Taxonomy, vote: int, true: int) -> int:
    if vote == true:
        return Relation.EXACT
    if vote in taxonomy.ancestors_of(true):
        return Relation.VAGUE
    if true in taxonomy.ancestors_of(vote) or _are_siblings(taxonomy, vote, true):
        return Relation.NEAR
    return Relation.FAR


def _are_siblings(taxonomy: Taxonomy, left: int, right: int) -> bool:
    """Return whether two labels share a parent; roots are siblings of each other."""
    left_parents, right_parents = taxonomy.parents_of(left), taxonomy.parents_of(right)
    if not len(left_parents) or not len(right_parents):
        return len(left_parents) == len(right_parents)
    return bool(np.intersect1d(left_parents, right_parents).size)


TAXONOMIES = [GARDEN, DAG, *map(random_dag, range(6))]


@pytest.mark.parametrize("taxonomy", TAXONOMIES)
def test_relations_equal_those_by_sets(taxonomy: Taxonomy) -> None:
    K = len(taxonomy)
    vote, true = (axis.ravel() for axis in np.indices((K, K)))
    expected = [relation_by_sets(taxonomy, int(v), int(z)) for v, z in zip(vote, true, strict=True)]
    assert relate_labels(taxonomy, vote, true).tolist() == expected


@pytest.mark.parametrize("taxonomy", TAXONOMIES)
def test_weights_of_near_and_far_labels_equal_sums_one_by_one(taxonomy: Taxonomy) -> None:
    K = len(taxonomy)
    weight = np.random.default_rng(0).random(K)
    near, far = build_label_relations(taxonomy).sum_near_and_far(weight)
    for z in range(K):
        relation = np.array([relation_by_sets(taxonomy, v, z) for v in range(K)])
        assert near[z] == pytest.approx(weight[relation == Relation.NEAR].sum(), abs=1e-12)
        assert far[z] == pytest.approx(weight[relation == Relation.FAR].sum(), abs=1e-12)


def test_an_ancestor_that_is_also_a_sibling_is_vague() -> None:
    # d lies below b and c, c below b: c is d's sibling and its parent.
    c, d = DAG.labels.positions["c"], DAG.labels.positions["d"]
    assert relate_labels(DAG, np.array([c, d]), np.array([d, c])).tolist() == [
        Relation.VAGUE,
        Relation.NEAR,
    ]
