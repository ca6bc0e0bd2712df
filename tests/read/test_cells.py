import numpy as np
import pytest

from mhpc.errors import DataError
from mhpc.read import columns as cells_module
from mhpc.read.columns import Cells, check_not_empty, read_cells
from mhpc.read.tables import open_table


def cells_of(columns: dict[str, list[str | None]]) -> Cells:
    with open_table(columns) as table:
        return read_cells(table, {name: name for name in columns}, tuple(columns))


def test_ids_are_numbered_in_order_of_appearance() -> None:
    cells = cells_of({"label": ["wasp", "bee", "wasp", "ant"]})
    assert cells.rows == 4
    assert cells.index["label"].ids == ("wasp", "bee", "ant")
    assert cells.position["label"].tolist() == [0, 1, 0, 2]


def test_empty_cells_have_no_id() -> None:
    cells = cells_of({"label": [None, "bee", ""]})
    assert cells.index["label"].ids == ("bee",)
    assert cells.position["label"].tolist() == [-1, 0, -1]


def test_many_rows_keep_their_order() -> None:
    names = [f"{n * 7919 % 100_003}" for n in range(100_000)]
    cells = cells_of({"label": list(names)})
    assert cells.index["label"].ids == tuple(names)
    assert cells.position["label"].tolist() == list(range(100_000))


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(DataError, match="the table: a header but no rows"):
        cells_of({"label": []})


def test_an_id_too_long_to_be_one_is_refused_by_row() -> None:
    with pytest.raises(DataError, match="row 2 has a label of 10,001 characters; the most is 10,"):
        cells_of({"label": ["x" * 10_000, "x" * 10_001]})


def test_empty_ids_are_refused_with_the_first_row_and_their_number() -> None:
    cells = cells_of({"label": ["bee", None, None, None]})
    with pytest.raises(DataError, match="votes: row 2 has an empty label, as have 2 more;"):
        check_not_empty(cells, "label", "votes")
    check_not_empty(cells_of({"label": ["bee"]}), "label", "votes")


def test_many_ids_are_numbered_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: dict[str, list[str | None]] = {
        "instance": [f"i{n * 37 % 101}" if n % 7 else None for n in range(1000)],
        "label": [None, "?", "", "é", "?"] * 200,
    }
    few = cells_of(columns)
    monkeypatch.setattr(cells_module, "FEW_IDS", 0)
    many = cells_of(columns)
    # Should two texts ever share a hash, ids are found the slower way.
    monkeypatch.setattr(cells_module, "_any_twice", lambda hashes: True)
    shared = cells_of(columns)
    for cells in (many, shared):
        for role in columns:
            assert cells.index[role].ids == few.index[role].ids
            assert cells.position[role].tolist() == few.position[role].tolist()
    assert few.index["label"].ids == ("?", "é")
    assert few.position["label"].tolist()[:5] == [-1, 0, -1, 1, 0]


def test_two_equal_hashes_are_noticed() -> None:
    assert cells_module._any_twice(np.array([3, 1, 3], dtype=np.uint64))
    assert not cells_module._any_twice(np.array([3, 1, 2], dtype=np.uint64))


def test_a_column_of_empty_cells_has_no_ids() -> None:
    cells = cells_of({"label": [None, ""]})
    assert cells.index["label"].ids == ()
    assert cells.position["label"].tolist() == [-1, -1]
