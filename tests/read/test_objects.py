"""Plain Python objects are read by their shape; those that could be two things are refused."""

from typing import Any

import numpy as np
import pandas
import pytest

from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Votes
from mhpc.errors import DataError, MissingColumnError
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes


def vote_rows(votes: Votes) -> list[tuple[Any, ...]]:
    return [
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else None, float(score))
        for i, s, k, score in zip(
            votes.instance, votes.source, votes.label, votes.score, strict=True
        )
    ]


def truth_rows(truth: Truth) -> list[tuple[str, str | None]]:
    return [
        (truth.instances[i], truth.labels[k] if k >= 0 else None)
        for i, k in zip(truth.instance, truth.label, strict=True)
    ]


def edges(taxonomy: Taxonomy) -> dict[str, list[str]]:
    return {
        label: [taxonomy.labels[parent] for parent in taxonomy.parents_of(k)]
        for k, label in enumerate(taxonomy.labels)
    }


VOTES = [
    ("p", "ann", "bee", 1.0), ("p", "bob", "ant", 1.0), ("p", "bob", "bee", 1.0),
    ("q", "ann", None, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        {"p": {"ann": "bee", "bob": ["ant", "bee"]}, "q": {"ann": []}},
        {"p": {"ann": "bee", "bob": {"bee", "ant"}}, "q": {"ann": None}},
        {"p": {"ann": "bee", "bob": {"ant": 1, "bee": 1}}, "q": {"ann": {}}},
        [("p", "ann", "bee"), ("p", "bob", ["ant", "bee"]), ("q", "ann", None)],
        [["p", "ann", "bee"], ["p", "bob", np.array(["ant", "bee"])], ["q", "ann", ()]],
        (("p", "ann", "bee", 1), ("p", "bob", ("ant", "bee"), 1.0), ("q", "ann", [], 1)),
        pandas.DataFrame(VOTES, columns=["instance", "source", "label", "score"]),
    ],
)
def test_votes_by_instance_and_source_and_tuples_are_the_same_as_a_table(source: Any) -> None:
    assert vote_rows(read_votes(source)) == VOTES


