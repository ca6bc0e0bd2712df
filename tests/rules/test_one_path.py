"""One label, with its ancestors."""

import numpy as np
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.scores import Consolidation
from mhpc.numerics.arrays import Matrix
from mhpc.rules.paths import OnePath
from tests.fixtures.build import DAG, GARDEN


def consolidation(specific: Matrix, taxonomy: object = GARDEN) -> Consolidation:
    instances = Index(tuple("xyz"[: specific.shape[0]]))
    return Consolidation(taxonomy, instances, specific, specific, "test")  # type: ignore[arg-type]


def test_the_most_likely_label_comes_with_its_ancestors() -> None:
    specific = np.zeros((2, len(GARDEN)))
    specific[0, GARDEN.labels.positions["monarda"]] = 0.6
    specific[0, GARDEN.labels.positions["flower"]] = 0.4
    specific[1, GARDEN.labels.positions["bird"]] = 0.1
    for matrix in (specific, sparse.csr_array(specific)):
        decision = OnePath().decide(consolidation(matrix), labels_per_answer=1.0)
        assert decision.labels() == {"x": ["plant", "flower", "monarda"], "y": ["animal", "bird"]}


def test_reasons_tell_the_label_from_what_it_implies() -> None:
    specific = np.zeros((1, len(DAG)))
    specific[0, DAG.labels.positions["d"]] = 1.0
    reason = OnePath().decide(consolidation(specific, DAG), labels_per_answer=1.0).reason
    assert reason.toarray().tolist() == [[2, 2, 2, 1, 0]]


def test_of_what_nothing_is_known_nothing_is_decided() -> None:
    decision = OnePath().decide(consolidation(np.zeros((1, len(GARDEN)))), labels_per_answer=1.0)
    assert decision.labels() == {"x": []}


def test_in_a_tie_the_earlier_label_wins() -> None:
    specific = np.full((1, len(GARDEN)), 0.5)
    decision = OnePath().decide(consolidation(specific), labels_per_answer=1.0)
    assert decision.labels() == {"x": ["plant"]}


def test_no_label_below_the_least_score_ends_the_path() -> None:
    score, specific = np.zeros((2, 2, len(GARDEN)))
    at = GARDEN.labels.positions
    score[0, [at["plant"], at["flower"], at["monarda"]]] = 0.9, 0.6, 0.4
    specific[0, [at["plant"], at["flower"], at["monarda"]]] = 0.3, 0.2, 0.4
    score[1, at["bird"]] = specific[1, at["bird"]] = 0.3
    found = Consolidation(GARDEN, Index(("x", "y")), score, specific, "test")
    decision = OnePath(threshold=0.5).decide(found, labels_per_answer=1.0)
    assert decision.labels() == {"x": ["plant"], "y": []}


def test_a_bias_moves_the_end_along_its_path_and_nowhere_else() -> None:
    specific = np.zeros((1, len(GARDEN)))
    at = GARDEN.labels.positions
    specific[0, [at["plant"], at["flower"], at["monarda"], at["finch"]]] = 0.2, 0.4, 0.15, 0.3
    ends = {
        bias: OnePath(depth_bias=bias).decide(consolidation(specific), labels_per_answer=1.0)
        for bias in (-1.5, 0.0, 1.0, 1.5)
    }
    # Down: .15 * 2^b > .4 from b = 1.42; up: .2 > .4 * 2^b up to b = -1. A finch is elsewhere.
    assert {bias: decision.labels()["x"][-1] for bias, decision in ends.items()} == {
        -1.5: "plant", 0.0: "flower", 1.0: "flower", 1.5: "monarda",
    }  # fmt: skip
