"""HashTable: the positions of 64-bit hashes, found for whole arrays at once."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mhpc.numerics.arrays import IntArray
from mhpc.numerics.sparse import run_starts

HashArray: TypeAlias = npt.NDArray[np.uint64]

NOT_FOUND = -1
"""The position of a hash that a table does not contain."""

SLOTS_PER_HASH = 4
"""How large a table is: with four slots per hash, about one hash in nine finds its slot taken."""

BLOCK_HASHES = 1 << 16
"""How many hashes are looked up at a time, so that they stay in the cache."""


@dataclass(frozen=True, eq=False)
class HashTable:
    """Finds positions in an array of hashes, several times faster than by sorting it.

    The low bits of a hash are the number of its slot, which contains the position of one of the
    hashes with this number. The positions of all others are sorted by their hashes. Create one
    with `build_hash_table`.

    Attributes
    ----------
    hashes : uint64 array, (n,)
        The hashes.
    slots : int32 array
        The position in each slot; 0 if it is empty. The number of slots is a power of 2.
    spilled : int array
        The positions of the hashes that are not in their slot, in the order of the hashes.

    Examples
    --------
    >>> table = build_hash_table(np.array([7, 15, 4], dtype=np.uint64))
    >>> table.locate(np.array([15, 4, 23], dtype=np.uint64)).tolist()
    [1, 2, -1]
    >>> table.has_duplicates
    False
    """

    hashes: HashArray
    slots: npt.NDArray[np.int32]
    spilled: IntArray

    @property
    def has_duplicates(self) -> bool:
        """Whether a hash occurs twice."""
        spilled = self.hashes[self.spilled]
        stored = self.hashes[self.slots[_slot_of(spilled, len(self.slots))]]
        return bool((stored == spilled).any() or (spilled[1:] == spilled[:-1]).any())

    def locate(self, wanted: HashArray, *, block: int = BLOCK_HASHES) -> IntArray:
        """Return the position of each hash, or `NOT_FOUND`; any of them if there are several.

        Equal hashes often follow each other, so one per run is looked up.
        """
        position = np.full(len(wanted), NOT_FOUND)
        if len(self.hashes):
            spilled = self.hashes[self.spilled]
            for start in range(0, len(wanted), block):
                part = wanted[start : start + block]
                first = np.flatnonzero(run_starts(part))
                length = np.diff(first, append=len(part))
                found = self._locate_block(part[first], spilled)
                position[start : start + block] = np.repeat(found, length)
        return position

    def _locate_block(self, wanted: HashArray, spilled: HashArray) -> IntArray:
        position = self.slots[_slot_of(wanted, len(self.slots))].astype(np.int64)
        others = np.flatnonzero(self.hashes[position] != wanted)
        position[others] = NOT_FOUND
        if len(spilled) and len(others):
            place = np.minimum(np.searchsorted(spilled, wanted[others]), len(spilled) - 1)
            is_there = spilled[place] == wanted[others]
            position[others[is_there]] = self.spilled[place[is_there]]
        return position


def build_hash_table(
    hashes: HashArray, *, slots_per_hash: int = SLOTS_PER_HASH, block: int = BLOCK_HASHES
) -> HashTable:
    """Build a table of hashes whose low bits are as good as random."""
    n_slots = 1 << (slots_per_hash * len(hashes)).bit_length()
    slots = np.zeros(n_slots, dtype=np.int32)
    blocks = [slice(start, start + block) for start in range(0, len(hashes), block)]
    position = np.arange(len(hashes), dtype=np.int32)
    for rows in blocks:
        slots[_slot_of(hashes[rows], n_slots)] = position[rows]
    in_slot = [slots[_slot_of(hashes[rows], n_slots)] == position[rows] for rows in blocks]
    spilled = np.flatnonzero(~np.concatenate([np.zeros(0, dtype=bool), *in_slot]))
    return HashTable(hashes, slots, spilled[np.argsort(hashes[spilled])])


def _slot_of(hashes: HashArray, n_slots: int) -> IntArray:
    return hashes.view(np.int64) & (n_slots - 1)
