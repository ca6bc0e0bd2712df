"""A race on growing samples: who drops out, when it ends, and what is reported on the way."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import mhpc
from mhpc.data.comparison import CandidateScore
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.scores import Consolidation
from mhpc.methods.base import Method
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import dense
from mhpc.selection.cross_validation import (
    VIEWS,
    cross_validate,
    estimate_share_done,
    make_folds,
    score_candidates,
)
from mhpc.selection.racing import Difference, Lap, race, sample_sizes
from tests.fixtures.build import GARDEN, Row, panel_of

METHODS = ("majority", "sa", "mlcm", "dawid-skene")


@pytest.fixture(scope="module")
def panel() -> Panel:
    """Return 200 instances, each with one of three species, that most of four sources recognise."""
    rng = np.random.default_rng(0)
    species = ("monarda", "fuchsia", "finch")
    rows: list[Row] = []
    for i in range(200):
        true = rng.integers(3)
        for m in range(4):
            label = true if rng.random() < 0.8 else rng.integers(3)
            rows.append((f"i{i}", f"s{m}", species[label]))
    return panel_of(rows, GARDEN)


def methods(*names: str) -> dict[str, Method]:
    return {name: make_method(name) for name in names}


def best(scores: tuple[CandidateScore, ...]) -> str:
    most = max(score.instances for score in scores)
    return min(
        (score for score in scores if score.instances == most), key=lambda one: one.loss("closed")
    ).name


def test_a_race_finds_the_candidate_that_is_best_on_all_instances(panel: Panel) -> None:
    raced = race(panel, methods(*METHODS), min_instances=50)
    assert [score.name for score in raced] == list(METHODS)
    assert best(raced) == best(cross_validate(panel, methods(*METHODS)))


class Backwards:
    """Majority, with the labels that nobody gave first."""

    name: ClassVar[str] = "backwards"
    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""

    def consolidate(self, panel: Panel, **_: Any) -> Consolidation:
        """Reverse the scores."""
        scores = make_method("majority").consolidate(panel)
        return replace(scores, score=1 - dense(scores.score), specific=1 - dense(scores.specific))


def test_who_is_clearly_worse_is_measured_on_the_first_sample_only(panel: Panel) -> None:
    candidates = {"backwards": Backwards(), **methods("majority", "dawid-skene")}
    worst, *others = race(panel, candidates, min_instances=25)
    assert worst.instances == 25
    assert max(score.instances for score in others) > 25


def test_scores_are_those_of_a_cross_validation_of_the_sample(panel: Panel) -> None:
    for score in race(panel, methods(*METHODS), min_instances=50):
        sample = SinglePartition(panel).sample(score.instances)
        (expected,) = cross_validate(sample, methods(score.name))
        assert (score.closed, score.specific) == (expected.closed, expected.specific)


def test_equal_candidates_end_the_race_at_once(panel: Panel) -> None:
    twins = {"one": mhpc.Majority(), "two": mhpc.Majority()}
    assert {score.instances for score in race(panel, twins, min_instances=50)} == {50}


def test_a_single_candidate_is_measured_on_the_first_sample(panel: Panel) -> None:
    (score,) = race(panel, methods("sa"), min_instances=50)
    assert score.instances == 50


def test_any_number_of_jobs_gives_the_same_bits(panel: Panel) -> None:
    one, two = (race(panel, methods(*METHODS), min_instances=25, jobs=jobs) for jobs in (1, 2))
    for serial, parallel in zip(one, two, strict=True):
        assert serial.instances == parallel.instances
        assert serial.closed == parallel.closed
        assert serial.specific == parallel.specific


def test_a_sample_without_folds_is_doubled() -> None:
    rows: list[Row] = [(f"i{i}", "s", "oak") for i in range(200)]
    # Only one instance has a second answer, and a small sample does not contain it.
    rare = panel_of([*rows, ("i7", "t", "oak")])
    assert make_folds(SinglePartition(SinglePartition(rare).sample(25)), n_folds=4, seed=0) == []
    (score,) = race(rare, methods("sa"), min_instances=25)
    assert score.instances > 25


def test_without_folds_there_are_no_scores() -> None:
    assert race(panel_of([("x", "s", "oak"), ("y", "s", "oak")]), methods("sa")) == ()


@pytest.mark.parametrize(
    ("n_instances", "n_labels", "sizes"),
    [
        (99, 10, [99]),
        (100, 10, [50, 100]),
        (1000, 10, [50, 100]),
        (201, 5, [50, 100, 200]),
        (1000, 1000, [50, 100]),
    ],
    ids=["few instances", "twice the least", "many instances", "few labels", "many labels"],
)
def test_samples_double_up_to_the_budget(n_instances: int, n_labels: int, sizes: list[int]) -> None:
    assert sample_sizes(n_instances, n_labels, min_instances=50, max_cells=1000) == sizes


class Watched:
    """A method that notes which scores were reported when it is fitted."""

    name: ClassVar[str] = "watched"
    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""

    def __init__(self, reported: list[str]):
        self.reported = reported
        self.seen: list[tuple[str, ...]] = []

    def consolidate(self, panel: Panel, **_: Any) -> Consolidation:
        """Fit simple averaging."""
        self.seen.append(tuple(self.reported))
        return make_method("sa").consolidate(panel)


def test_scores_are_reported_while_others_are_computed(panel: Panel) -> None:
    reported: list[str] = []
    last = Watched(reported)
    candidates: Mapping[str, Method] = {**methods("sa", "majority"), "last": last}
    race(panel, candidates, jobs=1, report=lambda score: reported.append(score.name))
    assert last.seen[-1] == ("sa", "majority")
    assert reported == ["sa", "majority", "last"]


def test_progress_is_the_share_of_the_work_and_never_falls(panel: Panel) -> None:
    stages: dict[str, list[int]] = {}

    def progress(stage: str, done: int, most: int) -> None:
        assert most == 100
        stages.setdefault(stage, []).append(done)

    race(panel, methods("majority", "dawid-skene"), min_instances=50, progress=progress)
    assert "cross-validating on 50 instances" in stages
    for shares in stages.values():
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0, 100)


@pytest.mark.parametrize(
    ("seconds", "expected", "share"),
    [
        ({"a": [], "b": []}, {}, 0.0),
        # Of b nothing is known: it takes as long as a.
        ({"a": [2.0], "b": []}, {}, 2 / 8),
        ({"a": [2.0], "b": [6.0]}, {}, 8 / 16),
        # b took three times as long on a smaller sample.
        ({"a": [2.0], "b": []}, {"a": 1.0, "b": 3.0}, 2 / (2 + 2 + 12)),
        ({"a": [1.0, 3.0], "b": [6.0, 6.0]}, {}, 1.0),
    ],
)
def test_the_share_done_counts_the_cost_of_what_is_left(
    seconds: dict[str, list[float]], expected: dict[str, float], share: float
) -> None:
    assert estimate_share_done(seconds, 2, expected) == pytest.approx(share)


def test_the_error_of_a_difference_is_that_of_instances_drawn_at_random(panel: Panel) -> None:
    folds = make_folds(SinglePartition(panel), n_folds=4, seed=0)
    scores = dict(score_candidates(methods("majority", "dawid-skene"), folds))
    for view in VIEWS:
        difference = Lap(folds, scores).compare("majority", "dawid-skene", view)
        sampled = bootstrap_differences(folds, scores, view)
        means = [score.means[view] for score in scores["majority"]]
        others = [score.means[view] for score in scores["dawid-skene"]]
        assert difference.mean == pytest.approx(np.mean(means) - np.mean(others))
        assert difference.by_instances == pytest.approx(np.std(sampled), rel=0.1)


def bootstrap_differences(folds: Any, scores: Any, view: Any) -> list[float]:
    """Return the differences on samples of the instances, drawn with replacement."""
    rng, N = np.random.default_rng(0), len(folds[0].train.instances)
    differences = []
    for _ in range(2000):
        copies = np.bincount(rng.integers(N, size=N), minlength=N)
        of_folds = []
        for fold, own, other in zip(folds, *scores.values(), strict=True):
            weight = fold.weight * copies[fold.test.instance]
            of_folds.append(np.average(own.losses[view] - other.losses[view], weights=weight))
        differences.append(float(np.mean(of_folds)))
    return differences


@pytest.mark.parametrize(
    ("difference", "is_clear", "needs_instances"),
    [
        (Difference(0.04, 0.01, 0.01), True, True),
        (Difference(0.02, 0.01, 0.01), False, True),
        (Difference(0.02, 0.01, 0.02), False, False),
        (Difference(0.02, 0.01, float("nan")), False, True),
        (Difference(0.0, 0.0, 0.0), False, False),
    ],
)
def test_more_instances_help_if_they_are_most_of_the_chance(
    difference: Difference, is_clear: bool, needs_instances: bool
) -> None:
    assert (difference.is_clear, difference.needs_instances) == (is_clear, needs_instances)
