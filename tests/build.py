"""Small data, written out."""

from collections.abc import Iterable

import numpy as np

from mhpc.core.panel import Panel
from mhpc.core.taxonomy import Taxonomy, build_taxonomy
from mhpc.core.votes import Scope
from mhpc.encode.panel import encode
from mhpc.read.votes import read_votes

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
    names = ("instance", "source", "label", "score")
    columns = zip(*((*row, 1.0)[:4] for row in rows), strict=True)
    votes = read_votes(dict(zip(names, columns, strict=True)), scope=scope)
    return encode(votes, taxonomy, instances=instances)


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
