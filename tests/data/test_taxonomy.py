import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy, build_taxonomy, connect_labels
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


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30), st.booleans())
def test_depth_and_levels_agree_with_walking_up(draws: list[int], several_parents: bool) -> None:
    labels = [str(n) for n in range(len(draws) + 1)]
    edges = [(str(n + 1), str(draw % (n + 1))) for n, draw in enumerate(draws) if draw % 5]
    if several_parents:
        edges += [(str(n + 1), str((draw // 7) % (n + 1))) for n, draw in enumerate(draws)]

    def depth(label: str) -> int:
        return 1 + max((depth(parent) for child, parent in edges if child == label), default=0)

    taxonomy = build_taxonomy(labels, edges[::-1])
    assert taxonomy.depth.tolist() == [depth(label) for label in labels]
    by_level = [level.tolist() for level in taxonomy.levels]
    assert [sorted(level) for level in by_level] == by_level
    assert [depth(labels[k]) for level in by_level for k in level] == sorted(taxonomy.depth)


@pytest.mark.parametrize("n_labels", [2, 255, 256, 1000, 70_000])
def test_a_chain_of_any_length_has_that_many_levels(n_labels: int) -> None:
    position = np.arange(n_labels)
    labels = Index(tuple(map(str, position)))
    chain = connect_labels(labels, position[:-1], position[1:])
    assert chain.depth.tolist() == list(range(n_labels, 0, -1))
    assert chain.levels[0].tolist() == [n_labels - 1]


def test_a_long_cycle_is_shown_by_its_beginning() -> None:
    position = np.arange(5000)
    labels = Index(tuple(map(str, position)))
    with pytest.raises(TaxonomyError, match="^here: the parents form a cycle: '0' > '1' >.*'7' …;"):
        connect_labels(labels, position, (position + 1) % 5000, origin="here")


def test_of_two_wrong_edges_the_first_is_reported() -> None:
    own, unknown = ("a", "a"), ("b", "x")
    with pytest.raises(TaxonomyError, match="'a' is its own parent"):
        build_taxonomy(["a", "b"], [own, unknown])
    with pytest.raises(TaxonomyError, match="'x', named as parent of 'b'"):
        build_taxonomy(["a", "b"], [unknown, own])


def test_a_taxonomy_without_labels_has_no_levels() -> None:
    assert build_taxonomy([], []).levels == ()


def test_labels_are_selected_with_their_ancestors() -> None:
    labels = DAG.with_ancestors(DAG.locate(["d"]))
    names = {DAG.labels[int(k)] for k in labels}
    assert names == {"d", *(DAG.labels[int(k)] for k in DAG.ancestors_of(DAG.locate(["d"])[0]))}
    selected = DAG.select(labels)
    np.testing.assert_array_equal(
        selected.closure.toarray(), DAG.closure.toarray()[np.ix_(labels, labels)]
    )
    assert DAG.select(labels) is selected
