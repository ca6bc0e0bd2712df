"""Search everywhere: the distances to all landmarks, and among them the lowest.

They are one product in single precision. Only the least of each group of landmarks is looked at
first, and then the few groups that can hold the nearest.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.graph.lowest import Single, crowded_rows, lowest, ranked

WIDE = 4000
"""Beyond so many columns rows are mostly empty, and sparse products are faster."""

_EMPTY = 64
"""Cells to an entry from which on a sparse row is faster than a dense one."""

_SHARE = 32
"""The landmarks over the square of a group's size: as many groups as candidates, about."""

AWAY = np.float32(1e30)
"""The score of columns without a landmark."""


@dataclass(frozen=True, eq=False)
class Everywhere:
    """All landmarks, laid out to be searched.

    Attributes
    ----------
    vectors : csr_array, (L, K)
        The landmarks.
    norms : float array, (L,)
        Their squared norms.
    """

    vectors: Sparse
    norms: FloatArray

    @property
    def columns(self) -> int:
        """How many numbers there are to look at for every row."""
        return self._size * self._groups

    def candidates(self, X: Sparse, count: int, wanted: int, margin: Single) -> IntArray:
        """Return landmarks among which the `count` nearest are, (rows, wanted)."""
        scores = self._scores(X)
        rows, G, s = len(scores), self._groups, self._size
        least = scores.reshape(rows, s, G).min(axis=1)
        landmarks, values = self._gathered(scores, lowest(least, min(wanted, G)))
        best = lowest(values, wanted)
        landmarks = np.take_along_axis(landmarks, best, axis=1)
        if wanted == len(self.norms):
            return landmarks
        crowded, border = crowded_rows(np.take_along_axis(values, best, axis=1), count, margin)
        if len(crowded):
            # More are as far as the last one than were taken: the first of them are to be.
            groups = lowest(ranked(least[crowded], border, np.arange(G)), min(wanted, G))
            some, values = self._gathered(scores[crowded], groups)
            first = lowest(ranked(values, border, some), wanted)
            landmarks[crowded] = np.take_along_axis(some, first, axis=1)
        return landmarks

    @cached_property
    def _size(self) -> int:
        """Landmarks of a group, which are neighbours in their order."""
        return max(1, int(np.sqrt(len(self.norms) / _SHARE)))

    @cached_property
    def _groups(self) -> int:
        return -(-len(self.norms) // self._size)

    def _column(self, landmark: IntArray) -> IntArray:
        """Return where the scores of landmarks are.

        The first of all groups come first, then the second: the least of each group is then a
        minimum over whole rows, and the order of groups is that of landmarks.
        """
        return np.asarray((landmark % self._size) * self._groups + landmark // self._size)

    @cached_property
    def _layout(self) -> tuple[Any, Single]:
        """Return the landmarks by column, transposed, and their squared norms."""
        K, at = self.vectors.shape[1], self._column(np.arange(len(self.norms)))
        norms = np.full(self.columns, AWAY, dtype=np.float32)
        norms[at] = self.norms
        back = sparse.csr_array(
            (np.ones(len(at), dtype=np.float32), (at, np.arange(len(at)))),
            shape=(self.columns, len(at)),
        )
        laid = (back @ self.vectors.astype(np.float32)).tocsr()
        return (laid.T.tocsr() if K > WIDE else np.ascontiguousarray(laid.toarray().T)), norms

    def _scores(self, X: Sparse) -> Single:
        """Return squared distances less the squared norm of the row, by column."""
        laid, norms = self._layout
        block = X.astype(np.float32) * np.float32(-2)
        if sparse.issparse(laid):
            scores = (block @ laid).toarray()
        else:
            scores = (block if block.nnz * _EMPTY < np.prod(X.shape) else block.toarray()) @ laid
        scores += norms
        return np.asarray(scores)

    def _gathered(self, scores: Single, groups: IntArray) -> tuple[IntArray, Single]:
        """Return the landmarks of some groups of each row, and their scores."""
        within = np.arange(self._size)
        columns = (within * self._groups + groups[:, :, None]).reshape(len(groups), -1)
        landmarks = (within + self._size * groups[:, :, None]).reshape(len(groups), -1)
        return landmarks, np.take_along_axis(scores, columns, axis=1)
