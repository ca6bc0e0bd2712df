import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mhpc.data.profiles import independent_sources
from mhpc.methods.source_weights import fit_dependence
from mhpc.numerics.arrays import FloatArray, dense

SKILLS = np.array([0.9, 0.7, 0.5, 0.8, 0.6, 0.7])


def agreeing(skill: FloatArray) -> FloatArray:
    """Correlations of sources that have nothing in common but the truth."""
    R = np.outer(skill, skill)
    np.fill_diagonal(R, 1.0)
    return R


def everyone_asked(sources: int, instances: float = 1000.0) -> FloatArray:
    return np.full((sources, sources), instances)


def test_independent_sources_keep_their_whole_voice() -> None:
    found = fit_dependence(agreeing(SKILLS), everyone_asked(6))
    np.testing.assert_allclose(found.independence, 1.0, atol=0.01)


def test_skills_are_found_without_truth_a_little_drawn_to_their_mean() -> None:
    found = fit_dependence(agreeing(SKILLS), everyone_asked(6))
    np.testing.assert_allclose(found.skill, SKILLS, atol=0.06)
    assert np.argsort(found.skill)[[0, -1]].tolist() == [2, 0]
    assert found.skill.std() < SKILLS.std()


def test_skills_settle_even_where_nobody_is_kin() -> None:
    # So few instances that no excess stands out of the noise: voices are settled from the start.
    skill = np.linspace(0.3, 0.9, 30)
    found = fit_dependence(agreeing(skill), everyone_asked(30, 20))
    assert found.independence.tolist() == [1.0] * 30
    np.testing.assert_allclose(found.skill, skill, atol=0.03)


def test_copies_have_half_a_voice_each_and_no_more_skill_than_the_original() -> None:
    skill = np.append(SKILLS, SKILLS[1])
    R = agreeing(skill)
    R[1, 6] = R[6, 1] = 1.0
    found = fit_dependence(R, everyone_asked(7))
    np.testing.assert_allclose(found.independence[[1, 6]], 0.5, atol=0.03)
    assert found.matrix[1, 6] > 0.95
    np.testing.assert_allclose(found.skill[[1, 6]], SKILLS[1], atol=0.06)


def test_the_best_sources_do_not_become_kin_when_others_are_copies() -> None:
    R = agreeing(np.append(SKILLS, SKILLS[1]))
    R[1, 6] = R[6, 1] = 1.0
    assert fit_dependence(R, everyone_asked(7)).independence[[0, 2, 3, 4, 5]].min() > 0.9


def test_what_few_common_instances_say_of_kinship_counts_little() -> None:
    R = agreeing(SKILLS)
    R[1, 2] = R[2, 1] = 0.9
    many, few = everyone_asked(6), everyone_asked(6)
    few[1, 2] = few[2, 1] = 3
    assert fit_dependence(R, few).matrix[1, 2] < 0.5 * fit_dependence(R, many).matrix[1, 2]


def test_two_sources_agree_by_skill_and_not_by_kinship() -> None:
    found = fit_dependence(np.ones((2, 2)), everyone_asked(2))
    assert found.independence.tolist() == [1.0, 1.0]
    assert found.skill.tolist() == [1.0, 1.0]


def test_sources_without_common_instances_are_strangers() -> None:
    found = fit_dependence(np.eye(4), np.diag([10.0] * 4))
    assert found.independence.tolist() == [1.0] * 4
    assert not found.matrix.nnz


def test_a_source_that_is_alone_has_a_whole_voice() -> None:
    assert independent_sources(0).independence.shape == (0,)
    assert independent_sources(1).independence.tolist() == [1.0]


def test_the_order_of_sources_does_not_matter() -> None:
    R = agreeing(SKILLS)
    R[3, 4] = R[4, 3] = 0.95
    order = np.array([3, 0, 5, 1, 4, 2])
    here, there = (
        fit_dependence(R, everyone_asked(6)),
        fit_dependence(R[order][:, order], everyone_asked(6)),
    )
    np.testing.assert_allclose(there.skill, here.skill[order], atol=1e-12)
    np.testing.assert_allclose(dense(there.matrix), dense(here.matrix)[order][:, order], atol=1e-12)


@given(
    arrays(float, (5, 5), elements=st.floats(-1, 1)),
    arrays(float, (5, 5), elements=st.integers(0, 30)),
)
def test_whatever_the_agreement_voices_and_skills_make_sense(
    half: FloatArray, asked: FloatArray
) -> None:
    R, common = (half + half.T) / 2, asked + asked.T
    np.fill_diagonal(R, 1.0)
    found = fit_dependence(R, common)
    assert ((found.skill > 0) & (found.skill <= 1)).all()
    alike = dense(found.matrix)
    assert ((alike >= 0) & (alike <= 1)).all()
    assert not alike.diagonal().any()
    np.testing.assert_allclose(alike, alike.T, atol=1e-12)
    assert ((found.independence > 0) & (found.independence <= 1)).all()


@pytest.mark.parametrize("sources", [3, 30])
def test_sources_that_agree_by_chance_alone_are_not_kin(sources: int) -> None:
    # Correlations of 200 independent draws.
    R = np.asarray(np.corrcoef(np.random.default_rng(0).standard_normal((sources, 200))))
    assert fit_dependence(R, everyone_asked(sources, 200)).independence.min() > 0.8
