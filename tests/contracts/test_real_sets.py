"""What holds on every public set: no label without its ancestors, by any rule."""

from pathlib import Path

import numpy as np
import pytest

import mhpc
from mhpc.data.decision import Decision
from mhpc.rules.registry import RULES, make_rule

SETS = {
    "cellcycle_models": ("majority", "cross-source", "mhpc"),
    "gasch1_models": ("dawid-skene",),
    "chexpert": ("auto",),
    "dog": ("auto",),
    "birthplaces": ("majority", "one-truth"),
}
"""Sets, and methods that are quick there."""


def without_an_ancestor(decision: Decision) -> int:
    """Count labels that are implied by a chosen one and not chosen."""
    chosen = decision.reason.astype(bool).astype(np.int64)
    implied = (chosen @ decision.taxonomy.closure.astype(np.int64)).tocsr()
    return int(implied.nnz - chosen.nnz)


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name, methods in SETS.items() for method in methods]
)
def test_every_label_comes_with_its_ancestors(data_folder: Path, name: str, method: str) -> None:
    folder = data_folder / name
    taxonomy = mhpc.read_taxonomy(folder / "taxonomy.csv")
    result = mhpc.consolidate(mhpc.read_votes(folder / "votes.csv"), taxonomy, method=method)
    assert without_an_ancestor(result.decision) == 0
    size = result.panel.labels_per_answer
    for rule in RULES:
        decision = make_rule(rule).decide(result.consolidation, labels_per_answer=size)
        assert decision.reason.nnz
        assert without_an_ancestor(decision) == 0, rule
