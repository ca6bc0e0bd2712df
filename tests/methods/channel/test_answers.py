from dataclasses import replace

import numpy as np
import pytest

from mhpc.methods.channel.answers import count_votes, read_answers
from mhpc.numerics.arrays import dense
from tests.fixtures.build import DAG, GARDEN, panel_of
from tests.methods.channel.reference import ROWS


def test_scores_along_a_path_are_votes_for_its_end() -> None:
    panel = panel_of([("p", "ann", "plant", 0.9), ("p", "ann", "flower", 0.8)])
    flower, plant = GARDEN.labels.locate(["flower", "plant"])
    votes = dense(read_answers(panel))[0]
    assert votes[[flower, plant]] == pytest.approx([0.8, 0.1])


def test_labels_without_scores_are_votes_as_they_are() -> None:
    panel = panel_of([("p", "ann", "plant"), ("p", "ann", "flower")])
    assert read_answers(panel) is panel.raw


def test_subtracting_the_votes_of_one_source_leaves_those_of_the_others() -> None:
    panel = panel_of(ROWS)
    is_ann = panel.source == panel.sources.positions["ann"]
    remaining = count_votes(panel, panel.raw).subtract(count_votes(panel, panel.raw, is_ann))
    others = count_votes(panel, panel.raw, ~is_ann)
    np.testing.assert_allclose(dense(remaining.votes), dense(others.votes))
    assert remaining.answers.tolist() == others.answers.tolist()


def test_answers_are_counted_by_their_weight() -> None:
    panel = panel_of([("x", "s", "d"), ("x", "t", "d"), ("y", "t", "e")], DAG)
    counts = count_votes(replace(panel, weight=np.array([0.5, 2.0, 1.0])), panel.raw)
    assert counts.answers.tolist() == [2.5, 1.0]
    assert dense(counts.votes)[:, 3:].tolist() == [[2.5, 0.0], [0.0, 1.0]]
