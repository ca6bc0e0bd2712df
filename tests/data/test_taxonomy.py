import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TaxonomyError
from tests.fixtures.build import DAG, GARDEN


def test_depth_of_a_tree_counts_levels_from_one() -> None:
    depth = dict(zip(GARDEN, GARDEN.depth.tolist(), strict=True))
    assert depth["plant"] == depth["animal"] == 1
    assert depth["flower"] == 2
    assert depth["monarda"] == 3


def test_depth_of_a_dag_is_the_longest_way_up() -> None:
    assert DAG.depth.tolist() == [1, 2, 3, 4, 2]


def test_closure_holds_each_label_and_all_its_ancestors() -> None:
    above = {
        DAG.labels[k]: {DAG.labels[j] for j in np.flatnonzero(row)}
        for k, row in enumerate(DAG.closure.toarray())
    }
    assert above == {
        "a": {"a"},
        "b": {"a", "b"},
        "c": {"a", "b", "c"},
        "d": {"a", "b", "c", "d"},
        "e": {"a", "e"},
    }


def test_closure_of_a_chain_of_200_levels_is_a_triangle() -> None:
    labels = [f"level {n}" for n in range(200)]
    chain = build_taxonomy(labels, list(zip(labels[1:], labels[:-1], strict=True)))
    assert chain.closure.nnz == 200 * 201 // 2
    assert chain.depth.max() == 200


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_closure_agrees_with_walking_up(draws: list[int]) -> None:
    # Parents come before children, so that any draw makes a DAG.
    labels = [str(n) for n in range(len(draws) + 1)]
    edges = {(str(n + 1), str(draw % (n + 1))) for n, draw in enumerate(draws)}
    edges |= {(str(n + 1), str((draw // 7) % (n + 1))) for n, draw in enumerate(draws)}
    dag = build_taxonomy(labels, sorted(edges))

    def walk(label: str) -> set[str]:
        return {label}.union(*(walk(p) for c, p in edges if c == label))

    for k, row in enumerate(dag.closure.toarray()):
        assert {labels[j] for j in np.flatnonzero(row)} == walk(labels[k])
        assert all(dag.depth[j] < dag.depth[k] for j in dag.ancestors_of(k))


def test_a_cycle_is_refused_and_shown() -> None:
    with pytest.raises(TaxonomyError, match="cycle: 'b' > 'c' > 'd' > 'b'"):
        build_taxonomy(["a", "b", "c", "d"], [("b", "c"), ("c", "d"), ("d", "b"), ("a", "b")])


def test_a_dangling_parent_is_refused_and_the_nearest_label_named() -> None:
    with pytest.raises(TaxonomyError, match="'plnt', named as parent of 'flower'.*'plant'"):
        build_taxonomy(["plant", "flower"], [("flower", "plnt")])


def test_a_label_that_is_its_own_parent_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="'anger' is its own parent"):
        build_taxonomy(["anger"], [("anger", "anger")])


def test_names_may_repeat_and_a_child_may_carry_its_parents_name() -> None:
    places = build_taxonomy(
        ["1", "2", "3", "4"],
        [("2", "1"), ("4", "3")],
        names=["France", "Paris", "Texas", "Paris"],
    )
    positions = places.locate(["2", "France", "Paris", "Texas > Paris", "Lyon"])
    assert positions.tolist() == [1, 0, -1, 3, -1]
    assert places.homonyms("Paris") == ["2", "4"]
    emotions = build_taxonomy(["g", "l"], [("l", "g")], names=["anger", "anger"])
    assert emotions.path(1) == "anger > anger"
    assert emotions.locate(["anger > anger", "anger"]).tolist() == [1, -1]


def test_the_same_edge_twice_counts_once() -> None:
    taxonomy = build_taxonomy(["a", "b"], [("b", "a"), ("b", "a")])
    assert taxonomy.parents.toarray().tolist() == [[0, 0], [1, 0]]


def test_a_label_is_found_by_the_path_that_is_shown_for_it() -> None:
    for taxonomy in (GARDEN, DAG):
        with_names = Taxonomy(
            taxonomy.labels, tuple(f"the {k}" for k in taxonomy), taxonomy.parents
        )
        paths = [with_names.path(label) for label in range(len(with_names))]
        assert with_names.locate(paths).tolist() == list(range(len(with_names)))
