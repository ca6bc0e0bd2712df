"""Spreadsheet files contain no formulas; CSV files contain the exact text."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.data.taxonomy import build_taxonomy
from mhpc.read.votes import read_votes
from mhpc.write.formats import Content, make_format
from mhpc.write.formats.tabular import escape_formula
from tests.fixtures.labelled_scores import make_labelled_scores

FORMULAS = ("=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\r=1", "\n=1", "＝1")  # noqa: RUF001


def cells(format_: str, subject: Any, content: Content) -> list[list[str]]:
    file = io.BytesIO()
    make_format(format_, content).write(file, subject, content)
    text = file.getvalue().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_begins_like_a_formula(formula: str) -> None:
    taxonomy = build_taxonomy([formula, "b"], [])
    result = make_labelled_scores({formula: {formula: 1.0}}, taxonomy=taxonomy)
    votes = read_votes({"instance": [formula], "source": [formula], "label": [formula]})
    subjects: tuple[tuple[Any, Content], ...] = (
        (result, "labels"), (result, "scores"), (result, "wide"), (taxonomy, "taxonomy"),
        (votes, "votes"),
    )  # fmt: skip
    for subject, content in subjects:
        safe = cells("spreadsheet", subject, content)
        assert not [cell for row in safe for cell in row if cell.startswith(FORMULAS)]
        assert f"'{formula}" in {cell for row in safe for cell in row}
        exact = cells("csv", subject, content)
        assert formula in {cell for row in exact for cell in row}


def test_numbers_stay_numbers() -> None:
    assert (
        cells("spreadsheet", make_labelled_scores({"x": {"plant": 0.5}}), "labels")[1][2] == "0.5"
    )


def test_a_byte_order_mark_says_utf_8() -> None:
    file = io.BytesIO()
    make_format("spreadsheet", "labels").write(
        file, make_labelled_scores({"é": {"plant": 1.0}}), "labels"
    )
    assert file.getvalue().startswith("\ufeffinstance".encode())


SHORT = st.text("'=a", max_size=3)


@given(SHORT, SHORT)
def test_escaping_can_be_undone_and_keeps_texts_distinct(left: str, right: str) -> None:
    assert escape_formula(left).removeprefix("'") == left
    assert (escape_formula(left) == escape_formula(right)) == (left == right)
