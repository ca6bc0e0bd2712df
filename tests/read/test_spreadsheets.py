"""Spreadsheets: which sheet, which header, which cells, and files that are damaged or hostile."""

import datetime
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mhpc.errors import DataError, MhpcWarning, MissingExtraError, UnreadableError
from mhpc.read.archives import source_name
from mhpc.read.files import identify, local_file, split_sheet
from mhpc.read.spreadsheets import read_sheet
from mhpc.read.tables import open_table, text_sql
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.read.workbooks import DamagedError, load_sheets_apart
from tests.fixtures.old_workbook import old_workbook
from tests.fixtures.spreadsheets import (
    Rows,
    change_member,
    write_ods,
    write_ods_tables,
    write_xlsx,
)

VOTES: Rows = [["instance", "source", "label"], [7, "ann", "oak"], [8, "bob", "ash"]]
SHEET = "xl/worksheets/sheet1.xml"

Write = Callable[[Path, dict[str, Rows]], Path]


def cells(path: Path | str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the columns of a table, and its cells as text."""
    with open_table(path) as table:
        texts = ", ".join(text_sql(table, column) for column in table.columns)
        return table.columns, table.connection.execute(f"SELECT {texts} FROM cells").fetchall()


@pytest.mark.parametrize(("suffix", "write"), [("xlsx", write_xlsx), ("ods", write_ods)])
def test_votes_are_read_from_a_sheet_whatever_the_file_is_called(
    suffix: str, write: Write, tmp_path: Path
) -> None:
    for name in (f"votes.{suffix}", "votes"):
        votes = read_votes(write(tmp_path / name, {"Sheet1": VOTES}))
        assert votes.instances.ids == ("7", "8")
        assert votes.sources.ids == ("ann", "bob")
        assert votes.labels.ids == ("oak", "ash")


def test_taxonomy_and_truth_are_read_from_sheets(tmp_path: Path) -> None:
    path = write_xlsx(
        tmp_path / "all.xlsx",
        {
            "Votes": VOTES,
            "Labels": [["label", "parent"], ["tree", None], ["oak", "tree"]],
            "Truth": [["instance", "label"], [7, "oak"]],
        },
    )
    assert read_taxonomy(f"{path}:Labels").labels.ids == ("tree", "oak")
    assert read_truth(f"{path}:Truth").instances.ids == ("7",)
    assert len(read_votes(f"{path}:Votes")) == 2


def test_cells_become_the_texts_that_people_see(tmp_path: Path) -> None:
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    rows: Rows = [
        ["whole", "part", "day", "moment", "truth", "broken", 2024],
        [7, 0.25, datetime.date(2024, 1, 2), moment, True, "#N/A", "x"],
        [1.0, 3, None, None, False, "=1/0", "y"],
    ]
    path = write_xlsx(tmp_path / "t.xlsx", {"S": rows})
    with pytest.warns(MhpcWarning, match="cells with an error"):
        columns, texts = cells(path)
    assert columns == ("whole", "part", "day", "moment", "truth", "broken", "2024")
    assert texts == [
        ("7", "0.25", "2024-01-02", "2024-01-02T03:04:05", "true", None, "x"),
        ("1", "3", None, None, "false", None, "y"),
    ]


def test_titles_above_the_header_and_empty_rows_and_columns_are_left_out(tmp_path: Path) -> None:
    rows: Rows = [
        ["Votes of the spring"], [], [None, "instance", None, "label"], [],
        [None, 7, None, "oak"], [None, None, None], [None, 8, None, "ash"],
    ]  # fmt: skip
    path = write_xlsx(tmp_path / "t.xlsx", {"S": rows})
    assert cells(path) == (("instance", "label"), [("7", "oak"), ("8", "ash")])


def test_a_sheet_of_one_column_begins_with_its_header(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": [["category"], ["oak"], ["ash"]]})
    assert cells(path) == (("category",), [("oak",), ("ash",)])
    assert read_taxonomy(path).labels.ids == ("oak", "ash")


def test_a_filled_column_without_a_name_is_kept(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": [[None, "a", "b"], [1, 2, 3]]})
    assert cells(path) == (("column 1", "a", "b"), [("1", "2", "3")])


def test_a_name_that_two_columns_have_is_an_error(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": [["a", "A"], [1, 2]]})
    with pytest.raises(DataError, match="t.xlsx: the header names column 'A' twice"):
        cells(path)


def test_the_first_filled_sheet_is_read_and_said_once(tmp_path: Path) -> None:
    sheets: dict[str, Rows] = {"Empty": [], "Votes": VOTES, "Notes": [["by Ann"]]}
    path = write_xlsx(tmp_path / "t.xlsx", sheets)
    with pytest.warns(MhpcWarning, match="reading sheet 'Votes'; there are also 'Notes'") as said:
        assert len(read_votes(path)) == 2
    assert len(said) == 1
    assert f"{path}:Notes" in str(said[0].message)
    with pytest.warns(MhpcWarning, match="^standard input: reading.*'Notes'$"):
        read_sheet(identify(path, name="standard input"))
    labels: Rows = [["level1", "level2"], ["tree", "oak"]]
    path = write_xlsx(tmp_path / "t.xlsx", {"Labels": labels, "Notes": [["by Ann"]]})
    with pytest.warns(MhpcWarning, match="reading sheet 'Labels'") as said:
        assert len(read_taxonomy(path)) == 2
    assert len(said) == 1


def test_hidden_sheets_are_not_offered(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"Lists": [["x", "y"], [1, 2]], "Votes": VOTES})
    change_member(path, "xl/workbook.xml", b'name="Lists" sheetId="1" state="visible"',
                  b'name="Lists" sheetId="1" state="hidden"')  # fmt: skip
    assert len(read_votes(path)) == 2
    assert cells(f"{path}:Lists") == (("x", "y"), [("1", "2")])


def test_an_unknown_sheet_is_an_error_that_lists_the_sheets(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"Votes": VOTES, "Notes": []})
    with pytest.raises(DataError, match="t.xlsx has no sheet 'votes'; it has 'Votes', 'Notes'"):
        read_votes(f"{path}:votes")


def test_a_sheet_of_something_else_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("instance,source,label\n")
    with pytest.raises(UnreadableError, match="t.csv is not a spreadsheet.*'Votes'"):
        read_votes(f"{tmp_path}/t.csv:Votes")


def test_a_file_whose_name_has_a_colon_is_that_file(tmp_path: Path) -> None:
    write_xlsx(tmp_path / "t.xlsx", {"a": VOTES})
    whole = write_xlsx(tmp_path / "t.xlsx:a", {"b": VOTES})
    assert split_sheet(whole) == (whole, None)
    assert split_sheet(tmp_path / "t.xlsx:b: c") == (tmp_path / "t.xlsx:b: c", None)
    whole.unlink()
    assert split_sheet(str(whole)) == (tmp_path / "t.xlsx", "a")
    assert split_sheet(tmp_path / "u.xlsx:a") == (tmp_path / "u.xlsx:a", None)


def test_workbooks_of_a_folder_are_named_after_their_files(tmp_path: Path) -> None:
    file = identify(write_xlsx(tmp_path / "ann.xlsx", {"S": VOTES}), name="x/ann.xlsx")
    assert file.format == "spreadsheet"
    assert source_name(file) == "ann"


def test_other_archives_are_no_spreadsheets(tmp_path: Path) -> None:
    for members in ({"a.csv": b"x"}, {"mimetype": b"application/vnd.oasis.opendocument.text"}):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        with local_file(path) as file:
            assert file.format == "zip"


def test_an_empty_workbook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="t.xlsx is empty"):
        read_votes(write_xlsx(tmp_path / "t.xlsx", {"S": []}))


def test_the_extra_is_named_if_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    monkeypatch.setattr("mhpc.read.spreadsheets.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mhpc\[excel\]'"):
        read_votes(path)


def test_a_damaged_workbook_is_refused_by_name(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    change_member(path, SHEET, b"<v>7</v>", b"<v>seven</v>")
    with pytest.raises(UnreadableError, match="t.xlsx is a damaged spreadsheet"):
        read_votes(path)
    content = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES}).read_bytes()
    path.write_bytes(content.replace(b"PK\x03\x04", b"PK\x03\x05"))
    with pytest.raises(UnreadableError, match="t.xlsx"):
        read_votes(path)


def test_a_failed_assertion_of_the_library_is_an_error_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import python_calamine

    class PanicException(BaseException):
        pass

    def panic(*_: object) -> None:
        raise PanicException("index out\nof bounds")

    class Workbook:
        from_path = panic

    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    monkeypatch.setattr(python_calamine, "CalamineWorkbook", Workbook)
    with pytest.raises(UnreadableError, match="damaged spreadsheet.*: index out of bounds"):
        read_votes(path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Workbook, "from_path", interrupt)
    with pytest.raises(KeyboardInterrupt):
        read_votes(path)


def test_workbooks_of_excel_97_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    texts = {(r, c): str(cell) for r, row in enumerate(VOTES) for c, cell in enumerate(row)}
    path.write_bytes(old_workbook(texts, sheet="Votes"))
    assert read_votes(path).labels.ids == ("oak", "ash")
    assert read_votes(f"{path}:Votes").instances.ids == ("7", "8")
    with pytest.raises(DataError, match="no sheet 'Notes'"):
        read_votes(f"{path}:Notes")


def test_a_binary_workbook_that_would_end_the_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(old_workbook({(0, 0): "a", (65535, 65535): "b"}))
    with pytest.raises(UnreadableError, match="t.xls is a damaged spreadsheet.*failed"):
        read_votes(path)


def test_a_binary_workbook_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(old_workbook({(0, 0): "a"}))
    with pytest.raises(DamagedError, match="more than 0 seconds"):
        load_sheets_apart(path, None, seconds=0.001)


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def test_old_files_that_are_no_workbook_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(OLE + bytes(2000))
    with pytest.raises(UnreadableError, match="t.xls is a damaged spreadsheet, or none"):
        read_votes(path)


def test_encrypted_workbooks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(OLE + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(1000))
    with pytest.raises(UnreadableError, match="t.xlsx is encrypted"):
        read_votes(path)
    write_xlsx(path, {"S": VOTES})
    content = bytearray(path.read_bytes())
    # Bit 0 of the flags, in the first local header and in its entry of the directory.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UnreadableError, match="t.xlsx is encrypted"):
        read_votes(path)


def test_a_workbook_that_decompresses_to_far_more_is_refused(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    change_member(path, SHEET, b"<sheetData>", b"<sheetData>" + b" " * (8 << 20))
    assert path.stat().st_size < 20_000
    with pytest.raises(UnreadableError, match="decompresses to more than 200 times its size"):
        read_votes(path)


FAR = [
    b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    b"<row><c  r = 'xfd1048576' ><v>1</v></c></row>",
    b'<row r="1"><c t=">" r="XFD1048576" s="/>"><v>1</v></c></row>',
    b'<row r="999999999"><c r="B1"><v>1</v></c></row>',
]


@pytest.mark.parametrize("row", FAR)
def test_cells_that_are_too_far_apart_are_refused(row: bytes, tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    change_member(path, SHEET, b"</sheetData>", row + b"</sheetData>")
    with pytest.raises(UnreadableError, match="too far apart"):
        read_votes(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'<!-- r="A1" x=\' -->', b"<!-- '> -->"),
        (b'<?p r="A1" x=\' ?>', b"<?p '> ?>"),
        (b'<v><![CDATA[ r="A1" x=\' ]]></v>', b"<v><![CDATA['>]]></v>"),
    ],
    ids=["comment", "instruction", "character data"],
)
def test_text_that_hides_a_far_cell_is_refused(before: bytes, after: bytes, tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    change_member(path, SHEET, b"</sheetData>", before + FAR[0] + after + b"</sheetData>")
    with pytest.raises(UnreadableError, match="a sheet has comments or other markup"):
        read_votes(path)


def test_cells_with_a_format_but_without_a_value_may_be_anywhere(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    row = b'<row r="1048576" s="1"><c r="XFD1048576" s="0"/></row></sheetData>'
    change_member(path, SHEET, b"</sheetData>", row)
    assert len(read_votes(path)) == 2


def test_the_limit_of_cells_counts_those_between_filled_ones(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": [["a", "b"], [], [1, 2]]})
    file = identify(path, name="t.xlsx")
    assert read_sheet(file, max_cells=6) == [("a", [1.0]), ("b", [2.0])]
    with pytest.raises(UnreadableError, match="the most is 5 cells"):
        read_sheet(file, max_cells=5)


REPEATED = '<table:table-cell office:value-type="string"{}><text:p>a</text:p></table:table-cell>'


@pytest.mark.parametrize(
    "row",
    [
        "<table:table-row>"
        + REPEATED.format(' table:number-columns-repeated="2000000000"')
        + "</table:table-row>",
        '<table:table-row table:number-rows-repeated="2000000000">'
        + REPEATED.format("")
        + "</table:table-row>",
        '<table:table-row table:number-rows-repeated="2000000000"><table:table-cell/>'
        + f"</table:table-row><table:table-row>{REPEATED.format('')}</table:table-row>",
    ],
    ids=["columns", "rows", "rows above"],
)
def test_repeated_cells_that_are_too_many_are_refused(row: str, tmp_path: Path) -> None:
    path = write_ods_tables(tmp_path / "t.ods", f'<table:table table:name="S">{row}</table:table>')
    with pytest.raises(UnreadableError, match="too many"):
        read_votes(path)


def test_a_sheet_with_an_unusual_name_is_checked_as_well(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "t.xlsx", {"S": VOTES})
    change_member(path, SHEET, b"</sheetData>", FAR[0] + b"</sheetData>")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["xl/media/image1.png"] = b"\x89PNG" + members.pop(SHEET)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UnreadableError, match="too far apart"):
        read_votes(path)


@pytest.mark.parametrize(
    "table",
    ["<table:table><table:table-row>", '<table:table table:name="S"><text:p>[</table:table>'],
)
def test_xml_that_ends_within_an_element_is_refused(table: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="damaged spreadsheet: not XML"):
        read_votes(write_ods_tables(tmp_path / "t.ods", table))


def test_a_workbook_with_entities_is_refused(tmp_path: Path) -> None:
    path = write_ods(tmp_path / "t.ods", {"S": VOTES})
    laughs = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">]>'
    change_member(path, "content.xml", b'<?xml version="1.0"?>', laughs)
    with pytest.raises(UnreadableError, match="it has entities"):
        read_votes(path)


def test_repeated_empty_cells_are_harmless(tmp_path: Path) -> None:
    header = "".join(
        REPEATED.format("").replace(">a<", f">{name}<") for name in ("instance", "source", "label")
    )
    row = REPEATED.format(' table:number-columns-repeated="3"')
    empty = '<table:table-cell table:number-columns-repeated="16381"/>'
    tables = (
        f'<table:table table:name="S"><table:table-row>{header}{empty}</table:table-row>'
        f"<table:table-row>{row}{empty}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="1048574">{empty}</table:table-row>'
        "</table:table>"
    )
    votes = read_votes(write_ods_tables(tmp_path / "t.ods", tables))
    assert (votes.instances.ids, votes.labels.ids) == (("a",), ("a",))


def test_a_number_of_repeats_that_is_none_is_refused(tmp_path: Path) -> None:
    row = REPEATED.format(' table:number-columns-repeated="&#57;99999999"')
    tables = f'<table:table table:name="S"><table:table-row>{row}</table:table-row></table:table>'
    with pytest.raises(UnreadableError, match="damaged spreadsheet"):
        read_votes(write_ods_tables(tmp_path / "t.ods", tables))


def test_a_cell_beyond_the_last_column_is_refused(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "v.xlsx", {"S": VOTES})
    far = b'<row r="3"><c r="ZZZZZ3"><v>1</v></c></row></sheetData>'
    change_member(path, SHEET, b"</sheetData>", far)
    with pytest.raises(UnreadableError, match="a cell in column 12,356,630"):
        read_sheet(identify(path, name="v.xlsx"))


def test_errors_in_cells_are_said(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "v.xlsx", {"S": VOTES})
    error = b'<row r="9"><c r="C9" t="e"><v>#N/A</v></c></row></sheetData>'
    change_member(path, SHEET, b"</sheetData>", error)
    with pytest.warns(MhpcWarning, match="cells with an error, such as #N/A, are read as empty"):
        read_sheet(identify(path, name="v.xlsx"))
