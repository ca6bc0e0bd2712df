import sys
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from mhpc.errors import DataError
from mhpc.read.tables import open_table, text_sql


def texts(source: Any, column: str = "id") -> list[str | None]:
    with open_table(source) as table:
        rows = table.connection.execute(f"SELECT {text_sql(table, column)} FROM cells").fetchall()
    return [text for (text,) in rows]


def columns(source: Any) -> tuple[str, ...]:
    with open_table(source) as table:
        return table.columns


NUMBERS: list[Any] = [
    pandas.DataFrame({"id": [7.0, None, 1.5]}),
    pandas.DataFrame({"id": pandas.array([7, None, 1.5], dtype="Float64")}),
    polars.DataFrame({"id": [7.0, None, 1.5]}),
    polars.DataFrame({"id": [7.0, float("nan"), 1.5]}),
    pyarrow.table({"id": [7.0, None, 1.5]}),
    {"id": np.array([7, np.nan, 1.5], dtype=np.float32)},
    {"id": [7, None, 1.5]},
    {"id": [7, pandas.NA, 1.5]},
    [{"id": 7}, {}, {"id": 1.5}],
    duckdb.connect().sql("SELECT unnest([7.0::DOUBLE, NULL, 1.5]) AS id"),
]
"""Seven, nothing and one and a half, as columns ``id`` of floats."""


@pytest.mark.parametrize("source", NUMBERS)
def test_numbers_in_memory_become_the_same_text(source: Any) -> None:
    assert texts(source) == ["7", None, "1.5"]


def test_other_values_in_memory_become_their_text() -> None:
    values = [True, np.False_, date(2020, 1, 1), Decimal("7.50"), 2**63, 9e20, np.str_("bee")]
    assert texts({"id": values}) == [
        "true", "false", "2020-01-01", "7.50", "9223372036854775808", "9e+20", "bee"
    ]  # fmt: skip


def test_large_integers_keep_all_digits() -> None:
    # As float64 both would be changed: the first has 54 bits, the second 64.
    assert texts({"id": [2**53 + 1, 0.5]}) == ["9007199254740993", "0.5"]
    assert texts({"id": [2**63, 1]}) == ["9223372036854775808", "1"]
    assert texts({"id": [2**53 + 1, 1]}) == ["9007199254740993", "1"]


def test_columns_may_be_called_by_numbers() -> None:
    assert texts(pandas.DataFrame([["a", "b"]]), "1") == ["b"]


def test_a_duckdb_relation_needs_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    relation = duckdb.connect().sql("SELECT 7 AS id")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert texts(relation) == ["7"]


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="the table: its columns differ in length: 2, 1"):
        columns({"id": [1, 2], "other": [1]})


@pytest.mark.parametrize("source", [None, 5, b"id", {"id": 5}, {"id": "text"}, pandas.Series([1])])
def test_an_object_that_is_not_a_table_is_refused_by_type(source: Any) -> None:
    with pytest.raises(DataError, match=f"the table: cannot be read from {type(source).__name__};"):
        columns(source)


def test_rows_must_be_mappings() -> None:
    with pytest.raises(DataError, match="rows must be mappings"):
        columns([["a", "b"]])


def test_a_table_without_rows_and_columns_is_refused() -> None:
    with pytest.raises(DataError, match="the table: no columns"):
        columns([])


class Unreadable:
    def __str__(self) -> str:
        raise ValueError("it has no text")


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        (Unreadable(), "a cell is a Unreadable that cannot be read .it has no text."),
        ([[Unreadable()]], "a cell is a Unreadable"),
        (pandas.DataFrame({"a": [1, 2]}), "a cell is a DataFrame"),
        (pandas.Series([1, 2]), "a cell is a Series"),
        (10**5000, "a cell is a int that cannot be read"),
    ],
    ids=["object", "nested", "frame", "series", "number"],
)
def test_a_cell_that_has_no_text_is_refused(cell: Any, reason: str) -> None:
    with pytest.raises(DataError, match=reason), open_table({"id": [1, cell]}):
        pass


def test_a_lazy_frame_that_cannot_be_computed_is_refused_with_the_reason() -> None:
    frame = polars.LazyFrame({"id": [1]}).select("name")
    with pytest.raises(DataError, match="cannot be computed: ColumnNotFoundError: .*name"):
        texts(frame)


def test_integers_that_arrow_does_not_have_are_text() -> None:
    for values in ([2**100, None], [2**100, 7]):
        frame = polars.DataFrame({"id": values}, {"id": polars.Int128})
        assert texts(frame) == [None if value is None else str(value) for value in values]
