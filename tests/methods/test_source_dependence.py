from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mhpc
from mhpc.data.index import Index
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.data.votes import Scope
from mhpc.methods import source_dependence
from mhpc.methods.source_dependence import (
    correlate_partitions,
    correlate_sources,
    explain_correlations,
    fit_dependence,
    panel_dependence,
)
from mhpc.methods.source_weights import weight_answers
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import Row, panel_of
from tests.methods.dependent_sources import ROWS, simulated, with_copy

SKILLS = np.array([0.9, 0.7, 0.5, 0.8, 0.6, 0.7])


def compute_dependence(partitions: PanelPartitions, **limits: int) -> SourceDependence:
    """Return the dependence of sources with other limits than the default ones."""
    correlations = correlate_partitions(partitions, **limits)
    return explain_correlations(correlations, len(partitions.sources))


def correlations_of(skill: FloatArray) -> FloatArray:
    """Correlations of sources that have nothing in common but the truth."""
    R = np.outer(skill, skill)
    np.fill_diagonal(R, 1.0)
    return R


def all_in_common(sources: int, instances: float = 1000.0) -> FloatArray:
    return np.full((sources, sources), instances)


def test_sources_that_agree_by_skill_alone_are_independent() -> None:
    fitted = fit_dependence(correlations_of(SKILLS), all_in_common(6))
    np.testing.assert_allclose(fitted.independence, 1.0, atol=0.01)


def test_skills_are_estimated_without_truth_and_shrunk_a_little_towards_their_mean() -> None:
    fitted = fit_dependence(correlations_of(SKILLS), all_in_common(6))
    np.testing.assert_allclose(fitted.skill, SKILLS, atol=0.06)
    assert np.argsort(fitted.skill)[[0, -1]].tolist() == [2, 0]
    assert fitted.skill.std() < SKILLS.std()


def test_skills_converge_even_if_all_sources_are_independent() -> None:
    # So few instances that no excess stands out of the noise: independence is 1 from the start.
    skill = np.linspace(0.3, 0.9, 30)
    fitted = fit_dependence(correlations_of(skill), all_in_common(30, 20))
    assert fitted.independence.tolist() == [1.0] * 30
    np.testing.assert_allclose(fitted.skill, skill, atol=0.03)


def test_each_of_two_copies_is_half_independent_and_as_skilled_as_the_original() -> None:
    skill = np.append(SKILLS, SKILLS[1])
    R = correlations_of(skill)
    R[1, 6] = R[6, 1] = 1.0
    fitted = fit_dependence(R, all_in_common(7))
    np.testing.assert_allclose(fitted.independence[[1, 6]], 0.5, atol=0.03)
    assert fitted.matrix[1, 6] > 0.95
    np.testing.assert_allclose(fitted.skill[[1, 6]], SKILLS[1], atol=0.06)


def test_the_best_sources_stay_independent_when_others_are_copies() -> None:
    R = correlations_of(np.append(SKILLS, SKILLS[1]))
    R[1, 6] = R[6, 1] = 1.0
    assert fit_dependence(R, all_in_common(7)).independence[[0, 2, 3, 4, 5]].min() > 0.9


def test_dependence_is_shrunk_where_few_instances_are_in_common() -> None:
    R = correlations_of(SKILLS)
    R[1, 2] = R[2, 1] = 0.9
    many_common, few_common = all_in_common(6), all_in_common(6)
    few_common[1, 2] = few_common[2, 1] = 3
    assert (
        fit_dependence(R, few_common).matrix[1, 2]
        < 0.5 * fit_dependence(R, many_common).matrix[1, 2]
    )


def test_skill_explains_the_agreement_of_two_sources() -> None:
    fitted = fit_dependence(np.ones((2, 2)), all_in_common(2))
    assert fitted.independence.tolist() == [1.0, 1.0]
    assert fitted.skill.tolist() == [1.0, 1.0]


def test_sources_without_common_instances_are_independent() -> None:
    fitted = fit_dependence(np.eye(4), np.diag([10.0] * 4))
    assert fitted.independence.tolist() == [1.0] * 4
    assert not fitted.matrix.nnz


def test_a_single_source_is_independent() -> None:
    assert independent_sources(0).independence.shape == (0,)
    assert independent_sources(1).independence.tolist() == [1.0]


def test_the_order_of_sources_does_not_matter() -> None:
    R = correlations_of(SKILLS)
    R[3, 4] = R[4, 3] = 0.95
    order = np.array([3, 0, 5, 1, 4, 2])
    fitted = fit_dependence(R, all_in_common(6))
    reordered = fit_dependence(R[order][:, order], all_in_common(6))
    np.testing.assert_allclose(reordered.skill, fitted.skill[order], atol=1e-12)
    expected = dense(fitted.matrix)[order][:, order]
    np.testing.assert_allclose(dense(reordered.matrix), expected, atol=1e-12)


@given(
    arrays(float, (5, 5), elements=st.floats(-1, 1)),
    arrays(float, (5, 5), elements=st.integers(0, 30)),
)
def test_skills_and_dependence_stay_within_their_limits_whatever_the_correlations(
    half: FloatArray, half_common: FloatArray
) -> None:
    R, common = (half + half.T) / 2, half_common + half_common.T
    np.fill_diagonal(R, 1.0)
    fitted = fit_dependence(R, common)
    assert ((fitted.skill > 0) & (fitted.skill <= 1)).all()
    matrix = dense(fitted.matrix)
    assert ((matrix >= 0) & (matrix <= 1)).all()
    assert not matrix.diagonal().any()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert ((fitted.independence > 0) & (fitted.independence <= 1)).all()


