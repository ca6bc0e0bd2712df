import pickle
from dataclasses import replace

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import SinglePartition
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.encoding.gold import encode_truth
from mhpc.errors import TooLargeError
from mhpc.methods.channel import Channel
from mhpc.methods.channel.answers import count_votes
from mhpc.methods.channel.corruption import corruption_paths
from mhpc.methods.channel.em import estimate_popularity, learn_noise
from mhpc.methods.channel.inversion import first_guess
from mhpc.methods.memory import check_memory
from mhpc.methods.source_weights import weight_answers
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.numerics.neighbors import estimate_sigma
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import GARDEN, Row, panel_of
from tests.methods.channel.reference import (
    ROWS,
    first_guess_by_loops,
    matrix_by_loops,
    random_rows,
    simulated,
    step_by_loops,
    tree_and_dag,
)


def averaging_by_loops(X: FloatArray, n_neighbors: int) -> FloatArray:
    """Weights by which rows average their nearest others; rows add up to 1, or to 0."""
    N = len(X)
    distance = np.array([[np.sqrt(np.sum((x - y) ** 2)) for y in X] for x in X])
    weights = np.zeros((N, N))
    sigma = estimate_sigma(X)
    for i in range(N):
        order = sorted((j for j in range(N) if j != i), key=lambda j: (distance[i, j], j))
        nearest = order[:n_neighbors]
        weights[i, nearest] = np.exp(-distance[i, nearest] / sigma)
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


@tree_and_dag
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_scores_equal_those_by_loops(taxonomy: Taxonomy, steps: int) -> None:
    rows: list[Row] = ROWS if taxonomy is GARDEN else [
        ("x", "s", "d"), ("x", "t", "c"), ("y", "s", "e"), ("y", "t", "a"), ("z", "t", "d"),
    ]  # fmt: skip
    panel, paths = panel_of(rows, taxonomy), corruption_paths(taxonomy)
    method = Channel(steps=steps, n_neighbors=2, prior=3.0, popularity=0.2)
    model = learn_noise(SinglePartition(panel), paths).noise
    popularity = estimate_popularity(count_votes(panel, panel.raw), model, paths)
    C, votes = matrix_by_loops(taxonomy, model), dense(panel.raw)
    averaging = averaging_by_loops(dense(panel.mean("augmented", "answers")), n_neighbors=2)
    x = first_guess_by_loops(panel, votes, C, popularity)
    for _ in range(steps):
        x = step_by_loops(panel, votes, C, popularity, x, averaging, method)
    result, closure = method.consolidate(panel), dense(taxonomy.closure)
    np.testing.assert_allclose(dense(result.specific), x, atol=1e-10)
    np.testing.assert_allclose(dense(result.score), 1 - np.exp(-x @ closure), atol=1e-10)
    np.testing.assert_allclose(dense(result.predict_answers("specific")), x @ C, atol=1e-10)
    expected = 1 - np.exp(-x @ C @ closure)
    np.testing.assert_allclose(dense(result.predict_answers("closed")), expected)


@pytest.mark.parametrize("seed", range(3))
def test_true_labels_are_ranked_better_than_by_averaging(seed: int) -> None:
    panel = simulated(*[mhpc.Profile(0.8, 0.5)] * 4, seed=seed)
    truth = encode_truth(mhpc.load_garden().truth, panel.taxonomy, panel.instances)
    channel, averaging = Channel().consolidate(panel), mhpc.SA().consolidate(panel)
    augmented = mhpc.SA(votes="augmented").consolidate(panel)
    specific = [ranking_loss(truth.specific, result.specific) for result in (channel, averaging)]
    assert specific[0] < specific[1]
    closed = [ranking_loss(truth.closed, result.score) for result in (channel, augmented)]
    assert closed[0] < closed[1]


def test_a_single_source_is_believed() -> None:
    panel = panel_of([row for row in ROWS if row[1] == "ann"])
    score = dense(Channel().consolidate(panel).score)
    assert score[0].argmax() in GARDEN.ancestors_of(GARDEN.labels.positions["monarda"])


@tree_and_dag
def test_scores_are_probabilities_and_do_not_rise_from_parent_to_child(taxonomy: Taxonomy) -> None:
    rng = np.random.default_rng(0)
    rows: list[Row] = [
        (f"x{i}", s, str(rng.choice(taxonomy.labels.ids))) for i in range(20) for s in "stu"
    ]
    result = Channel().consolidate(panel_of(rows, taxonomy))
    child, parent = taxonomy.parents.nonzero()
    for scores in (dense(result.score), dense(result.predict_answers("closed"))):
        assert (scores[:, child] <= scores[:, parent]).all()
        assert ((scores >= 0) & (scores <= 1)).all()


