"""Simulated worlds are reproducible, valid, of all kinds, and their answers are informative."""

import numpy as np
import pytest

import mhpc
from benchmarks.quality.worlds import ANSWER_KINDS, PANEL_KINDS, TRUTH_KINDS, World, make_world
from mhpc.data.votes import NONE_OF_THESE
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import dense

SEEDS = range(60)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [make_world(seed) for seed in SEEDS]


def test_the_same_seed_gives_the_same_world() -> None:
    first, second = make_world(7), make_world(7)
    assert first.settings == second.settings
    for name in ("instance", "source", "label", "score"):
        np.testing.assert_array_equal(getattr(first.votes, name), getattr(second.votes, name))
    np.testing.assert_array_equal(first.truth.label, second.truth.label)


def test_all_kinds_occur(worlds: list[World]) -> None:
    settings = [world.settings for world in worlds]
    assert {each.truth for each in settings} == set(TRUTH_KINDS)
    assert {each.panel for each in settings} == set(PANEL_KINDS)
    assert {each.answers for each in settings} == set(ANSWER_KINDS)
    assert 0 < sum(each.inner_share > 0 for each in settings) < len(settings) / 2


def test_votes_are_valid(worlds: list[World]) -> None:
    for world in worlds:
        votes = world.votes
        answer = votes.instance * len(votes.sources) + votes.source
        vote = answer * (len(votes.labels) + 1) + votes.label
        assert len(np.unique(vote)) == len(votes)
        assert ((votes.score > 0) & (votes.score <= 1)).all()
        is_empty = votes.label == NONE_OF_THESE
        assert not np.isin(answer[is_empty], answer[~is_empty]).any()


def test_truths_are_of_their_kind(worlds: list[World]) -> None:
    for world in worlds:
        truth = encode_truth(world.truth, world.taxonomy, world.truth.instances)
        n_labels = np.diff(truth.specific.indptr)
        assert len(n_labels) == world.settings.n_instances
        if world.settings.truth == "one":
            assert (n_labels == 1).all()
        assert (n_labels == 0).any() == (world.settings.truth == "none or some")


def test_answers_contain_true_labels_more_often_than_by_chance(worlds: list[World]) -> None:
    lifts = []
    for world in worlds:
        panel = mhpc.encode(world.votes, world.taxonomy)
        truth = dense(encode_truth(world.truth, panel.taxonomy, panel.instances).closed)
        given = dense(panel.sum_answers(panel.augmented))
        by_chance = given.sum(axis=0) @ truth.mean(axis=0)
        lifts.append((given * truth).sum() / by_chance)
    assert np.median(lifts) > 1.3
    assert np.mean(np.array(lifts) > 1) > 0.95
