"""Taxonomies as people have them: unusual column names, level columns, outlines, paths, YAML."""

import json
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import (
    DataError,
    MhpcWarning,
    MissingColumnError,
    MissingExtraError,
    TaxonomyError,
    UnreadableError,
)
from mhpc.read.columns import normalize_name
from mhpc.read.taxonomy import read_taxonomy, taxonomy_from_labels
from mhpc.read.taxonomy_formats.levels import find_levels
from mhpc.read.yaml_documents import load_yaml

TREE = {"plant": "", "tree": "plant", "oak": "tree", "ash": "tree", "animal": "", "bee": "animal"}
"""The parent of every label."""


def parents(taxonomy: Taxonomy) -> dict[str, str]:
    """Return the parent of every label, by their names."""
    return {
        taxonomy.names[k]: "+".join(taxonomy.names[p] for p in taxonomy.parents_of(k))
        for k in range(len(taxonomy))
    }


def parent_ids(taxonomy: Taxonomy) -> dict[str, str]:
    return {
        label: "+".join(taxonomy.labels[p] for p in taxonomy.parents_of(k))
        for k, label in enumerate(taxonomy)
    }


def put(folder: Path, text: str, name: str = "t.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["Parent ID", "parent_id", "ParentID", "PARENT-ID", " parentId "])
def test_spellings_of_a_name_are_equal(name: str) -> None:
    assert normalize_name(name) == "parentid"


@pytest.mark.parametrize(
    ("label", "parent"),
    [
        ("Category", "Parent Category"), ("label_id", "parentLabelId"), ("Class", "superclass"),
        ("term", "Broader Term"), ("Concept", "broader-concept"), ("child", "is_a"),
        ("taxon", "Parent Taxon"), ("name", "parent name"), ("Category Name", "Parent"),
    ],
)  # fmt: skip
def test_labels_and_parents_are_recognized_by_usual_names(label: str, parent: str) -> None:
    assert parents(read_taxonomy({label: list(TREE), parent: list(TREE.values())})) == TREE


def test_the_text_beside_an_id_is_its_name() -> None:
    taxonomy = read_taxonomy({"ID": [1, 2], "Category": ["tree", "oak"], "Parent ID": ["", 1]})
    assert parent_ids(taxonomy) == {"1": "", "2": "1"}
    assert taxonomy.names == ("tree", "oak")


def test_a_class_beside_an_id_is_no_name() -> None:
    taxonomy = read_taxonomy({"id": ["1", "2"], "class": ["leaf", "leaf"], "parent": ["", "1"]})
    assert taxonomy.names == ("1", "2")


def test_parents_may_be_given_by_name_where_labels_are_ids() -> None:
    taxonomy = read_taxonomy(
        {
            "Category id": ["1", "2", "3"],
            "name": ["tree", "oak", "red oak"],
            "Parent Category": ["", "tree", "2"],
        }
    )
    assert parent_ids(taxonomy) == {"1": "", "2": "1", "3": "2"}


def test_parents_may_be_given_by_id_where_labels_are_texts() -> None:
    taxonomy = read_taxonomy(
        {"id": ["1", "2", "3"], "label": ["tree", "oak", "red oak"], "parent_id": ["", "1", "2"]}
    )
    assert parent_ids(taxonomy) == {"tree": "", "oak": "tree", "red oak": "oak"}


def test_a_parent_by_a_name_that_two_labels_have_is_an_error() -> None:
    table = {"id": ["1", "2", "3"], "name": ["a", "a", "b"], "parent": ["", "", "a"]}
    with pytest.raises(TaxonomyError, match="'a', named as parent of '3', is not a label"):
        read_taxonomy(table)


def test_the_number_of_no_parent_is_no_name() -> None:
    table = {"id": ["7", "8", "9"], "name": ["0", "x", "y"], "parent": ["0", "7", "x"]}
    assert parent_ids(read_taxonomy(table)) == {"7": "", "8": "7", "9": "8"}


def test_a_missing_label_names_the_option() -> None:
    with pytest.raises(MissingColumnError, match="no column 'label'.*columns={'ROLE': 'NAME'}"):
        read_taxonomy({"what": ["a", "b"], "parent": ["", "a"]})


LEVEL_HEADERS = [
    "level1,level2,level3", "Level 1,Level 2,Level 3", "L1,L2,L3", "lvl_0,lvl_1,lvl_2",
    "tier1,tier2,tier3", "category_1,category_2,category_3",
    "Category Level 1,Category Level 2,Category Level 3", "level_1_name,level_2_name,level_3_name",
    "kingdom,order,species", "Category,Sub-Category,Sub-Sub-Category",
    "Main Category,Subcategory,Subsubcategory", "topic,subtopic,subsubtopic",
]  # fmt: skip
PATHS = "plant,tree,oak\nplant,tree,ash\nanimal,bee,\n"
OUTLINE = "plant,,\n,tree,\n,,oak\n,,ash\n,,\nanimal,,\n,bee,\n"


@pytest.mark.parametrize("rows", [PATHS, OUTLINE], ids=["paths", "outline"])
@pytest.mark.parametrize("header", LEVEL_HEADERS)
def test_columns_of_levels_are_recognized(header: str, rows: str, tmp_path: Path) -> None:
    assert parents(read_taxonomy(put(tmp_path, f"{header}\n{rows}"))) == TREE


@pytest.mark.parametrize(
    "header",
    [
        ["level1"], ["level1", "level3"], ["level2", "level3"], ["level1", "level2", "level4"],
        ["species", "genus"], ["label", "order"], ["level1", "level2", "parent"], ["sub", "x"],
    ],
)  # fmt: skip
def test_other_columns_are_no_levels(header: list[str]) -> None:
    assert find_levels(header) == []


def test_levels_are_ordered_by_their_numbers_and_other_columns_ignored() -> None:
    middle = [f"L{n}" for n in range(3, 10)]
    header = ["note", "level2", "level10", *middle, "level1"]
    assert find_levels(header) == ["level1", "level2", *middle, "level10"]
    assert find_levels(["note", "category", "subcategory"]) == ["category", "subcategory"]


@pytest.mark.parametrize(
    "source",
    [
        polars.DataFrame({"level1": ["tree", "tree"], "level2": ["oak", "ash"]}),
        polars.LazyFrame({"level1": ["tree", "tree"], "level2": ["oak", "ash"]}),
        [{"level1": "tree", "level2": "oak"}, {"level1": "tree", "level2": "ash"}],
    ],
    ids=["frame", "lazy", "rows"],
)
def test_levels_are_recognized_in_memory(source: Any) -> None:
    assert parents(read_taxonomy(source)) == {"tree": "", "oak": "tree", "ash": "tree"}


@pytest.mark.parametrize("as_lines", [False, True])
def test_levels_are_recognized_in_json(as_lines: bool, tmp_path: Path) -> None:
    rows = [{"level1": "tree", "level2": "oak"}, {"level1": "tree", "level2": "ash"}]
    text = "\n".join(map(json.dumps, rows)) if as_lines else json.dumps(rows)
    assert parents(read_taxonomy(put(tmp_path, text))) == {"tree": "", "oak": "tree", "ash": "tree"}


def test_levels_are_recognized_in_parquet(tmp_path: Path) -> None:
    polars.DataFrame({"L1": ["tree", "tree"], "L2": ["oak", ""]}).write_parquet(tmp_path / "t")
    assert parents(read_taxonomy(tmp_path / "t")) == {"tree": "", "oak": "tree"}


def test_levels_can_be_named_or_be_all_columns() -> None:
    table = {"kind": ["oak", "bee"], "group": ["tree", "insect"]}
    expected = {"tree": "", "oak": "tree", "insect": "", "bee": "insect"}
    assert parents(read_taxonomy(table, format="levels=group, kind")) == expected
    swapped = {"oak": "", "tree": "oak", "bee": "", "insect": "bee"}
    assert parents(read_taxonomy(table, format="levels")) == swapped
    with pytest.raises(MissingColumnError, match="no column 'kin' .nearest: 'kind'"):
        read_taxonomy(table, format="levels=group,kin")


def test_a_name_on_two_paths_is_two_labels() -> None:
    table = {"level1": ["red", "blue"], "level2": ["other", "other"]}
    assert parent_ids(read_taxonomy(table)) == {
        "red": "", "red > other": "red", "blue": "", "blue > other": "blue",
    }  # fmt: skip


def test_an_id_beside_levels_is_that_of_the_last_level() -> None:
    table = {
        "code": ["T", "T1", ""], "level1": ["tree"] * 3, "level2": ["", "oak", "ash"],
    }  # fmt: skip
    taxonomy = read_taxonomy(table)
    assert parent_ids(taxonomy) == {"T": "", "T1": "T", "ash": "T"}
    assert taxonomy.names == ("tree", "oak", "ash")


def test_two_ids_of_one_path_are_an_error() -> None:
    table = {"id": ["1", "2"], "level1": ["tree"] * 2, "level2": ["oak"] * 2}
    with pytest.raises(TaxonomyError, match="row 2 has the id '2' for 'oak'.*calls '1'"):
        read_taxonomy(table)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,,c"], "row 1 has a blank before 'c'"),
        (["a,b,", ",,", "x,,c"], "row 3 has a blank before 'c'"),
        ([",b,c"], "row 1 has a blank before 'c'"),
        (["a,,", ",,c"], "row 2 has a blank before 'c'"),
        ([f"a,{'x' * 10_001},"], "more than 10,000 characters"),
        ([], "no rows"),
        ([",,"], "no label"),
    ],
)
def test_rows_that_are_no_path_are_refused(rows: list[str], message: str, tmp_path: Path) -> None:
    text = "\n".join(["level1,level2,level3", *rows])
    with pytest.raises(DataError, match=message):
        read_taxonomy(put(tmp_path, text + "\n"))


