"""Negative votes lower scores, by the same rule for every method."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.denials import DenialWeights
from mhpc.data.panel import Panel
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy
from mhpc.encoding.denials import _lower_block, apply_denials, weigh_denials
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.methods.registry import METHODS
from mhpc.numerics.arrays import FloatArray, Matrix, Rows, dense
from mhpc.read.truth import read_truth
from mhpc.steps import fit_and_score
from tests.fixtures.build import DAG, GARDEN, Row, panel_of, votes_of

BAD = tuple((f"bad {number}", 0.2) for number in range(3))

FLOWERS: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "fuchsia")]


def consolidation(panel: Panel, score: Matrix, specific: Matrix | None = None) -> Consolidation:
    specific = score if specific is None else specific
    return Consolidation(panel.taxonomy, panel.instances, score, specific, "made up")


def scores_of(**values: float) -> FloatArray:
    score = np.zeros((1, len(GARDEN)))
    for label, value in values.items():
        score[0, GARDEN.labels.positions[label]] = value
    return score


def slow_twin(
    panel: Panel, score: FloatArray, specific: FloatArray, weights: DenialWeights
) -> tuple[FloatArray, FloatArray]:
    """Apply denials label by label; every one of them adds something."""
    above = dense(panel.taxonomy.closure) > 0
    denials = panel.denials
    assert denials is not None
    factor = np.ones(score.shape)
    for i, k in set(zip(denials.instance.tolist(), denials.label.tolist(), strict=True)):
        own = (denials.instance == i) & (denials.label == k)
        d = float((denials.score[own] * weights.source[denials.source[own]]).sum())
        n = float(weights.source[panel.source[panel.instance == i]].sum())
        n = max(n, float(weights.source.mean()))
        factor[i, above[:, k]] *= (n / (n + d)) ** weights.exponent
    lowered, kept = score * factor, specific * factor
    result = kept.copy()
    for p in range(len(panel.taxonomy)):
        children = panel.taxonomy.children_of(p)
        for i in range(len(score)):
            lost = sum(score[i, c] * (factor[i, p] - factor[i, c]) for c in children)
            best = max((lowered[i, c] for c in children), default=0.0)
            result[i, p] += min(lost, max(lowered[i, p] - best - kept[i, p], 0.0))
    return lowered, result


def equal_weights(panel: Panel) -> DenialWeights:
    return DenialWeights(np.ones(len(panel.sources)), 1.0)


def random_case(taxonomy: Taxonomy, seed: int) -> tuple[Panel, FloatArray, FloatArray]:
    """Return instances with answers of s0 and s1, denials of others, and consistent scores."""
    rng = np.random.default_rng(seed)
    labels = taxonomy.labels.ids
    rows: list[Row] = [
        (f"x{i}", f"s{s}", str(rng.choice(labels))) for i in range(12) for s in range(2)
    ]
    denied: list[Row] = [
        (f"x{i}", f"d{s}", str(rng.choice(labels)), float(rng.uniform(0.2, 1)))
        for i in range(0, 12, 2)
        for s in range(3)
    ]
    panel = panel_of(rows, taxonomy, denied=denied)
    specific = rng.dirichlet(np.full(len(taxonomy), 0.3), 12)
    specific[rng.random(specific.shape) < 0.2] = 0.0
    return panel, np.minimum(specific @ dense(taxonomy.closure), 1.0), specific


@pytest.mark.parametrize("taxonomy", [GARDEN, DAG])
@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_those_of_the_slow_twin(taxonomy: Taxonomy, seed: int) -> None:
    panel, score, specific = random_case(taxonomy, seed)
    weights = DenialWeights(np.linspace(0.1, 1.5, len(panel.sources)), 0.7)
    expected = slow_twin(panel, score, specific, weights)
    for kind in (np.asarray, sparse.csr_array):
        actual = apply_denials(consolidation(panel, kind(score), kind(specific)), panel, weights)
        for view, other in zip((actual.score, actual.specific), expected, strict=True):
            assert isinstance(view, np.ndarray) == (kind is np.asarray)
            np.testing.assert_allclose(dense(view), other, atol=1e-12)
    above = dense(taxonomy.closure) > 0
    lowered = dense(actual.score)
    for label in range(len(taxonomy)):
        assert (lowered[:, [label]] <= lowered[:, above[label]] + 1e-12).all()
    assert (dense(actual.specific) <= lowered + 1e-12).all()


def test_rows_that_are_computed_when_they_are_read_are_lowered_too() -> None:
    panel, score, specific = random_case(GARDEN, 5)
    weights = equal_weights(panel)
    lazy = [Rows(score.shape, partial(np.take, matrix, axis=0)) for matrix in (score, specific)]
    expected = apply_denials(consolidation(panel, score, specific), panel, weights)
    actual = apply_denials(consolidation(panel, *lazy), panel, weights)
    rows = np.array([4, 1, 0])
    assert isinstance(actual.score, Rows)
    np.testing.assert_array_equal(actual.score[rows], dense(expected.score)[rows])
    np.testing.assert_array_equal(actual.specific[rows], dense(expected.specific)[rows])


def test_large_matrices_are_lowered_in_strips() -> None:
    _, score, specific = random_case(GARDEN, 6)
    ratio = np.where(np.arange(12)[:, None] % 3 == 0, -0.4, 0.0) * (score > 0.2)
    lower = partial(
        _lower_block, np.arange(12), score, specific,
        log_ratio=sparse.csr_array(ratio), taxonomy=GARDEN,
    )  # fmt: skip
    for view in (0, 1):
        np.testing.assert_array_equal(lower(view=view, strip_entries=9), lower(view=view))


def test_a_denial_is_one_more_answer_and_what_it_takes_is_left_to_the_parent() -> None:
    panel = panel_of(FLOWERS, denied=[("p", "cid", "fuchsia")])
    score = scores_of(plant=1.0, flower=0.9, fuchsia=0.6, monarda=0.3, tree=0.1)
    specific = scores_of(fuchsia=0.6, monarda=0.3, tree=0.1)
    result = apply_denials(consolidation(panel, score, specific), panel, equal_weights(panel))
    # The share of two answers becomes that of three.
    expected = scores_of(plant=1.0, flower=0.9, fuchsia=0.4, monarda=0.3, tree=0.1)
    np.testing.assert_allclose(dense(result.score), expected)
    expected = scores_of(flower=0.2, fuchsia=0.4, monarda=0.3, tree=0.1)
    np.testing.assert_allclose(dense(result.specific), expected)


def test_two_of_three_who_deny_a_label_outvote_the_one_who_gives_it() -> None:
    panel = panel_of([("p", "ann", "oak")], denied=[("p", "bob", "oak"), ("p", "cid", "oak", 0.5)])
    score = scores_of(plant=1.0, tree=1.0, oak=1.0)
    result = apply_denials(consolidation(panel, score), panel, equal_weights(panel))
    expected = scores_of(plant=1.0, tree=1.0, oak=1 / 2.5)
    np.testing.assert_allclose(dense(result.score), expected)


def test_only_answers_that_could_give_the_label_weigh_against_a_denial() -> None:
    rows: list[Row] = [("p", "ann", "oak"), ("p", "bob", "finch"), ("p", "cid", "finch")]
    panel = panel_of(rows, denied=[("p", "dee", "oak")], scope="used")
    score = scores_of(plant=1.0, tree=1.0, oak=1.0, finch=0.5)
    result = apply_denials(consolidation(panel, score), panel, equal_weights(panel))
    expected = scores_of(plant=1.0, tree=1.0, oak=0.5, finch=0.5)
    np.testing.assert_allclose(dense(result.score), expected)


def test_denying_a_label_and_its_descendant_is_one_denial() -> None:
    score = scores_of(plant=1.0, flower=0.9, fuchsia=0.6)
    once = panel_of(FLOWERS, denied=[("p", "cid", "flower", 0.8)])
    twice = panel_of(FLOWERS, denied=[("p", "cid", "flower", 0.8), ("p", "cid", "fuchsia", 0.8)])
    surer = panel_of(FLOWERS, denied=[("p", "cid", "flower", 0.8), ("p", "cid", "fuchsia", 0.9)])
    first, second, third = (
        dense(apply_denials(consolidation(panel, score), panel, equal_weights(panel)).score)
        for panel in (once, twice, surer)
    )
    np.testing.assert_array_equal(first, second)
    assert third[0, GARDEN.labels.positions["fuchsia"]] < second[0, 3]


@pytest.mark.parametrize(
    ("answer", "adds"), [("monarda", False), (None, False), ("oak", False), ("flower", True)]
)
def test_a_denial_adds_nothing_to_an_answer_that_is_against_the_label(
    answer: str | None, adds: bool
) -> None:
    rows: list[Row] = [("p", "ann", "fuchsia"), ("p", "bob", answer)]
    panel = panel_of(rows, denied=[("p", "bob", "fuchsia")])
    score = scores_of(plant=1.0, flower=1.0, fuchsia=0.5)
    result = apply_denials(consolidation(panel, score), panel, equal_weights(panel))
    assert (dense(result.score)[0, 3] < 0.5) == adds


def test_a_denial_of_a_label_outside_the_scope_of_its_source_adds_something() -> None:
    panel = panel_of([("p", "ann", "fuchsia"), ("p", "bob", "oak")], scope="used")
    denials = panel_of(FLOWERS[:1], denied=[("p", "bob", "fuchsia")]).denials
    score = scores_of(plant=1.0, flower=1.0, fuchsia=0.5)
    result = apply_denials(
        consolidation(panel, score), replace(panel, denials=denials), equal_weights(panel)
    )
    assert dense(result.score)[0, 3] < 0.5


def test_gold_labels_cannot_be_denied() -> None:
    panel = panel_of(FLOWERS, denied=[("p", "cid", "fuchsia")])
    gold = encode_truth(
        read_truth({"instance": ["p"], "label": ["fuchsia"]}), GARDEN, panel.instances
    )
    scores = fit_and_score(mhpc.Majority(), append_gold_source(panel, gold))
    assert dense(scores.score)[0].tolist() == scores_of(plant=1, flower=1, fuchsia=1)[0].tolist()


def test_a_denial_counts_as_much_as_its_source_is_right() -> None:
    panel = panel_of(
        [
            *[(f"x{i}", source, "oak") for i in range(30) for source in ("ann", "bob", "dan")],
            *[(f"x{i}", "cid", "finch") for i in range(30)],
        ],
        denied=[("x0", "eve", "oak")],
    )
    average = mhpc.SA(votes="augmented").consolidate(panel)
    weights = weigh_denials(average, sparse.csr_array(dense(average.score) > 0.5), panel)
    # 90 of 120 votes are right; for each source, 10 more votes count like these.
    accuracy = np.array([37.5 / 40, 37.5 / 40, 37.5 / 40, 0.6, 0.75])
    w = np.log(accuracy / (1 - accuracy))
    np.testing.assert_allclose(weights.source, w)
    # On each instance, oak has three votes of four and finch one.
    x = np.log(np.array([3 * w[0], w[3]]) / w[:4].sum())
    y = np.log([3 / 4, 1 / 4])
    covariance, variance = 30 * ((x - x.mean()) * (y - y.mean())).sum(), 30 * 2 * x.var()
    assert weights.exponent == pytest.approx((covariance + 1) / (variance + 1))


def test_scores_that_do_not_follow_the_votes_are_not_lowered() -> None:
    panel = panel_of(
        [*FLOWERS, ("q", "ann", "oak"), ("q", "bob", "oak")], denied=[("q", "cid", "oak")]
    )
    flat = consolidation(panel, np.full((2, len(GARDEN)), 0.5))
    exponents = [
        weigh_denials(flat, sparse.csr_array((2, len(GARDEN))), panel, prior_variance=v).exponent
        for v in (1e-9, 1e9)
    ]
    assert exponents == pytest.approx([0.0, 1.0], abs=1e-6)


def test_votes_below_which_the_label_set_stops_are_neither_right_nor_wrong() -> None:
    panel = panel_of([("p", "ann", "monarda"), ("p", "bob", "oak")], denied=[("p", "cid", "oak")])
    average = mhpc.SA(votes="augmented").consolidate(panel)
    least, half = (math.log(a / (1 - a)) for a in (0.6, 0.75))
    stops_at_flower = sparse.csr_array(scores_of(plant=1.0, flower=1.0))
    # Only the vote for oak is decided, and it is wrong.
    weights = weigh_denials(average, stops_at_flower, panel, prior_votes=1.0)
    assert weights.source.tolist() == pytest.approx([least] * 3)
    both = sparse.csr_array(scores_of(plant=1.0, flower=1.0, tree=1.0, oak=1.0))
    weights = weigh_denials(average, both, panel, prior_votes=1.0)
    assert weights.source.tolist() == pytest.approx([math.log(99)] * 3)
    other = sparse.csr_array(scores_of(plant=1.0, tree=1.0, oak=1.0))
    weights = weigh_denials(average, other, panel, prior_votes=1.0)
    # monarda is wrong, oak is right, half of all votes are.
    assert weights.source.tolist() == pytest.approx([least, half, least])


def crowd() -> list[Row]:
    """Return good sources, which are mostly right, and bad ones, which guess and agree on x."""
    leaves, rng = ("monarda", "fuchsia", "oak", "finch"), np.random.default_rng(0)
    rows: list[Row] = []
    for source, reliability in (*((f"good {n}", 0.9) for n in range(4)), *BAD):
        for i in range(60):
            label = leaves[i % 4] if rng.random() < reliability else str(rng.choice(leaves))
            rows.append((f"i{i}", source, label))
    return [*rows, *(("x", source, "fuchsia") for source, _ in BAD)]


@pytest.mark.parametrize("method", METHODS)
def test_a_label_that_bad_sources_chose_falls_with_every_source_that_denies_it(method: str) -> None:
    results = []
    for deniers in range(4):
        denied: list[Row] = [("x", f"good {number}", "fuchsia") for number in range(deniers)]
        votes = votes_of(crowd(), denied=denied)
        result = mhpc.consolidate(votes, GARDEN, method=method).consolidation
        row = result.instances.positions["x"]
        results.append((dense(result.score)[row], dense(result.specific)[row]))
    fuchsia = GARDEN.labels.positions["fuchsia"]
    falling = [score[fuchsia] for score, _ in results]
    assert falling == sorted(falling, reverse=True)
    assert len(set(falling)) == 4
    for score, specific in results[1:]:
        others = np.arange(len(GARDEN)) != fuchsia
        np.testing.assert_array_equal(score[others], results[0][0][others])
        assert (specific[others] >= results[0][1][others]).all()


def test_the_denials_of_a_good_source_count_more_than_those_of_a_bad_one() -> None:
    good, bad = (
        mhpc.consolidate(
            votes_of(crowd(), denied=[("i1", source, "finch"), ("x", source, "oak")]),
            GARDEN, method="dawid-skene",
        ).consolidation.denial_weights
        for source in ("good 0", "worst")
    )  # fmt: skip
    assert good is not None
    assert bad is not None
    assert good.source[0] > good.source[-1]
    assert good.source[0] > bad.source[-1]


def test_instances_with_denials_alone_have_the_scores_of_unanswered_ones() -> None:
    panel = panel_of(FLOWERS, denied=[("q", "ann", "oak")])
    scores = fit_and_score(mhpc.Majority(), panel)
    assert not dense(scores.score)[1].any()


def test_without_negative_votes_nothing_is_estimated() -> None:
    scores = fit_and_score(mhpc.Majority(), panel_of(FLOWERS, abstained=[("p", "cid")]))
    assert scores.denial_weights is None
