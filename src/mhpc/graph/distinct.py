"""Equal rows as one row with a weight."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from mhpc.core.arrays import FloatArray, IntArray, Sparse

DIGITS = 12
"""Decimals of a value; what rounding leaves beyond them tells no two rows apart."""


def distinct_rows(matrix: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the first of each set of equal rows, which set every row is in, and their sizes.

    Rows are compared by a 128-bit digest of their bytes: linear in the matrix, where sorting
    whole rows would compare them column by column again and again.
    """
    sets: dict[bytes, int] = {}
    first: list[int] = []
    member = np.empty(len(matrix), dtype=np.int64)
    # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
    for at, row in enumerate(np.ascontiguousarray(matrix + 0.0)):
        known = sets.setdefault(blake2b(row, digest_size=16).digest(), len(first))
        if known == len(first):
            first.append(at)
        member[at] = known
    return np.array(first, dtype=np.int64), member, np.bincount(member).astype(float)


def row_digests(matrix: Sparse) -> npt.NDArray[np.uint64]:
    """Return a number for every row, the same for equal rows and hardly ever for others.

    The sum of 64 well-mixed bits for every entry, so that it neither depends on the order of
    entries nor needs a step a row. Of a million distinct rows two have the same number with a
    chance of 3e-8.
    """
    value = np.rint(matrix.data * 10.0**DIGITS).astype(np.int64).view(np.uint64)
    mixed = _mixed(_mixed(matrix.indices.astype(np.uint64)) ^ value)
    mixed[value == 0] = 0
    # Sums wrap around, and so do their differences.
    until = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(until[matrix.indptr[1:]] - until[matrix.indptr[:-1]], dtype=np.uint64)


def distinct_digests(digests: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the first of each set of equal digests, which set each is in, and their sizes."""
    _, first, member, size = np.unique(
        digests, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[member], size[order].astype(float)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return bits of which each depends on all that were given (the finaliser of SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