@pytest.mark.parametrize("sources", [3, 30])
def test_sources_that_agree_by_chance_are_independent(sources: int) -> None:
    # Correlations of 200 independent draws.
    R = np.asarray(np.corrcoef(np.random.default_rng(0).standard_normal((sources, 200))))
    assert fit_dependence(R, all_in_common(sources, 200)).independence.min() > 0.8


def correlations_by_loops(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Correlations, one pair of sources and one label at a time."""
    votes = dense(panel.augmented)
    answer = {
        (m, i): votes[row]
        for row, (m, i) in enumerate(zip(panel.source, panel.instance, strict=True))
    }
    M, N, K = len(panel.sources), len(panel.instances), len(panel.taxonomy)
    in_scope = np.ones((M, K)) if panel.scope is None else dense(panel.scope)
    own = [np.array([answer[m, i] for i in range(N) if (m, i) in answer]) for m in range(M)]
    R, common = np.eye(M), np.zeros((M, M))
    for m in range(M):
        for n in range(M):
            shared = [i for i in range(N) if (m, i) in answer and (n, i) in answer]
            common[m, n] = len(shared)
            if m == n or not shared:
                continue
            covariance = variance_m = variance_n = 0.0
            for k in range(K):
                if in_scope[m, k] and in_scope[n, k]:
                    product_mean = np.mean([answer[m, i][k] * answer[n, i][k] for i in shared])
                    covariance += product_mean - own[m][:, k].mean() * own[n][:, k].mean()
                    variance_m += own[m][:, k].var()
                    variance_n += own[n][:, k].var()
            scale = np.sqrt(max(variance_m * variance_n, 1e-12))
            R[m, n] = np.clip(covariance / scale, -1, 1)
    return R, common


@pytest.mark.parametrize("scope", ["all", {"bob": ("monarda", "tree", "finch"), "dee": ("oak",)}])
def test_correlations_equal_those_by_loops(scope: Scope) -> None:
    panel = panel_of(ROWS, scope=scope)
    expected = correlations_by_loops(panel)
    for matrix, slow in zip(correlate_sources(panel), expected, strict=True):
        np.testing.assert_allclose(matrix, slow, atol=1e-12)
    assert expected[1][panel.sources.positions["dee"], panel.sources.positions["cid"]] == 0


def test_a_copy_correlates_fully_with_the_original() -> None:
    panel = simulated()
    R, common = correlate_sources(with_copy(panel, "s2"))
    assert R[1, 5] == pytest.approx(1.0)
    assert common[1, 5] == panel.answers_per_source[1]


def test_each_of_two_copies_is_half_independent_and_the_others_are_independent() -> None:
    dependence = panel_dependence(with_copy(simulated(), "s2"))
    np.testing.assert_allclose(dependence.independence[[1, 5]], 0.5, atol=0.05)
    assert dependence.independence[[0, 2, 3, 4]].min() > 0.85


def test_independent_sources_are_found_to_be_independent() -> None:
    dependence = panel_dependence(simulated())
    assert dependence.independence.min() > 0.95


def test_skill_is_lower_for_noisy_and_vague_sources() -> None:
    skill = panel_dependence(simulated()).skill
    assert skill.argmax() == 0
    assert skill.argmin() == 2


def test_a_source_without_answers_changes_nobodys_skill() -> None:
    panel = simulated(coverage=0.6)
    joined = replace(panel, sources=Index((*panel.sources, "late")))
    before, after = panel_dependence(panel), panel_dependence(joined)
    assert after.skill[:5].tolist() == before.skill.tolist()
    assert dense(after.matrix[:5, :5]).tolist() == dense(before.matrix).tolist()
    assert weight_answers(joined).weight.tolist() == weight_answers(panel).weight.tolist()  # type: ignore[union-attr]


def test_too_many_sources_are_not_compared() -> None:
    dependence = compute_dependence(SinglePartition(simulated()), max_sources=4)
    assert dependence.independence.tolist() == dependence.skill.tolist() == [1.0] * 5


def test_a_sample_of_many_instances_gives_nearly_the_same() -> None:
    panel = SinglePartition(with_copy(simulated(), "s2"))
    by_all, by_sample = compute_dependence(panel), compute_dependence(panel, enough_common=60)
    assert not np.array_equal(by_sample.skill, by_all.skill)
    np.testing.assert_allclose(by_sample.skill, by_all.skill, atol=0.2)
    assert dense(by_sample.matrix).argmax() == dense(by_all.matrix).argmax()


def test_a_source_with_no_instance_in_common_has_the_mean_skill_and_is_independent() -> None:
    hermit_rows: list[Row] = [
        (f"alone{i}", "hermit", k) for i, k in enumerate(("oak", "finch", "oak"))
    ]
    dependence = panel_dependence(panel_of([*ROWS, *hermit_rows]))
    others, hermit = dependence.skill[:-1], dependence.skill[-1]
    assert others.min() <= hermit <= others.max()
    assert dependence.matrix.toarray()[-1].tolist() == [0.0] * len(dependence.skill)


def test_the_dependence_of_a_panel_is_computed_once() -> None:
    panel = simulated()
    assert panel_dependence(panel) is panel_dependence(panel)
    assert panel_dependence(replace(panel)) is not panel_dependence(panel)


def test_auto_computes_the_dependence_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[Panel] = []

    def count(partitions: PanelPartitions) -> tuple[FloatArray, FloatArray] | None:
        assert isinstance(partitions, SinglePartition)
        computed.append(partitions.panel)
        return correlate_partitions(partitions)

    monkeypatch.setattr(source_dependence, "correlate_partitions", count)
    garden = mhpc.load_garden()
    mhpc.consolidate(garden.votes, garden.taxonomy)
    assert len(computed) == 1
    assert len({id(panel) for panel in computed}) == len(computed)
