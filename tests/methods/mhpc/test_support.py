import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from mhpc.methods.mhpc.algorithm import clopper_pearson_lower


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.01, 0.05, 0.5]))
def test_support_is_the_lower_end_of_the_exact_interval(
    occurrences: int, more: int, alpha: float
) -> None:
    trials = occurrences + more
    exact = binomtest(occurrences, trials).proportion_ci(1 - alpha, method="exact")
    ours = clopper_pearson_lower(
        np.array([float(occurrences)]), np.array([float(trials)]), alpha=alpha
    )
    assert ours[0] == pytest.approx(exact.low, abs=1e-12)


def test_a_label_in_every_answer_has_support_below_one() -> None:
    support = clopper_pearson_lower(np.array([10.0]), np.array([10.0]), alpha=0.05)
    assert support[0] == pytest.approx(0.025 ** (1 / 10))


def test_support_grows_with_occurrences_and_with_trials_at_the_same_share() -> None:
    often = clopper_pearson_lower(np.array([1.0, 2.0, 5.0]), np.full(3, 10.0), alpha=0.05)
    assert (np.diff(often) > 0).all()
    longer = clopper_pearson_lower(np.array([5.0, 50.0]), np.array([10.0, 100.0]), alpha=0.05)
    assert longer[0] < longer[1] < 0.5


def test_a_label_nobody_said_has_no_support() -> None:
    assert clopper_pearson_lower(np.array([0.0]), np.array([0.0]), alpha=0.05).tolist() == [0.0]
