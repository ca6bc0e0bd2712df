import numpy as np
import pytest

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.one_truth.evidence import EXACT, FAR, NEAR, VAGUE, label_relations, relate_labels
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


def kind_by_sets(taxonomy: Taxonomy, said: int, true: int) -> int:
    if said == true:
        return EXACT
    if said in taxonomy.ancestors_of(true):
        return VAGUE
    if true in taxonomy.ancestors_of(said) or said in taxonomy.siblings_of(true):
        return NEAR
    return FAR


TAXONOMIES = [GARDEN, DAG, *map(random_dag, range(6))]


@pytest.mark.parametrize("taxonomy", TAXONOMIES)
def test_kinds_are_what_the_sets_of_relatives_say(taxonomy: Taxonomy) -> None:
    K = len(taxonomy)
    said, true = (side.ravel() for side in np.indices((K, K)))
    expected = [kind_by_sets(taxonomy, int(v), int(z)) for v, z in zip(said, true, strict=True)]
    assert relate_labels(taxonomy, said, true).tolist() == expected


@pytest.mark.parametrize("taxonomy", TAXONOMIES)
def test_weights_of_near_and_far_labels_are_summed_one_by_one(taxonomy: Taxonomy) -> None:
    K = len(taxonomy)
    weight = np.random.default_rng(0).random(K)
    near, far = label_relations(taxonomy).weigh(weight)
    for z in range(K):
        kind = np.array([kind_by_sets(taxonomy, v, z) for v in range(K)])
        assert near[z] == pytest.approx(weight[kind == NEAR].sum(), abs=1e-12)
        assert far[z] == pytest.approx(weight[kind == FAR].sum(), abs=1e-12)


def test_an_ancestor_that_is_a_sibling_too_is_vague_and_not_near() -> None:
    # d lies below b and c, c below b: c is d's sibling and its parent.
    c, d = DAG.labels.positions["c"], DAG.labels.positions["d"]
    assert relate_labels(DAG, np.array([c, d]), np.array([d, c])).tolist() == [VAGUE, NEAR]
