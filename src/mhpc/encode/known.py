"""New answers of sources that are known already."""

from dataclasses import replace

import numpy as np

from mhpc.core.arrays import Sparse
from mhpc.core.index import UNKNOWN, Index
from mhpc.core.panel import Panel
from mhpc.errors import DataError, nearest


def of_known_sources(panel: Panel, sources: Index, scope: Sparse | None) -> Panel:
    """Return the panel with its sources counted as an earlier one counts them, and its scope."""
    place = sources.locate(panel.sources)
    strange = np.flatnonzero(place == UNKNOWN)
    if len(strange):
        name = panel.sources[strange[0]]
        raise DataError(
            f"source {name!r} has no answers in the earlier run{nearest(name, sources)}, so that "
            "nothing is known of it; correct it, leave its answers out, or consolidate all "
            "answers together"
        )
    source = place[panel.source]
    order = np.lexsort((source, panel.instance))
    return replace(
        panel,
        sources=sources,
        instance=panel.instance[order],
        source=source[order],
        raw=panel.raw[order],
        augmented=panel.augmented[order],
        scope=scope,
    )
