import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mhpc.data.panel import Panel, SinglePartition
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.errors import ConvergenceWarning
from mhpc.methods.base import predict_scores
from mhpc.methods.dawid_skene import DawidSkene
from mhpc.methods.dawid_skene.answers import PairedAnswers, estimate_popularity, pair_answers
from mhpc.methods.dawid_skene.em import count_outcomes, estimate_skills, estimate_truth
from mhpc.methods.dawid_skene.score_scales import learn_scales, plain_scales
from mhpc.methods.pairs import split_panel
from mhpc.numerics.arrays import dense
from mhpc.read.truth import read_truth
from tests.fixtures.build import DAG, GARDEN, Row, panel_of
from tests.methods.dawid_skene.reference import em_by_loops, scored_panel


def random_panel(seed: int = 1, *, scoped: bool = False, weighted: bool = False) -> Panel:
    """Ten instances on a DAG; three fair sources, two that guess, one of them among b, c, d."""
    rng = np.random.default_rng(seed)
    true_labels = rng.choice(list(DAG), 10)
    rows: list[Row] = []
    for instance, label in enumerate(true_labels):
        for source in range(5):
            if rng.random() < 0.8:
                guess = str(rng.choice(["b", "c", "d"] if source == 3 else list(DAG)))
                answer = guess if source >= 3 or rng.random() < 0.2 else str(label)
                rows.append((f"i{instance}", f"s{source}", answer, float(rng.choice([0.5, 1.0]))))
    panel = panel_of(rows, DAG, scope={"s3": ("b", "c", "d")} if scoped else "all")
    return replace(panel, weight=rng.random(len(panel.instance)) + 0.2) if weighted else panel


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_equal_those_of_em_by_loops(scoped: bool, weighted: bool) -> None:
    panel = random_panel(scoped=scoped, weighted=weighted)
    with pytest.warns(ConvergenceWarning):
        consolidation = DawidSkene(tol=0, max_iter=4, prior_answers=2.0).consolidate(panel)
    np.testing.assert_allclose(
        dense(consolidation.score), em_by_loops(panel, 4, prior_answers=2.0), atol=1e-12
    )


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_graded_scores_equal_those_of_em_by_loops(scoped: bool, weighted: bool) -> None:
    panel = scored_panel(scoped=scoped, weighted=weighted)
    scales = learn_scales(SinglePartition(panel))
    assert scales.n_grades.tolist() == [3, 6, 1, 1]
    with pytest.warns(ConvergenceWarning):
        consolidation = DawidSkene(tol=0, max_iter=4).consolidate(panel)
    np.testing.assert_allclose(
        dense(consolidation.score), em_by_loops(panel, 4, scales=scales), atol=1e-12
    )


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("make_panel", [random_panel, scored_panel])
def test_scores_with_gold_labels_equal_those_of_em_by_loops(
    make_panel: Callable[..., Panel], scoped: bool
) -> None:
    panel = make_panel(scoped=scoped)
    # Nobody gives "e" to i1, and i2 has none of the labels.
    gold = read_truth({"instance": ["i0", "i1", "i1", "i2"], "label": ["d", "e", "b", None]})
    panel = append_gold_source(panel, encode_truth(gold, DAG, panel.instances))
    scales = learn_scales(SinglePartition(panel))
    with pytest.warns(ConvergenceWarning):
        consolidation = DawidSkene(tol=0, max_iter=4).consolidate(panel)
    np.testing.assert_allclose(
        dense(consolidation.score), em_by_loops(panel, 4, scales=scales), atol=1e-12
    )


def test_sources_that_contradict_gold_labels_lose_their_influence() -> None:
    # Two against two on every instance: only gold labels show who is wrong.
    rows: list[Row] = [
        (f"i{i}", source, "oak" if (i % 2 == 0) == (source in "ab") else "finch")
        for i in range(40)
        for source in "abcd"
    ]
    panel = panel_of(rows)
    gold = read_truth(
        {
            "instance": [f"i{i}" for i in range(10)],
            "label": ["finch" if i % 2 else "oak" for i in range(10)],
        }
    )
    panel = append_gold_source(panel, encode_truth(gold, GARDEN, panel.instances))
    fitted = DawidSkene().fit(SinglePartition(panel))
    score = dense(fitted.predict(panel).score)
    oak, finch = (GARDEN.labels.positions[label] for label in ("oak", "finch"))
    even = np.array([int(name[1:]) % 2 == 0 for name in panel.instances])
    assert (score[even, oak] > 0.9).all()
    assert (score[even, finch] < 0.1).all()
    assert (score[~even, finch] > 0.9).all()


