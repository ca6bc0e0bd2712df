import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow
import pytest
from pyarrow import feather, parquet

from mhpc.errors import DataError, MissingExtraError, UnreadableError
from mhpc.read.tables import open_table, store_cells, text_sql


def texts(source: Any, column: str = "id") -> list[str | None]:
    with open_table(source) as table:
        rows = table.connection.execute(f"SELECT {text_sql(table, column)} FROM cells").fetchall()
    return [text for (text,) in rows]


def columns(source: Any) -> tuple[str, ...]:
    with open_table(source) as table:
        return table.columns


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


def test_ids_in_csv_stay_as_they_are_written(csv: Path) -> None:
    ids = ["007", "2020-01-01", "1e5", "true", "7.0", "NULL", "nan", "#1", "'"]
    csv.write_text("id,other\n" + "".join(f"{id_},x\n" for id_ in ids))
    assert texts(csv) == ids


def test_a_byte_order_mark_is_not_part_of_the_header(tmp_path: Path) -> None:
    for name, content in (("csv", "id,other\n1,2\n"), ("jsonl", '{"id": 1, "other": 2}\n')):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8-sig")
        assert columns(path) == ("id", "other")
        assert texts(path) == ["1"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_not_part_of_cells(csv: Path, end: str) -> None:
    csv.write_text(f"other,id{end}x,1{end}y,2{end}", newline="")
    assert texts(csv) == ["1", "2"]


def test_the_last_line_needs_no_end(csv: Path) -> None:
    csv.write_text("other,id\nx,1\ny,2")
    assert texts(csv) == ["1", "2"]


def test_quoted_cells_may_contain_delimiters_and_line_ends(csv: Path) -> None:
    csv.write_text('id,other\n"a,b",1\n"two\nlines",2\n"say ""hi""",3\n')
    assert texts(csv) == ["a,b", "two\nlines", 'say "hi"']


def test_blank_lines_are_skipped(csv: Path) -> None:
    csv.write_text("\n\nid,other\n1,x\n\n2,y\n\n")
    assert texts(csv) == ["1", "2"]
    csv.write_text("\nid\n1\n\n2\n\n")
    assert texts(csv) == ["1", "2"]


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_the_header_determines_the_delimiter(csv: Path, separator: str) -> None:
    csv.write_text(f'id{separator}other\n"a,b;c|d\te"{separator}x\n')
    assert texts(csv) == ["a,b;c|d\te"]


def test_a_column_without_a_name_is_named_by_its_number(csv: Path) -> None:
    csv.write_text(",id,\n0,a,\n1,b,\n")
    assert columns(csv) == ("column 1", "id", "column 3")
    assert texts(csv) == ["a", "b"]


def test_a_header_may_be_quoted_and_spaced(csv: Path) -> None:
    csv.write_text('"id","two\nlines", three \n1,2,3\n')
    assert columns(csv) == ("id", "two\nlines", "three")
    assert texts(csv) == ["1"]


def test_a_column_named_twice_is_refused_whatever_its_case(csv: Path) -> None:
    csv.write_text("id,Id\n1,2\n")
    with pytest.raises(DataError, match=r"table.csv: the header names column 'Id' twice"):
        columns(csv)
    with pytest.raises(DataError, match="names column 'Id' twice"):
        columns({"id": [1], "Id": [2]})
    with pytest.raises(DataError, match="the table: .* 'id' 2 times"):
        columns(pandas.DataFrame([[1, 2]], columns=["id", "id"]))


def test_folders_named_like_partitions_add_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "id=wrong"
    folder.mkdir()
    (folder / "a.csv").write_text("id,other\nright,1\n")
    (folder / "a.jsonl").write_text('{"id": "right"}\n')
    duckdb.execute(f"COPY (SELECT 'right' AS id) TO '{folder}/a.parquet'")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        assert texts(folder / name) == ["right"]


def test_a_file_name_is_not_a_pattern(tmp_path: Path) -> None:
    for name, id_ in (("v1.csv", "wrong"), ("v[1].csv", "right")):
        (tmp_path / name).write_text(f"id,other\n{id_},1\n")
        duckdb.execute(f"COPY (SELECT '{id_}' AS id) TO '{tmp_path}/{name}.parquet'")
    assert texts(tmp_path / "v[1].csv") == ["right"]
    assert texts(tmp_path / "v[1].csv.parquet") == ["right"]


def test_json_rows_may_lack_keys_and_mix_types(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text('{"id": 7}\n\n{"id": "007", "a/b~c": 1}\n{"a/b~c": null, "id": null}\n')
    assert columns(path) == ("id", "a/b~c")
    assert texts(path) == ["7", "007", None]
    assert texts(path, "a/b~c") == [None, "1", None]


@pytest.mark.parametrize("line", ["{", "hello", "[1]", "5", "null", '{"id": 1} {"id": 2}'])
def test_a_line_that_is_not_a_json_object_is_refused_by_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text(f'{{"id": 1}}\n\n{line}\n{{"id": 2}}\n')
    with pytest.raises(UnreadableError) as error:
        columns(path)
    assert str(error.value) == f"{path}, line 3: '{line}' is not a JSON object; give one per line"


def test_json_objects_without_keys_are_not_a_table(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text("{}\n{}\n")
    with pytest.raises(DataError, match="no columns"):
        columns(path)


def test_numbers_in_parquet_become_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    duckdb.execute(
        "COPY (SELECT * FROM (VALUES (7, 7.0::DOUBLE, true, date '2020-01-01', 1.5::FLOAT), "
        "(8, NULL, NULL, NULL, 'nan'::FLOAT), "
        "(9, 9e20::DOUBLE, false, NULL, 2)) AS t(whole, gaps, yes, day, half)) "
        f"TO '{path}'"
    )
    assert texts(path, "whole") == ["7", "8", "9"]
    assert texts(path, "gaps") == ["7", None, "9e+20"]
    assert texts(path, "yes") == ["true", None, "false"]
    assert texts(path, "day") == ["2020-01-01", None, None]
    assert texts(path, "half") == ["1.5", None, "2"]


def test_an_arrow_file_without_pyarrow_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.arrow"
    feather.write_feather(pyarrow.table({"id": [1]}), path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Arrow file; pip install 'mhpc\[arrow\]'"):
        columns(path)


@pytest.mark.parametrize("keep", [10, 200])
def test_a_damaged_arrow_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "table.arrow"
    feather.write_feather(pyarrow.table({"id": [1]}), path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UnreadableError, match=r"table.arrow is a damaged Arrow file"):
        columns(path)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    duckdb.execute(f"COPY (SELECT range AS id FROM range(9)) TO '{path}'")
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    with pytest.raises(UnreadableError, match=r"table.parquet"):
        columns(path)
    # The footer is intact, so the damage shows only when cells are read.
    path.write_bytes(content[:4] + b"\xff" * 20 + content[24:])
    with pytest.raises(UnreadableError, match=r"table.parquet"):
        texts(path)


def test_an_arff_file_is_not_a_table_of_votes(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation a\n")
    with pytest.raises(UnreadableError, match="is an ARFF file"):
        columns(path)


def test_a_lazy_table_has_the_same_rows_before_and_after_it_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,parent\n" + "".join(f"{n},{n // 3}\n" for n in range(5000)))
    with open_table(path) as table:
        expected = table.connection.execute("FROM cells").fetchall()
    with open_table(path, lazy=True) as table:
        assert table.columns == ("label", "parent")
        assert table.connection.execute("FROM cells").fetchall() == expected
        store_cells(table)
        path.unlink()
        assert table.connection.execute("FROM cells").fetchall() == expected


DAYS = [0, 1]
TYPES = {
    "binary": pyarrow.array([b"a", b"\xff"]),
    "large binary": pyarrow.array([b"a", b"b"], pyarrow.large_binary()),
    "fixed size": pyarrow.array([b"aa", b"bb"], pyarrow.binary(2)),
    "float32": pyarrow.array([0.1, 2.0], pyarrow.float32()),
    "nan": pyarrow.array([1.0, float("nan")]),
    "time of day": pyarrow.array([1, 2], pyarrow.time64("ns")),
    "time zone": pyarrow.array(DAYS, pyarrow.timestamp("us", tz="America/New_York")),
    "no such time zone": pyarrow.array(DAYS, pyarrow.timestamp("us", tz="Mars/Olympus")),
    "uint64": pyarrow.array([1, 2**64 - 1], pyarrow.uint64()),
    "dictionary": pyarrow.array(["a", "b"]).dictionary_encode(),
    "text view": pyarrow.array(["a", "b" * 30], pyarrow.string_view()),
}


@pytest.mark.parametrize("kind", TYPES)
def test_cells_of_arrow_and_parquet_are_the_same_texts(tmp_path: Path, kind: str) -> None:
    table: Any = pyarrow.table({"id": TYPES[kind]})
    feather.write_feather(table, tmp_path / "t.arrow", compression="uncompressed")
    parquet.write_table(table, tmp_path / "t.parquet")
    expected = texts(tmp_path / "t.parquet")
    assert texts(tmp_path / "t.arrow") == expected
    assert texts(table) == expected
    assert len(set(expected)) == 2


def test_types_that_duckdb_lacks_are_read_through_python(tmp_path: Path) -> None:
    cells = pyarrow.array([1.5, 2], pyarrow.float16())
    feather.write_feather(pyarrow.table({"id": cells}), tmp_path / "t.arrow")
    assert texts(tmp_path / "t.arrow") == ["1.5", "2"]


def test_times_beyond_the_calendar_are_refused(tmp_path: Path) -> None:
    cells = pyarrow.array([2**62], pyarrow.timestamp("s"))
    feather.write_feather(pyarrow.table({"id": cells}), tmp_path / "t.arrow")
    with pytest.raises(UnreadableError, match="Could not convert Timestamp"):
        texts(tmp_path / "t.arrow")


@pytest.mark.parametrize(
    ("names", "write"),
    [
        (["id", "id"], parquet.write_table),
        (["id", "ID"], parquet.write_table),
        (["id", "ID"], feather.write_feather),
    ],
)
def test_columns_of_the_same_name_are_refused_in_binary_files(
    tmp_path: Path, names: list[str], write: Any
) -> None:
    cells = pyarrow.array(["a"])
    nested = pyarrow.array([{"id": {"id": 1}}])
    table = pyarrow.Table.from_arrays([nested, cells, cells], names=["nested", *names])
    write(table, tmp_path / "t")
    with pytest.raises(DataError, match=f"names column '{names[1]}' twice"):
        columns(tmp_path / "t")


def test_names_within_nested_columns_may_repeat(tmp_path: Path) -> None:
    nested = pyarrow.array([{"id": {"id": 1}, "x": [1]}])
    table: Any = pyarrow.table({"nested": nested, "id": ["a"], "x": ["b"]})
    parquet.write_table(table, tmp_path / "t")
    assert columns(tmp_path / "t") == ("nested", "id", "x")
