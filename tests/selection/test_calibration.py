"""Probabilities are calibrated on gold labels, as far as these are like the other instances."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit

from mhpc.numerics.arrays import FloatArray, dense
from mhpc.selection.calibration import (
    IDENTITY,
    Calibration,
    GoldSample,
    calibration_error,
    compare_uncertainty,
    cross_validated_error,
    fit_calibration,
    measure_representation,
    sample_gold,
)


def make_gold(n: int, *, slope: float = 1.0, shift: float = 0.0, seed: int = 0) -> GoldSample:
    """Return three labels per instance that are true as a calibration of their probability says."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, 3 * n)
    true = rng.random(3 * n) < expit(slope * logit(p) + shift)
    return GoldSample(p, true.astype(float), np.repeat(np.arange(n), 3))


def test_much_gold_shows_the_calibration() -> None:
    calibration, _ = fit_calibration(make_gold(20_000, slope=1.5, shift=-0.5))
    assert calibration.slope == pytest.approx(1.5, abs=0.1)
    assert calibration.shift == pytest.approx(-0.5, abs=0.1)


def test_the_calibration_has_the_highest_posterior_density() -> None:
    gold = make_gold(30, slope=2.0, shift=1.0)
    found, _ = fit_calibration(gold)

    def log_posterior(log_slope: float, shift: float) -> float:
        total = -((log_slope / 0.3) ** 2 + (shift / 0.7) ** 2) / 2
        for i in range(30):
            labels = gold.instance == i
            p, true = gold.probability[labels], gold.is_true[labels]
            q = expit(np.exp(log_slope) * logit(p) + shift)
            share = p * (1 - p) / (p * (1 - p)).sum()
            total += share @ (true * np.log(q) + (1 - true) * np.log(1 - q))
        return float(total)

    best = log_posterior(np.log(found.slope), found.shift)
    for step in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)):
        assert log_posterior(np.log(found.slope) + step[0], found.shift + step[1]) < best


def test_the_less_gold_represents_the_others_the_less_it_changes() -> None:
    gold = make_gold(40, shift=1.5)
    shifts = [fit_calibration(gold, share)[0].shift for share in (1.0, 0.3, 0.0)]
    assert shifts[0] > shifts[1] > shifts[2] == pytest.approx(0.0, abs=1e-6)


def test_plausible_calibrations_come_closer_with_more_gold() -> None:
    distances = []
    for n in (10, 1000):
        best, plausible = fit_calibration(make_gold(n))
        distances.append(max(abs(each.shift - best.shift) for each in plausible))
    assert distances[1] < distances[0] / 3


def test_without_labels_nothing_is_calibrated() -> None:
    nothing = sample_gold(np.zeros((3, 2)), sparse.csr_array((3, 2)))
    assert fit_calibration(nothing) == (IDENTITY, (IDENTITY,))
    assert calibration_error(IDENTITY, nothing) == 0.0


def test_a_calibration_relative_to_another_leads_from_one_to_the_other() -> None:
    first, second, p = Calibration(1.5, -0.3), Calibration(0.7, 0.4), np.array([0.1, 0.5, 0.9])
    between = Calibration(*second.relative_to(first))
    np.testing.assert_allclose(between.transform(first.transform(p)), second.transform(p))


@pytest.mark.parametrize(
    ("gold", "expected"),
    [([1.0, 2.0, 3.0, 4.0], 1.0), ([4.0], 0.25), ([9.0, 8.0], 0.0), ([2.0, 3.0], 0.75)],
)
def test_representation_is_the_overlap_of_two_distributions(
    gold: list[float], expected: float
) -> None:
    others = np.array([1.0, 2.0, 3.0, 4.0])
    assert measure_representation(np.array(gold), others) == pytest.approx(expected)


def test_instances_at_random_represent_the_others_and_the_hardest_do_not() -> None:
    uncertainty = np.random.default_rng(0).random(1000)
    assert measure_representation(uncertainty[:80], uncertainty[80:]) > 0.8
    hardest = np.sort(uncertainty)
    assert measure_representation(hardest[-80:], hardest[:-80]) == pytest.approx(0.0)


def test_the_order_of_scores_stays_and_zero_stays_zero() -> None:
    calibrated = np.asarray(Calibration(2.0, 1.0)(np.linspace(0, 1, 500)))
    assert (np.diff(calibrated) > 0).all()
    assert calibrated[0] == 0.0


def test_sparse_and_dense_scores_are_mapped_alike() -> None:
    scores = np.array([[0.0, 0.5], [0.25, 1.0]])
    calibration = Calibration(1.5, -0.5)
    np.testing.assert_allclose(
        dense(calibration(sparse.csr_array(scores))), dense(calibration(scores))
    )


def sample_of(p: FloatArray, is_true: FloatArray) -> GoldSample:
    return GoldSample(p, is_true, np.arange(len(p)))


def test_the_calibration_error_is_the_mean_gap_between_probability_and_share() -> None:
    # Two labels in the bin of 0.25, one of which is true, and two sure ones that are not.
    gold = sample_of(np.array([0.25, 0.25, 1.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0]))
    assert calibration_error(IDENTITY, gold) == pytest.approx((0.5 + 2.0) / 4, abs=1e-5)


def test_calibration_on_one_half_of_the_gold_improves_the_other() -> None:
    gold = make_gold(200, slope=2.0, shift=-1.0)
    assert cross_validated_error(gold) < calibration_error(IDENTITY, gold)


@pytest.mark.parametrize("measure", ["number of labels", "expected F"])
def test_instances_that_were_selected_by_either_uncertainty_do_not_represent_the_others(
    measure: str,
) -> None:
    p = np.random.default_rng(0).beta(0.3, 0.6, size=(1000, 6))
    if measure == "number of labels":
        order = np.argsort((p * (1 - p)).sum(axis=1))
    else:
        # By brute force: the best of all sets, which are the most probable labels.
        order = np.argsort(
            [
                1 - max(2 * sum(row[:n]) / (n + sum(row)) for n in range(1, 7))
                for row in -np.sort(-p, axis=1)
            ]
        )
    assert compare_uncertainty(p[order[-80:]], p[order[:-80]]) == pytest.approx(0.0)
    assert compare_uncertainty(p[:80], p[80:]) > 0.8
