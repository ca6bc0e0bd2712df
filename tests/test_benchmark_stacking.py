"""The weights of the stacking: learned as stated, and used by `auto`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import mhpc
from benchmarks.quality.real import Case
from benchmarks.quality.stacking import Sample, family_of, find_truth, fit_weights, learn_weights
from mhpc.data.panel import SinglePartition
from mhpc.data.votes import EncodedTruth
from mhpc.numerics.arrays import dense
from mhpc.selection.auto import Auto
from mhpc.selection.stacking import FEATURES, GivenLabels


def simulate_sample(family: str, weights: list[float], *, size: int, seed: int) -> Sample:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(size, len(FEATURES)))
    features[:, 0] = 1.0
    is_true = rng.random(size) < 1 / (1 + np.exp(-features @ np.array(weights)))
    return Sample(family, features, is_true)


def test_the_regression_finds_the_weights_that_made_the_truth() -> None:
    weights = [-0.5, 0.8, 0.6, -0.4]
    learned = fit_weights([simulate_sample("", weights, size=40_000, seed=1)])
    # The ridge shrinks them a little.
    assert learned == pytest.approx(weights, abs=0.05)


def test_weights_of_methods_are_not_negative() -> None:
    learned = fit_weights([simulate_sample("", [0, -1, 1, -1], size=5000, seed=2)])
    assert learned[FEATURES.index("dawid-skene")] == 0
    assert learned[FEATURES.index("popularity")] < 0


def test_the_cases_of_a_family_share_its_weight() -> None:
    world, one = (
        simulate_sample(family, [shift, 0.5, 0.5, 0], size=500, seed=3)
        for family, shift in (("", 0.0), ("a", 2.0))
    )
    assert fit_weights([world, one, one]) == pytest.approx(fit_weights([world, one]), abs=1e-3)
    other = replace(one, family="b")
    assert fit_weights([world, one, other])[0] > fit_weights([world, one])[0] + 1e-3


def test_a_family_that_is_left_out_does_not_count() -> None:
    samples = [
        simulate_sample(family, [0, 0.5, shift, 0], size=500, seed=4)
        for family, shift in (("", 0.5), ("a", 3.0), ("b", 0.5))
    ]
    learned = learn_weights(samples)
    assert set(learned) == {"everything", "worlds alone", "without a", "without b"}
    assert learned["without a"] == pytest.approx(fit_weights([samples[0], samples[2]]))


def test_sets_of_classifiers_are_one_family() -> None:
    names = ("yeast_models", "fish_models", "dog", "dog")
    files = ("votes.csv", "scores.csv.gz", "votes.csv", "scores.csv.gz")
    families = [family_of(Case(Path(name), file)) for name, file in zip(names, files, strict=True)]
    assert families == ["models", "models", "dog", "dog"]


def test_the_truth_of_pairs_is_looked_up() -> None:
    instance, label = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])
    given = GivenLabels((3, 2), instance, label, np.ones(4))
    closed = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 1.0]]))
    is_known, is_true = find_truth(given, EncodedTruth(np.array([1, 2]), closed, closed))
    assert is_known.tolist() == [False, True, True, True]
    assert is_true.tolist() == [False, False, True, True]


def test_auto_uses_the_weights_of_its_model() -> None:
    data = mhpc.load_garden()
    panel = mhpc.encode(data.votes, data.taxonomy)
    fitted = Auto().fit(SinglePartition(panel))
    changed = replace(fitted, weights=fitted.weights - np.array([1.0, 0, 0, 0]))
    before, after = (dense(model.predict(panel).score) for model in (fitted, changed))
    assert after.sum() < before.sum()
