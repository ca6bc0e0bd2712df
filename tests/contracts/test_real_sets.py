"""On public data sets, every rule assigns labels together with their ancestors."""

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
"""Data sets, and methods that are fast on them."""


def count_missing_ancestors(decision: Decision) -> int:
    """Count ancestors of chosen labels that are not chosen."""
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
    assert count_missing_ancestors(result.decision) == 0
    mean_size = result.panel.labels_per_answer
    for rule in RULES:
        decision = make_rule(rule).decide(result.consolidation, labels_per_answer=mean_size)
        assert decision.reason.nnz
        assert count_missing_ancestors(decision) == 0, rule
