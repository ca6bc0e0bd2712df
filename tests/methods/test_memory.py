"""Memory is foreseen: what would not fit is refused before it is begun, with what would do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

import mhpc
from mhpc.data.panel import Size, measure_size
from mhpc.errors import TooLargeError
from mhpc.methods import memory as foresee
from mhpc.methods.memory import check_memory, check_readable, estimate_memory
from mhpc.methods.registry import METHODS, make_method
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import panel_of, small_panel

LARGE = Size(
    instances=200_000, labels=2_000, answers=10**6, implied=5 * 10**6, groups=40_000, pairs=10**8
)


def test_a_panel_is_counted() -> None:
    panel = panel_of(
        [("1", "ann", "monarda"), ("1", "ann", "oak"), ("1", "bob", "flower"), ("2", "bob", None)]
    )
    assert measure_size(panel) == Size(
        instances=2,
        labels=9,
        answers=3,
        # Of the first instance: monarda, flower and plant; oak and tree.
        implied=5,
        # ann: monarda, oak; bob: flower.
        groups=3,
        # Three statements beside those five.
        pairs=15,
    )


@pytest.mark.parametrize("name", METHODS)
def test_more_of_anything_never_takes_less(name: str) -> None:
    method = make_method(name)
    with use_memory_budget(10**12):
        before = estimate_memory(method, LARGE)
        for field in ("instances", "labels", "answers", "implied", "groups", "pairs"):
            larger = replace(LARGE, **{field: 2 * getattr(LARGE, field)})
            assert estimate_memory(method, larger) >= before


@pytest.mark.parametrize(
    ("name", "least"),
    [
        # The factor of 40,000 groups; five matrices of 2,000 x 2,000; x of 50,000 landmarks.
        ("mlcm", 8 * 40_000**2),
        ("cross-source", 8 * 5 * 2_000**2),
        ("channel", 8 * 50_000 * 2_000),
        ("one-truth", 200 * 10**8),
    ],
)
def test_what_is_largest_is_foreseen(name: str, least: int) -> None:
    with use_memory_budget(10**12):
        assert estimate_memory(make_method(name), LARGE) >= least


def test_what_will_not_fit_is_refused_before_it_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(*_: Any, **__: Any) -> None:
        raise AssertionError("it is begun")

    votes = mhpc.read_votes({"instance": ["x"], "source": ["s"], "label": ["a"]})
    taxonomy = mhpc.read_taxonomy({"label": ["a", "b"], "parent": [None, None]})
    monkeypatch.setattr(type(make_method("channel")), "fit", begun)
    monkeypatch.setattr(foresee, "measure_size", lambda panel: LARGE)
    with pytest.raises(TooLargeError) as refused:
        mhpc.consolidate(votes, taxonomy, method="channel", memory="2GB")
    assert "channel of 1 instances and 2 labels needs about 3." in str(refused.value)
    assert "GB, and 2.0 GB may be used; use --method dawid-skene, " in str(refused.value)
    assert "raise --memory if there is more, or use --engine dask" in str(refused.value)


@pytest.mark.parametrize("folder", [False, True], ids=["a file", "a folder"])
def test_votes_that_cannot_be_read_at_once_are_refused(folder: bool, tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    duckdb.execute(f"COPY (SELECT range AS instance FROM range(3000)) TO '{path}'")
    source = str(tmp_path if folder else path)
    with (
        use_memory_budget(200_000),
        pytest.raises(TooLargeError, match="holds 3,000 votes, .* 300 kB"),
    ):
        check_readable(source)
    with use_memory_budget(400_000):
        check_readable(source)


def test_what_says_nothing_of_its_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("instance,source,label\n")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    with use_memory_budget(1):
        for source in ("-", "missing.parquet", "votes.csv", "damaged.parquet"):
            check_readable(str(tmp_path / source))


def test_nothing_is_recommended_that_would_not_fit_either() -> None:
    with use_memory_budget(1), pytest.raises(TooLargeError, match="may be used; raise --memory"):
        check_memory(make_method("channel"), small_panel())


def test_what_fits_is_not_refused() -> None:
    for name in METHODS:
        check_memory(make_method(name), small_panel())


def test_nothing_is_known_of_somebody_elses_method() -> None:
    with use_memory_budget(1):
        check_memory(object(), small_panel())
