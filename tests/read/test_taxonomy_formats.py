"""The details of each taxonomy format, and errors in files."""

import json
import sys
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import DataError, MhpcError, MissingExtraError, ParameterError, TaxonomyError
from mhpc.read.taxonomy import read_taxonomy


def parents(taxonomy: Taxonomy) -> dict[str, set[str]]:
    return {
        label: {taxonomy.labels[p] for p in taxonomy.parents_of(position)}
        for position, label in enumerate(taxonomy)
    }


def put(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


OBO = """format-version: 1.4
ontology: x

[Term]
id: X:1
name: plant ! a name may have one
alt_id: X:01

[Term]
id: X:2 {source="y"}
name: flower
is_a: X:1 {is_inferred="true"} ! plant
is_a: OTHER:9 ! not in this file
relationship: part_of X:3 ! garden

[Term]
id: X:3
name: garden

[Term]
id: X:4
name: bloom
is_obsolete: true
replaced_by: X:2

[Typedef]
id: part_of
name: part of
is_transitive: true
"""


def test_obo_drops_obsolete_terms_and_knows_alternative_ids(tmp_path: Path) -> None:
    taxonomy = read_taxonomy(put(tmp_path / "x.obo", OBO))
    assert parents(taxonomy) == {"X:1": set(), "X:2": {"X:1"}, "X:3": set()}
    assert taxonomy.names == ("plant ! a name may have one", "flower", "garden")
    assert taxonomy.locate(["X:01", "X:4", "flower", "X:9"]).tolist() == [0, 1, 1, -1]


def test_a_table_with_a_cell_like_an_obo_term_is_not_obo(tmp_path: Path) -> None:
    path = put(tmp_path / "taxonomy.csv", 'label,name,parent\na,"\n[Term]\n",\nb,,a\n')
    assert parents(read_taxonomy(path)) == {"a": set(), "b": {"a"}}


def test_obo_includes_part_of_on_request(tmp_path: Path) -> None:
    path = put(tmp_path / "x.obo", OBO.replace("\n", "\r\n"))
    assert parents(read_taxonomy(path, format="obo=part_of"))["X:2"] == {"X:1", "X:3"}
    with pytest.raises(ParameterError, match="format='obo=develops_from': no such relation"):
        read_taxonomy(path, format="obo=develops_from")


def test_a_group_may_have_the_name_of_a_child(tmp_path: Path) -> None:
    groups = {"anger": ["anger", "annoyance"], "joy": ["joy", "love"]}
    taxonomy = read_taxonomy(put(tmp_path / "ekman.json", groups))
    assert parents(taxonomy) == {
        "anger (group)": set(), "joy (group)": set(), "anger": {"anger (group)"},
        "annoyance": {"anger (group)"}, "joy": {"joy (group)"}, "love": {"joy (group)"},
    }  # fmt: skip
    assert taxonomy.names[taxonomy.labels.positions["anger (group)"]] == "anger"
    assert taxonomy.labels[taxonomy.locate(["anger"])[0]] == "anger"


@pytest.mark.parametrize(
    "content",
    [
        {"plant": {"flower": {"rose": None}, "tree": {}}},
        {"plant": [{"flower": ["rose"]}, "tree"]},
        {"name": "plant", "children": [{"name": "flower", "children": ["rose"]}, "tree"]},
        [{"title": "plant", "nodes": [{"title": "flower", "nodes": [{"title": "rose"}]},
                                      {"title": "tree"}]}],
        {"plant": {"children": {"flower": {"children": ["rose"]}, "tree": {}}}},
    ],
)  # fmt: skip
def test_trees_of_json_are_read_in_every_shape(tmp_path: Path, content: Any) -> None:
    taxonomy = read_taxonomy(put(tmp_path / "t.json", content))
    assert parents(taxonomy) == {
        "plant": set(), "flower": {"plant"}, "tree": {"plant"}, "rose": {"flower"},
    }  # fmt: skip


def test_nodes_with_the_same_name_are_labelled_by_paths(tmp_path: Path) -> None:
    tree = {"France": ["Paris", "Lyon"], "Texas": ["Paris"]}
    taxonomy = read_taxonomy(put(tmp_path / "t.json", tree))
    assert set(taxonomy) == {"France", "Texas", "France > Paris", "Lyon", "Texas > Paris"}


def test_nodes_with_repeated_names_stay_distinct(tmp_path: Path) -> None:
    taxonomy = read_taxonomy(put(tmp_path / "t.json", {"a": {"a": {"a": ["a", "b"]}}}))
    assert len(taxonomy) == 5
    assert int(taxonomy.depth.max()) == 4


class OtherList(list[Any]):
    """A list whose nodes are read one by one."""


def with_other_lists(content: Any) -> Any:
    if isinstance(content, list):
        return OtherList(map(with_other_lists, content))
    if isinstance(content, dict):
        return {key: with_other_lists(value) for key, value in content.items()}
    return content


NAMES = st.sampled_from(["a", "b", "c", "A", "", "0"]) | st.integers(0, 2) | st.none()
NODES: st.SearchStrategy[Any] = st.recursive(
    NAMES,
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.fixed_dictionaries(
            {"name": NAMES},
            optional={
                "children": st.lists(inside, max_size=4),
                "id": NAMES,
                "code": NAMES,
                "Nodes": inside,
            },
        )
        | st.dictionaries(st.sampled_from("abc"), inside, max_size=3)
    ),
)


