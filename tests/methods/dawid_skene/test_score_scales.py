from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from mhpc.data.panel import Panel, SinglePartition
from mhpc.methods.dawid_skene import DawidSkene, FittedDawidSkene
from mhpc.methods.dawid_skene.answers import Popularity, estimate_popularity, pair_answers
from mhpc.methods.dawid_skene.em import (
    count_outcomes,
    estimate_skills,
    estimate_truth,
    sum_evidence,
)
from mhpc.methods.dawid_skene.score_scales import (
    MIN_VOTES,
    ScoreScales,
    estimate_plausibility,
    find_borders,
    find_ranked,
    fit_increasing,
    learn_scales,
)
from mhpc.methods.registry import METHODS
from mhpc.numerics.arrays import FloatArray, Sparse, dense
from mhpc.system.serialization import read_frozen, write_frozen
from tests.fixtures.build import Row, panel_of
from tests.methods.dawid_skene.reference import scored_panel

LEAVES = ("monarda", "fuchsia", "oak", "finch")


def fit(panel: Panel, **parameters: float) -> FittedDawidSkene:
    fitted = DawidSkene(**parameters).fit(SinglePartition(panel))  # type: ignore[arg-type]
    assert isinstance(fitted, FittedDawidSkene)
    return fitted


def learn(panel: Panel) -> ScoreScales:
    return learn_scales(SinglePartition(panel))


def rescore(panel: Panel, source: int, convert: Callable[[FloatArray], FloatArray]) -> Panel:
    """Return the panel with converted scores of one source."""

    def change(votes: Sparse) -> Sparse:
        changed = votes.copy()
        own = np.repeat(panel.source == source, np.diff(votes.indptr))
        changed.data = np.where(own, convert(votes.data), votes.data)
        return changed

    return replace(panel, raw=change(panel.raw), augmented=change(panel.augmented))


def run_em(panel: Panel, popularity: Popularity, rounds: int = 5) -> FloatArray:
    """Run EM with a given popularity, and return the probabilities of the affirmed pairs."""
    scales, skills = learn(panel), None
    data = pair_answers(panel, popularity, scales)
    for _ in range(rounds):
        counts = count_outcomes(data, estimate_truth(data, skills))
        skills = estimate_skills(counts, scales, prior_answers=1.0)
    return estimate_truth(data, skills)


# Grades


def test_few_distinct_scores_are_one_grade_each() -> None:
    borders = find_borders(np.array([0.1, 0.2, 0.6, 1.0]), np.array([97, 1, 1, 1]))
    np.testing.assert_allclose(borders, [0.15, 0.4, 0.8])


def test_many_distinct_scores_are_grades_of_equal_size() -> None:
    score = np.arange(1, 81) / 100
    borders = find_borders(score, np.full(80, 2))
    np.testing.assert_allclose(borders, np.arange(10, 80, 10) / 100 + 0.005)


def test_many_distinct_scores_have_two_grades_even_if_most_are_the_lowest() -> None:
    count = np.array([1000] + [1] * 19)
    assert find_borders(np.arange(1, 21) / 20, count).tolist() == [pytest.approx(0.075)]


def test_a_source_has_at_most_one_grade_per_fifteen_votes() -> None:
    score = np.arange(1, 6) / 5
    assert len(find_borders(score, np.full(5, 6))) == 1
    assert len(find_borders(score, np.full(5, 14))) == 3
    assert len(find_borders(score, np.full(5, 15))) == 4


def test_a_source_with_too_few_votes_has_no_grades() -> None:
    score = np.array([0.5, 1.0])
    assert not len(find_borders(score, np.array([MIN_VOTES - 2, 1])))
    assert len(find_borders(score, np.array([MIN_VOTES - 1, 1]))) == 1


