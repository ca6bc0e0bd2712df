"""What the JSON documents for annotation tools have in common."""

from collections.abc import Iterable
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np

from mhpc.data.decision import LabelledScores
from mhpc.errors import DataError, suggest
from mhpc.write.formats import as_text

Order: TypeAlias = Literal["conflict", "given"]
"""Instances in the order in which to review them, or in the order of the input."""

LabelChoice: TypeAlias = Literal["all", "deepest"]
"""All labels of an instance, or only those without a chosen descendant."""


def write_array(file: BinaryIO, objects: Iterable[str]) -> None:
    """Write objects, which are JSON texts, as one array with one line per object."""
    with as_text(file) as text:
        text.write("[")
        for number, object_ in enumerate(objects):
            text.write(",\n" if number else "\n")
            text.write(object_)
        text.write("\n]\n")


def order_rows(result: LabelledScores, order: Order) -> list[int]:
    """Return the positions of the instances in the order in which they are written.

    With ``"conflict"``, instances come first whose review has the largest expected gain, as far as
    the run stored them. The others follow by the score of their least certain deepest label;
    instances without a label come before those.
    """
    if order == "given":
        return list(range(len(result.instances)))
    review_first = result.instances.locate(result.review_order).tolist()
    listed = set(review_first)
    by_certainty = np.argsort(result.deepest().least_score(), kind="stable").tolist()
    return [*review_first, *(row for row in by_certainty if row not in listed)]


def choose_labels(result: LabelledScores, labels: LabelChoice) -> LabelledScores:
    """Return the result with all labels, or with the deepest ones only."""
    return result.deepest() if labels == "deepest" else result


def fields_of(result: LabelledScores, instance: str, *, key: str | None) -> dict[str, Any]:
    """Return the fields of an instance in the tool; if there are no tasks, its id under a key."""
    if not result.fields:
        return {} if key is None else {key: instance}
    if instance not in result.fields:
        raise DataError(
            f"instance {instance!r} is not among the tasks{suggest(instance, result.fields)}; "
            "give the export that the votes came from"
        )
    return dict(result.fields[instance])
