"""What is shown beside instances on the page, added to its facts."""

from collections.abc import Mapping
from typing import Any

from mhpc.read.show import ShowTable


def add_show(facts: Mapping[str, Any], table: ShowTable | None) -> dict[str, Any]:
    """Return the facts of a page with `review.show`: one list per column, aligned with instances.

    Examples
    --------
    >>> table = ShowTable({"text": {"photo-1": "A bee on a rose"}})
    >>> add_show({"instances": {"id": ["photo-1", "photo-2"]}}, table)["review"]
    {'show': {'text': ['A bee on a rose', None]}}
    """
    if table is None:
        return dict(facts)
    ids = facts["instances"]["id"]
    show = {name: [cells.get(id_) for id_ in ids] for name, cells in table.columns.items()}
    return {**facts, "review": {**(facts.get("review") or {}), "show": show}}
