"""Which answers are hidden, and which go with them."""

import numpy as np
from scipy import sparse

from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.selection.cross_validation import FEW_SOURCES, folds
from tests.fixtures.build import panel_of

ROWS = [(f"i{i}", f"s{m}", "oak") for i in range(6) for m in range(4)]


def test_every_source_is_hidden_once() -> None:
    panel = panel_of(ROWS)
    parts = folds(panel, independent_sources(4), count=4, seed=0)
    assert sorted(int(part.test.source[0]) for part in parts) == [0, 1, 2, 3]
    for part in parts:
        assert not np.isin(part.train.source, part.test.source).any()
        assert len(part.train.source) + len(part.test.source) == len(panel.source)


def test_fewer_folds_hide_several_sources_together() -> None:
    parts = folds(panel_of(ROWS), independent_sources(4), count=2, seed=0)
    assert [len(np.unique(part.test.source)) for part in parts] == [2, 2]


def test_kin_of_a_hidden_source_is_taken_away_with_it() -> None:
    alike = np.zeros((4, 4))
    alike[0, 1] = alike[1, 0] = 1.0
    kin = SourceDependence(np.ones(4), sparse.csr_array(alike))
    for part in folds(panel_of(ROWS), kin, count=4, seed=0):
        if part.test.source[0] in (0, 1):
            assert set(part.train.source.tolist()) == {2, 3}
        else:
            assert len(set(part.train.source.tolist())) == 3


def test_where_all_are_kin_only_the_hidden_go() -> None:
    kin = SourceDependence(np.ones(4), sparse.csr_array(1.0 - np.eye(4)))
    parts = folds(panel_of(ROWS), kin, count=4, seed=0)
    assert all(len(set(part.train.source.tolist())) == 3 for part in parts)


def test_of_many_sources_single_answers_are_hidden() -> None:
    rows = [(f"i{i}", f"s{m}", "oak") for i in range(6) for m in range(FEW_SOURCES + 1)]
    parts = folds(panel_of(rows), independent_sources(FEW_SOURCES + 1), count=3, seed=0)
    assert len(parts) == 3
    assert sum(len(part.test.source) for part in parts) == len(rows)


def test_answers_that_nobody_else_answers_are_not_asked_for() -> None:
    rows = [("x", "s", "oak"), ("x", "t", "oak"), ("y", "s", "oak")]
    for part in folds(panel_of(rows), independent_sources(2), count=4, seed=0):
        assert part.test.instance.tolist() == [0]


def test_one_source_or_no_overlap_leaves_nothing_to_judge() -> None:
    assert (
        folds(
            panel_of([("x", "s", "oak"), ("y", "s", "oak")]),
            independent_sources(1),
            count=4,
            seed=0,
        )
        == []
    )
    apart = panel_of([("x", "s", "oak"), ("y", "t", "oak")])
    assert folds(apart, independent_sources(2), count=4, seed=0) == []