def test_adjacent_numbers_are_different_grades() -> None:
    score = np.array([0.3, np.nextafter(0.3, 1), np.nextafter(np.nextafter(0.3, 1), 1)])
    borders = find_borders(score, np.full(3, 20))
    assert np.searchsorted(borders, score, side="right").tolist() == [0, 1, 2]


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.sampled_from([0.0, 0.5, 1.0, 2.0])), min_size=1, max_size=8
    )
)
def test_fit_increasing_is_isotonic_regression(pairs: list[tuple[float, float]]) -> None:
    values, weights = np.array([(1.0, 1.0), *pairs]).T
    fitted = fit_increasing(values[np.newaxis], weights[np.newaxis])[0]
    counted = weights > 0
    expected = isotonic_regression(values[counted], weights=weights[counted]).x
    np.testing.assert_allclose(fitted[counted], expected, atol=1e-12)
    assert (np.diff(fitted) >= 0).all()


@settings(max_examples=25)
@given(st.sampled_from([0, 1]), st.floats(0.2, 5), st.floats(0.05, 1), st.integers(0, 20))
def test_only_the_order_of_the_scores_of_a_graded_source_matters(
    source: int, power: float, factor: float, seed: int
) -> None:
    # The first source has a grade per distinct score, the second one by quantiles. The mean score
    # of a label is its prior, and changes; everything else must not.
    panel = scored_panel(seed)
    changed = rescore(panel, source, lambda score: factor * score**power)
    popularity = estimate_popularity(SinglePartition(panel), learn(panel))
    affirmed = estimate_popularity(SinglePartition(changed), learn(changed)).affirmed
    np.testing.assert_array_equal(affirmed, popularity.affirmed)
    np.testing.assert_array_equal(run_em(changed, popularity), run_em(panel, popularity))


def test_a_source_that_always_gives_the_same_score_is_not_graded() -> None:
    panel = scored_panel()
    assert learn(panel).n_grades[2:].tolist() == [1, 1]
    evidence = fit(panel).skills.grade_evidence  # type: ignore[union-attr]
    assert not evidence[2:].any()
    assert evidence[:2].any()


def test_scores_without_relation_to_the_truth_are_no_evidence() -> None:
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for n in range(2000):
        label = str(rng.choice(LEAVES))
        for source in ("good", "fair", "noisy"):
            answer = label if rng.random() < 0.8 else str(rng.choice(LEAVES))
            score = float(rng.choice([0.2, 0.5, 0.9])) if source == "noisy" else 1.0
            rows.append((f"i{n}", source, answer, score))
    skills = fit(panel_of(rows)).skills
    assert skills is not None
    assert np.abs(skills.grade_evidence[2]).max() < 0.15


def test_scores_that_separate_right_from_wrong_are_evidence() -> None:
    # bob is wrong with .3 and .4, and right with .5: his numbers are low, but their order is good.
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for n in range(400):
        label, wrong = map(str, rng.choice(LEAVES, 2, replace=False))
        rows += [(f"i{n}", s, label if rng.random() < 0.8 else wrong) for s in ("ann", "cid")]
        rows += [(f"i{n}", "bob", label, 0.5), (f"i{n}", "bob", wrong, 0.3 + 0.1 * (n % 2))]
    fitted = fit(panel_of(rows))
    bob = fitted.scales.borders[2].searchsorted([0.3, 0.4, 0.5], side="right")
    assert bob.tolist() == [0, 1, 2]
    assert fitted.skills is not None
    low, middle, high = fitted.skills.grade_evidence[2]
    assert low <= middle < -2
    assert high > 2
    low, middle, high = fitted.scales.probability[2]
    assert low <= middle < high


def test_grades_do_not_depend_on_how_instances_are_divided() -> None:
    panel = scored_panel()
    whole, divided = (fit_scales(panel, max_instances=n) for n in (1000, 3))
    for name in ("borders", "probability", "ranked", "plausibility"):
        np.testing.assert_allclose(getattr(divided, name), getattr(whole, name), atol=1e-12)


def fit_scales(panel: Panel, *, max_instances: int) -> ScoreScales:
    fitted = DawidSkene().fit(SinglePartition(panel, max_instances=max_instances))
    assert isinstance(fitted, FittedDawidSkene)
    return fitted.scales


