"""A sample of instances that lie in several partitions, the same however they are divided."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from mhpc.core.arrays import IntArray
from mhpc.core.index import Index
from mhpc.core.panel import Panel
from mhpc.core.parts import lots
from mhpc.core.truth import EncodedTruth
from mhpc.engine.partitions import Partition


def drawn(part: Partition, most: int) -> tuple[IntArray, IntArray]:
    """Return the lots and first rows of those instances that could be in a sample."""
    drawn = lots(part.panel)
    if len(drawn) > most:
        kept = np.lexsort((part.first, drawn))[:most]
        return drawn[kept], part.first[kept]
    return drawn, part.first


def sampled(part: Partition, last: tuple[int, int]) -> Partition | None:
    """Return the instances up to the last lot and, among equal lots, the last first row."""
    drawn = lots(part.panel)
    at = np.flatnonzero((drawn < last[0]) | ((drawn == last[0]) & (part.first <= last[1])))
    if not len(at):
        return None
    return Partition(part.panel.part(at), part.first[at], part.rows)


def joined(parts: Sequence[Partition]) -> Panel:
    """Return one panel of the instances of all, in the order of first appearance."""
    panels = [part.panel for part in parts]
    begins = np.cumsum([0, *(len(panel.instances) for panel in panels)])
    order = np.argsort(np.concatenate([part.first for part in parts]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ids = [id_ for panel in panels for id_ in panel.instances]
    instance = np.concatenate(
        [place[panel.instance + begin] for panel, begin in zip(panels, begins, strict=False)]
    )
    source = np.concatenate([panel.source for panel in panels])
    rows = np.lexsort((source, instance))
    return replace(
        panels[0],
        instances=Index(tuple(ids[at] for at in order)),
        instance=instance[rows],
        source=source[rows],
        raw=sparse.vstack([panel.raw for panel in panels], format="csr")[rows],
        augmented=sparse.vstack([panel.augmented for panel in panels], format="csr")[rows],
        gold=_joined_gold(panels, begins, place),
    )


def _joined_gold(panels: list[Panel], begins: IntArray, place: IntArray) -> EncodedTruth | None:
    known = [(panel.gold, begin) for panel, begin in zip(panels, begins, strict=False)]
    if any(gold is None for gold, _ in known):
        return None
    found = [(gold, begin) for gold, begin in known if gold is not None]
    rows = np.concatenate([place[gold.rows + begin] for gold, begin in found])
    order = np.argsort(rows)
    return EncodedTruth(
        rows[order],
        sparse.vstack([gold.specific for gold, _ in found], format="csr")[order],
        sparse.vstack([gold.closed for gold, _ in found], format="csr")[order],
    )
