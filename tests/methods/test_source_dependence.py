import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mhpc.data.profiles import strangers
from mhpc.methods.source_weights import kinship
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
    found = kinship(agreeing(SKILLS), everyone_asked(6))
    np.testing.assert_allclose(found.voice, 1.0, atol=0.01)


def test_skills_are_found_without_truth_a_little_drawn_to_their_mean() -> None:
    found = kinship(agreeing(SKILLS), everyone_asked(6))
    np.testing.assert_allclose(found.skill, SKILLS, atol=0.06)
    assert np.argsort(found.skill)[[0, -1]].tolist() == [2, 0]
    assert found.skill.std() < SKILLS.std()


def test_skills_settle_even_where_nobody_is_kin() -> None:
    # So few instances that no excess stands out of the noise: voices are settled from the start.
    skill = np.linspace(0.3, 0.9, 30)
    found = kinship(agreeing(skill), everyone_asked(30, 20))
    assert found.voice.tolist() == [1.0] * 30
    np.testing.assert_allclose(found.skill, skill, atol=0.03)


def test_copies_have_half_a_voice_each_and_no_more_skill_than_the_original() -> None:
    skill = np.append(SKILLS, SKILLS[1])
    R = agreeing(skill)
    R[1, 6] = R[6, 1] = 1.0
    found = kinship(R, everyone_asked(7))
    np.testing.assert_allclose(found.voice[[1, 6]], 0.5, atol=0.03)
    assert found.alike[1, 6] > 0.95
    np.testing.assert_allclose(found.skill[[1, 6]], SKILLS[1], atol=0.06)


def test_the_best_sources_do_not_become_kin_when_others_are_copies() -> None:
    R = agreeing(np.append(SKILLS, SKILLS[1]))
    R[1, 6] = R[6, 1] = 1.0
    assert kinship(R, everyone_asked(7)).voice[[0, 2, 3, 4, 5]].min() > 0.9


def test_what_few_common_instances_say_of_kinship_counts_little() -> None:
    R = agreeing(SKILLS)
    R[1, 2] = R[2, 1] = 0.9
    many, few = everyone_asked(6), everyone_asked(6)
    few[1, 2] = few[2, 1] = 3
    assert kinship(R, few).alike[1, 2] < 0.5 * kinship(R, many).alike[1, 2]


def test_two_sources_agree_by_skill_and_not_by_kinship() -> None:
    found = kinship(np.ones((2, 2)), everyone_asked(2))
    assert found.voice.tolist() == [1.0, 1.0]
    assert found.skill.tolist() == [1.0, 1.0]


def test_sources_without_common_instances_are_strangers() -> None:
    found = kinship(np.eye(4), np.diag([10.0] * 4))
    assert found.voice.tolist() == [1.0] * 4
    assert not found.alike.nnz


def test_a_source_that_is_alone_has_a_whole_voice() -> None:
    assert strangers(0).voice.shape == (0,)
    assert strangers(1).voice.tolist() == [1.0]


def test_the_order_of_sources_does_not_matter() -> None:
    R = agreeing(SKILLS)
    R[3, 4] = R[4, 3] = 0.95
    order = np.array([3, 0, 5, 1, 4, 2])
    here, there = kinship(R, everyone_asked(6)), kinship(R[order][:, order], everyone_asked(6))
    np.testing.assert_allclose(there.skill, here.skill[order], atol=1e-12)
    np.testing.assert_allclose(dense(there.alike), dense(here.alike)[order][:, order], atol=1e-12)


@given(
    arrays(float, (5, 5), elements=st.floats(-1, 1)),
    arrays(float, (5, 5), elements=st.integers(0, 30)),
)
def test_whatever_the_agreement_voices_and_skills_make_sense(
    half: FloatArray, asked: FloatArray
) -> None:
    R, common = (half + half.T) / 2, asked + asked.T
    np.fill_diagonal(R, 1.0)
    found = kinship(R, common)
    assert ((found.skill > 0) & (found.skill <= 1)).all()
    alike = dense(found.alike)
    assert ((alike >= 0) & (alike <= 1)).all()
    assert not alike.diagonal().any()
    np.testing.assert_allclose(alike, alike.T, atol=1e-12)
    assert ((found.voice > 0) & (found.voice <= 1)).all()


@pytest.mark.parametrize("sources", [3, 30])
def test_sources_that_agree_by_chance_alone_are_not_kin(sources: int) -> None:
    # Correlations of 200 independent draws.
    R = np.asarray(np.corrcoef(np.random.default_rng(0).standard_normal((sources, 200))))
    assert kinship(R, everyone_asked(sources, 200)).voice.min() > 0.8
