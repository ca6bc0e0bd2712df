"""HashTable: the positions of 64-bit hashes, found for whole arrays at once."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mhpc.numerics.arrays import IntArray

HashArray: TypeAlias = npt.NDArray[np.uint64]

NOT_FOUND = -1
"""The position of a hash that a table does not contain."""

SLOTS_PER_HASH = 4
"""With four slots per hash, about one hash in nine finds its slot taken."""


@dataclass(frozen=True, eq=False)
class HashTable:
    """Finds positions in an array of hashes several times faster than sorting them.

    The low bits of a hash are the number of its slot. Of the hashes with the same slot one is
    stored in it, and the others are sorted, in `_spilled`.

    Attributes
    ----------
    hashes : uint64 array, (n,)
        The hashes; their low bits must be as good as random.

    Examples
    --------
    >>> table = HashTable(np.array([7, 15, 4], dtype=np.uint64))
    >>> table.locate(np.array([15, 4, 23], dtype=np.uint64)).tolist()
    [1, 2, -1]
    >>> table.has_duplicates
    False
    """

    hashes: HashArray

    def locate(self, wanted: HashArray) -> IntArray:
        """Return the position of each hash, or `NOT_FOUND`; any of them if it is there twice."""
        if not len(self.hashes):
            return np.full(len(wanted), NOT_FOUND)
        position = self._slots[self._slot_of(wanted)].astype(np.int64)
        other = np.flatnonzero(self.hashes[position] != wanted)
        position[other] = self._locate_spilled(wanted[other])
        return position

    @cached_property
    def has_duplicates(self) -> bool:
        """Whether a hash occurs twice."""
        spilled = self.hashes[self._spilled]
        stored = self.hashes[self._slots[self._slot_of(spilled)]]
        return bool((stored == spilled).any() or (spilled[1:] == spilled[:-1]).any())

    @cached_property
    def _slots(self) -> npt.NDArray[np.int32]:
        """The position of one of the hashes of each slot; 0 if there is none."""
        n_slots = 1 << (SLOTS_PER_HASH * len(self.hashes)).bit_length()
        slots = np.zeros(n_slots, dtype=np.int32)
        slots[_low_bits(self.hashes, n_slots)] = np.arange(len(self.hashes), dtype=np.int32)
        return slots

    @cached_property
    def _spilled(self) -> IntArray:
        """The positions of the hashes whose slot is taken, in the order of the hashes."""
        stored = self._slots[self._slot_of(self.hashes)]
        spilled = np.flatnonzero(stored != np.arange(len(stored), dtype=np.int32))
        return spilled[np.argsort(self.hashes[spilled])]

    def _slot_of(self, hashes: HashArray) -> IntArray:
        return _low_bits(hashes, len(self._slots))

    def _locate_spilled(self, wanted: HashArray) -> IntArray:
        if not len(self._spilled):
            return np.full(len(wanted), NOT_FOUND)
        spilled = self.hashes[self._spilled]
        place = np.minimum(np.searchsorted(spilled, wanted), len(spilled) - 1)
        return np.where(spilled[place] == wanted, self._spilled[place], NOT_FOUND)


def _low_bits(hashes: HashArray, n_slots: int) -> IntArray:
    return (hashes & np.uint64(n_slots - 1)).astype(np.int64)
