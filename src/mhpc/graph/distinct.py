"""Equal rows as one row with a weight."""

from hashlib import blake2b

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray


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
