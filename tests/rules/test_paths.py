"""The most likely labels of an instance, none an ancestor of another."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.rules.base import Rule
from mhpc.rules.paths import OnePath, TopPaths, _AncestorRelation
from tests.fixtures.build import DAG, GARDEN
from tests.fixtures.scores import consolidation_of

POSITION = GARDEN.labels.positions


def scores_of(*rows: dict[str, float]) -> np.ndarray:
    """Return the scores of labels of the garden, one row for each mapping."""
    scores = np.zeros((len(rows), len(GARDEN)))
    for row, labels in zip(scores, rows, strict=True):
        for label, score in labels.items():
            row[POSITION[label]] = score
    return scores


def decide_garden(rule: Rule, *rows: dict[str, float]) -> list[list[str]]:
    """Return the label sets by these `specific` scores, which are the closed scores too."""
    scores = consolidation_of(scores_of(*rows), GARDEN)
    return list(rule.decide(scores, labels_per_answer=1.0).labels().values())


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_most_likely_label_comes_with_its_ancestors(kind: type) -> None:
    specific = kind(scores_of({"monarda": 0.6, "flower": 0.4}, {"bird": 0.1}))
    decision = OnePath().decide(consolidation_of(specific, GARDEN), labels_per_answer=1.0)
    assert decision.labels() == {"x0": ["plant", "flower", "monarda"], "x1": ["animal", "bird"]}


def test_the_reason_distinguishes_the_label_from_its_ancestors() -> None:
    specific = np.zeros((1, len(DAG)))
    specific[0, DAG.labels.positions["d"]] = 1.0
    decision = OnePath().decide(consolidation_of(specific, DAG), labels_per_answer=1.0)
    assert decision.reason.toarray().tolist() == [[2, 2, 2, 1, 0]]


def test_an_instance_without_scores_gets_no_label() -> None:
    assert decide_garden(OnePath(), {}) == [[]]


def test_in_a_tie_the_earlier_label_is_taken() -> None:
    assert decide_garden(OnePath(), dict.fromkeys(GARDEN.labels, 0.5)) == [["plant"]]


def test_a_label_below_the_threshold_does_not_end_a_path() -> None:
    score = scores_of({"plant": 0.9, "flower": 0.6, "monarda": 0.4}, {"bird": 0.3})
    specific = scores_of({"plant": 0.3, "flower": 0.2, "monarda": 0.4}, {"bird": 0.3})
    decision = OnePath(threshold=0.5).decide(
        consolidation_of(score, GARDEN, specific=specific), labels_per_answer=1.0
    )
    assert decision.labels() == {"x0": ["plant"], "x1": []}


@pytest.mark.parametrize(
    ("depth_bias", "end"), [(-1.5, "plant"), (0.0, "flower"), (1.0, "flower"), (1.5, "monarda")]
)
def test_a_depth_bias_moves_the_end_along_its_path_only(depth_bias: float, end: str) -> None:
    specific = {"plant": 0.2, "flower": 0.4, "monarda": 0.15, "finch": 0.3}
    # Down if .15 * 2^b > .4, from b = 1.42; up if .2 > .4 * 2^b, up to b = -1. Never to the finch.
    ((*_, last),) = decide_garden(OnePath(depth_bias=depth_bias), specific)
    assert last == end


def test_labels_on_an_earlier_path_do_not_start_another() -> None:
    specific = {
        "monarda": 0.5, "flower": 0.4, "plant": 0.3, "fuchsia": 0.2, "oak": 0.1, "bird": 0.05,
    }  # fmt: skip
    best = ["plant", "flower", "monarda"]
    assert decide_garden(TopPaths(paths=1), specific) == [best]
    assert decide_garden(TopPaths(paths=2), specific) == [[*best, "fuchsia"]]
    assert decide_garden(TopPaths(paths=3), specific) == [[*best, "fuchsia", "tree", "oak"]]


def test_there_are_no_more_paths_than_labels_that_reach_the_threshold() -> None:
    specific = {"bird": 0.2, "oak": 0.1}
    two_paths = ["plant", "tree", "oak", "animal", "bird"]
    assert decide_garden(TopPaths(paths=5), specific) == [two_paths]
    assert decide_garden(TopPaths(paths=5, threshold=0.15), specific) == [["animal", "bird"]]


def test_each_end_moves_among_the_labels_of_its_own_path() -> None:
    specific = {"monarda": 0.5, "flower": 0.4, "fuchsia": 0.3, "tree": 0.2, "oak": 0.15}
    # The monarda becomes a flower, which is on its path and not on that of the fuchsia.
    shallow = decide_garden(TopPaths(paths=2, depth_bias=-1), specific)
    assert shallow == [["plant", "flower", "fuchsia"]]
    assert decide_garden(TopPaths(paths=3, depth_bias=1), specific)[0][-2:] == ["tree", "oak"]


@pytest.mark.parametrize("max_table_cells", [0, 1000], ids=["looked up", "in a table"])
def test_labels_are_related_to_themselves_their_ancestors_and_descendants(
    max_table_cells: int,
) -> None:
    relation = _AncestorRelation(GARDEN, max_table_cells=max_table_cells)
    left, right = np.divmod(np.arange(len(GARDEN) ** 2), len(GARDEN))
    closure = GARDEN.closure.toarray() > 0
    expected = (closure | closure.T).ravel()
    np.testing.assert_array_equal(relation.holds(left, right), expected)
