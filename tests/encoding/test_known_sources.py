import numpy as np
import pytest

from mhpc.data.index import Index
from mhpc.encoding.gold import align_sources
from mhpc.errors import DataError
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, Row, panel_of

ROWS: list[Row] = [("p", "bob", "oak"), ("p", "ann", "monarda"), ("q", "bob", "finch")]


def test_sources_count_as_an_earlier_run_counts_them() -> None:
    earlier = Index(("ann", "cid", "bob"))
    panel = align_sources(panel_of(ROWS), earlier, None)
    assert panel.sources is earlier
    assert panel.scope is None
    # Of an instance answers stand in the order of their sources: ann is 0, bob is 2.
    assert panel.instance.tolist() == [0, 0, 1]
    assert panel.source.tolist() == [0, 2, 2]
    said = [GARDEN.labels[k] for k in panel.raw.indices]
    assert said == ["monarda", "oak", "finch"]
    np.testing.assert_array_equal(dense(panel.augmented).sum(axis=1), [3, 3, 3])


def test_the_scope_is_that_of_the_earlier_run() -> None:
    scope = panel_of(ROWS, scope="used").scope
    assert align_sources(panel_of(ROWS), Index(("bob", "ann")), scope).scope is scope


def test_a_source_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(DataError, match="source 'ann' has no answers in the earlier run"):
        align_sources(panel_of(ROWS), Index(("bob", "anne")), None)
