"""What sources say without giving a label: abstentions, and votes that a label does not apply.

Both are apart from the answers of a panel, so that methods see the source as not asked.
`mhpc.data.votes.Votes` says what each kind of vote means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np

from mhpc.data.index import UNKNOWN
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray
from mhpc.parameters import registered

Kind = TypeVar("Kind", "Abstentions", "Denials")


@dataclass(frozen=True, eq=False)
class Abstentions:
    """Instances about which a source was asked but did not know.

    Attributes
    ----------
    instance, source : int arrays, (B,)
        The positions in a panel, sorted by instance, then by source.
    """

    instance: IntArray
    source: IntArray

    def __len__(self) -> int:
        return len(self.instance)


@dataclass(frozen=True, eq=False)
class Denials:
    """Votes that a label, and so every descendant of it, does not apply to an instance.

    Attributes
    ----------
    instance, source, label : int arrays, (D,)
        The positions in a panel, sorted by instance, source and label; no label that the source
        gives to the instance, itself or by a descendant.
    score : float array, (D,)
        How sure the source is, in (0, 1].
    """

    instance: IntArray
    source: IntArray
    label: IntArray
    score: FloatArray

    def __len__(self) -> int:
        return len(self.instance)

    def select_labels(self, labels: IntArray) -> "Denials":
        """Return the denials of some labels, at increasing positions, which are renumbered."""
        position = np.searchsorted(labels, self.label)
        kept = np.append(labels, -1)[position] == self.label
        return replace(select_rows(self, kept), label=position[kept])


@registered("denial-weights")
@dataclass(frozen=True, eq=False)
class DenialWeights:
    """How much denials count, as `mhpc.encoding.denials` defines it.

    Attributes
    ----------
    source : float array, (M,)
        w, the weight of an answer or a denial of each source.
    exponent : float
        b, by how much scores follow the share of answers that give a label.
    """

    source: FloatArray
    exponent: float

    def with_sources(self, origin: IntArray) -> "DenialWeights":
        """Return the weights for other sources, with the mean for new ones.

        Parameters
        ----------
        origin : int array
            The position here of every source there, `UNKNOWN` for new ones.
        """
        return replace(self, source=np.append(self.source, self.source.mean())[origin])


def select_rows(part: Kind, rows: IntArray | BoolArray) -> Kind:
    """Return some abstentions or denials, by positions or a mask."""
    return replace(part, **{item.name: getattr(part, item.name)[rows] for item in fields(part)})


def keep_instances(part: Kind | None, instances: IntArray) -> Kind | None:
    """Return those about some instances, at increasing positions, which are renumbered."""
    if part is None:
        return None
    position = np.searchsorted(instances, part.instance)
    kept = np.append(instances, -1)[position] == part.instance
    return replace(select_rows(part, kept), instance=position[kept])


def renumber_sources(part: Kind | None, position: IntArray) -> Kind | None:
    """Return the same with every source at its new position, without those that have none."""
    if part is None:
        return None
    moved = replace(part, source=position[part.source])
    return _sort(select_rows(moved, moved.source != UNKNOWN))


def join_parts(parts: Sequence[Kind | None], places: Sequence[IntArray]) -> Kind | None:
    """Return those of several panels together; `places` are the new positions of instances."""
    moved = [
        replace(part, instance=place[part.instance])
        for part, place in zip(parts, places, strict=True)
        if part is not None
    ]
    if not moved:
        return None
    columns = {
        item.name: np.concatenate([getattr(part, item.name) for part in moved])
        for item in fields(moved[0])
    }
    return _sort(replace(moved[0], **columns))


def _sort(part: Kind) -> Kind:
    # A stable sort leaves the labels of a source in order.
    return select_rows(part, np.lexsort((part.source, part.instance)))
