"""Small random panels, and the dependence between their sources."""

from dataclasses import replace
from itertools import product

import numpy as np

from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.numerics.arrays import FloatArray
from tests.fixtures.build import Row, panel_of


def random_panel(taxonomy: Taxonomy, seed: int, *, sets: bool = False) -> Panel:
    """Five sources that skip some of six instances; with `sets`, several labels and weights."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for instance, source in product("pqrstu", "abcde"):
        if rng.random() < 0.7:
            labels = rng.choice(taxonomy.labels.ids, size=rng.integers(1, 4) if sets else 1)
            rows += [
                (instance, source, str(k), float(rng.choice([0.3, 1])) if sets else 1.0)
                for k in set(labels)
            ]
    panel = panel_of(rows, taxonomy)
    return replace(panel, weight=rng.random(len(panel.instance)) * 2) if sets else panel


def random_dependence(panel: Panel, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    M = len(panel.sources)
    rho = np.triu(rng.random((M, M)) * (rng.random((M, M)) < 0.5), 1)
    return rho + rho.T