def test_em_converges_to_a_fixed_point() -> None:
    panel = random_panel()
    consolidation = DawidSkene(tol=1e-12, max_iter=5000).consolidate(panel)
    assert consolidation.converged
    rounds = len(consolidation.trace)
    np.testing.assert_allclose(
        dense(consolidation.score), em_by_loops(panel, rounds + 5), atol=1e-9
    )


def pair_panel(panel: Panel) -> PairedAnswers:
    scales = plain_scales(len(panel.sources))
    return pair_answers(panel, estimate_popularity(SinglePartition(panel), scales), scales)


GOOD_AND_BAD: list[Row] = [
    (f"p{n}", source, label if source != "bob" else wrong)
    for n, (label, wrong) in enumerate(
        [("monarda", "finch"), ("oak", "monarda"), ("finch", "oak"), ("fuchsia", "finch")] * 4
    )
    for source in ("ann", "bob", "cid")
]


def test_a_sample_is_iterated_first_and_then_all_instances_twice() -> None:
    panel, method = scored_panel(), DawidSkene()
    partitions = SinglePartition(panel)
    sample = partitions.sample(5)
    assert len(panel.instances) > 3 * 5
    scales = learn_scales(partitions)
    popularity = estimate_popularity(partitions, scales)
    fitted = method.fit(partitions, n_first=5)
    skills, steps = method._iterate(SinglePartition(sample), popularity, scales)
    assert fitted.skills is not None
    for _ in range(2):
        data = pair_answers(panel, popularity, scales)
        counts = count_outcomes(data, estimate_truth(data, skills))
        skills = estimate_skills(counts, scales, prior_answers=method.prior_answers)
    np.testing.assert_allclose(fitted.skills.sensitivity, skills.sensitivity, atol=1e-12)
    np.testing.assert_allclose(fitted.skills.rate, skills.rate, atol=1e-12)
    assert len(fitted.trace) == len(steps)


def test_skills_are_expected_rates_given_probabilities_of_the_truth() -> None:
    # Roots only: ann gives plant to p and q, bob to p alone; p is a plant, q is with 1/2.
    rows: list[Row] = [("p", "ann", "plant"), ("q", "ann", "plant"), ("p", "bob", "plant")]
    data = pair_panel(panel_of([*rows, ("q", "bob", None)]))
    skills = estimate_skills(
        count_outcomes(data, np.array([1.0, 0.5])), plain_scales(2), prior_answers=1.0
    )
    # Of 3 expected true labels 2.5 are hit: the mean is (2.5 + .5) / (3 + 1) = 3/4.
    np.testing.assert_allclose(
        skills.sensitivity[:, 0], [(1.5 + 0.75) / (1.5 + 1), (1 + 0.75) / (1.5 + 1)]
    )
    # Plant is in 3 of 4 answers: (3 + .5) / (4 + 1) = .7; all others .5 / 5 = .1.
    offered = np.array([2 * 0.8 - 1.5 * 0.7] * 2)
    mean = (0.5 + 1) / (offered.sum() + 1)
    np.testing.assert_allclose(
        skills.rate[:, 0], [(0.5 + mean) / (offered[0] + 1), mean / (offered[1] + 1)]
    )


def test_an_unreliable_source_is_outvoted_even_by_a_single_reliable_one() -> None:
    rows: list[Row] = [*GOOD_AND_BAD, ("last", "ann", "fuchsia"), ("last", "bob", "oak")]
    consolidation = DawidSkene().consolidate(panel_of(rows))
    last = dict(zip(GARDEN, dense(consolidation.score)[-1], strict=True))
    assert last["fuchsia"] > 0.9
    assert last["oak"] < 0.1
    data = pair_panel(panel_of(rows))
    counts = count_outcomes(data, data.share)
    ann, bob, _ = estimate_skills(counts, plain_scales(3), prior_answers=1.0).sensitivity[:, 2]
    assert ann > bob


def test_an_answer_of_weight_zero_has_no_effect() -> None:
    panel = panel_of([*GOOD_AND_BAD, ("last", "ann", "fuchsia")])
    weight = np.where(panel.instance == panel.instances.positions["last"], 0.0, 1.0)
    scores = dense(DawidSkene().consolidate(replace(panel, weight=weight)).score)
    without = dense(DawidSkene().consolidate(panel_of(GOOD_AND_BAD)).score)
    assert not scores[-1].any()
    np.testing.assert_allclose(scores[:-1], without, atol=1e-12)