@given(st.lists(NODES, min_size=1, max_size=5))
@example([{"name": "a", "id": "1"}, {"name": "b", "code": "2"}, {"name": "c"}])
@example([{"name": "a", "children": ["c"]}, {"name": "b", "Nodes": ["d"]}, {"name": "e"}])
@example([{"name": "a", "id": None}, {"name": "a", "id": 1}, {"title": "b"}])
def test_similar_siblings_are_read_like_nodes_one_by_one(nodes: list[Any]) -> None:
    def describe(content: Any) -> Any:
        try:
            taxonomy = read_taxonomy({"top": content}, format="nested")
        except MhpcError as error:
            return str(error)
        return taxonomy.labels.ids, taxonomy.names, parents(taxonomy)

    assert describe(nodes) == describe(with_other_lists(nodes))


def test_ids_of_nodes_take_precedence_over_names(tmp_path: Path) -> None:
    tree = [{"id": 1, "name": "plant", "children": [{"id": 2, "name": "flower"}]}]
    taxonomy = read_taxonomy(put(tmp_path / "t.json", tree))
    assert parents(taxonomy) == {"1": set(), "2": {"1"}}
    assert taxonomy.names == ("plant", "flower")


def test_rows_with_a_parent_are_a_table_in_json_too(tmp_path: Path) -> None:
    rows = [{"id": "a", "parent": None}, {"id": "b", "parent": "a"}]
    assert parents(read_taxonomy(put(tmp_path / "t.json", rows))) == {"a": set(), "b": {"a"}}


RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="http://x.org/plant">
    <skos:prefLabel xml:lang="de">Pflanze</skos:prefLabel>
    <skos:prefLabel xml:lang="en">plant</skos:prefLabel>
    <skos:narrower rdf:resource="http://x.org/flower"/>
  </skos:Concept>
  <skos:Concept rdf:about="http://x.org/flower"/>
</rdf:RDF>
"""


def test_skos_is_read_from_rdf_xml(tmp_path: Path) -> None:
    taxonomy = read_taxonomy(put(tmp_path / "t.rdf", RDF_XML))
    assert parents(taxonomy) == {
        "http://x.org/flower": {"http://x.org/plant"}, "http://x.org/plant": set(),
    }  # fmt: skip
    assert taxonomy.names == ("flower", "plant")


def test_classes_are_read_if_there_are_no_concepts(tmp_path: Path) -> None:
    owl = (
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "<urn:a> a owl:Class . <urn:b> rdfs:subClassOf <urn:a>, [ a owl:Restriction ] .\n"
        "<urn:c> rdfs:subClassOf <urn:a> ; owl:deprecated true .\n"
    )
    taxonomy = read_taxonomy(put(tmp_path / "t.ttl", owl))
    assert parents(taxonomy) == {"urn:a": set(), "urn:b": {"urn:a"}}


CONFIG = """<View>
  <Taxonomy name="topic" toName="text">
    <Choice value="Plants" alias="P"><Choice value="Flowers"/></Choice>
  </Taxonomy>
  <Choices name="tone" toName="text"><Choice value="good"/><Choice value="bad"/></Choices>
