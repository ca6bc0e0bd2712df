"""A fitted method scores instances block by block, or when their scores are read."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from mhpc.data.panel import Panel
from mhpc.data.scores import Scores
from mhpc.methods.averaging import SA
from mhpc.methods.base import predict_scores
from mhpc.methods.fitted import FittedMethod
from mhpc.numerics.arrays import FloatArray, Rows, dense
from tests.fixtures.build import Row, panel_of

ROWS: list[Row] = [(f"p{n}", "ann", "oak" if n % 2 else "finch") for n in range(6)]

predict_lazily = partial(predict_scores, max_instances=2, max_dense_bytes=0)
"""Blocks of two instances, and no room for all of them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CountingMean(FittedMethod):
    """Mean answers; remembers how many instances were predicted in each call."""

    calls: list[int] = field(default_factory=list)

    def predict(self, panel: Panel) -> Scores:
        self.calls.append(len(panel.instances))
        mean = dense(panel.mean("augmented", "answers"))
        return Scores(mean, mean / 2)


def mean_of(panel: Panel) -> FloatArray:
    return dense(panel.mean("augmented", "answers"))


@pytest.mark.parametrize("rows", [[0, 1, 2], [4, 1], [3, 3, 0], [5]])
def test_scores_of_any_instances_in_any_order_are_computed_when_read(rows: list[int]) -> None:
    panel = panel_of(ROWS)
    lazy = predict_lazily(SA(), CountingMean(), panel)
    assert isinstance(lazy.score, Rows)
    np.testing.assert_array_equal(lazy.score[np.array(rows)], mean_of(panel)[rows])
    np.testing.assert_array_equal(lazy.specific[np.array(rows)], mean_of(panel)[rows] / 2)


def test_both_views_of_the_same_instances_are_computed_once() -> None:
    fitted = CountingMean()
    lazy = predict_lazily(SA(), fitted, panel_of(ROWS))
    before = len(fitted.calls)
    lazy.score[:3], lazy.specific[:3]
    assert len(fitted.calls) == before + 1
    lazy.specific[1:3]
    assert len(fitted.calls) == before + 2


def test_scores_that_fit_are_computed_block_by_block_and_kept() -> None:
    panel, fitted = panel_of(ROWS), CountingMean()
    consolidation = predict_scores(SA(), fitted, panel, max_instances=2)
    assert isinstance(consolidation.score, np.ndarray)
    # Two instances come first, to see how much memory their scores take.
    assert fitted.calls == [2, 2, 2, 2]
    np.testing.assert_array_equal(consolidation.score, mean_of(panel))
    np.testing.assert_array_equal(consolidation.specific, mean_of(panel) / 2)


def test_sparse_scores_of_all_blocks_are_joined() -> None:
    panel = panel_of(ROWS)
    fitted = SA().consolidate(panel).fitted
    assert fitted is not None
    joined = predict_scores(SA(), fitted(), panel, max_instances=2)
    np.testing.assert_array_equal(dense(joined.score), dense(panel.mean("raw", "answers")))
