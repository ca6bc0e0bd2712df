"""Results on a taxonomy with too many ancestors to compute all of them are those on any other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mhpc
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.methods.registry import METHODS
from mhpc.numerics.arrays import dense
from mhpc.result import Result
from mhpc.rules.registry import RULES
from tests.data.test_closure import random_dag
from tests.fixtures.build import Row, votes_of


def rows_on(taxonomy: Taxonomy) -> list[Row]:
    """Return answers of up to two labels of four sources to eight instances."""
    rng = np.random.default_rng(5)
    return [
        (f"x{i}", f"s{s}", taxonomy.labels[k], float(rng.choice([0.5, 1.0])))
        for i in range(8)
        for s in range(4)
        if rng.random() < 0.8
        for k in rng.choice(len(taxonomy), size=rng.integers(1, 3), replace=False)
    ]


def chains() -> Taxonomy:
    labels = [f"c{chain}-{level}" for chain in range(3) for level in range(9)]
    return build_taxonomy(labels, [(labels[k], labels[k - 1]) for k in range(27) if k % 9])


TAXONOMIES: dict[str, Callable[[], Taxonomy]] = {
    "chains": chains,
    "tree": lambda: random_dag(3, max_parents=1),
    "dag": lambda: random_dag(3),
}


def facts_of(result: Result) -> dict[str, Any]:
    """Return everything that is computed from a result, without times."""
    consolidation = result.consolidation
    return {
        "labels": result.labels,
        "score": dense(consolidation.score).round(9).tolist(),
        "specific": dense(consolidation.specific).round(9).tolist(),
        "conflicts": repr(mhpc.conflicts(result)),
        "explanation": repr(mhpc.explain(result, "x1")),
        "sources": repr(result.sources),
    }


@pytest.mark.parametrize("shape", TAXONOMIES)
@pytest.mark.parametrize(
    ("method", "rule"),
    [*((method, None) for method in METHODS), *(("majority", rule) for rule in RULES)],
)
def test_results_are_those_with_all_ancestors(
    monkeypatch: pytest.MonkeyPatch, shape: str, method: str, rule: str | None
) -> None:
    taxonomy = TAXONOMIES[shape]()
    votes = votes_of(rows_on(taxonomy))
    expected = facts_of(mhpc.consolidate(votes, taxonomy, method=method, rule=rule))
    monkeypatch.setattr("mhpc.data.taxonomy.MAX_PAIRS", -1)
    large = TAXONOMIES[shape]()
    assert not large.has_small_closure
    assert facts_of(mhpc.consolidate(votes, large, method=method, rule=rule)) == expected