def test_an_unanswered_instance_scores_zero_in_both_views() -> None:
    result = Channel().consolidate(panel_of(ROWS, instances=["unanswered"]))
    for view in ("closed", "specific"):
        assert not dense(result.view(view))[4].any()
        assert not dense(result.predict_answers(view))[4].any()


def test_an_unanswered_instance_is_no_neighbour() -> None:
    # Many more unanswered than answered instances: as rows of zeros they would be near p3.
    method = Channel(n_neighbors=2)
    expected = method.consolidate(panel_of(ROWS))
    unanswered = [f"unanswered {i}" for i in range(20)]
    result = method.consolidate(panel_of(ROWS, instances=unanswered))
    np.testing.assert_allclose(dense(result.score)[:4], dense(expected.score), atol=1e-13)


def test_weights_of_one_change_nothing() -> None:
    panel = panel_of(ROWS)
    weighted = replace(panel, weight=np.ones(len(panel.instance)))
    expected, scores = (dense(Channel().consolidate(p).score) for p in (panel, weighted))
    np.testing.assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("landmarks", [20, 1000], ids=["some", "all"])
def test_a_fitted_channel_predicts_instances_one_at_a_time(landmarks: int) -> None:
    panel = panel_of(random_rows())
    fitted = Channel(landmarks=landmarks, steps=2, n_neighbors=3).fit(SinglePartition(panel))
    expected = fitted.predict(panel)
    unpickled = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    for i in range(len(panel.instances)):
        scores = unpickled.predict(panel.select_instances(np.array([i])))
        for view in ("score", "specific"):
            row = dense(getattr(expected, view))[i]
            np.testing.assert_allclose(dense(getattr(scores, view))[0], row, atol=1e-12)


def test_instances_average_their_nearest_landmarks_but_never_themselves() -> None:
    panel, paths = panel_of(random_rows()), corruption_paths(GARDEN)
    method = Channel(landmarks=25, n_neighbors=3)
    sample = SinglePartition(panel).sample(25).instances.ids
    learned = learn_noise(SinglePartition(panel), paths)
    x = first_guess(count_votes(panel, panel.raw), learned.corruption, learned.popularity)
    X = dense(panel.mean("augmented", "answers"))
    landmarks = [i for i, id_ in enumerate(panel.instances) if id_ in sample]
    sigma = estimate_sigma(X[landmarks])
    averaging = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        square = {j: round(float(np.sum((X[i] - X[j]) ** 2)), 12) for j in landmarks if j != i}
        for j in sorted(square, key=lambda j: (square[j], j))[:3]:
            averaging[i, j] = np.exp(-np.sqrt(square[j]) / sigma)
    averaging /= averaging.sum(axis=1, keepdims=True)
    votes, C = dense(panel.raw), learned.corruption.matrix()
    expected = step_by_loops(panel, votes, C, learned.popularity, x, averaging, method)
    np.testing.assert_allclose(dense(method.consolidate(panel).specific), expected, atol=1e-8)


def test_more_labels_than_memory_allows_are_refused_at_once() -> None:
    labels = [f"k{i}" for i in range(1000)]
    panel = panel_of([("x", "s", label) for label in labels], build_taxonomy(labels, []))
    with (
        use_memory_budget(10_000_000),
        pytest.raises(TooLargeError, match="1,000,000 pairs of labels.*raise memory"),
    ):
        check_memory(mhpc.Channel(), SinglePartition(panel))


def test_the_noise_of_every_source_can_be_estimated() -> None:
    profiles = [mhpc.Profile(0.95, 0.9)] * 2 + [mhpc.Profile(0.6, 0.3)] * 2
    models = mhpc.Channel().estimate_noise(simulated(*profiles))
    assert list(models) == ["s1", "s2", "s3", "s4"]
    assert max(models[s].noise for s in ("s1", "s2")) < min(models[s].noise for s in ("s3", "s4"))
    assert models["s3"].vagueness[-1, 0] < models["s1"].vagueness[-1, 0]


def test_with_learned_weights_the_noise_is_that_of_the_weighted_panel() -> None:
    panel = simulated(*(mhpc.Profile(0.9, accuracy) for accuracy in (0.9, 0.6, 0.3)))
    learned = mhpc.Channel(source_weights="learned").estimate_noise(panel)
    weighted = mhpc.Channel().estimate_noise(weight_answers(panel))
    equal = mhpc.Channel().estimate_noise(panel)
    assert [model.noise for model in learned.values()] == [m.noise for m in weighted.values()]
    assert [model.noise for model in learned.values()] != [m.noise for m in equal.values()]
