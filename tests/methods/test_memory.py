"""What would not fit in memory is refused before it starts; the error names what would fit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

import mhpc
from mhpc.data.panel import SinglePartition
from mhpc.data.size import Size, measure_size
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import TooLargeError
from mhpc.methods.memory import check_memory, check_readable, estimate_memory
from mhpc.methods.registry import METHODS, make_method
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import GARDEN, panel_of, small_panel


def binary_tree(labels: int) -> Taxonomy:
    names = [f"k{label}" for label in range(labels)]
    return build_taxonomy(names, [(names[n], names[(n - 1) // 2]) for n in range(1, labels)])


LARGE = Size(
    taxonomy=binary_tree(2_000),
    used_labels=2_000,
    instances=200_000,
    answers=10**6,
    implied=5 * 10**6,
    groups=40_000,
    pairs=10**8,
)


@pytest.mark.parametrize("max_instances", [1, 100])
def test_the_size_of_a_panel_does_not_depend_on_its_blocks(max_instances: int) -> None:
    panel = panel_of(
        [("1", "ann", "monarda"), ("1", "ann", "oak"), ("1", "bob", "flower"), ("2", "bob", None)]
    )
    assert measure_size(SinglePartition(panel, max_instances=max_instances)) == Size(
        taxonomy=GARDEN,
        # monarda, flower and plant; oak and tree.
        used_labels=5,
        instances=2,
        answers=3,
        # The same labels, all of the first instance.
        implied=5,
        # ann: monarda, oak; bob: flower.
        groups=3,
        # Three votes times five labels.
        pairs=15,
    )


@pytest.mark.parametrize("name", METHODS)
def test_larger_data_never_need_less_memory(name: str) -> None:
    method = make_method(name)
    with use_memory_budget(10**12):
        before = estimate_memory(method, LARGE)
        for field in ("used_labels", "instances", "answers", "implied", "groups", "pairs"):
            larger = replace(LARGE, **{field: 2 * getattr(LARGE, field)})
            assert estimate_memory(method, larger) >= before
        more_labels = replace(LARGE, taxonomy=binary_tree(4_000), used_labels=4_000)
        # Whole rows fill a block of scores up to a different point.
        assert estimate_memory(method, more_labels) >= 0.999 * before


@pytest.mark.parametrize(
    ("name", "least"),
    [
        # The factor of 40,000 groups; five matrices of 2,000 x 2,000; 50,000 landmarks.
        ("mlcm", 8 * 40_000**2),
        ("cross-source", 8 * 5 * 2_000**2),
        ("channel", 8 * 50_000 * 2_000),
        ("one-truth", 200 * 10**8),
    ],
)
def test_the_largest_matrices_are_part_of_the_estimate(name: str, least: int) -> None:
    with use_memory_budget(10**12):
        assert estimate_memory(make_method(name), LARGE) >= least


def test_labels_that_nobody_used_need_no_regression() -> None:
    with_few_labels = replace(LARGE, used_labels=10)
    assert make_method("cross-source").estimate_memory(with_few_labels) <= 8 * 5 * 10 * 10


def test_a_method_that_does_not_fit_is_refused_before_it_is_fitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("it was fitted")

    labels = [f"k{n}" for n in range(10_000)]
    votes = mhpc.read_votes({"instance": labels, "source": ["s"] * 10_000, "label": labels})
    siblings = build_taxonomy(labels, [])
    monkeypatch.setattr(type(make_method("channel")), "fit", fail)
    with pytest.raises(TooLargeError) as refused:
        mhpc.consolidate(votes, siblings, method="channel", memory="2GB")
    assert "channel of 10,000 instances and 10,000 labels needs about " in str(refused.value)
    assert "100,000,000 pairs of labels that may be given for each other" in str(refused.value)
    assert "and 2.0 GB may be used; use method='dawid-skene', " in str(refused.value)
    assert "raise memory if there is more, or use mhpc consolidate --engine dask" in str(
        refused.value
    )


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


def test_files_of_unknown_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("instance,source,label\n")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    with use_memory_budget(1):
        for source in ("-", "missing.parquet", "votes.csv", "damaged.parquet"):
            check_readable(str(tmp_path / source))


def test_no_method_is_recommended_that_would_not_fit_either() -> None:
    with use_memory_budget(1), pytest.raises(TooLargeError, match="may be used; raise memory"):
        check_memory(make_method("channel"), SinglePartition(small_panel()))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_that_fits_is_not_refused(name: str) -> None:
    check_memory(make_method(name), SinglePartition(small_panel()))


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("cross-source", "for a regression between 5 labels"),
        ("mlcm", "for 5 numbers for each of 20 pairs of a source and a label"),
    ],
)
def test_an_error_says_what_the_memory_is_for(name: str, purpose: str) -> None:
    with use_memory_budget(1), pytest.raises(TooLargeError) as refused:
        check_memory(make_method(name), SinglePartition(small_panel()))
    assert purpose in str(refused.value)


def test_on_other_machines_only_fitting_counts() -> None:
    partitions = SinglePartition(small_panel())
    with use_memory_budget(10_000):
        check_memory(make_method("mlcm"), partitions, scores_elsewhere=True)
        with pytest.raises(TooLargeError):
            check_memory(make_method("mlcm"), partitions)


def test_a_method_without_an_estimate_is_not_refused() -> None:
    with use_memory_budget(1):
        check_memory(object(), SinglePartition(small_panel()))
