"""Agreement between sources and confused labels."""

import itertools

import numpy as np
import pytest

from mhpc.explanation.agreement import compare_answers, find_common_ancestor, find_confused_pairs
from tests.explanation.slow_twins import answers_about, contradicts
from tests.fixtures.build import DAG, GARDEN, Row, panel_of, small_panel


@pytest.mark.parametrize("seed", range(5))
def test_agreement_equals_that_of_the_slow_twin(seed: int) -> None:
    panel = small_panel(seed=seed)
    common, agreed = np.zeros((2, 4, 4))
    for instance in range(len(panel.instances)):
        for left, right in itertools.combinations(answers_about(panel, instance), 2):
            sources = panel.source[left], panel.source[right]
            contradiction = contradicts(panel, left, right) or contradicts(panel, right, left)
            common[sources] += 1
            agreed[sources] += not contradiction
    agreement = compare_answers(panel, pairs_per_block=7)
    np.testing.assert_array_equal(agreement.common.toarray(), common)
    np.testing.assert_array_equal(agreement.agreed.toarray(), agreed)


def test_a_label_is_confused_with_the_nearest_contradicted_label() -> None:
    rows: list[Row] = [
        ("p", "ann", "monarda"), ("p", "ann", "finch"), ("p", "bob", "fuchsia"),
        ("q", "ann", "fuchsia"), ("q", "bob", "monarda"), ("r", "ann", "flower"),
        ("r", "bob", "monarda"), ("s", "ann", "oak"), ("s", "bob", "monarda"),
    ]  # fmt: skip
    confused = compare_answers(panel_of(rows)).confused.toarray()
    position = GARDEN.labels.positions
    # On p and q; the finch on p has no label near it, and is paired with the fuchsia too.
    assert confused[position["monarda"], position["fuchsia"]] == 2
    assert confused[position["fuchsia"], position["finch"]] == 1
    assert confused[position["monarda"], position["oak"]] == 1
    # A flower is less specific than a monarda, not another label.
    assert confused.sum() == 4


def test_confused_pairs_name_the_common_ancestor_and_leave_out_chance_meetings() -> None:
    rows: list[Row] = []
    for n in range(4):
        rows += [(f"p{n}", "ann", "monarda"), (f"p{n}", "bob", "fuchsia")]
        rows += [(f"q{n}", "ann", "oak"), (f"q{n}", "bob", "finch")]
    rows += [("r", "ann", "oak"), ("r", "bob", "fuchsia")]
    pairs = find_confused_pairs(compare_answers(panel_of(rows)), GARDEN, limit=5)
    assert [(pair.first, pair.second, pair.count, pair.under) for pair in pairs] == [
        ("monarda", "fuchsia", 4, "flower"),
        ("oak", "finch", 4, None),
    ]


def test_the_common_ancestor_in_a_dag_is_the_deepest() -> None:
    c, d, e = DAG.locate(["c", "d", "e"])
    assert find_common_ancestor(c, d, DAG) == DAG.locate(["b"])[0]
    assert find_common_ancestor(d, e, DAG) == DAG.locate(["a"])[0]
    assert find_common_ancestor(0, e, DAG) is None


def test_too_many_pairs_are_sampled() -> None:
    rows: list[Row] = [(f"p{n}", source, "oak") for n in range(9) for source in ("ann", "bob")]
    agreement = compare_answers(panel_of(rows), max_pairs=4)
    assert agreement.instances == 4
    assert agreement.common.toarray().tolist() == [[0, 4], [0, 0]]
