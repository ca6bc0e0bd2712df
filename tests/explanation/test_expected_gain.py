import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mhpc
from mhpc.data.disagreement import Disagreement
from mhpc.data.panel import Panel, panel_block
from mhpc.explanation.disagreement import expected_gain
from mhpc.explanation.sources import count_block
from tests.fixtures.build import GARDEN, Row, panel_of, small_panel


def ranked(panel: Panel, *, level: float = 0.5, most: int = 200) -> tuple[Disagreement, ...]:
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=level).decide(averaged, labels_per_answer=1)
    found = count_block(panel, averaged.score, decision.reason, level=level, most=most)
    return found.disagreements.told(panel.taxonomy.labels)


@given(p=st.floats(0, 1), n=st.integers(2, 20))
def test_the_closed_form_is_the_loss_now_less_the_loss_expected_after_one_answer(
    p: float, n: int
) -> None:
    def loss(chance: float) -> float:
        """The chance to be wrong on a label when the likelier is decided."""
        return min(chance, 1 - chance)

    up, down = (n * p + 1) / (n + 1), n * p / (n + 1)
    expected = loss(p) - (p * loss(up) + (1 - p) * loss(down))
    found = expected_gain(np.array([p]), np.array([float(n)]), np.array([p >= 0.5]))[0]
    assert found == pytest.approx(expected, abs=1e-12)


def test_an_even_split_is_worth_most_and_counts_by_hand() -> None:
    rows: list[Row] = [("even", "ann", "monarda"), ("even", "bob", "fuchsia")]
    rows += [("clear", who, "monarda") for who in ("ann", "bob", "cid", "dee")]
    rows += [("clear", "eve", "fuchsia")]
    even, clear = ranked(panel_of(rows))
    # Both labels at p = 1/2 of two answers: 1/2 (1 - 2/3) each.
    assert even.instance == "even"
    assert even.gain == pytest.approx(2 * (1 / 2) * (1 / 3))
    assert [(d.label, d.support, d.against) for d in even.disputed] == [
        ("monarda", 1, 1),
        ("fuchsia", 1, 1),
    ]
    assert even.agreed == "flower"
    # Four to one: whatever the next one says, the set stays as it is.
    assert (clear.instance, clear.gain) == ("clear", 0.0)


def test_vague_answers_and_lonely_ones_are_no_conflict() -> None:
    rows: list[Row] = [("all vague", who, "plant") for who in ("ann", "bob", "cid")]
    rows += [("one vague", "ann", "animal"), ("vague and precise", "ann", "bird")]
    rows += [("vague and precise", "bob", "finch"), ("dispute", "ann", "oak")]
    rows += [("dispute", "bob", "finch")]
    assert [each.instance for each in ranked(panel_of(rows))] == ["dispute"]


def test_a_dispute_high_in_the_hierarchy_is_worth_more_than_one_between_siblings() -> None:
    rows: list[Row] = [("siblings", "ann", "monarda"), ("siblings", "bob", "fuchsia")]
    rows += [("worlds apart", "ann", "monarda"), ("worlds apart", "bob", "finch")]
    first, second = ranked(panel_of(rows))
    assert (first.instance, second.instance) == ("worlds apart", "siblings")
    assert first.agreed is None
    assert len(first.disputed) == 6


@pytest.mark.parametrize("level", [0.07, 0.3, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_add_up_to_the_whole(seed: int, level: float) -> None:
    panel = small_panel(seed=seed)
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=level).decide(averaged, labels_per_answer=1)
    spans = [slice(0, 9), slice(9, 10), slice(10, len(panel.instances))]
    whole, *parts = (
        count_block(
            panel_block(panel, s), averaged.score[s], decision.reason[s], level=level, most=5
        )
        for s in (slice(0, len(panel.instances)), *spans)
    )
    found = parts[0] + parts[1] + parts[2]
    assert found.disagreements.told(panel.taxonomy.labels) == whole.disagreements.told(
        panel.taxonomy.labels
    )
    assert found.disagreements.count == whole.disagreements.count
    assert len(found.disagreements.ids) == 5
    for name in ("by_source", "by_label"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    for name in ("said", "wrong"):
        assert (getattr(found, name) != getattr(whole, name)).nnz == 0


def test_labels_are_counted() -> None:
    panel = panel_of([("p", "ann", "monarda"), ("p", "bob", "fuchsia"), ("q", "ann", "flower")])
    averaged = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=0.6).decide(averaged, labels_per_answer=1)
    votes, said, chosen, disputed = count_block(panel, averaged.score, decision.reason).by_label
    names = ["plant", "flower", "monarda", "fuchsia"]
    at = GARDEN.locate(names)
    assert votes[at].tolist() == [0, 1, 1, 1]
    assert said[at].tolist() == [2, 2, 1, 1]
    assert chosen[at].tolist() == [2, 2, 0, 0]
    assert disputed[at].tolist() == [0, 0, 1, 1]


def test_of_equal_instances_those_with_the_first_ids_are_kept_however_they_are_divided() -> None:
    rows: list[Row] = [
        (f"p{n}", who, label)
        for n in (5, 2, 4, 1, 3)
        for who, label in (("ann", "monarda"), ("bob", "fuchsia"))
    ]
    assert [each.instance for each in ranked(panel_of(rows), most=2)] == ["p1", "p2"]
