import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.taxonomy import Taxonomy
from mhpc.methods.channel.answers import count_votes
from mhpc.methods.channel.corruption import (
    CorruptionPaths,
    NoiseModel,
    corruption_paths,
    default_noise,
)
from mhpc.methods.channel.em import (
    estimate_popularity,
    learn_noise,
    learn_source_noise,
)
from mhpc.methods.channel.inversion import first_guess
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import GARDEN, panel_of
from tests.methods.channel.reference import (
    ROWS,
    matrix_by_loops,
    random_noise,
    random_rows,
    simulated,
    tree_and_dag,
)


def test_popularity_is_the_best_fit_to_the_votes() -> None:
    model, paths, panel = random_noise(GARDEN, 0.1), corruption_paths(GARDEN), panel_of(ROWS)
    votes = dense(panel.raw).sum(axis=0) / len(panel.instance)
    fitted = estimate_popularity(count_votes(panel, panel.raw), model, paths, n_iter=2000)
    C = matrix_by_loops(GARDEN, model)

    def misfit(popularity: FloatArray) -> float:
        expected = popularity @ C
        return float(np.sum(expected - (votes + 1e-6) * np.log(expected)))

    rng = np.random.default_rng(0)
    for _ in range(20):
        assert misfit(fitted) <= misfit(fitted * rng.uniform(0.8, 1.25, 9)) + 1e-6


def learn_noise_by_loops(panel: Panel, paths: CorruptionPaths) -> NoiseModel:
    """Eight iterations, explaining one vote at a time by a dense x."""
    default = model = default_noise(paths)
    totals, votes = count_votes(panel, panel.raw), dense(panel.raw)
    popularity = estimate_popularity(totals, default, paths)
    sources = np.unique(panel.source)
    fold = np.searchsorted(sources, panel.source) % min(len(sources), 5)
    for _ in range(8):
        C = model.corruption(paths).matrix()
        counts, origins = np.zeros((paths.depth, paths.depth, 2)), np.zeros(len(popularity))
        for number in range(int(fold.max()) + 1):
            others = totals.subtract(count_votes(panel, panel.raw, fold == number))
            x = first_guess(others, model.corruption(paths), popularity)
            for a in np.flatnonzero(fold == number):
                for v in np.flatnonzero(votes[a]):
                    flow = x[panel.instance[a]] / (x[panel.instance[a]] @ C[:, v])
                    origins += flow * C[:, v]
                    for h in range(paths.depth):
                        share = model.vagueness[paths.level, h] * flow
                        up = dense(paths.up[h])[:, v]
                        sideways = dense(paths.up[h] @ paths.to_family @ paths.members)[:, v]
                        np.add.at(counts[:, h, 0], paths.level, share * (1 - model.noise) * up)
                        np.add.at(counts[:, h, 1], paths.level, share * model.noise * sideways)
        levels_up = counts.sum(axis=2) + 10 * default.vagueness
        noise = (counts[:, :, 1].sum() + 10 * default.noise) / (counts.sum() + 10)
        model = NoiseModel(levels_up / levels_up.sum(axis=1, keepdims=True), float(noise))
        popularity = origins / len(panel.instance) + 1e-6
    return model


@pytest.mark.parametrize("block_pairs", [1, 7, 1 << 21])
def test_the_noise_model_equals_that_by_loops(block_pairs: int) -> None:
    panel, paths = panel_of(random_rows(instances=20)), corruption_paths(GARDEN)
    model = learn_noise(SinglePartition(panel), paths, block_pairs=block_pairs).noise
    expected = learn_noise_by_loops(panel, paths)
    np.testing.assert_allclose(model.vagueness, expected.vagueness, atol=1e-10)
    assert model.noise == pytest.approx(expected.noise, abs=1e-10)


@tree_and_dag
def test_labels_that_nobody_gave_need_no_columns(taxonomy: Taxonomy) -> None:
    model, paths = random_noise(taxonomy, 0.2), corruption_paths(taxonomy)
    given, C = np.array([1, 3, 4]), model.corruption(paths)
    np.testing.assert_array_equal(C.columns(given), C.matrix()[:, given])
    to_given, members = paths.to_labels(given), dense(paths.members)[:, given]
    for up, to_label, to_family in zip(paths.up, to_given.up, to_given.up_to_family, strict=True):
        np.testing.assert_array_equal(dense(to_label), dense(up)[:, given])
        sideways = dense(up @ paths.to_family) @ members
        np.testing.assert_allclose(dense(to_family @ to_given.members), sideways)