</View>"""


def test_an_alias_replaces_the_value_in_labels(tmp_path: Path) -> None:
    taxonomy = read_taxonomy(put(tmp_path / "c.xml", CONFIG))
    assert parents(taxonomy) == {"P": set(), "P > Flowers": {"P"}}
    assert taxonomy.names == ("Plants", "Flowers")


def test_a_control_can_be_chosen(tmp_path: Path) -> None:
    path = put(tmp_path / "c.xml", CONFIG)
    assert list(read_taxonomy(path, format="label-studio=tone")) == ["good", "bad"]
    with pytest.raises(DataError, match=r"no control 'ton' \(nearest: 'tone'\)"):
        read_taxonomy(path, format="label-studio=ton")
    two = CONFIG.replace("Choices", "Taxonomy")
    with pytest.raises(DataError, match="several controls, 'topic', 'tone'; choose one"):
        read_taxonomy(put(path, two))


def test_is_a_edges_point_from_child_to_parent() -> None:
    graph = networkx.MultiDiGraph()
    graph.add_node("b", name="flower")
    graph.add_edge("b", "a", key="is_a")
    graph.add_edge("a", "b", key="has_part")
    assert parents(read_taxonomy(graph)) == {"b": {"a"}, "a": set()}
    with pytest.raises(TaxonomyError, match="its edges have no direction"):
        read_taxonomy(networkx.Graph([("a", "b")]))


def test_the_direction_of_bare_edges_is_detected(tmp_path: Path) -> None:
    down = read_taxonomy(put(tmp_path / "isa.txt", "plant flower\nplant tree\nflower rose\n"))
    up = read_taxonomy(put(tmp_path / "up.tsv", "flower\tplant\ntree\tplant\nrose\tflower\n"))
    assert parents(down) == parents(up)
    assert parents(up)["rose"] == {"flower"}


def test_any_separator_can_be_given(tmp_path: Path) -> None:
    path = put(tmp_path / "t.txt", "k__A;p__B;c__C\nk__A;p__D\n")
    assert len(read_taxonomy(path, format="paths=;")) == 4
    path = put(tmp_path / "t.txt", "A~B~C\nA~D\n")
    assert set(read_taxonomy(path, format="paths=~")) == {"A", "A~B", "A~B~C", "A~D"}


def test_icd_10_cm_distinguishes_a_block_from_its_only_category() -> None:
    taxonomy = read_taxonomy("icd-10-cm")
    above = parents(taxonomy)
    assert above["C7A"] == {"C7A (block)"}
    assert above["C7A.0"] == {"C7A"}
    assert above["C7A (block)"] == {"2"}
    assert taxonomy.labels[taxonomy.locate(["A000"])[0]] == "A00.0"
    assert int(taxonomy.depth.max()) == 7


@pytest.mark.parametrize(
    ("source", "package", "extra"),
    [("icd-10-cm", "simple_icd_10_cm", "icd"), ("@prefix a: <urn:a> .", "rdflib", "rdf")],
)
def test_a_missing_package_names_its_extra(
    source: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    path = put(tmp_path / "t.ttl", source) if source.startswith("@") else source
    with pytest.raises(MissingExtraError, match=rf"pip install 'mhpc\[{extra}\]'"):
        read_taxonomy(path)


WRONG: dict[str, tuple[str, Any, str]] = {
    "obo line": ("x.obo", OBO.replace("name: flower", "flower"), "x.obo, line 11: 'flower' has no"),
    "obo id": ("x.obo", OBO.replace("id: X:3", "!"), "x.obo, line 16: a term without an id"),
    "obo all obsolete": ("x.obo", "format-version: 1\n[Term]\nid: a\nis_obsolete: true\n",
        "no term that is not obsolete"),
    "json": ("t.json", '{"a":\n ["b", }', "t.json, line 2: not JSON, at character 8"),
    "json nameless": ("t.json", [{"name": "a", "children": [{"children": []}]}],
        "a node below 'a' has neither a name nor an id"),
    "turtle": ("t.ttl", "@prefix a: <urn:a> .\na:b a", "t.ttl is damaged RDF"),
    "half a character in a name": (
        "t.ttl",
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<urn:a> skos:prefLabel "\\uD800" ; skos:broader <urn:b> .',
        "has half a character",
    ),
    "rdf of nothing": ("t.ttl", "@prefix a: <urn:a> .\n", "no SKOS concept and no class"),
    "xml": ("t.xml", "<View><Taxonomy>\n<Choice></View>", "t.xml, line 2: not XML: mismatched tag"),
    "xml of nothing": ("t.xml", "<View><Taxonomy name='t'/></View>", "no Taxonomy and no Choices"),
    "edges": ("t.txt", "a b\nc d\n" * 30 + "e\n", "t.txt, line 61: 1 labels where an edge has two"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_place(case: str, tmp_path: Path) -> None:
    name, content, message = WRONG[case]
    with pytest.raises(MhpcError) as error:
        read_taxonomy(put(tmp_path / name, content))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_format_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"no taxonomy format 'oboe' \(nearest: 'obo'\)"):
        read_taxonomy(put(tmp_path / "x.obo", OBO), format="oboe")


LINE_ENDS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
"""Characters at which `str.splitlines` ends a line, and no editor does."""


@pytest.mark.parametrize("character", LINE_ENDS)
@pytest.mark.parametrize("text", ["a > x{}y\na > b\n", "a\n  x{}y\n  b\n"])
def test_only_line_ends_end_a_label(tmp_path: Path, character: str, text: str) -> None:
    path = put(tmp_path / "t.txt", text.format(character))
    assert any(label.endswith(f"x{character}y") for label in read_taxonomy(path))


@pytest.mark.parametrize("beginning", ["a > b\n", "a\n  b\n", "a\tb\n"])
def test_bytes_that_are_no_text_are_refused_wherever_they_are(
    tmp_path: Path, beginning: str
) -> None:
    path = tmp_path / "t.txt"
    line = beginning.rpartition("b")[0].splitlines()[-1]
    rows = f"{line}c\n" * 20_000 + f"{line}\xe9\n"
    path.write_bytes((beginning + rows).encode("latin-1"))
    with pytest.raises(MhpcError, match="0xe9 is not UTF-8"):
        read_taxonomy(path)


def test_a_separator_with_blanks_is_not_the_one_without(tmp_path: Path) -> None:
    path = put(tmp_path / "t.txt", "x\ng>h\ng>h > i\ng>h > j\n")
    assert set(read_taxonomy(path)) == {"x", "g>h", "g>h > i", "g>h > j"}


@pytest.mark.parametrize(
    "content",
    [
        [{"name": "a"}, {"name": "b"}, {"name": "a"}],
        ["a", "b", "a"],
        [{"a": []}, {"b": []}, {"a": []}],
    ],
)
def test_a_label_that_is_repeated_in_its_place_is_one(tmp_path: Path, content: Any) -> None:
    assert set(read_taxonomy(put(tmp_path / "t.json", content))) == {"a", "b"}


def test_the_children_of_a_repeated_node_are_put_together(tmp_path: Path) -> None:
    content = [{"name": "a", "children": ["b"]}, {"name": "a", "children": ["c"]}]
    taxonomy = read_taxonomy(put(tmp_path / "t.json", content))
    assert parents(taxonomy) == {"a": set(), "b": {"a"}, "c": {"a"}}


def test_rows_are_a_table_even_if_only_a_later_one_has_a_parent(tmp_path: Path) -> None:
    rows = [{"id": 1, "name": "x"}, {"id": 2, "name": "y", "parent": 1}]
    assert parents(read_taxonomy(put(tmp_path / "t.json", rows))) == {"1": set(), "2": {"1"}}


def test_a_list_of_paths_is_a_hierarchy(tmp_path: Path) -> None:
    taxonomy = read_taxonomy(put(tmp_path / "t.json", ["a > b", "a > c"]))
    assert set(taxonomy) == {"a", "a > b", "a > c"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": {"b": {}}, "a": {"c": {}}}', "key 'a' is given twice"),
        ('{"@context": {}, "@graph": [{"@id": "u:a"}]}', "JSON-LD"),
        ('[{"name": "a", "subs": [{"name": "b"}]}, {"name": "c"}]', "'subs'"),
        ('{"a": {"": {}}, "b": {}}', "a label without a character"),
        ('["a", null, "b"]', "neither a name nor an id"),
        ('{"a": 0, "b": 1}', "neither a name nor an id"),
        ('{"a": [], "b": true}', "neither a name nor an id"),
    ],
)
def test_json_that_would_lose_or_invent_labels_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(MhpcError, match=message):
        read_taxonomy(put(tmp_path / "t.json", text))


def test_choices_without_a_value_are_refused(tmp_path: Path) -> None:
    choices = "<Choice value=''/><Choice value='b'/>"
    path = put(tmp_path / "t.xml", f"<View><Taxonomy name='x'>{choices}</Taxonomy></View>")
    with pytest.raises(TaxonomyError, match="a label without a character"):
        read_taxonomy(path)


def test_a_term_given_twice_is_refused(tmp_path: Path) -> None:
    text = "format-version: 1.2\n\n[Term]\nid: a\n\n[Term]\nid: b\nis_a: a\n\n[Term]\nid: b\n"
    with pytest.raises(TaxonomyError, match="line 10: term 'b' is given a second time"):
        read_taxonomy(put(tmp_path / "t.obo", text))


def test_relative_uris_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    text = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n<a> skos:broader <b>, <#c> .\n"
    assert set(read_taxonomy(put(tmp_path / "t.ttl", text))) == {"a", "b", "#c"}


@pytest.mark.parametrize("text", ["* a\n* b\n** c\n", "# a\n## b\n## c\n"])
def test_marks_before_labels_are_no_labels(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError):
        read_taxonomy(put(tmp_path / "t.txt", text))