@pytest.mark.parametrize(
    "text",
    [
        "plant\n\ttree\n\t\toak\n\t\tash\nanimal\n\tbee\n",
        "plant\n  tree\n     oak\n\n     ash\nanimal\n bee\n",
        "- plant\n  - tree\n    * oak\n    * ash\n- animal\n  - bee\n",
        "\ufeffplant\r\n  tree\r\n    oak\r\n    ash\r\nanimal\r\n  bee",
        "plant\n  tree\n    oak\n  tree\n    ash\nanimal\n  bee\n",
    ],
    ids=["tabs", "spaces", "markdown", "windows", "repeated"],
)
def test_outlines_are_recognized(text: str, tmp_path: Path) -> None:
    assert parents(read_taxonomy(put(tmp_path, text))) == TREE


def test_names_in_an_outline_may_have_commas_and_blanks(tmp_path: Path) -> None:
    text = "Living, green\n  red oak\n  ash, white, tall\n"
    assert parents(read_taxonomy(put(tmp_path, text))) == {
        "Living, green": "", "red oak": "Living, green", "ash, white, tall": "Living, green",
    }  # fmt: skip


def test_the_root_of_an_outline_may_be_a_word_of_headers(tmp_path: Path) -> None:
    text = "Topics\n  Sports\n    Football\n  Music\n"
    assert parents(read_taxonomy(put(tmp_path, text))) == {
        "Topics": "", "Sports": "Topics", "Football": "Sports", "Music": "Topics",
    }  # fmt: skip