def test_the_noise_model_does_not_depend_on_the_partitions() -> None:
    panel, paths = panel_of(random_rows()), corruption_paths(GARDEN)
    single = learn_noise(SinglePartition(panel), paths)
    divided = learn_noise(SinglePartition(panel, max_instances=7), paths)
    np.testing.assert_allclose(divided.corruption.matrix(), single.corruption.matrix(), atol=1e-12)
    np.testing.assert_allclose(divided.popularity, single.popularity, atol=1e-12)


def test_a_sample_of_the_instances_is_enough_for_the_noise_but_not_for_popularity() -> None:
    panel = simulated(*[mhpc.Profile(0.9, 0.7)] * 6)
    partitions, paths = SinglePartition(panel), corruption_paths(panel.taxonomy)
    learned, of_all = (
        learn_noise(partitions, paths, max_instances=150),
        learn_noise(partitions, paths),
    )
    of_sample = learn_noise(SinglePartition(partitions.sample(150)), paths)
    assert learned.noise.noise == of_sample.noise.noise != of_all.noise.noise
    assert learned.noise.noise == pytest.approx(of_all.noise.noise, abs=0.05)
    votes = count_votes(panel, panel.raw)
    np.testing.assert_allclose(
        learned.popularity, estimate_popularity(votes, learned.noise, paths), atol=1e-12
    )


def vagueness_of(specificity: float, paths: CorruptionPaths) -> FloatArray:
    """Algorithm 2: a label of level l is given h levels up unless it is lost above the top."""
    V = np.zeros((paths.depth, paths.depth))
    for level in range(1, paths.depth + 1):
        V[level - 1, 0] = specificity**level
        for h in range(1, level):
            V[level - 1, h] = specificity ** (level - h) - specificity ** (level - h + 1)
    return np.asarray(V / V.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("specificity", "accuracy"), [(0.95, 0.9), (0.95, 0.4), (0.7, 0.9)])
def test_the_learned_noise_model_is_nearer_to_the_true_one_than_the_default(
    specificity: float, accuracy: float
) -> None:
    panel = simulated(*[mhpc.Profile(specificity, accuracy)] * 6)
    paths = corruption_paths(panel.taxonomy)
    default, learned = default_noise(paths), learn_noise(SinglePartition(panel), paths).noise
    assert abs(learned.noise - (1 - accuracy)) < abs(default.noise - (1 - accuracy))
    deepest = vagueness_of(specificity, paths)[-1]

    def error(model: NoiseModel) -> float:
        return float(np.abs(model.vagueness[-1] - deepest).sum())

    assert error(learned) < error(default)


def test_noisier_sources_have_more_noise() -> None:
    noisy, accurate = mhpc.Profile(0.9, 0.3), mhpc.Profile(0.9, 0.9)
    panel = simulated(accurate, noisy, accurate, noisy)
    models = learn_source_noise(panel, panel.raw, corruption_paths(panel.taxonomy))
    noise = [model.noise for model in models]
    assert max(noise[0], noise[2]) + 0.1 < min(noise[1], noise[3])


def test_vaguer_sources_give_fewer_labels_of_the_deepest_level() -> None:
    vague, exact = mhpc.Profile(0.6, 0.8), mhpc.Profile(0.95, 0.8)
    panel = simulated(exact, vague, exact, vague)
    models = learn_source_noise(panel, panel.raw, corruption_paths(panel.taxonomy))
    share = [model.vagueness[-1, 0] for model in models]
    assert min(share[0], share[2]) > 0.1 + max(share[1], share[3])


def test_a_single_source_has_the_default_noise_model() -> None:
    panel = panel_of([row for row in ROWS if row[1] == "ann"])
    paths = corruption_paths(GARDEN)
    learned, default = learn_noise(SinglePartition(panel), paths).noise, default_noise(paths)
    assert learned.noise == default.noise
    assert learned.vagueness.tolist() == default.vagueness.tolist()
