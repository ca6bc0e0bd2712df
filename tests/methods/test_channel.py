import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.encoding.gold import encode_truth
from mhpc.errors import TooLargeError
from mhpc.methods.channel import Channel
from mhpc.methods.channel import em as learn_channel
from mhpc.methods.channel.corruption import (
    CorruptionPaths,
    NoiseModel,
    corruption_paths,
    count_paths,
    default_noise,
)
from mhpc.methods.channel.em import (
    LOST,
    count_votes,
    first_guess,
    habits_of_sources,
    learn_noise,
    origins,
    popular,
    read_answers,
)
from mhpc.methods.memory import check_memory
from mhpc.methods.source_weights import weight_answers
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.numerics.neighbors import reach
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import DAG, GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("p1", "ann", "monarda"), ("p1", "bob", "flower"), ("p1", "cid", "fuchsia"),
    ("p2", "ann", "oak"), ("p2", "bob", "tree"), ("p2", "bob", "finch"),
    ("p3", "cid", "bird"), ("p3", "ann", None),
    ("p4", "bob", "monarda"), ("p4", "cid", "monarda"),
]  # fmt: skip

both_shapes = pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "dag"])


def some_habits(taxonomy: Taxonomy, noise: float, seed: int = 0) -> NoiseModel:
    depth = int(taxonomy.depth.max())
    shares = np.tril(np.random.default_rng(seed).uniform(0.1, 1, (depth, depth)))
    return NoiseModel(shares / shares.sum(axis=1, keepdims=True), noise)


def channel_by_loops(taxonomy: Taxonomy, habits: NoiseModel) -> FloatArray:
    """Walk every way up from every label, then every way aside."""
    K = len(taxonomy)
    C = np.zeros((K, K))

    def walk(label: int, hops: int) -> dict[int, float]:
        above = taxonomy.parents_of(label)
        if not hops or not len(above):
            return {label: 1.0}
        reached: dict[int, float] = {}
        for parent in above:
            for end, share in walk(int(parent), hops - 1).items():
                reached[end] = reached.get(end, 0.0) + share / len(above)
        return reached

    def sideways(label: int) -> dict[int, float]:
        above = taxonomy.parents_of(label)
        if not len(above):
            return {int(root): 1 / len(taxonomy.roots) for root in taxonomy.roots}
        drawn: dict[int, float] = {}
        for parent in above:
            children = taxonomy.children_of(int(parent))
            for child in children:
                share = 1 / len(above) / len(children)
                drawn[int(child)] = drawn.get(int(child), 0.0) + share
        return drawn

    for t in range(K):
        for h in range(int(taxonomy.depth[t])):
            for reached, share in walk(t, h).items():
                share *= habits.vagueness[taxonomy.depth[t] - 1, h]
                C[t, reached] += share * (1 - habits.noise)
                for drawn, part in sideways(reached).items():
                    C[t, drawn] += share * habits.noise * part
    return C


@both_shapes
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_the_channel_is_every_way_up_and_aside(taxonomy: Taxonomy, noise: float) -> None:
    habits = some_habits(taxonomy, noise)
    C = dense(habits.matrix(corruption_paths(taxonomy)))
    np.testing.assert_allclose(C, channel_by_loops(taxonomy, habits), atol=1e-14)
    np.testing.assert_allclose(C.sum(axis=1), 1.0)