def test_a_list_of_bullets_is_flat(tmp_path: Path) -> None:
    assert parents(read_taxonomy(put(tmp_path, "* oak\n* ash\n"))) == {"oak": "", "ash": ""}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n    b\n  c\n", 3),
        ("a\n  b\n\tc\n", 3),
        ("a\n\tb\n        c\n", 3),
        ("  a\nb\n", 1),
        ("a\n  b\n    c\n   d\n", 4),
    ],
)
def test_inconsistent_indentation_is_refused_by_line(text: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=f"t.txt, line {line}: indented like no line above"):
        read_taxonomy(put(tmp_path, text), format="indented")


def test_an_overlong_line_of_an_outline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match="line 2: a label of more than"):
        read_taxonomy(put(tmp_path, f"a\n  {'x' * 10_001}\n"), format="indented")


@pytest.mark.parametrize(
    "text", ["label,parent\n a,\n b, a\n", "label\n a\n b\n", 'label,parent\n "a,b",\n c,\n']
)
def test_tables_with_blanks_are_no_outlines(text: str, tmp_path: Path) -> None:
    assert "label" not in parents(read_taxonomy(put(tmp_path, text)))


@pytest.mark.parametrize(
    "separator",
    [" > ", "/", " / ", "|", " | ", "→", " → ", "->", " -> ", "»", " » ", "\\", "::", ">", ";"],
)
def test_steps_of_paths_are_clean_for_every_usual_separator(separator: str, tmp_path: Path) -> None:
    paths = ["plant", "tree", "oak"], ["plant", "tree", "ash"], ["animal", "bee"]
    lines = [separator.join(path) for path in paths]
    assert parents(read_taxonomy(put(tmp_path, "\n".join(lines) + "\n"))) == TREE


