"""Gold labels never make the other instances worse, beyond chance."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import mhpc
from benchmarks.data import read_set
from benchmarks.quality.gold import (
    FIGURES,
    compare,
    consolidate_with_gold,
    measure_difference,
    select_truth,
)
from mhpc.data.panel import SinglePartition
from mhpc.datasets.garden import Dataset
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.methods.source_dependence import estimate_dependence
from mhpc.methods.source_weights import weight_answers
from mhpc.numerics.arrays import dense

GARDEN = mhpc.load_garden()
LARGEST_LOSS = 0.02
"""Of hierarchical F, exact match and calibration, averaged over seeds: what is left of chance."""


def mean_differences(data: Dataset, *, k: int, seeds: Sequence[int]) -> dict[str, float]:
    without = consolidate_with_gold(data, None)
    differences = []
    for seed in seeds:
        gold = np.sort(np.random.default_rng(seed).permutation(without.instances)[:k])
        with_gold = consolidate_with_gold(data, gold)
        differences.append(measure_difference(without, with_gold, gold, n_resamples=2))
    return {name: float(np.mean([each[name][0] for each in differences])) for name in FIGURES}


def assert_not_worse(differences: dict[str, float]) -> None:
    assert differences["hierarchical_f"] > -LARGEST_LOSS
    assert differences["exact_match"] > -LARGEST_LOSS
    assert differences["calibration_error"] < LARGEST_LOSS


@pytest.mark.parametrize("k", [5, 40])
def test_gold_does_not_make_the_example_worse(k: int) -> None:
    differences = mean_differences(GARDEN, k=k, seeds=range(3))
    assert_not_worse(differences)
    # The probabilities of the example are far from calibrated: five instances show it already.
    assert differences["calibration_error"] < -0.01


@pytest.mark.parametrize("accuracy", [0.5, 0.9])
def test_gold_does_not_make_simulated_sources_worse(accuracy: float) -> None:
    profiles = [mhpc.Profile(specificity=0.7, accuracy=accuracy)] * 4
    votes = mhpc.simulate(GARDEN.truth, GARDEN.taxonomy, profiles, seed=1)
    data = Dataset(votes, GARDEN.taxonomy, GARDEN.truth)
    assert_not_worse(mean_differences(data, k=20, seeds=range(3)))


def test_gold_does_not_make_a_real_set_worse(data_folder: Path) -> None:
    rows = list(compare("dog", read_set(data_folder / "dog"), seeds=1, n_resamples=2))
    assert len(rows) == 8
    for row in rows:
        assert_not_worse({name: row[name][0] for name in FIGURES})


def panel_with_gold(k: int) -> tuple[mhpc.Panel, mhpc.Panel]:
    panel = mhpc.encode(GARDEN.votes, GARDEN.taxonomy)
    gold = encode_truth(select_truth(GARDEN.truth, np.arange(k)), panel.taxonomy, panel.instances)
    return panel, append_gold_source(panel, gold)


def test_sources_are_as_dependent_and_skilled_with_gold_as_without() -> None:
    panel, with_gold = panel_with_gold(100)
    before = estimate_dependence(SinglePartition(panel))
    after = estimate_dependence(SinglePartition(with_gold))
    np.testing.assert_array_equal(after.skill[:-1], before.skill)
    np.testing.assert_array_equal(dense(after.matrix)[:-1, :-1], dense(before.matrix))
    assert not dense(after.matrix)[-1].any()


def test_answers_have_the_same_weights_beside_gold_labels() -> None:
    panel, with_gold = panel_with_gold(100)
    weighted = weight_answers(with_gold)
    np.testing.assert_array_equal(
        weighted.answer_weights[~with_gold.is_gold], weight_answers(panel).answer_weights
    )
    assert weighted.labels_per_answer == panel.labels_per_answer


def test_auto_scores_the_other_instances_by_the_same_methods_with_gold_as_without() -> None:
    panel, with_gold = panel_with_gold(4)  # too few gold instances for a calibration
    before, after = (mhpc.Auto().consolidate(each).score for each in (panel, with_gold))
    np.testing.assert_allclose(dense(after), dense(before), atol=1e-12)