# Ranked lists


def ranked_panel(
    score: Callable[[int], float] = lambda rank: 1 / rank, *, others: bool = True
) -> Panel:
    """Return lists of three labels: the first is right in 2 of 3 instances, else the second."""
    rows: list[Row] = []
    for n in range(30):
        right, other, last = (LEAVES[(n + k) % 4] for k in range(3))
        labels = (other, right, last) if n % 3 == 0 else (right, other, last)
        rows += [(f"i{n}", "list", label, score(rank)) for rank, label in enumerate(labels, 1)]
        rows += [(f"i{n}", "sure", right), (f"i{n}", "doubtful", last, 0.4)] if others else []
    return panel_of(rows)


@pytest.mark.parametrize("digits", [3, 6, 17])
def test_a_source_that_gives_one_over_rank_is_ranked(digits: int) -> None:
    is_ranked = find_ranked(ranked_panel(lambda rank: round(1 / rank, digits)))
    assert is_ranked.tolist() == [True, False, False]


@pytest.mark.parametrize(
    "score",
    [lambda rank: 1.0, lambda rank: 1 / min(rank, 2), lambda rank: (4 - rank) / 3,
     lambda rank: 1 / (rank + 1)],
    ids=["binary", "a tie", "linear", "without a first choice"],
)  # fmt: skip
def test_other_sources_are_not_ranked(score: Callable[[int], float]) -> None:
    assert not find_ranked(ranked_panel(score)).any()


def test_a_source_with_one_label_per_answer_is_not_ranked() -> None:
    # 1, 1/2 and 1/3 are how sure it is, not ranks: no label follows a first choice.
    rows = [(f"i{n}", "ann", LEAVES[n % 4], 1 / (1 + n % 3)) for n in range(60)]
    assert not find_ranked(panel_of(rows)).any()


def test_tiny_scores_are_not_ranks() -> None:
    tiny = [1.0, 1e-3, 1e-9, 5e-324]
    rows = [(f"i{n}", "ann", LEAVES[n % 4], tiny[n % 4]) for n in range(60)]
    assert not find_ranked(panel_of(rows)).any()


def test_the_plausibility_of_a_rank_is_the_share_of_other_first_choices() -> None:
    ranked, plausibility = estimate_plausibility(
        panel := ranked_panel(), np.array([True, False, False])
    )
    expected, votes = np.zeros((2, 3))
    augmented = dense(panel.augmented)
    for a, k in zip(*np.nonzero(augmented), strict=True):
        if panel.source[a] == 0:
            rank = round(1 / augmented[a, k]) - 1
            others = (panel.instance == panel.instance[a]) & (panel.source != 0)
            expected[rank] += (augmented[others, k] >= 0.5).mean()
            votes[rank] += 1
    expected = -isotonic_regression(-expected / votes, weights=votes).x
    assert ranked.tolist() == [0]
    np.testing.assert_allclose(plausibility[0, :3], np.maximum(expected, 1e-6))
    np.testing.assert_allclose(plausibility[0, 3:], plausibility[0, 2])


def test_plausibilities_do_not_depend_on_blocks() -> None:
    panel, is_ranked = ranked_panel(), np.array([True, False, False])
    _, whole = estimate_plausibility(panel, is_ranked)
    _, in_blocks = estimate_plausibility(panel, is_ranked, limit=1)
    np.testing.assert_allclose(in_blocks, whole, atol=1e-12)


def test_ranks_count_by_their_plausibility() -> None:
    panel = ranked_panel()
    scales = learn(panel)
    assert not scales.has_grades
    calibrated = scales.calibrate(panel)
    popularity = estimate_popularity(SinglePartition(panel), scales)
    data = pair_answers(panel, popularity, scales)
    expected = calibrated.average_answers(calibrated.augmented, "answers")
    np.testing.assert_allclose(
        dense(data.pairs.to_matrix(data.share, len(panel.instances))), dense(expected)
    )
    np.testing.assert_array_equal(popularity.score, popularity.affirmed)


