"""Excel workbooks, in which no text is a formula."""

import io
import sys
from typing import Any

import pytest

from mhpc.errors import DataError, MissingExtraError
from mhpc.read.votes import read_votes
from mhpc.write.formats import Content, excel, make_format
from tests.fixtures.labelled_scores import THREE, make_labelled_scores


def write(subject: Any, content: Content) -> io.BytesIO:
    file = io.BytesIO()
    make_format("xlsx", content).write(file, subject, content)
    file.seek(0)
    return file


def cells(subject: Any, content: Content) -> list[list[Any]]:
    openpyxl = pytest.importorskip("openpyxl")
    (sheet,) = openpyxl.load_workbook(write(subject, content)).worksheets
    assert all(cell.data_type in "snb" for row in sheet.iter_rows() for cell in row)
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


def test_a_sheet_has_texts_and_numbers() -> None:
    header, first, *_ = cells(THREE, "labels")
    assert header == ["instance", "label", "score"]
    assert first == ["1", "plant", 1.0]
    wide = cells(THREE, "wide")
    assert len(wide) == 4
    assert wide[1][:4] == ["1", 1.0, 0.75, 0.5]


def test_no_text_is_a_formula() -> None:
    votes = read_votes({"instance": ["=1+1", "2"], "source": ["@x", "007"], "label": ["=A1", None]})
    assert cells(votes, "votes") == [
        ["instance", "source", "label"],
        ["=1+1", "@x", "=A1"],
        ["2", "007", None],
    ]


def test_what_excel_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="control characters, which Excel cannot hold; write csv"):
        write(make_labelled_scores({"a\x01": {"plant": 1.0}}), "labels")
    with pytest.raises(DataError, match="has 40,000 characters, but a cell"):
        write(make_labelled_scores({"a" * 40_000: {"plant": 1.0}}), "labels")
    monkeypatch.setattr(excel, "MAX_ROWS", 5)
    with pytest.raises(DataError, match="only 5 rows"):
        write(THREE, "labels")
    monkeypatch.setattr(excel, "MAX_COLUMNS", 5)
    with pytest.raises(DataError, match="only 5 columns"):
        write(THREE, "wide")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match="mhpc\\[excel\\]"):
        write(THREE, "labels")
