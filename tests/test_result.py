"""A result is converted to dataframes and files."""

import sys
from pathlib import Path
from typing import Any

import pytest

import mhpc
from mhpc.errors import MissingExtraError, ParameterError
from tests.fixtures.build import GARDEN

ROWS = {
    "instance": [1, 1, 2, 3],
    "source": ["a", "b", "a", "a"],
    "label": ["oak", "tree", "bird", None],
}

LABELS = [("1", "plant", 1.0), ("1", "tree", 1.0), ("2", "animal", 1.0), ("2", "bird", 1.0)]


@pytest.fixture(scope="module")
def result() -> mhpc.Result:
    return mhpc.consolidate(mhpc.read_votes(ROWS), GARDEN, method="majority")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    import narwhals as nw

    return list(nw.from_native(frame, eager_only=True).rows())


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_labels_scores_and_wide_tables_are_converted_to_dataframes(
    result: mhpc.Result, library: Any
) -> None:
    pytest.importorskip(library)
    frame = result.to_frame(library=library)
    assert type(frame).__module__.startswith(library)
    assert rows(frame) == LABELS
    scores = rows(result.to_frame("scores", library=library))
    assert [row[:3] for row in scores if row[0] == "1"] == [
        ("1", "plant", 1.0), ("1", "tree", 1.0), ("1", "oak", 0.5),
    ]  # fmt: skip
    wide = rows(result.to_frame("wide", library=library))
    assert wide[0] == ("1", 1.0, 0, 0, 0, 1.0, 0.5, 0, 0, 0)
    assert [sum(row[1:]) for row in wide] == [2.5, 2, 0]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_items_sources_and_conflicts_are_converted_to_dataframes(
    result: mhpc.Result, library: Any
) -> None:
    pytest.importorskip(library)
    first, second, third = rows(result.to_frame("items", library=library))
    # One of two gave the oak: the expected F of plant and tree is 2 * 2 / (2 + 2.5).
    assert first == pytest.approx(("1", "tree", "plant > tree", 1.0, 1 / 9, 2, 0.5))
    assert second == ("2", "bird", "animal > bird", 1.0, 0.0, 1, 1.0)
    assert third[:3] == ("3", "", "")
    # Missing, as every library has it: nan in pandas, null elsewhere.
    assert third[3] is None or (library == "pandas" and third[3] != third[3])
    assert third[4:] == (0.0, 1, 1.0)
    sources = rows(result.to_frame("sources", library=library))
    assert [row[:2] for row in sources] == [("a", 3), ("b", 1)]
    # Bob stopped at the tree, which contradicts no oak.
    assert rows(result.to_frame("conflicts", library=library)) == []


def test_conflicts_have_one_row_per_disputed_label(result: mhpc.Result) -> None:
    votes = {"instance": [1, 1, 1], "source": ["a", "b", "c"], "label": ["oak", "oak", "monarda"]}
    disputed = mhpc.consolidate(mhpc.read_votes(votes), GARDEN, method="majority")
    frame = disputed.to_frame("conflicts")
    assert list(frame.columns) == [
        "instance", "gain", "answers", "agreed", "agreed_name", "label", "name", "score", "chosen",
        "support", "against", "drawn",
    ]  # fmt: skip
    assert rows(frame[["instance", "agreed", "label", "chosen", "support", "against"]]) == [
        ("1", "plant", "oak", True, 2, 1),
        ("1", "plant", "monarda", False, 1, 2),
    ]


def test_items_have_one_row_per_instance_as_columns(result: mhpc.Result) -> None:
    items = result.items
    assert list(items) == [
        "instance", "labels", "path", "probability", "review_priority", "sources", "agreement",
    ]  # fmt: skip
    assert items["labels"] == ["tree", "bird", ""]
    assert list(items["sources"]) == [2, 1, 1]


def test_a_result_without_labels_gives_an_empty_dataframe() -> None:
    votes = mhpc.read_votes({"instance": [1], "source": ["a"], "label": [None]})
    result = mhpc.consolidate(votes, GARDEN, method="majority")
    assert rows(result.to_frame()) == []


def test_a_library_that_is_missing_or_unknown_is_named(
    result: mhpc.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match="polars is not installed; pip install polars"):
        result.to_frame(library="polars")
    with pytest.raises(ParameterError, match="give pandas | polars | pyarrow"):
        result.to_frame(library="panda")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'item' is not allowed; give labels | scores"):
        result.to_frame("item")  # type: ignore[arg-type]


def test_a_result_is_written_for_other_tools(result: mhpc.Result, tmp_path: Path) -> None:
    result.write(tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text().splitlines()[1:] == [
        f"{instance},{label},{score}" for instance, label, score in LABELS
    ]
    result.write(tmp_path / "new.json", format="label-studio", model_version="first")
    assert '"model_version": "first"' in (tmp_path / "new.json").read_text()


def test_the_file_name_determines_the_format_of_votes_and_taxonomies(tmp_path: Path) -> None:
    mhpc.write_votes(tmp_path / "v.parquet", mhpc.read_votes(ROWS))
    assert len(mhpc.read_votes(tmp_path / "v.parquet")) == 4
    mhpc.write_taxonomy(tmp_path / "t.jsonl", GARDEN)
    assert mhpc.read_taxonomy(tmp_path / "t.jsonl").labels.ids == GARDEN.labels.ids