def test_any_other_separator_can_be_given(tmp_path: Path) -> None:
    path = put(tmp_path, "plant~tree~oak\nplant~tree~ash\nanimal~bee\n")
    assert parents(read_taxonomy(path, format="paths=~")) == TREE


def test_names_may_have_commas_in_unmistakable_paths(tmp_path: Path) -> None:
    text = "# Product taxonomy, version 3\nBeds, cots\nBeds, cots > Cribs, small\n"
    assert parents(read_taxonomy(put(tmp_path, text + "Beds, cots > Bunks\n"))) == {
        "Beds, cots": "", "Cribs, small": "Beds, cots", "Bunks": "Beds, cots",
    }  # fmt: skip


@pytest.mark.parametrize(
    "header",
    ["category", "Category Path", "hierarchy", "Labels", "taxonomy", "level 1 > level 2 > level 3"],
)
def test_a_header_above_paths_is_no_label(header: str, tmp_path: Path) -> None:
    text = f"{header}\nplant > tree > oak\nplant > tree > ash\nanimal > bee\n"
    assert parents(read_taxonomy(put(tmp_path, text))) == TREE


@pytest.mark.parametrize("header", ["from\tto", "Source\tTarget", "hyponym\thypernym"])
def test_a_header_above_edges_is_no_label(header: str, tmp_path: Path) -> None:
    edges = "".join(f"{label}\t{parent}\n" for label, parent in TREE.items() if parent)
    assert parents(read_taxonomy(put(tmp_path, f"{header}\n{edges}"))) == TREE


def test_a_header_above_one_column_is_no_label(tmp_path: Path) -> None:
    path = put(tmp_path, "Category\noak\nash\n")
    assert parents(read_taxonomy(path)) == {"oak": "", "ash": ""}


YAML = """\
plant:
  tree: [oak, ash]
animal:
  bee: ~
"""


@pytest.mark.parametrize(
    "text",
    [
        YAML,
        "- plant:\n  - tree:\n    - oak\n    - ash\n- animal:\n    - bee\n",
        "- {name: plant, children: [{name: tree, children: [oak, ash]}]}\n"
        "- {name: animal, children: [bee]}\n",
        "- {label: plant}\n- {label: tree, parent: plant}\n- {label: oak, parent: tree}\n"
        "- {label: ash, parent: tree}\n- {label: animal}\n- {label: bee, parent: animal}\n",
        "- {level1: plant, level2: tree, level3: oak}\n"
        "- {level1: plant, level2: tree, level3: ash}\n- {level1: animal, level2: bee}\n",
    ],
    ids=["mappings", "lists", "nodes", "rows", "levels"],
)
def test_yaml_is_recognized_by_the_name_of_the_file(text: str, tmp_path: Path) -> None:
    assert parents(read_taxonomy(put(tmp_path, text, "t.yaml"))) == TREE
    assert parents(read_taxonomy(put(tmp_path, text), format="yaml")) == TREE


