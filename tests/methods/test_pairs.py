import numpy as np
import pytest

from mhpc.data.panel import Panel
from mhpc.methods import pairs
from mhpc.methods.pairs import affirmed_pairs, pieces
from mhpc.numerics.arrays import dense
from tests.fixtures.build import DAG, Row, panel_of


def some_panel() -> Panel:
    rng = np.random.default_rng(3)
    rows: list[Row] = [
        (
            f"i{i}",
            f"s{s}",
            str(rng.choice(["b", "c", "d", *"ae"[: 2 * (s < 3)]])),
            float(rng.choice([0.5, 1.0])),
        )
        for i in range(12)
        for s in range(4)
        if rng.random() < 0.7
    ]
    return panel_of(rows, DAG, scope={"s3": ("b", "c", "d")}, instances=["silent"])


def test_pairs_are_what_someone_affirmed_beside_all_who_could_have() -> None:
    panel = some_panel()
    found, votes = affirmed_pairs(panel), dense(panel.augmented)
    assert panel.scope is not None
    scope = dense(panel.scope)
    affirmed = np.zeros((len(panel.instances), len(DAG)), dtype=bool)
    for answer, instance in enumerate(panel.instance):
        affirmed[instance] |= votes[answer] > 0
    np.testing.assert_array_equal(np.stack([found.instance, found.label]), affirmed.nonzero())
    for answer, (instance, source) in enumerate(zip(panel.instance, panel.source, strict=True)):
        here = found.instance == instance
        np.testing.assert_array_equal(dense(found.said)[answer], here * votes[answer, found.label])
        np.testing.assert_array_equal(dense(found.asked)[answer], here * scope[source, found.label])


def test_pairs_are_the_same_where_they_are_too_many_for_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled = affirmed_pairs(some_panel())
    monkeypatch.setattr(pairs, "_TABLE", 0)
    sorted_ = affirmed_pairs(some_panel())
    np.testing.assert_array_equal(sorted_.label, filled.label)
    np.testing.assert_array_equal(dense(sorted_.said), dense(filled.said))


@pytest.mark.parametrize("most", [1, 20, 1000])
def test_pieces_hold_every_instance_once_and_no_more_than_asked_for(most: int) -> None:
    panel = some_panel()
    found = list(pieces(panel, most))
    assert [i for piece in found for i in piece.instances] == list(panel.instances)
    for piece in found:
        assert len(piece.instances) <= 2 or affirmed_pairs(piece).asked.nnz <= 2 * most
    assert len(found) == 1 or most < 1000