def test_scores_are_the_fourth_entry_or_given_by_label() -> None:
    rows = vote_rows(read_votes([("p", "ann", "bee", 0.5), ("p", "bob", "ant")]))
    assert rows == [("p", "ann", "bee", 0.5), ("p", "bob", "ant", 1.0)]
    nested = {"p": {"ann": {"bee": 0.5, "ant": 0.25}, "bob": "ant"}}
    assert vote_rows(read_votes(nested)) == [
        ("p", "ann", "bee", 0.5), ("p", "ann", "ant", 0.25), ("p", "bob", "ant", 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([("p", "ann")], "row 1 has 2 entries; give tuples of instance, source, label"),
        ([("p", "ann", "bee"), ("p",)], "row 2 has 1 entries"),
        ({"p": {"ann": "bee"}, "q": "bee"}, "a mapping holds columns, .* or the answers"),
        ({"p": "bee"}, "a mapping holds columns, .* or the answers"),
    ],
)
def test_votes_of_another_shape_are_refused(source: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_votes(source)


@pytest.mark.parametrize(
    "scope",
    [
        {"ann": ["bee", "ant"]},
        {"ann": ("bee", "ant")},
        {"source": ["ann", "ann"], "label": ["bee", "ant"]},
        pandas.DataFrame({"worker": ["ann", "ann"], "label": ["bee", "ant"]}),
        [{"source": "ann", "label": "bee"}, {"source": "ann", "label": "ant"}],
    ],
)
def test_a_scope_may_be_a_table_in_memory(scope: Any) -> None:
    votes = read_votes([("p", "ann", "bee"), ("p", "bob", "ant")])
    assert read_votes(votes, scope=scope).scope == {"ann": ("bee", "ant")}
    assert read_votes([("p", "ann", "bee"), ("p", "bob", "ant")], scope=scope).scope == {
        "ann": ("bee", "ant")
    }
    assert read_votes(votes, scope="used").scope == "used"
    assert read_votes(read_votes(votes, scope=scope)).scope == {"ann": ("bee", "ant")}


def test_a_scope_in_memory_that_names_an_unknown_source_is_refused() -> None:
    with pytest.raises(DataError, match="the scope names source 'anna'.*nearest: 'ann'"):
        read_votes([("p", "ann", "bee")], scope={"anna": "bee"})


TRUTH = [("p", "bee"), ("q", "ant"), ("q", "wasp"), ("r", None)]


@pytest.mark.parametrize(
    "source",
    [
        {"p": "bee", "q": ["ant", "wasp"], "r": []},
        {"p": ["bee"], "q": {"wasp", "ant"}, "r": None},
        [("p", "bee"), ("q", ["ant", "wasp"]), ("r", None)],
        {"instance": ["p", "q", "q", "r"], "label": ["bee", "ant", "wasp", None]},
        pandas.DataFrame(TRUTH, columns=["task", "label"]),
    ],
)
def test_labels_by_instance_are_a_truth(source: Any) -> None:
    truth = read_truth(source)
    assert truth_rows(truth) == TRUTH
    assert read_truth(truth) is truth


def test_a_mapping_with_the_name_of_a_column_holds_columns() -> None:
    with pytest.raises(MissingColumnError, match="no column 'label'"):
        read_truth({"instance": ["p"], "photo-2": ["bee"], "photo-3": ["ant"]})
    chosen = read_truth(
        {"photo": ["p"], "tag": ["x"]}, columns={"instance": "photo", "label": "tag"}
    )
    assert truth_rows(chosen) == [("p", "x")]


def test_a_truth_of_triples_is_refused() -> None:
    with pytest.raises(DataError, match="row 1 has 3 entries; give tuples of instance and label"):
        read_truth([("p", "bee", 1)])


PLANTS = {"plant": [], "flower": ["plant"], "monarda": ["flower"], "rose": ["flower"]}


@pytest.mark.parametrize(
    "source",
    [
        {"plant": None, "flower": "plant", "monarda": "flower", "rose": "flower"},
        {"flower": "plant", "monarda": "flower", "rose": "flower"},
        {"plant": {"flower": ["monarda", "rose"]}},
        {"plant": {"flower": {"monarda": None, "rose": {}}}},
        {"plant": [{"flower": {"rose", "monarda"}}]},
        {"plant": ("flower",), "flower": ("monarda", "rose")},
        {"name": "plant", "children": [{"flower": ["monarda", "rose"]}]},
        [("plant", None), ("flower", "plant"), ("monarda", "flower"), ("rose", "flower")],
        {
            "label": ["plant", "flower", "monarda", "rose"],
            "parent": [None, "plant", "flower", "flower"],
        },
    ],
)
def test_taxonomies_are_read_by_their_shape(source: Any) -> None:
    taxonomy = read_taxonomy(source)
    assert edges(taxonomy) == PLANTS
    assert read_taxonomy(taxonomy) is taxonomy


def test_a_list_of_paths_is_a_taxonomy_and_so_is_a_list_of_labels() -> None:
    assert edges(read_taxonomy(["plant > flower", "animal"])) == {
        "plant": [], "plant > flower": ["plant"], "animal": [],
    }  # fmt: skip
    assert edges(read_taxonomy(["bee", "ant"])) == {"bee": [], "ant": []}
    assert edges(read_taxonomy({"bee": None, "ant": None})) == {"bee": [], "ant": []}


def test_a_label_may_be_below_several_others() -> None:
    taxonomy = read_taxonomy({"a": ["c", "d"], "b": ["d"], "c": {"e"}, "e": None})
    assert edges(taxonomy) == {"a": [], "b": [], "c": ["a"], "d": ["a", "b"], "e": ["c"]}


def test_a_group_may_have_a_child_of_its_own_name() -> None:
    taxonomy = read_taxonomy({"anger": ["anger", "annoyance"], "joy": ["love"]})
    assert edges(taxonomy)["anger"] == ["anger (group)"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"plant": ["flower"], "animal": "bird"}, "either the parent .* not both"),
        ({"label": "flower", "parent": "plant"}, "are names of columns"),
        ({"kind": ["a", "b", "c"], "above": ["x", "x", "y"]}, "may be columns, or labels"),
        ({"kind": ["a", "b"], "above": [None, "a"]}, "may be columns, or labels"),
        ({"code": ["a", "b"], "remark": ["x", "y"]}, "may be columns, or labels.*columns="),
        ([("a", "b", "c")], "row 1 has 3 entries; give tuples of label and parent"),
        ([__file__], "is a file; give the file itself"),
    ],
)
def test_taxonomies_that_could_be_two_things_are_refused(source: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_taxonomy(source)


def test_chosen_columns_say_that_a_mapping_holds_columns() -> None:
    columns = {"label": "kind", "parent": "above"}
    taxonomy = read_taxonomy({"kind": ["a", "b"], "above": [None, "a"]}, columns=columns)
    assert edges(taxonomy) == {"a": [], "b": ["a"]}


def test_arrays_with_unusual_names_are_columns_without_a_label() -> None:
    with pytest.raises(MissingColumnError, match="no column 'label'"):
        read_taxonomy({"kind": np.array(["a", "b"]), "above": np.array(["", "a"])})