def test_ranks_of_a_source_that_is_alone_are_taken_as_they_are() -> None:
    panel = ranked_panel(others=False)
    scales = learn(panel)
    assert scales.is_plain
    assert scales.calibrate(panel) is panel


# Calibration


def test_the_probability_of_a_grade_is_what_its_pairs_have_without_the_vote() -> None:
    panel = scored_panel(weighted=True)
    fitted = fit(panel)
    assert fitted.skills is not None
    data = pair_answers(panel, fitted.popularity, fitted.scales)
    log_odds, own = sum_evidence(data, fitted.skills)
    score = panel.augmented.data
    answer = np.repeat(np.arange(len(panel.source)), np.diff(panel.augmented.indptr))
    assert panel.weight is not None
    right, votes = np.zeros((2, 3))
    for e in np.flatnonzero(panel.source[answer] == 0):
        grade = round(score[e] * 3) - 1
        weight = panel.weight[answer[e]]
        right[grade] += weight / (1 + np.exp(own[e] - log_odds[data.affirmed.pair[e]]))
        votes[grade] += weight
    expected = isotonic_regression(right / votes, weights=votes).x
    np.testing.assert_allclose(fitted.scales.probability[0, :3], expected, atol=1e-12)


@pytest.mark.parametrize("make_panel", [scored_panel, ranked_panel])
def test_calibrated_scores_keep_their_order_and_their_ancestors(
    make_panel: Callable[[], Panel],
) -> None:
    panel = make_panel()
    calibrated = fit(panel).calibrate(panel)
    for before, after in ((panel.raw, calibrated.raw), (panel.augmented, calibrated.augmented)):
        assert 0 < after.data.min() <= after.data.max() <= 1
        for source in range(len(panel.sources)):
            own = np.repeat(panel.source == source, np.diff(before.indptr))
            order = np.argsort(before.data[own])
            assert (np.diff(after.data[own][order]) >= 0).all()
    raw, augmented = dense(calibrated.raw), dense(calibrated.augmented)
    for k in range(len(panel.taxonomy)):
        below = [j for j in range(len(panel.taxonomy)) if k in panel.taxonomy.ancestors_of(j)]
        np.testing.assert_array_equal(augmented[:, k], raw[:, [k, *below]].max(axis=1))


def test_calibration_leaves_sources_with_one_score_alone() -> None:
    panel = scored_panel()
    calibrated = fit(panel).calibrate(panel)
    plain = panel.source >= 2
    assert dense(calibrated.raw)[plain].tobytes() == dense(panel.raw)[plain].tobytes()
    assert dense(calibrated.augmented)[plain].tobytes() == dense(panel.augmented)[plain].tobytes()


def test_calibration_of_votes_without_scores_is_the_panel_itself() -> None:
    panel = panel_of([("p", "ann", "oak"), ("p", "bob", "finch"), ("q", "ann", None)])
    assert fit(panel).calibrate(panel) is panel


@pytest.mark.parametrize("make_panel", [scored_panel, ranked_panel])
def test_a_saved_model_scores_and_calibrates_as_the_fitted_one(
    make_panel: Callable[[], Panel], tmp_path: Path
) -> None:
    panel = make_panel()
    fitted = fit(panel)
    write_frozen(tmp_path / "model.npz", fitted)
    saved = read_frozen(tmp_path / "model.npz", METHODS)
    np.testing.assert_array_equal(
        dense(saved.predict(panel).score), dense(fitted.predict(panel).score)
    )
    np.testing.assert_array_equal(
        dense(saved.calibrate(panel).augmented), dense(fitted.calibrate(panel).augmented)
    )


def test_answers_of_weight_zero_do_not_change_the_grades() -> None:
    panel = scored_panel()
    counted = panel.source != 0
    weightless = replace(panel, weight=counted.astype(float))
    assert learn(weightless).n_grades.tolist() == [1, 6, 1, 1]
