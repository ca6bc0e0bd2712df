"""Small data, written out."""

from collections.abc import Iterable

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
