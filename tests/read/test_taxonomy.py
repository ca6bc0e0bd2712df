import io
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import DataError, MissingColumnError, TaxonomyError
from mhpc.numerics.hash_table import HashTable
from mhpc.read.taxonomy import read_taxonomy


def parents(taxonomy: Taxonomy) -> dict[str, set[str]]:
    return {
        label: {taxonomy.labels[p] for p in taxonomy.parents_of(k)}
        for k, label in enumerate(taxonomy)
    }


def test_one_row_per_edge_and_an_empty_parent_for_a_root() -> None:
    taxonomy = read_taxonomy({"label": ["plant", "flower"], "parent": [None, "plant"]})
    assert parents(taxonomy) == {"plant": set(), "flower": {"plant"}}


def test_several_rows_are_several_parents() -> None:
    taxonomy = read_taxonomy(
        {"label": ["a", "b", "c", "c", "c"], "parent": ["", "", "a", "b", "a"]}
    )
    assert parents(taxonomy) == {"a": set(), "b": set(), "c": {"a", "b"}}


def test_bare_edges_imply_their_roots() -> None:
    taxonomy = read_taxonomy({"child": ["flower", "tree"], "parent": ["plant", "plant"]})
    assert parents(taxonomy) == {"flower": {"plant"}, "tree": {"plant"}, "plant": set()}


def test_with_a_row_for_one_root_all_parents_need_rows() -> None:
    with pytest.raises(TaxonomyError, match="'plnt', named as parent of 'flower', is not a label"):
        read_taxonomy({"label": ["plant", "flower"], "parent": ["", "plnt"]})


def test_names_may_repeat() -> None:
    taxonomy = read_taxonomy(
        {
            "id": ["fr", "fr-75", "us", "us-tx"],
            "parent_id": ["", "fr", "", "us"],
            "name": ["Paris", "Paris", "", "Paris"],
        }
    )
    assert taxonomy.names == ("Paris", "Paris", "us", "Paris")
    # A name that several labels carry finds none of them; a path that only one has does.
    assert taxonomy.locate(["Paris", "us > Paris", "fr-75"]).tolist() == [-1, 3, 1]


def test_the_first_name_of_a_label_counts() -> None:
    taxonomy = read_taxonomy(
        {"label": ["a", "b", "b", "b"], "parent": ["", "a", "a", "a"], "name": ["A", "", "B", "C"]}
    )
    assert taxonomy.names == ("A", "B")


def test_without_parents_labels_are_paths() -> None:
    taxonomy = read_taxonomy({"code": ["20/01/03", "20/02"]})
    assert parents(taxonomy) == {
        "20": set(), "20/01": {"20"}, "20/01/03": {"20/01"}, "20/02": {"20"},
    }  # fmt: skip
    taxonomy = read_taxonomy({"path": ["A > B > C"]})
    assert parents(taxonomy) == {"A": set(), "A > B": {"A"}, "A > B > C": {"A > B"}}


def test_paths_may_have_names() -> None:
    taxonomy = read_taxonomy({"code": ["20", "20/01"], "name": ["cell cycle", None]})
    assert taxonomy.names == ("cell cycle", "20/01")


def test_paths_may_have_a_separator_of_their_own() -> None:
    taxonomy = read_taxonomy({"label": ["a-b", "a-c"]}, separator="-")
    assert parents(taxonomy) == {"a": set(), "a-b": {"a"}, "a-c": {"a"}}


def test_columns_can_be_chosen() -> None:
    taxonomy = read_taxonomy(
        {"what": ["a", "b"], "of": ["", "a"]}, columns={"label": "what", "parent": "of"}
    )
    assert parents(taxonomy) == {"a": set(), "b": {"a"}}


def test_messages_name_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"parent\na\n")))
    with pytest.raises(MissingColumnError, match="^standard input: no column 'label'"):
        read_taxonomy("-")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("label,parent\na,b\nb,c\nc,a\n", "the parents form a cycle: 'a' > 'b' > 'c' > 'a'"),
        ("label,parent\na,\nb,b\n", "label 'b' is its own parent"),
        ("label,parent\na,\nb,x\n", "'x', named as parent of 'b', is not a label"),
        ("label,parent\nonly,\n", "has one label, 'only'"),
        ("label\nonly\n", "has one label, 'only'"),
        ("label,parent\na,\n,a\n", "row 2 has an empty label"),
        ("what,parent\na,\n", r"no column 'label' \(nor 'id', .*; it has 'what', 'parent'; rename"),
    ],
)
def test_a_file_that_is_not_a_taxonomy_is_refused_by_name(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "taxonomy.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as error:
        read_taxonomy(path)
    assert str(path) in str(error.value)


def test_messages_name_a_taxonomy_in_memory() -> None:
    with pytest.raises(DataError, match="^the taxonomy: row 1 has an empty label"):
        read_taxonomy({"label": [None]})


@pytest.mark.parametrize(
    "parent",
    [
        [None, "a", "a", "c", ""],
        ["0", "a", "a", "-1", "d"],
        ["b", "c", "d", "e", ""],
        ["x", "a", "a", "x", "d"],
    ],
)
def test_a_repeated_row_changes_nothing(
    parent: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns: dict[str, list[Any]] = {
        "label": ["a", "b", "c", "d", "e"],
        "parent": parent,
        "name": ["A", "", None, "D", "E"],
    }
    once = read_taxonomy(columns)
    repeated = read_taxonomy({role: [*cells, cells[0]] for role, cells in columns.items()})
    # If two labels ever share a hash, their texts are compared.
    monkeypatch.setattr(HashTable, "has_duplicates", True)
    colliding = read_taxonomy(columns)
    for taxonomy in (repeated, colliding):
        assert taxonomy.labels.ids == once.labels.ids
        assert taxonomy.names == once.names
        assert parents(taxonomy) == parents(once)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_are_read_like_columns(tmp_path: Path, suffix: str) -> None:
    columns = {"label": ["10", "2", "3"], "parent": ["", "10", "10"], "name": ["", "two", "three"]}
    rows = [",".join(row) for row in zip(*columns.values(), strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["label,parent,name", *rows]))
    if suffix == "parquet":
        target = tmp_path / "t.parquet"
        duckdb.execute(f"COPY (FROM read_csv('{path}')) TO '{target}'")
        path = target
    taxonomy = read_taxonomy(path)
    assert taxonomy.labels.ids == ("10", "2", "3")
    assert taxonomy.names == ("10", "two", "three")
    assert parents(taxonomy) == {"10": set(), "2": {"10"}, "3": {"10"}}


def test_reading_does_not_compute_the_closure() -> None:
    # A million labels in chains of a thousand have 500 million pairs of a label and an ancestor.
    chains = [(chain, level) for chain in range(20) for level in range(500)]
    taxonomy = read_taxonomy(
        {
            "label": [f"{chain}.{level}" for chain, level in chains],
            "parent": [f"{chain}.{level - 1}" if level else None for chain, level in chains],
        }
    )
    assert taxonomy.depth.max() == 500
    assert "closure" not in vars(taxonomy)
