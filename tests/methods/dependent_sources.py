"""Panels of sources with known dependence."""

from dataclasses import replace

import numpy as np

import mhpc
from mhpc.data.index import Index
from mhpc.data.panel import Panel
from tests.fixtures.build import Row

ROWS: list[Row] = [
    ("p1", "ann", "monarda"), ("p1", "bob", "flower"), ("p1", "cid", "fuchsia", 0.5),
    ("p2", "ann", "oak"), ("p2", "bob", "tree"), ("p2", "bob", "finch"), ("p2", "dee", "oak"),
    ("p3", "cid", "bird"), ("p3", "ann", None),
    ("p4", "bob", "monarda"), ("p4", "cid", "monarda"),
    ("p5", "ann", "finch"), ("p5", "bob", "finch"), ("p5", "cid", "oak"),
]  # fmt: skip
"""Four sources; dee and cid have no instance in common."""


PROFILES = [
    mhpc.Profile(0.9, 0.9), mhpc.Profile(0.8, 0.5), mhpc.Profile(0.7, 0.4),
    mhpc.Profile(0.8, 0.7), mhpc.Profile(0.9, 0.6),
]  # fmt: skip


def simulated(*, coverage: float = 1.0, seed: int = 0) -> Panel:
    garden = mhpc.load_garden()
    profiles = [replace(profile, coverage=coverage) for profile in PROFILES]
    votes = mhpc.simulate(garden.truth, garden.taxonomy, profiles, seed=seed)
    return mhpc.encode(votes, garden.taxonomy)


def with_copy(panel: Panel, source: str) -> Panel:
    """The panel with one more source, last, that copies the answers of another."""
    copied = np.flatnonzero(panel.source == panel.sources.positions[source])
    row = np.concatenate([np.arange(len(panel.source)), copied])
    source_of = np.concatenate([panel.source, np.full(len(copied), len(panel.sources))])
    order = np.lexsort((source_of, panel.instance[row]))
    return replace(
        panel, sources=Index((*panel.sources, f"copy of {source}")), source=source_of[order],
        instance=panel.instance[row][order], raw=panel.raw[row[order]],
        augmented=panel.augmented[row[order]],
    )  # fmt: skip
