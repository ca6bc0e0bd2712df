import itertools
import sys

import numpy as np
import pytest

from mhpc.explanation.agreement import common_ancestor, compare_answers, find_confused_pairs
from tests.explanation.slow_twins import answers_to, contradicts
from tests.fixtures.build import DAG, GARDEN, Row, panel_of, small_panel

# The package shares its name with a verb, so that its modules are not attributes of it.
MODULE = sys.modules["mhpc.explanation.agreement"]


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_that_of_the_slow_twin(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_AT_ONCE", 7)
    panel = small_panel(seed=seed)
    common, agreed = np.zeros((2, 4, 4))
    for i in range(len(panel.instances)):
        for one, other in itertools.combinations(answers_to(panel, i), 2):
            pair = panel.source[one], panel.source[other]
            common[pair] += 1
            agreed[pair] += not (contradicts(panel, one, other) or contradicts(panel, other, one))
    found = compare_answers(panel)
    np.testing.assert_array_equal(found.common.toarray(), common)
    np.testing.assert_array_equal(found.agreed.toarray(), agreed)


def test_labels_are_confused_with_the_nearest_that_contradicts_them() -> None:
    rows: list[Row] = [
        ("p", "ann", "monarda"), ("p", "ann", "finch"), ("p", "bob", "fuchsia"),
        ("q", "ann", "fuchsia"), ("q", "bob", "monarda"), ("r", "ann", "flower"),
        ("r", "bob", "monarda"), ("s", "ann", "oak"), ("s", "bob", "monarda"),
    ]  # fmt: skip
    found = compare_answers(panel_of(rows)).confused.toarray()
    at = {name: k for k, name in enumerate(GARDEN.labels)}
    # p and q; the finch of p has no other label near it and meets the fuchsia too.
    assert found[at["monarda"], at["fuchsia"]] == 2
    assert found[at["fuchsia"], at["finch"]] == 1
    assert found[at["monarda"], at["oak"]] == 1
    # Who says flower does not take it for a monarda.
    assert found.sum() == 4


def test_confusions_name_the_subtree_and_leave_out_what_meets_by_chance() -> None:
    rows: list[Row] = []
    for n in range(4):
        rows += [(f"p{n}", "ann", "monarda"), (f"p{n}", "bob", "fuchsia")]
        rows += [(f"q{n}", "ann", "oak"), (f"q{n}", "bob", "finch")]
    rows += [("r", "ann", "oak"), ("r", "bob", "fuchsia")]
    found = find_confused_pairs(compare_answers(panel_of(rows)), GARDEN, most=5)
    assert [(each.one, each.other, each.count, each.under) for each in found] == [
        ("monarda", "fuchsia", 4, "flower"),
        ("oak", "finch", 4, None),
    ]


def test_the_deepest_common_ancestor_is_found_in_a_dag() -> None:
    c, d, e = DAG.locate(["c", "d", "e"])
    assert common_ancestor(c, d, DAG) == DAG.locate(["b"])[0]
    assert common_ancestor(d, e, DAG) == DAG.locate(["a"])[0]
    assert common_ancestor(0, e, DAG) is None


def test_pairs_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_PAIRS", 4)
    rows: list[Row] = [(f"p{n}", who, "oak") for n in range(9) for who in ("ann", "bob")]
    found = compare_answers(panel_of(rows))
    assert found.instances == 4
    assert found.common.toarray().tolist() == [[0, 4], [0, 0]]
