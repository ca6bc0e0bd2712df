"""Whether a scope that was inferred from silence is used."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.panel import Panel, SinglePartition, set_scope
from mhpc.methods.scope import infer_scope
from mhpc.selection.auto import Auto
from mhpc.selection.scope_test import ScopeTest, try_scope
from tests.fixtures.build import Row, panel_of


def panel_with_a_specialist() -> Panel:
    """Return a panel whose fourth source knows plants alone and never gives "finch"."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for i in range(80):
        has_finch, plant = i % 2 == 0, ("oak", "monarda")[rng.integers(2)]
        for source in ("ann", "bob", "cid", "botanist"):
            wrong = ("oak", "monarda")[rng.integers(2)]
            rows.append((f"i{i}", source, plant if rng.random() < 0.8 else wrong))
            if source != "botanist" and rng.random() < (0.9 if has_finch else 0.1):
                rows.append((f"i{i}", source, "finch"))
    return panel_of(rows)


def test_a_scope_that_silence_shows_is_used() -> None:
    panel = panel_with_a_specialist()
    fitted = Auto().fit(SinglePartition(panel))
    assert fitted.combination.scope == "inferred"
    assert fitted.scope is not None
    row = fitted.scope[[panel.sources.positions["botanist"]]].toarray()[0]
    assert row[panel.taxonomy.labels.positions["finch"]] == 0
    assert row[panel.taxonomy.labels.positions["oak"]] == 1
    assert any("out of scope" in note for note in fitted.notes)


def test_a_declared_scope_is_kept() -> None:
    panel = panel_with_a_specialist()
    everything = sparse.csr_array(np.ones((len(panel.sources), len(panel.taxonomy))))
    fitted = Auto().fit(SinglePartition(set_scope(panel, scope=everything)))
    assert fitted.combination.scope == "declared"
    assert fitted.scope is None


def test_the_test_compares_the_loss_with_and_without_the_scope() -> None:
    partitions = SinglePartition(panel_with_a_specialist())
    scope = infer_scope(partitions)
    assert scope is not None
    tested = try_scope(partitions, scope, n_folds=4, seed=0)
    assert len(tested.with_scope) == len(tested.without) == 4
    assert not tested.is_harmful


@pytest.mark.parametrize(
    ("with_scope", "without", "is_harmful", "is_noise"),
    [
        ((0.30, 0.31, 0.29), (0.20, 0.21, 0.20), True, False),
        ((0.201, 0.2011, 0.2009), (0.20, 0.20, 0.20), False, False),
        ((0.30, 0.10), (0.20, 0.15), False, True),
        ((0.10, 0.11, 0.10), (0.20, 0.21, 0.20), False, False),
        ((), (), False, True),
    ],
    ids=["much worse", "hardly worse", "noise", "better", "no folds"],
)
def test_only_a_clear_and_large_increase_of_the_loss_is_harmful(
    with_scope: tuple[float, ...], without: tuple[float, ...], is_harmful: bool, is_noise: bool
) -> None:
    tested = ScopeTest(3, with_scope, without)
    assert tested.is_harmful == is_harmful
    assert tested.is_noise == is_noise
    assert ("could be out of scope" in tested.describe()) == is_harmful
