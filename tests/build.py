"""Small data, written out."""

from collections.abc import Iterable

import numpy as np

from mhpc.core.index import Index
from mhpc.core.panel import Panel
from mhpc.core.taxonomy import Taxonomy, build_taxonomy
from mhpc.core.votes import Scope, Votes
from mhpc.encode.panel import encode

Row = tuple[str, str, str | None] | tuple[str, str, str | None, float]

GARDEN = build_taxonomy(
    ["plant", "flower", "monarda", "fuchsia", "tree", "oak", "animal", "bird", "finch"],
    [
        ("flower", "plant"),
        ("monarda", "flower"),
        ("fuchsia", "flower"),
        ("tree", "plant"),
        ("oak", "tree"),
        ("bird", "animal"),
        ("finch", "bird"),
    ],
)
"""Nine labels in three levels, two roots."""

DAG = build_taxonomy(
    ["a", "b", "c", "d", "e"], [("b", "a"), ("c", "b"), ("d", "b"), ("d", "c"), ("e", "a")]
)
"""A label with two parents on different levels: d below b and below c, c below b."""


def panel_of(
    rows: Iterable[Row],
    taxonomy: Taxonomy = GARDEN,
    *,
    instances: Iterable[str] = (),
    scope: Scope = "all",
) -> Panel:
    """Encode rows (instance, source, label[, score]); None is "none of these"."""
    return encode(votes_of(rows, scope=scope), taxonomy, instances=instances)


def votes_of(rows: Iterable[Row], *, scope: Scope = "all") -> Votes:
    """Return what `read_votes` reads from these rows, a hundred times faster; no vote twice.

    So that properties can be tried on many panels.
    """
    every = [(*row, 1.0)[:4] for row in rows]
    instances, sources = (Index(tuple(dict.fromkeys(row[at] for row in every))) for at in (0, 1))
    labels = Index(tuple(dict.fromkeys(row[2] for row in every if row[2] is not None)))
    return Votes(
        instances=instances,
        sources=sources,
        labels=labels,
        instance=instances.locate(row[0] for row in every),
        source=sources.locate(row[1] for row in every),
        label=labels.locate(row[2] or "" for row in every),
        score=np.array([row[3] for row in every], dtype=np.float64),
        scope=scope,
    )


def small_panel(*, seed: int = 0, instances: int = 25) -> Panel:
    """Votes on a DAG with scores, missing answers and twins; the last instance is unanswered."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for i in range(instances):
        for s in range(4):
            if s and rng.random() < 0.4:
                continue
            said = [k for k in DAG if rng.random() < 0.3]
            rows += [(f"x{i}", f"s{s}", k, float(rng.choice([0.5, 1.0]))) for k in said]
            rows += [] if said else [(f"x{i}", f"s{s}", None)]
    rows += [(f"twin {row[0]}", *row[1:]) for row in rows if row[0] in ("x1", "x2")]
    return panel_of(rows, DAG, instances=["lonely"])