def test_words_in_a_yaml_taxonomy_are_labels(tmp_path: Path) -> None:
    taxonomy = read_taxonomy(put(tmp_path, "answer: [no, yes, 1.0, 007, 2024-01-02]\n", "t.yml"))
    assert taxonomy.labels.ids == ("answer", "no", "yes", "1.0", "007", "2024-01-02")


LAUGHS = "a: &a [x, y]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "t.yaml, line 2: aliases such as [*]a"),
        ("a: !!python/object:os.system x\n", "t.yaml, line 1: tags"),
        ("a: !!int x\n", "t.yaml, line 1: tags"),
        ("a: [x\nb: y\n", "t.yaml, line 2: not YAML"),
        ("a: x\nb: y\na: z\n", "t.yaml, line 1: not YAML: a key is given twice"),
        ("a: x\n---\nb: y\n", "t.yaml, line 2: not YAML"),
        ("[" * 300 + "]" * 300, "nested deeper than 200"),
        ("? [a, b]\n: c\n", "t.yaml, line 1: not YAML"),
        ("a: \x07\n", "t.yaml: not YAML"),
    ],
)
def test_yaml_that_is_wrong_or_hostile_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=message):
        read_taxonomy(put(tmp_path, text, "t.yaml"))


def test_yaml_that_is_too_large_or_not_utf_8_is_refused() -> None:
    with pytest.raises(UnreadableError, match="^t is larger than 0 MiB"):
        load_yaml(b"a: b\n", "t", max_bytes=4)
    with pytest.raises(UnreadableError, match="^t, line 2: not UTF-8"):
        load_yaml(b"a: b\nc: \xff\n", "t")


def test_the_extra_for_yaml_is_named_if_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mhpc\[yaml\]'"):
        read_taxonomy(put(tmp_path, YAML, "t.yaml"))


@pytest.mark.parametrize("separator", [" > ", "/", " / ", "|", "::", " → ", ";"])
def test_labels_that_are_paths_become_a_hierarchy(separator: str) -> None:
    labels = [separator.join(path) for path in ("ab", "ac", "abd")]
    with pytest.warns(MhpcWarning, match=r"votes\.csv.*paths.*\(4 labels, 3 levels\)") as said:
        taxonomy = taxonomy_from_labels([*labels, labels[0]], "votes.csv")
    assert repr(separator) in str(said[0].message)
    assert parent_ids(taxonomy) == {
        "a": "", labels[0]: "a", labels[1]: "a", labels[2]: labels[0],
    }  # fmt: skip


@pytest.mark.parametrize(
    "labels",
    [
        ["oak", "ash"], ["a/b", "a/c", "d", "e"], ["his/her", "you/me"], ["a/", "a/b"],
        ["1.5", "1.6"],
    ],
    ids=["words", "half", "no common root", "empty step", "numbers"],
)  # fmt: skip
def test_other_labels_become_roots(labels: list[str]) -> None:
    with pytest.warns(MhpcWarning, match=f"{len(labels)} labels without a hierarchy"):
        assert parent_ids(taxonomy_from_labels(labels, "votes.csv")) == dict.fromkeys(labels, "")


@pytest.mark.parametrize("labels", [[], ["oak"]])
def test_labels_without_a_choice_are_refused(labels: list[str]) -> None:
    with pytest.raises(TaxonomyError, match=r"votes\.csv has (no|one) label"):
        taxonomy_from_labels(labels, "votes.csv")


def test_a_list_of_labels_without_a_header_needs_the_option_that_the_message_names(
    tmp_path: Path,
) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("kind\nbee\nant\n")
    with pytest.raises(MissingColumnError, match="format='paths'"):
        read_taxonomy(path)
    assert read_taxonomy(path, format="paths").labels.ids == ("kind", "bee", "ant")


def test_votes_in_place_of_a_taxonomy_are_refused() -> None:
    votes = {"item": ["1", "2"], "worker": ["ann", "bob"], "label": ["bee", "ant"]}
    with pytest.raises(TaxonomyError, match="'item', 'worker' are those of votes.*swapped"):
        read_taxonomy(votes)
