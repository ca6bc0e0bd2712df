"""Index: unique ids in a fixed order, and the position of each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import SupportsIndex
from zlib import crc32

import numpy as np

from mhpc.errors import DataError
from mhpc.numerics.arrays import IntArray
from mhpc.parameters import check_seed, registered
from mhpc.system.caching import cached_property

UNKNOWN = -1
"""The position of an id that an index does not contain."""


@registered("index")
@dataclass(frozen=True, eq=False)
class Index:
    """Unique ids of instances, sources or labels, which arrays refer to by position.

    Attributes
    ----------
    ids : tuple of str
        The ids, in order.

    Examples
    --------
    >>> index = Index(("bee", "wasp"))
    >>> index.locate(["wasp", "fly"]).tolist()
    [1, -1]
    """

    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.positions) != len(self.ids):
            duplicate = next(
                id_ for position, id_ in enumerate(self.ids) if self.positions[id_] != position
            )
            raise DataError(f"id {duplicate!r} appears twice; ids must be unique")

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of every id."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def max_length(self) -> int:
        """The number of characters of the longest id; 0 without ids."""
        return max(map(len, self.ids), default=0)

    @classmethod
    def of_distinct(cls, ids: tuple[str, ...]) -> "Index":
        """Return the index of ids that are known to be unique, which takes long to check."""
        index = object.__new__(cls)
        object.__setattr__(index, "ids", ids)
        return index

    def locate(self, ids: Iterable[str]) -> IntArray:
        """Return the position of each id, or `UNKNOWN` if the index does not contain it."""
        positions = self.positions
        return np.array([positions.get(id_, UNKNOWN) for id_ in ids], dtype=np.int64)

    def select(self, positions: IntArray) -> "Index":
        """Return the index of some of the ids, at increasing positions."""
        if len(positions) and positions[-1] - positions[0] + 1 == len(positions):
            ids = self.ids[positions[0] : positions[-1] + 1]
        else:
            ids = tuple([self.ids[position] for position in positions])
        return Index.of_distinct(ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, position: SupportsIndex) -> str:
        return self.ids[position]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, id_: object) -> bool:
        return id_ in self.positions

    def __repr__(self) -> str:
        return f"Index({len(self)} ids)"


def hash_ids(instances: Index) -> IntArray:
    """Return a pseudo-random number for every instance, (N,), that depends on its id alone."""
    return np.array([crc32(id_.encode()) for id_ in instances], dtype=np.int64)


def draw_order(instances: Index, *, seed: int = 0) -> IntArray:
    """Return the positions of all instances in random order, (N,): each beginning is a sample.

    The order of two instances depends on their ids and the seed alone, so that a sample stays one
    when other instances are added. Unlike `hash_ids`, whose numbers are linear in the bits of an
    id, it has nothing to do with patterns of numbered ids.
    """
    key = check_seed(seed).to_bytes(8, "little", signed=True)
    digests = [blake2b(id_.encode(), digest_size=8, key=key).digest() for id_ in instances]
    return np.argsort(np.frombuffer(b"".join(digests), dtype="<u8"), kind="stable")