@given(st.integers(0, 10**6), st.floats(0, 1))
def test_whatever_the_hierarchy_a_source_says_something(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    labels = [f"k{k}" for k in range(8)]
    edges = [(labels[k], labels[p]) for k in range(8) for p in range(k) if rng.random() < 0.25]
    taxonomy = build_taxonomy(labels, edges)
    C = dense(some_habits(taxonomy, noise, seed).matrix(corruption_paths(taxonomy)))
    np.testing.assert_allclose(C.sum(axis=1), 1.0)
    assert C.min() >= 0


def test_a_source_without_habits_says_what_is_true() -> None:
    hops = corruption_paths(GARDEN)
    exact = NoiseModel(np.eye(3)[[0, 0, 0]], 0.0)
    np.testing.assert_allclose(dense(exact.matrix(hops)), np.eye(9))


def test_usually_each_hop_is_half_as_likely_as_the_last() -> None:
    expected = np.array([[1, 0, 0], [2 / 3, 1 / 3, 0], [4 / 7, 2 / 7, 1 / 7]])
    np.testing.assert_allclose(default_noise(corruption_paths(GARDEN)).vagueness, expected)


def test_origins_are_bayes_rule() -> None:
    C = some_habits(GARDEN, 0.3).matrix(corruption_paths(GARDEN))
    often = np.linspace(0.1, 0.9, 9)
    found, said = dense(origins(C, often)), dense(C)
    for v in range(9):
        for t in range(9):
            expected = often[t] * said[t, v] / sum(often[s] * said[s, v] for s in range(9))
            assert found[v, t] == pytest.approx(expected)


def test_popularity_is_what_the_channel_turns_into_what_is_said() -> None:
    habits, hops = some_habits(GARDEN, 0.1), corruption_paths(GARDEN)
    panel = panel_of(ROWS)
    votes = count_votes(panel, panel.raw)
    said = dense(panel.raw).sum(axis=0) / len(panel.instance)
    found = popular(votes, habits, hops, rounds=2000)
    C = channel_by_loops(GARDEN, habits)

    def misfit(popularity: FloatArray) -> float:
        expected = popularity @ C
        return float(np.sum(expected - (said + 1e-6) * np.log(expected)))

    rng = np.random.default_rng(0)
    for _ in range(20):
        assert misfit(found) <= misfit(found * rng.uniform(0.8, 1.25, 9)) + 1e-6


def guess_by_loops(
    panel: Panel, folder_lock: FloatArray, C: FloatArray, often: FloatArray
) -> FloatArray:
    N, K = len(panel.instances), len(often)
    x = np.zeros((N, K))
    for i in range(N):
        answers = np.flatnonzero(panel.instance == i)
        for v in range(K):
            back = often * C[:, v] / (often @ C[:, v])
            x[i] += folder_lock[answers, v].mean() * back
        lost = LOST ** len(answers)
        x[i] = (1 - lost) * x[i] + lost * often
    return x


def step_by_loops(
    panel: Panel, folder_lock: FloatArray, C: FloatArray, often: FloatArray, x: FloatArray,
    means: FloatArray, method: Channel,
) -> FloatArray:  # fmt: skip
    result = np.zeros_like(x)
    for i in range(len(x)):
        answers = np.flatnonzero(panel.instance == i)
        n = len(answers)
        around = (1 - method.popularity) * means[i] @ x + method.popularity * often
        likely = (n * x[i] + method.prior * around) / (n + method.prior)
        for t in range(len(often)):
            for v in range(len(often)):
                share = likely[t] * C[t, v] / (likely @ C[:, v]) if C[t, v] else 0.0
                result[i, t] += folder_lock[answers, v].mean() * share
        lost = LOST**n
        result[i] = (1 - lost) * result[i] + lost * likely
    return result


def means_of_others(X: FloatArray, neighbours: int) -> FloatArray:
    """Weights by which rows average their nearest others; each row sums to 1, or to 0."""
    V = len(X)
    far = np.array([[np.sqrt(np.sum((one - other) ** 2)) for other in X] for one in X])
    found = np.zeros((V, V))
    sigma = reach(X)
    for i in range(V):
        others = sorted((j for j in range(V) if j != i), key=lambda j: (far[i, j], j))[:neighbours]
        found[i, others] = np.exp(-far[i, others] / sigma)
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


@both_shapes
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_steps_are_bayes_rule_for_every_vote_in_turn(taxonomy: Taxonomy, steps: int) -> None:
    rows: list[Row] = ROWS if taxonomy is GARDEN else [
        ("x", "s", "d"), ("x", "t", "c"), ("y", "s", "e"), ("y", "t", "a"), ("z", "t", "d"),
    ]  # fmt: skip
    panel, hops = panel_of(rows, taxonomy), corruption_paths(taxonomy)
    method = Channel(steps=steps, n_neighbors=2, prior=3.0, popularity=0.2)
    habits = learn_noise(SinglePartition(panel), hops).habits
    often = popular(count_votes(panel, panel.raw), habits, hops)
    C = channel_by_loops(taxonomy, habits)
    means = means_of_others(dense(panel.mean("augmented", "answers")), neighbours=2)
    folder_lock = dense(panel.raw)
    x = guess_by_loops(panel, folder_lock, C, often)
    for _ in range(steps):
        x = step_by_loops(panel, folder_lock, C, often, x, means, method)
    found = method.consolidate(panel)
    np.testing.assert_allclose(dense(found.specific), x, atol=1e-10)
    below = dense(taxonomy.closure)
    np.testing.assert_allclose(dense(found.score), 1 - np.exp(-x @ below), atol=1e-10)
    np.testing.assert_allclose(dense(found.predict_answers("specific")), x @ C, atol=1e-10)
    np.testing.assert_allclose(dense(found.predict_answers("closed")), 1 - np.exp(-x @ C @ below))


def test_a_model_that_scores_a_path_claims_its_end() -> None:
    panel = panel_of([("p", "ann", "plant", 0.9), ("p", "ann", "flower", 0.8)])
    folder_lock = dense(read_answers(panel))[0]
    at = GARDEN.labels.positions
    assert folder_lock[at["flower"]] == pytest.approx(0.8)
    assert folder_lock[at["plant"]] == pytest.approx(0.1)
    sets = panel_of([("p", "ann", "plant"), ("p", "ann", "flower")])
    assert read_answers(sets) is sets.raw


def test_without_the_answers_of_one_only_the_others_are_left() -> None:
    panel = panel_of(ROWS)
    ann = panel.source == panel.sources.positions["ann"]
    rest = count_votes(panel, panel.raw).without(count_votes(panel, panel.raw, ann))
    others = count_votes(panel, panel.raw, ~ann)
    np.testing.assert_allclose(dense(rest.votes), dense(others.votes))
    assert rest.answers.tolist() == others.answers.tolist()


def test_a_tally_counts_answers_by_their_weight() -> None:
    panel = panel_of([("x", "s", "d"), ("x", "t", "d"), ("y", "t", "e")], DAG)
    found = count_votes(replace(panel, weight=np.array([0.5, 2.0, 1.0])), panel.raw)
    assert found.answers.tolist() == [2.5, 1.0]
    assert dense(found.votes)[:, 3:].tolist() == [[2.5, 0.0], [0.0, 1.0]]


def simulated(*profiles: mhpc.Profile, seed: int = 0) -> Panel:
    garden = mhpc.load_garden()
    votes = mhpc.simulate(garden.truth, garden.taxonomy, profiles, seed=seed)
    return mhpc.encode(votes, garden.taxonomy, instances=garden.truth.instances)


def vagueness_of(specificity: float, hops: CorruptionPaths) -> FloatArray:
    """Algorithm 2: a label of level l is said h levels up unless it is lost above the top."""
    V = np.zeros((hops.depth, hops.depth))
    for level in range(1, hops.depth + 1):
        V[level - 1, 0] = specificity**level
        for h in range(1, level):
            V[level - 1, h] = specificity ** (level - h) - specificity ** (level - h + 1)
    return np.asarray(V / V.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("specificity", "accuracy"), [(0.95, 0.9), (0.95, 0.4), (0.7, 0.9)])
def test_learnt_habits_move_from_what_is_usual_towards_the_truth(
    specificity: float, accuracy: float
) -> None:
    panel = simulated(*[mhpc.Profile(specificity, accuracy)] * 6)
    hops = corruption_paths(panel.taxonomy)
    usual, found = default_noise(hops), learn_noise(SinglePartition(panel), hops).habits
    assert abs(found.noise - (1 - accuracy)) < abs(usual.noise - (1 - accuracy))
    true = vagueness_of(specificity, hops)
    lowest = hops.depth - 1

    def off(habits: NoiseModel) -> float:
        return float(np.abs(habits.vagueness[lowest] - true[lowest]).sum())

    assert off(found) < off(usual)


def test_the_noisier_source_is_found_noisier() -> None:
    noisy, sound = mhpc.Profile(0.9, 0.3), mhpc.Profile(0.9, 0.9)
    panel = simulated(sound, noisy, sound, noisy)
    found = [h.noise for h in habits_of_sources(panel, panel.raw, corruption_paths(panel.taxonomy))]
    assert max(found[0], found[2]) + 0.1 < min(found[1], found[3])


def test_the_vaguer_source_is_found_vaguer() -> None:
    vague, exact = mhpc.Profile(0.6, 0.8), mhpc.Profile(0.95, 0.8)
    panel = simulated(exact, vague, exact, vague)
    hops = corruption_paths(panel.taxonomy)
    found = [h.vagueness[-1, 0] for h in habits_of_sources(panel, panel.raw, hops)]
    assert min(found[0], found[2]) > 0.1 + max(found[1], found[3])


@pytest.mark.parametrize("seed", range(3))
def test_the_channel_ranks_true_labels_better_than_averaging(seed: int) -> None:
    panel = simulated(*[mhpc.Profile(0.8, 0.5)] * 4, seed=seed)
    truth = encode_truth(mhpc.load_garden().truth, panel.taxonomy, panel.instances)
    channel, averaged = Channel().consolidate(panel), mhpc.SA().consolidate(panel)
    augmented = mhpc.SA(votes="augmented").consolidate(panel)
    specific = [ranking_loss(truth.specific, each.specific) for each in (channel, averaged)]
    assert specific[0] < specific[1]
    closed = [ranking_loss(truth.closed, each.score) for each in (channel, augmented)]
    assert closed[0] < closed[1]


def test_with_one_source_habits_are_the_usual_ones() -> None:
    panel = panel_of([row for row in ROWS if row[1] == "ann"])
    hops = corruption_paths(GARDEN)
    found, usual = learn_noise(SinglePartition(panel), hops).habits, default_noise(hops)
    assert found.noise == usual.noise
    assert found.vagueness.tolist() == usual.vagueness.tolist()
    score = dense(Channel().consolidate(panel).score)
    assert score[0].argmax() in GARDEN.ancestors_of(GARDEN.labels.positions["monarda"])


@both_shapes
def test_a_parent_is_never_below_its_child(taxonomy: Taxonomy) -> None:
    rng = np.random.default_rng(0)
    rows: list[Row] = [
        (f"x{i}", s, str(rng.choice(taxonomy.labels.ids))) for i in range(20) for s in "stu"
    ]
    found = Channel().consolidate(panel_of(rows, taxonomy))
    child, parent = taxonomy.parents.nonzero()
    for scores in (dense(found.score), dense(found.predict_answers("closed"))):
        assert (scores[:, child] <= scores[:, parent]).all()
        assert ((scores >= 0) & (scores <= 1)).all()


def test_an_instance_that_nobody_answered_scores_zero_in_all_views() -> None:
    found = Channel().consolidate(panel_of(ROWS, instances=["lonely"]))
    for view in ("closed", "specific"):
        assert not dense(found.view(view))[4].any()
        assert not dense(found.predict_answers(view))[4].any()


def test_an_unanswered_instance_is_nobodys_neighbour() -> None:
    # Far more unanswered than answered ones: as rows of zeros they would be near to p3.
    method = Channel(n_neighbors=2)
    without = method.consolidate(panel_of(ROWS))
    lonely = [f"lonely {i}" for i in range(20)]
    crowded = method.consolidate(panel_of(ROWS, instances=lonely))
    np.testing.assert_allclose(dense(crowded.score)[:4], dense(without.score), atol=1e-13)


def test_weights_of_one_change_nothing() -> None:
    panel = panel_of(ROWS)
    ones = replace(panel, weight=np.ones(len(panel.instance)))
    here, there = (dense(Channel().consolidate(each).score) for each in (panel, ones))
    np.testing.assert_allclose(there, here, atol=1e-12)


def test_a_first_guess_for_nobodys_answer_is_popularity() -> None:
    panel = panel_of(ROWS, instances=["lonely"])
    habits, hops = some_habits(GARDEN, 0.3), corruption_paths(GARDEN)
    votes, C = count_votes(panel, panel.raw), habits.matrix(hops)
    often = popular(votes, habits, hops)
    np.testing.assert_allclose(first_guess(votes, C, often)[4], LOST * often)


def test_habits_can_be_read_by_source() -> None:
    data = mhpc.load_garden()
    profiles = [mhpc.Profile(0.95, 0.9)] * 2 + [mhpc.Profile(0.6, 0.3)] * 2
    votes = mhpc.simulate(data.truth, data.taxonomy, profiles, seed=0)
    habits = mhpc.Channel().noise(mhpc.encode(votes, data.taxonomy))
    assert list(habits) == ["s1", "s2", "s3", "s4"]
    assert max(habits[s].noise for s in ("s1", "s2")) < min(habits[s].noise for s in ("s3", "s4"))
    # Of the deepest labels the vague ones are said as they are less often.
    assert habits["s3"].vagueness[-1, 0] < habits["s1"].vagueness[-1, 0]


def many_rows(*, instances: int = 60, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        (f"x{i}", f"s{s}", str(rng.choice(GARDEN.labels.ids)))
        for i in range(instances)
        for s in rng.choice(5, size=rng.integers(1, 5), replace=False)
    ]


def explained_densely(panel: Panel, hops: CorruptionPaths) -> NoiseModel:
    """Eight rounds with every instance's x written out: votes by true and said label."""
    usual = habits = default_noise(hops)
    everyone, folder_lock = count_votes(panel, panel.raw), dense(panel.raw)
    often = popular(everyone, usual, hops)
    sources = np.unique(panel.source)
    fold = np.searchsorted(sources, panel.source) % min(len(sources), 5)
    for _ in range(8):
        C = dense(habits.matrix(hops))
        counts, origin = np.zeros((hops.depth, hops.depth, 2)), np.zeros(len(often))
        for at in range(int(fold.max()) + 1):
            rest = everyone.without(count_votes(panel, panel.raw, fold == at))
            x = first_guess(rest, habits.matrix(hops), often)
            for a in np.flatnonzero(fold == at):
                for v in np.flatnonzero(folder_lock[a]):
                    flow = x[panel.instance[a]] / (x[panel.instance[a]] @ C[:, v])
                    origin += flow * C[:, v]
                    for h in range(hops.depth):
                        share = habits.vagueness[hops.level, h] * flow
                        up, sideways = dense(hops.up[h])[:, v], dense(hops.sideways[h])[:, v]
                        np.add.at(counts[:, h, 0], hops.level, share * (1 - habits.noise) * up)
                        np.add.at(counts[:, h, 1], hops.level, share * habits.noise * sideways)
        hopped = counts.sum(axis=2) + 10 * usual.vagueness
        noise = (counts[:, :, 1].sum() + 10 * usual.noise) / (counts.sum() + 10)
        habits = NoiseModel(hopped / hopped.sum(axis=1, keepdims=True), float(noise))
        often = origin / len(panel.instance) + 1e-6
    return habits


@pytest.mark.parametrize("pairs", [1, 7, 1 << 21])
def test_habits_are_what_explaining_vote_by_vote_gives(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn_channel, "_PAIRS", pairs)
    panel, hops = panel_of(many_rows(instances=20)), corruption_paths(GARDEN)
    found, expected = (
        learn_noise(SinglePartition(panel), hops).habits,
        explained_densely(panel, hops),
    )
    np.testing.assert_allclose(found.vagueness, expected.vagueness, atol=1e-10)
    assert found.noise == pytest.approx(expected.noise, abs=1e-10)


def test_what_is_learnt_does_not_depend_on_how_instances_are_divided() -> None:
    panel, hops = panel_of(many_rows()), corruption_paths(GARDEN)
    whole = learn_noise(SinglePartition(panel), hops)
    divided = learn_noise(SinglePartition(panel, max_instances=7), hops)
    np.testing.assert_allclose(divided.C.toarray(), whole.C.toarray(), atol=1e-12)
    np.testing.assert_allclose(divided.popularity, whole.popularity, atol=1e-12)


@pytest.mark.parametrize("landmarks", [20, 1000], ids=["some", "all"])
def test_what_is_fitted_concludes_on_instances_one_at_a_time(landmarks: int) -> None:
    panel = panel_of(many_rows())
    fitted = Channel(landmarks=landmarks, steps=2, n_neighbors=3).fit(SinglePartition(panel))
    whole = fitted.predict(panel)
    sent = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    for i in range(len(panel.instances)):
        alone = sent.predict(panel.select_instances(np.array([i])))
        np.testing.assert_allclose(dense(alone.score)[0], dense(whole.score)[i], atol=1e-12)
        np.testing.assert_allclose(dense(alone.specific)[0], dense(whole.specific)[i], atol=1e-12)


def test_others_average_their_nearest_landmarks_and_landmarks_never_themselves() -> None:
    panel, hops = panel_of(many_rows()), corruption_paths(GARDEN)
    method = Channel(landmarks=25, n_neighbors=3)
    chosen = SinglePartition(panel).sample(25).instances.ids
    learnt = learn_noise(SinglePartition(panel), hops)
    C, often = learnt.C, learnt.popularity
    x = first_guess(count_votes(panel, panel.raw), C, often)
    X = dense(panel.mean("augmented", "answers"))
    at = [i for i, id_ in enumerate(panel.instances) if id_ in chosen]
    sigma = reach(X[at])
    means = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        far = {j: round(float(np.sum((X[i] - X[j]) ** 2)), 12) for j in at if j != i}
        for j in sorted(far, key=lambda j: (far[j], j))[:3]:
            means[i, j] = np.exp(-np.sqrt(far[j]) / sigma)
    means /= means.sum(axis=1, keepdims=True)
    expected = step_by_loops(panel, dense(panel.raw), dense(C), often, x, means, method)
    np.testing.assert_allclose(dense(method.consolidate(panel).specific), expected, atol=1e-8)


@pytest.mark.parametrize("sparse_from", [0, 10**9], ids=["dense", "sparse"])
def test_sparse_and_dense_products_give_the_same(
    sparse_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = panel_of(many_rows())
    here = dense(Channel().consolidate(panel).score)
    monkeypatch.setattr(learn_channel, "_SPARSE", sparse_from)
    there = dense(Channel().consolidate(panel).score)
    np.testing.assert_allclose(there, here, atol=1e-12)


@both_shapes
def test_ways_are_counted_without_being_made(taxonomy: Taxonomy) -> None:
    made = sum(sideways.nnz for sideways in corruption_paths(taxonomy).sideways)
    # With several parents siblings may be shared, and are then counted twice or by half.
    assert count_paths(taxonomy) == pytest.approx(made, rel=0.1 if taxonomy is DAG else 0)


def test_more_siblings_than_fit_are_refused_before_anything_is_made() -> None:
    labels = [f"k{i}" for i in range(1000)]
    panel = panel_of([("x", "s", "k1")], build_taxonomy(labels, []))
    with (
        use_memory_budget(10_000_000),
        pytest.raises(TooLargeError, match="1,000,000 ways in which 1,000 labels.*--memory"),
    ):
        check_memory(mhpc.Channel(), SinglePartition(panel))


def test_among_hundreds_of_siblings_products_are_dense_and_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = [f"k{i}" for i in range(30)]
    rows: list[Row] = [(f"x{i}", f"s{s}", f"k{i + s}") for i in range(9) for s in range(3)]
    panel = panel_of(rows, build_taxonomy(labels, []))
    found = dense(mhpc.Channel().consolidate(panel).score)
    monkeypatch.setattr(learn_channel, "_FULL", 0)
    np.testing.assert_allclose(dense(mhpc.Channel().consolidate(panel).score), found, rtol=1e-9)


def test_habits_of_independent_sources_are_those_of_the_panel_as_it_is_heard() -> None:
    panel = panel_of(many_rows())
    alone = mhpc.Channel(source_weights="learned").noise(panel)
    for name, habits in mhpc.Channel().noise(weight_answers(panel)).items():
        assert habits.noise == alone[name].noise
    assert alone != mhpc.Channel().noise(panel)
