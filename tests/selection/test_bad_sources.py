"""Bad sources in a panel: constant, everything, copy, random, adversary."""

from pathlib import Path

import numpy as np
import pytest

import mhpc
from benchmarks.quality.bad_sources import BAD_SOURCES, HARMLESS, MAX_LOSS, add_bad_sources
from mhpc.data.panel import SinglePartition
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.label_sets import compare_label_sets
from mhpc.selection.screening import (
    find_constant,
    find_copies,
    find_uninformative,
    find_unskilled,
)
from tests.fixtures.build import panel_of
from tests.selection.conftest import PROFILES

CHANCE = 0.005
"""By how much F may differ by chance."""


def hierarchical_f(
    votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, truth: mhpc.Truth, method: str
) -> float:
    result = mhpc.consolidate(votes, taxonomy, method=method, unknown="drop")
    panel = result.panel
    encoded = encode_truth(truth, panel.taxonomy, panel.instances, unknown="drop")
    sets = compare_label_sets(result.decision.reason, encoded, panel.taxonomy)
    correct, given, true = (sizes.sum() for sizes in sets.sizes)
    return float(2 * correct / (given + true))


def loss_by_bad_source(
    votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, truth: mhpc.Truth, kind: str, method: str
) -> float:
    spoiled = add_bad_sources(votes, taxonomy, kind)
    before, after = (hierarchical_f(panel, taxonomy, truth, method) for panel in (votes, spoiled))
    return before - after


@pytest.mark.parametrize("kind", BAD_SOURCES)
def test_a_bad_source_costs_auto_no_more_than_majority(kind: str) -> None:
    data = mhpc.load_garden()
    votes = mhpc.simulate(data.truth, data.taxonomy, PROFILES, seed=1)
    loss, majority_loss = (
        loss_by_bad_source(votes, data.taxonomy, data.truth, kind, method)
        for method in ("auto", "majority")
    )
    assert loss <= max(majority_loss, 0.0) + CHANCE
    if kind in HARMLESS:
        assert loss <= MAX_LOSS


@pytest.mark.parametrize("kind", ["constant", "everything", "random"])
def test_on_real_votes_a_source_without_information_changes_nothing(
    data_folder: Path, kind: str
) -> None:
    folder = data_folder / "chexpert"
    votes = mhpc.read_votes(folder / "votes.csv")
    taxonomy = mhpc.read_taxonomy(folder / "taxonomy.csv")
    truth = mhpc.read_truth(folder / "truth.csv")
    loss = loss_by_bad_source(votes, taxonomy, truth, kind, "auto")
    assert loss == pytest.approx(0.0, abs=1e-6)


LABELS = ["oak", "finch", "monarda"]


def rows_of_good_sources(n: int, sources: int = 4) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(0)
    return [
        (f"i{i}", f"good {m}", LABELS[i % 3] if rng.random() < 0.8 else LABELS[(i + 1 + m) % 3])
        for i in range(n)
        for m in range(sources)
    ]


def test_a_source_that_gives_one_label_or_all_is_constant() -> None:
    rows = rows_of_good_sources(60)
    rows += [(f"i{i}", "one", "oak") for i in range(60)]
    rows += [(f"i{i}", "all", label) for i in range(60) for label in LABELS]
    panel = panel_of(rows)
    names = {panel.sources[m] for m in find_constant(SinglePartition(panel))}
    assert names == {"one", "all"}


def test_a_source_that_answers_only_some_instances_is_not_constant() -> None:
    rows = rows_of_good_sources(60) + [(f"i{i}", "detector", "oak") for i in range(0, 60, 3)]
    assert not len(find_constant(SinglePartition(panel_of(rows))))


def test_no_source_is_constant_if_nearly_all_instances_are_alike() -> None:
    rows = [(f"i{i}", f"s{m}", "oak") for i in range(30) for m in range(3)]
    rows[-1] = ("i29", "s2", "finch")
    assert not len(find_uninformative(SinglePartition(panel_of(rows))))


def test_of_exact_copies_the_first_is_kept() -> None:
    rows = rows_of_good_sources(60)
    rows += [(i, "good 0, copied", label) for i, source, label in rows if source == "good 0"]
    panel = panel_of(rows)
    names = [panel.sources[m] for m in find_copies(SinglePartition(panel))]
    assert names == ["good 0, copied"]


def test_sources_that_agree_on_few_instances_are_no_copies() -> None:
    rows = [(f"i{i}", f"s{m}", LABELS[i % 3]) for i in range(40) for m in range(4)]
    assert not len(find_copies(SinglePartition(panel_of(rows))))


def test_a_random_source_has_no_skill_and_good_ones_do() -> None:
    rng = np.random.default_rng(1)
    rows = rows_of_good_sources(400)
    rows += [(f"i{i}", "random", LABELS[rng.integers(3)]) for i in range(400)]
    panel = panel_of(rows)
    names = [panel.sources[m] for m in find_unskilled(SinglePartition(panel))]
    assert names == ["random"]


def test_a_random_source_with_few_answers_is_not_left_out() -> None:
    rows = rows_of_good_sources(400) + [(f"i{i}", "new", LABELS[(i + 1) % 3]) for i in range(5)]
    assert not len(find_unskilled(SinglePartition(panel_of(rows))))


def test_sources_that_are_left_out_are_named_and_do_not_count_in_a_prediction() -> None:
    good = rows_of_good_sources(60)
    spoiled = panel_of(good + [(f"i{i}", "same", "oak") for i in range(60)])
    consolidation = mhpc.Auto().consolidate(spoiled)
    assert consolidation.combination is not None
    assert consolidation.combination.left_out == ("same",)
    clean = mhpc.Auto().consolidate(panel_of(good))
    np.testing.assert_allclose(
        np.asarray(consolidation.score[:]), np.asarray(clean.score[:]), atol=1e-9
    )
