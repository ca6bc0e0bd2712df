"""What was learnt concludes on instances when they are asked for, where not all fit at once."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from mhpc.data import panel as parts
from mhpc.data.panel import Panel
from mhpc.data.scores import Scores
from mhpc.methods import base as fitted
from mhpc.methods.averaging import SA
from mhpc.methods.base import FittedMethod, predict_scores
from mhpc.numerics.arrays import Rows, dense
from tests.fixtures.build import Row, panel_of

ROWS: list[Row] = [(f"p{n}", "ann", "oak" if n % 2 else "finch") for n in range(6)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Counted(FittedMethod):
    """Means that remember how often they were made."""

    asked: list[int] = field(default_factory=list)

    def predict(self, panel: Panel) -> Scores:
        self.asked.append(len(panel.instances))
        mean = dense(panel.mean("augmented", "answers"))
        return Scores(mean, mean / 2)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of two instances, and no room for all of them."""
    monkeypatch.setattr(parts, "_INSTANCES", 2)
    monkeypatch.setattr(fitted, "AT_HAND", 0)


def expected(panel: Panel) -> np.ndarray:
    return dense(panel.mean("augmented", "answers"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("rows", [[0, 1, 2], [4, 1], [3, 3, 0], [5]])
def test_scores_of_any_instances_in_any_order_are_made_when_asked_for(rows: list[int]) -> None:
    panel = panel_of(ROWS)
    found = predict_scores(SA(), Counted(), panel)
    assert isinstance(found.score, Rows)
    np.testing.assert_array_equal(found.score[np.array(rows)], expected(panel)[rows])
    np.testing.assert_array_equal(found.specific[np.array(rows)], expected(panel)[rows] / 2)


@pytest.mark.usefixtures("small")
def test_both_numbers_of_the_same_instances_are_made_once() -> None:
    learnt = Counted()
    found = predict_scores(SA(), learnt, panel_of(ROWS))
    before = len(learnt.asked)
    found.score[:3], found.specific[:3]
    assert len(learnt.asked) == before + 1
    found.specific[1:3]
    assert len(learnt.asked) == before + 2


def test_what_fits_is_made_part_by_part_and_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_INSTANCES", 2)
    panel, learnt = panel_of(ROWS), Counted()
    found = predict_scores(SA(), learnt, panel)
    assert isinstance(found.score, np.ndarray)
    assert learnt.asked == [2, 2, 2]
    np.testing.assert_array_equal(found.score, expected(panel))
    np.testing.assert_array_equal(found.specific, expected(panel) / 2)
