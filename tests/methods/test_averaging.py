import numpy as np
import pytest

import mhpc
from mhpc.data.panel import SinglePartition
from mhpc.methods.mhpc.algorithm import label_support
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("p1", "ann", "monarda"),
    ("p1", "bob", "flower"),
    ("p2", "ann", "oak", 0.4),
    ("p2", "bob", None),
]


def score(method: mhpc.SA | mhpc.WA, instance: int, label: str) -> float:
    scores = dense(method.consolidate(panel_of(ROWS)).score)
    return float(scores[instance, GARDEN.labels.positions[label]])


def test_sa_is_the_mean_of_the_votes() -> None:
    assert score(mhpc.SA(), 0, "monarda") == 0.5
    assert score(mhpc.SA(), 0, "flower") == 0.5
    assert score(mhpc.SA(), 0, "plant") == 0.0
    assert score(mhpc.SA(), 1, "oak") == pytest.approx(0.2)


def test_sa_of_augmented_votes_counts_ancestors() -> None:
    assert score(mhpc.SA(votes="augmented"), 0, "flower") == 1.0
    assert score(mhpc.SA(votes="augmented"), 0, "plant") == 1.0


def test_wa_is_sa_times_the_support_of_each_label() -> None:
    panel = panel_of(ROWS)
    averaged = dense(mhpc.SA().consolidate(panel).score)
    weighted = dense(mhpc.WA(alpha=0.1).consolidate(panel).score)
    np.testing.assert_allclose(
        weighted, averaged * label_support(SinglePartition(panel), alpha=0.1)
    )


def test_support_counts_ancestors_and_gives_them_more_weight() -> None:
    support = dict(
        zip(GARDEN, label_support(SinglePartition(panel_of(ROWS)), alpha=0.05), strict=True)
    )
    assert support["plant"] > support["flower"] > support["monarda"] > support["finch"] == 0


@pytest.mark.parametrize("method", [mhpc.SA, mhpc.WA])
def test_dividing_by_all_sources_counts_a_missing_answer_as_a_no(
    method: type[mhpc.SA] | type[mhpc.WA],
) -> None:
    rows: list[Row] = [("p", "ann", "oak"), ("q", "ann", "oak"), ("q", "bob", "oak")]
    oak = GARDEN.labels.positions["oak"]
    by_answers = dense(method(average="answers").consolidate(panel_of(rows)).score)[:, oak]
    by_all = dense(method(average="all-sources").consolidate(panel_of(rows)).score)[:, oak]
    assert by_answers[0] == by_answers[1] == by_all[1]
    assert by_all[0] == by_all[1] / 2
