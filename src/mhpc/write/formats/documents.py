"""Documents: a JSON array with an object an instance, for tools in which people look at it."""

from collections.abc import Iterable
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np

from mhpc.core.outcome import Outcome
from mhpc.errors import DataError, nearest
from mhpc.write.formats.format import as_text

Order: TypeAlias = Literal["conflict", "given"]


def write_array(file: BinaryIO, objects: Iterable[str]) -> None:
    """Write objects, given as JSON, as one array, a line each."""
    with as_text(file) as text:
        text.write("[")
        for at, each in enumerate(objects):
            text.write(",\n" if at else "\n")
            text.write(each)
        text.write("\n]\n")


def conflict_order(outcome: Outcome, order: Order) -> list[int]:
    """Return the instances, those first whose least sure deepest label is the least sure.

    An instance without a label comes before all others.
    """
    if order == "given":
        return list(range(len(outcome.instances)))
    sure = np.argsort(outcome.deepest().least_score(), kind="stable")
    return [int(row) for row in sure]


def chosen_in(outcome: Outcome, labels: Literal["all", "deepest"]) -> Outcome:
    """Return all labels, or those alone that have none below them."""
    return outcome.deepest() if labels == "deepest" else outcome


def fields_of(outcome: Outcome, instance: str, *, key: str | None) -> dict[str, Any]:
    """Return what a tool holds of an instance; its id under a key where nobody told."""
    if not outcome.fields:
        return {} if key is None else {key: instance}
    if instance not in outcome.fields:
        raise DataError(
            f"instance {instance!r} is not among the tasks{nearest(instance, outcome.fields)}; "
            "give the export that the votes came from"
        )
    return dict(outcome.fields[instance])
