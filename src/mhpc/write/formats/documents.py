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
    """Return the instances in the order in which people had best look at them.

    Those first on which one more opinion is worth most, as far as a run keeps them; then by how
    sure the least sure deepest label is, an instance without a label before all others.
    """
    if order == "given":
        return list(range(len(outcome.instances)))
    first = outcome.instances.locate(outcome.contested).tolist()
    listed = set(first)
    sure = np.argsort(outcome.deepest().least_score(), kind="stable").tolist()
    return [*first, *(row for row in sure if row not in listed)]


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
