"""The estimated accuracy of the instances that nobody reviewed."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.accuracy import ShareEstimate
from mhpc.data.taxonomy import Taxonomy
from mhpc.metrics.accuracy import (
    answers_needed,
    are_right,
    estimate_levels,
    estimate_share,
    predict_right,
)
from mhpc.metrics.label_sets import LabelSets
from mhpc.numerics.arrays import BoolArray
from tests.fixtures.build import DAG, GARDEN

Z = 1.959964


def plain(right: int, k: int, others: int) -> ShareEstimate:
    return estimate_share(np.arange(k) < right, np.zeros(k), others=others, others_predicted=0.0)


def invert_test(right: int, k: int, others: int, power: float = 1.0) -> tuple[float, float]:
    """Return the extreme shares of the others that a test of all shares P does not reject."""
    M, y = k + others, right / k
    P = np.linspace(0, 1, 200_001)
    variance = P * (1 - P) / (power * k) * (M - k) / (M - 1)
    kept = P[(y - P) ** 2 <= Z**2 * variance + 1e-15]
    low, high = ((M * end - right) / others for end in (kept[0], kept[-1]))
    return max(low, 0.0), min(high, 1.0)


@pytest.mark.parametrize(("right", "k", "others"), [(15, 20, 980), (7, 10, 10), (3, 40, 15)])
def test_the_plain_interval_inverts_the_test_of_a_finite_population(
    right: int, k: int, others: int
) -> None:
    estimate = plain(right, k, others)
    assert estimate.value == pytest.approx(right / k)
    expected = invert_test(right, k, others)
    assert (estimate.low, estimate.high) == pytest.approx(expected, abs=2e-4)


def test_in_a_large_population_the_interval_is_that_of_wilson() -> None:
    # Wilson's interval of 10 of 10: 10 / (10 + z^2) = 0.72247.
    estimate = plain(10, 10, 10**9)
    assert (estimate.low, estimate.high) == pytest.approx((0.722467, 1.0), abs=1e-6)


def test_nothing_is_estimated_from_nothing_or_for_nobody() -> None:
    for k, others in ((0, 50), (50, 0)):
        estimate = plain(k, k, others)
        assert estimate.value != estimate.value
        assert (estimate.low, estimate.high) == (0, 1)
    assert answers_needed(plain(50, 50, 0)) == 0


@pytest.mark.parametrize("right", [0, 1])
def test_one_answer_gives_a_wide_interval(right: int) -> None:
    estimate = estimate_share(
        np.array([right == 1]), np.array([0.3]), others=99, others_predicted=0.9
    )
    assert (estimate.value, estimate.power) == (right, 1)
    assert estimate.high - estimate.low > 0.7


@pytest.mark.parametrize("right", [0, 30])
def test_intervals_do_not_collapse_if_all_sets_are_right_or_all_are_wrong(right: int) -> None:
    predicted = np.linspace(0.1, 0.9, 30)
    estimate = estimate_share(np.arange(30) < right, predicted, others=500, others_predicted=0.2)
    assert (estimate.value, estimate.power) == (right / 30, 1)
    assert 0.1 < estimate.high - estimate.low < 0.13


def test_the_value_and_its_power_are_those_of_ppi_worked_by_hand() -> None:
    # Means 0.6 and 0.5; cov(y, f) = 0.1, var(f) = 0.08, so that lambda is cut to 1.
    right = np.array([True, True, True, False, False])
    predicted = np.array([0.9, 0.7, 0.5, 0.3, 0.1])
    estimate = estimate_share(right, predicted, others=95, others_predicted=0.55)
    assert estimate.value == pytest.approx(0.6 + 0.05)
    # Residuals -0.5 + y around 0.1: squares sum to 0.4, over 3; those of y to 1.2, over 4.
    residual = right - predicted - 0.1
    power = (1.2 / 4) / (float(residual @ residual) / 3)
    assert estimate.power == pytest.approx(power)


def test_predictions_that_happen_to_be_perfect_are_not_trusted() -> None:
    right = np.array([True, False, True])
    estimate = estimate_share(right, right.astype(float), others=100, others_predicted=0.5)
    assert estimate.power == 4
    assert estimate.high - estimate.low > 0.4


def simulate(
    right: BoolArray, predicted: np.ndarray, k: int, *, draws: int, seed: int
) -> tuple[float, float]:
    """Return the coverage and the mean width of intervals of random samples."""
    rng, covered, width = np.random.default_rng(seed), [], []
    for _ in range(draws):
        drawn = np.zeros(len(right), dtype=bool)
        drawn[rng.choice(len(right), k, replace=False)] = True
        estimate = estimate_share(
            right[drawn], predicted[drawn], others=int((~drawn).sum()),
            others_predicted=float(predicted[~drawn].mean()),
        )  # fmt: skip
        covered.append(estimate.low <= right[~drawn].mean() <= estimate.high)
        width.append(estimate.high - estimate.low)
    return float(np.mean(covered)), float(np.mean(width))


@pytest.mark.parametrize(("k", "population"), [(30, 2000), (100, 200)])
def test_intervals_contain_the_true_share_as_often_as_they_say(k: int, population: int) -> None:
    rng = np.random.default_rng(7)
    chance = rng.beta(2, 1, population)
    right = rng.random(population) < chance
    plain_coverage, plain_width = simulate(right, np.zeros(population), k, draws=1000, seed=1)
    # Predictions that are too low, but in the right order.
    coverage, width = simulate(right, chance**2, k, draws=1000, seed=1)
    assert plain_coverage > 0.93
    assert coverage > 0.93
    assert width < 0.97 * plain_width


def half_width(value: float, k: int, others: int) -> float:
    """The same by Wilson's interval in the words of a textbook."""
    M = k + others
    n = k * (M - 1) / others
    root = Z * np.sqrt(value * (1 - value) / n + Z**2 / (4 * n * n)) / (1 + Z**2 / n)
    centre = (value + Z**2 / (2 * n)) / (1 + Z**2 / n)
    low, high = max(centre - root, 0), min(centre + root, 1)
    return float(high - low) / 2 * M / others


