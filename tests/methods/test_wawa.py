from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mhpc.data.panel import Panel
from mhpc.data.taxonomy import build_taxonomy
from mhpc.methods.voting import Majority, Wawa
from mhpc.numerics.arrays import dense
from tests.fixtures.build import Row, panel_of

FLAT = build_taxonomy(["a", "b", "c"], [])

ROWS: list[Row] = [
    ("p", "ann", "monarda"),
    ("p", "bob", "monarda"),
    ("p", "cid", "oak"),
    ("q", "ann", "flower"),
    ("q", "cid", "finch"),
]


def scores(panel: Panel, **parameters: float) -> dict[tuple[str, str], float]:
    found = dense(Wawa(**parameters).consolidate(panel).score)
    return {
        (instance, label): float(found[n, k])
        for n, instance in enumerate(panel.instances)
        for k, label in enumerate(panel.taxonomy)
        if found[n, k]
    }


def test_sources_count_by_their_agreement_with_the_majority() -> None:
    # p: the majority is plant, flower, monarda: ann and bob agree fully, cid in 1 label of 5.
    # q: nothing has a majority, so that neither agrees: ann 1/2, bob 1, cid 1/10.
    found = scores(panel_of(ROWS), prior_answers=0)
    assert found["p", "monarda"] == pytest.approx(1.5 / 1.6)
    assert found["p", "oak"] == pytest.approx(0.1 / 1.6)
    assert found["p", "plant"] == pytest.approx(1)
    assert found["q", "flower"] == pytest.approx(0.5 / 0.6)
    assert found["q", "finch"] == pytest.approx(0.1 / 0.6)


def test_of_a_source_that_said_little_little_is_known() -> None:
    # ann (1 + 1) / (2 + 2), cid (1/5 + 1) / (2 + 2).
    found = scores(panel_of(ROWS), prior_answers=1)
    assert found["q", "flower"] == pytest.approx(0.5 / (0.5 + 0.3))
    very = scores(panel_of(ROWS), prior_answers=1e12)
    assert very["q", "flower"] == pytest.approx(0.5)


def test_nothing_is_agreed_with_where_nothing_is_chosen() -> None:
    rows: list[Row] = [("p", "ann", None), ("p", "bob", None), ("q", "ann", "oak")]
    assert scores(panel_of(rows), prior_answers=0)["q", "oak"] == 1


def test_a_source_agrees_as_far_as_it_can_speak() -> None:
    rows: list[Row] = [("p", "ann", "monarda"), ("p", "bob", "monarda"), ("p", "cid", "flower")]
    rows += [("q", "ann", "oak"), ("q", "cid", "flower")]
    # cid agrees in 2 labels of 3 and in 1 of 2, ann in 3 of 3 and in 1 of 3.
    assert scores(panel_of(rows), prior_answers=0)["q", "flower"] == pytest.approx(
        (7 / 12) / (7 / 12 + 2 / 3)
    )
    # Of p cid said all that it could, and only ann was asked about oaks: cid 3/4, ann 1.
    within = scores(panel_of(rows, scope={"cid": ("plant", "flower")}), prior_answers=0)
    assert within["q", "flower"] == pytest.approx(0.75 / 1.75)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_in_a_flat_set_it_is_the_vote_of_workers_weighted_by_their_agreement(
    data: st.DataObject,
) -> None:
    label = st.sampled_from(sorted(FLAT))
    answers = data.draw(
        st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), label, min_size=1)
    )
    found = scores(
        panel_of([(f"i{i}", f"s{s}", k) for (i, s), k in answers.items()], FLAT), prior_answers=0
    )
    for at, expected in worker_agreement_with_aggregate(answers).items():
        assert found.get(at, 0) == pytest.approx(expected)


def worker_agreement_with_aggregate(
    answers: dict[tuple[int, int], str],
) -> dict[tuple[str, str], float]:
    """The slow twin: who agrees with a label that more than half gave, and a vote by that."""
    instances = {i for i, _ in answers}
    said = {i: Counter(k for (j, _), k in answers.items() if j == i) for i in instances}
    winner = {
        i: next((k for k, n in counted.items() if 2 * n > counted.total()), None)
        for i, counted in said.items()
    }
    skill = {}
    for source in {s for _, s in answers}:
        own = {i: k for (i, s), k in answers.items() if s == source}
        skill[source] = sum(k == winner[i] for i, k in own.items()) / len(own)
    votes: dict[tuple[int, str], float] = {}
    for (i, s), k in answers.items():
        votes[i, k] = votes.get((i, k), 0.0) + skill[s]
    total = {i: sum(v for (j, _), v in votes.items() if j == i) or 1.0 for i in instances}
    return {(f"i{i}", k): v / total[i] for (i, k), v in votes.items()}


def test_equal_sources_give_the_majority() -> None:
    rows: list[Row] = [(f"p{n}", s, "oak") for n in range(3) for s in ("ann", "bob")]
    panel = panel_of(rows)
    np.testing.assert_allclose(
        dense(Wawa().consolidate(panel).score), dense(Majority().consolidate(panel).score)
    )
