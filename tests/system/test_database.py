from pathlib import Path

import duckdb
import pytest

from mhpc.system.database import database, identifier, literal, one_file, reason, text_lines


@pytest.mark.parametrize(
    "setting",
    ["autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"],
)
def test_no_extension_is_fetched_or_loaded(setting: str) -> None:
    with database() as connection:
        row = connection.execute("SELECT current_setting(?)", [setting]).fetchone()
    assert row == (False,)


def test_the_number_of_threads_can_be_limited() -> None:
    with database(threads=1) as connection:
        assert connection.execute("SELECT current_setting('threads')").fetchone() == (1,)


def test_quotes_in_names_and_texts_are_doubled() -> None:
    text, name = "it's", 'a "b"'
    rows = duckdb.execute(f"SELECT {literal(text)} AS {identifier(name)}").fetchnumpy()
    assert {column: cells.tolist() for column, cells in rows.items()} == {name: [text]}


@pytest.mark.parametrize("name", ["v[1].txt", "v*.txt", "v?.txt", "it's.txt", "v].txt", "[*]"])
def test_a_name_with_wildcards_means_one_file(tmp_path: Path, name: str) -> None:
    for wrong_name in ("v1.txt", "vx.txt", "*"):
        (tmp_path / wrong_name).write_text("the wrong file\n")
    (tmp_path / name).write_text("this one\n")
    rows = duckdb.execute(f"SELECT line FROM {text_lines(tmp_path / name, 'none')}").fetchall()
    assert rows == [("this one",)]


def test_wildcards_in_folders_are_literal(tmp_path: Path) -> None:
    folder = tmp_path / "run[1]"
    folder.mkdir()
    duckdb.execute(f"COPY (SELECT 1 AS a) TO '{folder}/a.parquet'")
    rows = duckdb.execute(f"FROM read_parquet({one_file(folder / 'a.parquet')})").fetchall()
    assert rows == [(1,)]


WRONG = {
    "too few": ("a,b\n1,2\n3\n", ", line 3: '3' has 1 cells where the header has 2"),
    "too many": ("a,b\n1,2,3\n", ", line 2: '1,2,3' has 3 cells where the header has 2"),
    # The text of a line must not be mistaken for DuckDB's reason.
    "a line about quotes": ("a,b\nunterminated quote\n", "has 1 cells where the header has 2"),
    "a line about encodings": ("a,b\ninvalid unicode\n", "has 1 cells where the header has 2"),
    "open quote": ('a,b\n1,"2\n3,4\n', ", line 2: '1,\"2' opens a quote that does not end"),
    "early end": ('a,b\n1,"2"x\n', ", line 2: '1,\"2\"x' opens a quote that does not end"),
    "line ends": ("a,b\n1,2\r\n3,4\n", ": not CSV; are its line ends mixed"),
    "too long": ("a,b\n1," + "x" * 3_000_000, "a line is longer than can be read"),
}


@pytest.mark.parametrize(("content", "expected"), WRONG.values(), ids=WRONG)
def test_reasons_describe_the_error_in_the_file(
    tmp_path: Path, content: str, expected: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content, newline="")
    with pytest.raises(duckdb.Error) as error:
        duckdb.execute(
            f"SELECT * FROM read_csv({one_file(path)}, auto_detect=false, header=true, delim=',', "
            "quote='\"', escape='\"', columns={'a': 'VARCHAR', 'b': 'VARCHAR'})"
        ).fetchall()
    message = reason(error.value)
    assert expected in message
    assert len(message) < 200
    assert "\n" not in message


def test_other_reasons_are_the_first_line_of_the_message() -> None:
    error = duckdb.IOException("IO Error: the disk is on fire\nPossible solution: water")
    assert reason(error) == ": the disk is on fire"