@pytest.mark.parametrize(("right", "k", "others"), [(40, 50, 3000), (20, 20, 5000), (1, 2, 9000)])
def test_the_answers_needed_are_the_fewest_that_narrow_the_interval(
    right: int, k: int, others: int
) -> None:
    needed = answers_needed(plain(right, k, others), 0.05)
    expected = next(
        more for more in range(others) if half_width(right / k, k + more, others - more) <= 0.05
    )
    assert needed == expected > 0


def test_all_others_are_needed_where_no_sample_of_them_is_enough() -> None:
    assert answers_needed(plain(25, 50, 100), 0.02) == 100


def test_nothing_is_needed_where_the_interval_is_narrow() -> None:
    assert answers_needed(plain(900, 1000, 100_000), 0.02) == 0


def test_without_answers_the_widest_interval_is_expected() -> None:
    nothing = ShareEstimate(np.nan, 0, 1, 0, 100_000)
    # 1 / k = 4 (0.02 / z)^2 - 1 / (M - k), of which Wilson needs z^2 fewer: 2461 - 4.
    assert answers_needed(nothing, 0.02) == pytest.approx(2457, abs=3)


def closed(sets: list[list[str]], taxonomy: Taxonomy) -> sparse.csr_array:
    matrix = np.zeros((len(sets), len(taxonomy)))
    for row, labels in zip(matrix, sets, strict=True):
        row[taxonomy.with_ancestors(taxonomy.locate(labels))] = 1
    return sparse.csr_array(matrix)


def test_levels_count_instances_with_a_label_there() -> None:
    deepest, other = (
        GARDEN.labels[int(GARDEN.levels[2][0])],
        GARDEN.labels[int(GARDEN.levels[2][1])],
    )
    root = GARDEN.labels[int(GARDEN.roots[0])]
    true = closed([[deepest], [deepest], [root], []], GARDEN)
    given = closed([[deepest], [other], [root], []], GARDEN)
    sets = LabelSets(given, true, GARDEN)
    assert are_right(sets).tolist() == [True, False, True, True]
    levels = {each.level: each for each in estimate_levels(sets, others=400)}
    assert (levels[1].measured, levels[1].others) == (3, 300)
    assert (levels[3].measured, levels[3].others, levels[3].value) == (2, 200, 0.5)


@pytest.mark.parametrize("taxonomy", [GARDEN, DAG])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_the_predicted_probability_is_the_product_over_labels(
    taxonomy: Taxonomy, is_sparse: bool
) -> None:
    rng = np.random.default_rng(3)
    K, N = len(taxonomy), 20
    score = np.sort(rng.random((N, K)), axis=1)[:, ::-1] * 0.9
    deepest = [[taxonomy.labels[int(k)]] if k < K else [] for k in rng.integers(0, K + 1, N)]
    chosen = closed(deepest, taxonomy)
    expected = np.ones(N)
    for i, k in product(range(N), range(K)):
        parents = taxonomy.parents_of(k)
        above = min([score[i, p] for p in parents], default=1.0)
        share = min(max(score[i, k] / max(above, 1e-6), 1e-6), 1 - 1e-6)
        if chosen[i, k]:
            expected[i] *= share
        elif all(chosen[i, p] for p in parents):
            expected[i] *= 1 - share
    predicted = predict_right(sparse.csr_array(score) if is_sparse else score, chosen, taxonomy)
    assert predicted == pytest.approx(expected, rel=1e-9)


def test_a_set_with_a_label_that_no_score_supports_is_improbable() -> None:
    chosen = closed([[GARDEN.labels[int(GARDEN.roots[0])]]], GARDEN)
    nothing = sparse.csr_array((1, len(GARDEN)))
    assert predict_right(nothing, chosen, GARDEN) == pytest.approx([1e-6])