def test_a_source_without_the_label_in_scope_does_not_count_against_it() -> None:
    rows: list[Row] = [*GOOD_AND_BAD, ("last", "ann", "oak"), ("last", "dee", "flower")]
    rows += [(f"p{n}", "dee", "flower") for n in (0, 3, 4, 7)]

    def oak(scope: dict[str, tuple[str, ...]]) -> float:
        consolidation = DawidSkene().consolidate(panel_of(rows, scope=scope))
        return float(dense(consolidation.score)[-1, GARDEN.labels.positions["oak"]])

    assert oak({"dee": ("flower",)}) > oak({"dee": ("flower", "oak")})


def test_a_label_is_never_above_its_parent() -> None:
    child, parent = DAG.parents.nonzero()
    for seed in range(5):
        consolidation = DawidSkene().consolidate(random_panel(seed, scoped=True))
        scores = dense(consolidation.score)
        assert (scores[:, child] <= scores[:, parent]).all()
        assert consolidation.threshold == 0.5


def test_the_trace_has_the_change_and_spread_of_every_iteration() -> None:
    # Without hierarchy no parent is raised, so that scores are the probabilities.
    panel = panel_of([(i, s, {"monarda": "plant"}.get(str(k), "animal")) for i, s, k in
                      (row[:3] for row in GOOD_AND_BAD)])  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        consolidation = DawidSkene(tol=0, max_iter=3).consolidate(panel)
    rounds = [em_by_loops(panel, n) for n in range(4)]
    centred = [u - u.mean(axis=0) for u in rounds]
    for n, step in enumerate(consolidation.trace):
        change = np.linalg.norm(rounds[n + 1] - rounds[n]) / np.linalg.norm(rounds[n])
        assert step.change == pytest.approx(change)
        spread = np.linalg.norm(centred[n + 1]) / np.linalg.norm(centred[0])
        assert step.spread == pytest.approx(spread)


def test_without_any_label_em_converges_at_once() -> None:
    consolidation = DawidSkene().consolidate(panel_of([("p", "ann", None)]))
    assert consolidation.converged
    assert not dense(consolidation.score).any()


@pytest.mark.parametrize("make_panel", [random_panel, scored_panel], ids=["plain", "graded"])
@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_results_do_not_depend_on_how_instances_are_divided(
    make_panel: Callable[..., Panel], scoped: bool, weighted: bool
) -> None:
    panel, method = make_panel(scoped=scoped, weighted=weighted), DawidSkene()
    undivided = method.consolidate(panel)
    fitted = method.fit(SinglePartition(panel, max_instances=3))
    divided = predict_scores(method, fitted, panel, max_instances=3)
    np.testing.assert_allclose(dense(divided.score), dense(undivided.score), atol=1e-12)
    np.testing.assert_allclose(dense(divided.specific), dense(undivided.specific), atol=1e-12)
    for step, expected in zip(divided.trace, undivided.trace, strict=True):
        assert (step.change, step.spread) == pytest.approx(
            (expected.change, expected.spread), abs=1e-12
        )


@pytest.mark.parametrize("make_panel", [random_panel, scored_panel], ids=["plain", "graded"])
def test_counts_of_blocks_add_up(make_panel: Callable[..., Panel]) -> None:
    panel = make_panel(scoped=True, weighted=True)
    scales = learn_scales(SinglePartition(panel))
    popularity = estimate_popularity(SinglePartition(panel), scales)
    blocks = [pair_answers(block, popularity, scales) for block in split_panel(panel, limit=1)]
    assert len(blocks) > 1
    by_block = [count_outcomes(data, data.share) for data in blocks]
    data = pair_answers(panel, popularity, scales)
    for total, *parts in zip(count_outcomes(data, data.share), *by_block, strict=True):
        np.testing.assert_allclose(sum(parts), total, atol=1e-12)


def test_the_fitted_method_scores_a_subset_as_it_scores_all_instances() -> None:
    panel = random_panel()
    fitted = pickle.loads(pickle.dumps(DawidSkene().fit(SinglePartition(panel))))  # noqa: S301
    subset = np.array([1, 4, 7])
    np.testing.assert_allclose(
        dense(fitted.predict(panel.select_instances(subset)).score),
        dense(fitted.predict(panel).score)[subset],
        atol=1e-12,
    )


def test_the_fitted_method_keeps_nothing_of_single_instances() -> None:
    small, large = (
        panel_of([(f"{n} {i}", s, k) for n in range(copies) for i, s, k, *_ in GOOD_AND_BAD])
        for copies in (1, 20)
    )
    sizes = []
    for panel in (small, large):
        fitted = DawidSkene().fit(SinglePartition(panel))
        sizes.append(len(pickle.dumps(replace(fitted, trace=()))))
    assert sizes[0] == sizes[1]
