"""Inputs found by fuzzing that once ended in a traceback, reduced to the minimum."""

import json
import zipfile
from pathlib import Path

import pytest

from mhpc.data.index import Index
from mhpc.errors import (
    DataError,
    MhpcError,
    MissingColumnError,
    TaxonomyError,
    UnreadableError,
    suggest,
)
from mhpc.read.tasks import read_tasks
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes, resolve_scope
from mhpc.settings import read_settings
from mhpc.system.database import database


def write_file(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_row_too_short_for_a_matrix_is_reported_with_its_line(tmp_path: Path) -> None:
    path = write_file(tmp_path / "m.csv", "id,user,a,b\n1,ann,0,1\n2,bob,0\n3,bob,0,1\n")
    with pytest.raises(UnreadableError, match="line 3: '2,bob,0' has 3 cells where the header"):
        read_votes(path, format="wide")


def test_edges_may_end_their_lines_with_carriage_returns(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t", "plant flower\rplant tree\r")
    assert read_taxonomy(path, format="edges").labels.ids == ("plant", "flower", "tree")


def test_a_very_long_number_in_the_first_record_is_harmless(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "v.jsonl",
        f'{{"item": 1, "judge": "a", "label": "x", "more": {"9" * 5000}}}\n',
    )
    assert read_votes(path).labels.ids == ("x",)


def test_a_very_long_number_in_a_tree_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t.json", f"[{'9' * 5000}]")
    with pytest.raises(UnreadableError, match="t.json: not JSON"):
        read_taxonomy(path)


def tasks(*controls: str | None) -> str:
    results = [
        {"type": "choices", **({"from_name": name} if name else {}), "value": {"choices": ["a"]}}
        for name in controls
    ]
    annotations = [{"completed_by": 1, "result": results}]
    return json.dumps([{"id": 1, "data": {}, "annotations": annotations}])


def test_a_single_control_needs_no_name(tmp_path: Path) -> None:
    votes = read_votes(write_file(tmp_path / "e.json", tasks(None)))
    assert votes.labels.ids == ("a",)


def test_a_control_without_a_name_beside_another_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "e.json", tasks(None, "topic"))
    with pytest.raises(DataError, match="2 controls contain labels, '', 'topic'"):
        read_votes(path)


def test_a_classification_whose_task_has_no_name_is_read(tmp_path: Path) -> None:
    annotations = '"[{""value"": ""bee""}]"'
    path = write_file(
        tmp_path / "c.csv",
        f"classification_id,user_name,annotations,subject_ids\n1,ann,{annotations},7\n",
    )
    assert read_votes(path).labels.ids == ("bee",)


@pytest.mark.parametrize(
    "task",
    [
        {"annotations": 3},
        {"annotations": [3]},
        {"annotations": [{"result": 3}]},
        {"annotations": [{"result": [3]}]},
        {"annotations": [{"result": [{"type": []}]}]},
    ],
)
def test_tasks_with_invalid_annotations_have_no_control(tmp_path: Path, task: object) -> None:
    assert isinstance(task, dict)
    path = write_file(tmp_path / "tasks.json", json.dumps([{"id": 1, "data": {}, **task}]))
    assert read_tasks(path).control == {}


def test_a_file_with_only_a_byte_order_mark_is_empty(tmp_path: Path) -> None:
    path = write_file(tmp_path / "v.csv", b"\xef\xbb\xbf\n")
    with pytest.raises(MhpcError, match="v.csv is empty"):
        read_votes(path)
    with pytest.raises(MissingColumnError):
        read_votes(write_file(tmp_path / "w.csv", b"\xef\xbb\xbfx\n1\n"))


def test_a_file_of_edges_without_an_edge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match="t has no label: there is nothing to choose between"):
        read_taxonomy(write_file(tmp_path / "t", '" "'), format="edges")


def test_a_label_longer_than_any_id_is_refused_in_a_short_message(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t", f"a/{'x' * 20_000}\na/b\n")
    with pytest.raises(TaxonomyError, match="a label of 20,002 characters") as error:
        read_taxonomy(path)
    assert len(str(error.value)) < 400


def test_a_zip_with_names_that_are_not_utf8_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.writestr("é.jsonl", "{}")
    content = (tmp_path / "v.zip").read_bytes().replace("é".encode(), b"\xff\xff")
    with pytest.raises(UnreadableError, match="v.zip starts like zip but does not decompress"):
        read_votes(write_file(tmp_path / "v.zip", content))


def test_a_very_long_column_name_is_shortened_in_messages(tmp_path: Path) -> None:
    path = write_file(tmp_path / "m.csv", f"id,user,{'x' * 9000}\n1,ann,1\n2,ann,1\n3,ann,yes\n")
    with pytest.raises(
        UnreadableError, match="column 'x+…' has 'yes', which is not a number"
    ) as error:
        read_votes(path, format="wide")
    assert len(str(error.value)) < 400


def test_a_chain_of_thousands_of_levels_is_refused() -> None:
    labels = [str(number) for number in range(2_000)]
    with pytest.raises(TaxonomyError, match="has 2,000 levels; the most is 1,000"):
        read_taxonomy({"label": labels, "parent": [None, *labels[:-1]]})
    chain = read_taxonomy({"label": labels[:1000], "parent": [None, *labels[:999]]})
    assert len(chain.levels) == 1000


def test_a_path_of_a_million_steps_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match="t has a label of 2,000,001 characters"):
        read_taxonomy(write_file(tmp_path / "t", "a/" * 1_000_000 + "b\n"), format="paths")


def test_a_zip_with_a_damaged_directory_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.writestr("a.jsonl", "{}")
    content = bytearray((tmp_path / "v.zip").read_bytes())
    entry = content.index(b"PK\x01\x02")
    # A size to be looked up in a field that is too short for it.
    content[entry + 24 : entry + 28] = b"\xff\xff\xff\xff"
    content[entry + 30] = 4
    content[entry + 46 + 7 : entry + 46 + 7] = b"\x01\x00\x00\x00"
    with pytest.raises(UnreadableError, match="v.zip starts like zip but does not decompress"):
        read_votes(write_file(tmp_path / "v.zip", bytes(content)))


def test_long_words_are_not_compared_letter_by_letter() -> None:
    assert suggest("x" * 300, ["x" * 300, "y"]) == ""
    assert suggest("flowre", ["flower", "z" * 10_000]) == " (nearest: 'flower')"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.json", '{"settings": {"\\ud800": 3}}', "half a character"),
        ("s.json", "[" * 100_000, "nested deeper"),
        ("s.json", "[]", "not the run.json of a run"),
        ("s.toml", f"a = {'[' * 100_000}", "recursion"),
        ("s.toml", "\xff".encode("latin-1"), "not UTF-8"),
    ],
)
def test_invalid_settings_are_refused(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(UnreadableError, match=f"settings .*{name}.*{message}"):
        read_settings(write_file(tmp_path / name, content))


def test_a_matrix_without_an_answer_has_no_scope() -> None:
    scope = resolve_scope("all", {"ann": ("oak",), "bob": ("oak", "finch")}, Index(("bob",)))
    assert scope == {"bob": ("oak", "finch")}


def test_leading_blank_lines_are_not_paths(tmp_path: Path) -> None:
    path = write_file(tmp_path / "t.json", "\n" * 60 + '{"plant": ["oak"]')
    with pytest.raises(MhpcError, match="t.json"):
        read_taxonomy(path)


def test_messages_are_short_whatever_a_file_contains(tmp_path: Path) -> None:
    path = write_file(tmp_path / "s.toml", f"{'parent' * 5000} = 1\n")
    with pytest.raises(MhpcError) as refused:
        read_settings(path)
    assert len(str(refused.value)) < 2000
    assert str(refused.value).startswith(f"settings {path}: ")
    long = DataError("a" * 1000 + "b" * 8000 + "c" * 1000)
    assert str(long) == f"{'a' * 800} … {'c' * 400}"
    assert str(DataError("a" * 1600)) == "a" * 1600


def test_parquet_columns_whose_names_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    with database() as connection:
        connection.execute(f"COPY (SELECT 1 AS label, 2 AS other) TO '{path}'")
    write_file(path, path.read_bytes().replace(b"label", b"l\xffbel"))
    with pytest.raises(UnreadableError, match="v.parquet: the names of its columns are not UTF-8"):
        read_votes(path)


def test_a_line_separator_before_an_array_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path / "v.json", "\u2028[")
    with pytest.raises(UnreadableError, match="v.json.*not JSON"):
        read_votes(path)
