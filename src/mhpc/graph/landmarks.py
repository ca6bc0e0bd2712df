"""The nearest landmarks of every row: exact, in blocks, whatever the number of rows.

Distances to all landmarks are one product in single precision. Of these only the least of each
group of landmarks is looked at first, and then the few groups that can hold the nearest; these are
measured again in double precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.graph.local import TIED

_Single = npt.NDArray[np.float32]

_CELLS = 1 << 24
"""Rows x landmarks at once: 64 MB in single precision."""

_WIDE = 4000
"""Beyond so many columns rows are mostly empty, and sparse products are faster."""

_EMPTY = 64
"""Cells to an entry from which on a sparse row is faster than a dense one."""

_SPARE = 8
"""How many more than asked for are measured again."""

_SHARE = 32
"""The landmarks over the square of a group's size: as many groups as candidates, about."""

_AWAY = np.float32(1e30)
"""The score of columns without a landmark; of one that is left out it is half of that."""

_ROUNDED = 4 * float(np.finfo(np.float32).eps)
"""Error of a score in single precision, relative to the largest squared norms."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows that others are compared with, laid out to be searched.

    Attributes
    ----------
    vectors : csr_array, (L, K)
        The landmarks.
    """

    vectors: Sparse

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    def nearest(
        self, X: Sparse, count: int, *, but: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the nearest landmarks of every row and how far they are, (N, count) each.

        N * L * K multiplications in single precision, and two looks at each of their results.
        Landmarks equally far, to twelve digits, come in their order; where more than a few are
        as far as single precision tells, their order alone decides which of them are taken.

        Parameters
        ----------
        X : csr_array, (N, K)
            Rows.
        count : int
            How many; all, where there are fewer landmarks.
        but : int array, (N,), optional
            A landmark that is not to be found, which is infinitely far; -1: none.
        """
        count = max(min(count, len(self)), 0)
        N = X.shape[0]
        near, far = np.zeros((N, count), dtype=np.int64), np.empty((N, count))
        if not count:
            return near, far
        norms = _squared_norms(X)
        for span in self._spans(N):
            scores = self._scores(X[span])
            left_out = None if but is None else but[span]
            if left_out is not None:
                some = np.flatnonzero(left_out >= 0)
                scores[some, self._column(left_out[some])] = _AWAY / 2
            margin = _ROUNDED * (norms[span] + self._norms.max()).astype(np.float32)
            found = self._candidates(scores, count, margin[:, None])
            found.sort(axis=1)
            square = self._squares(X[span], norms[span], found)
            if left_out is not None:
                square[found == left_out[:, None]] = np.inf
            order = np.argsort(square, axis=1, kind="stable")[:, :count]
            near[span] = np.take_along_axis(found, order, axis=1)
            far[span] = np.sqrt(np.take_along_axis(square, order, axis=1))
        return near, far

    @cached_property
    def _norms(self) -> FloatArray:
        return _squared_norms(self.vectors)

    @cached_property
    def _size(self) -> int:
        """Landmarks of a group, which are neighbours in their order."""
        return max(1, int(np.sqrt(len(self) / _SHARE)))

    @cached_property
    def _groups(self) -> int:
        return -(-len(self) // self._size)

    def _column(self, landmark: IntArray) -> IntArray:
        """Return where the scores of landmarks are.

        The first of all groups come first, then the second: the least of each group is then a
        minimum over whole rows, and the order of groups is that of landmarks.
        """
        return np.asarray((landmark % self._size) * self._groups + landmark // self._size)

    @cached_property
    def _layout(self) -> tuple[Any, _Single]:
        """Return the landmarks by column, transposed, and their squared norms."""
        columns, K = self._size * self._groups, self.vectors.shape[1]
        at = self._column(np.arange(len(self)))
        norms = np.full(columns, _AWAY, dtype=np.float32)
        norms[at] = self._norms
        back = sparse.csr_array(
            (np.ones(len(at), dtype=np.float32), (at, np.arange(len(at)))),
            shape=(columns, len(at)),
        )
        laid = (back @ self.vectors.astype(np.float32)).tocsr()
        return (laid.T.tocsr() if K > _WIDE else np.ascontiguousarray(laid.toarray().T)), norms

    def _scores(self, X: Sparse) -> _Single:
        """Return squared distances less the squared norm of the row, by column."""
        laid, norms = self._layout
        block = X.astype(np.float32) * np.float32(-2)
        if sparse.issparse(laid):
            scores = (block @ laid).toarray()
        else:
            scores = (block if block.nnz * _EMPTY < np.prod(X.shape) else block.toarray()) @ laid
        scores += norms
        return np.asarray(scores)

    def _candidates(self, scores: _Single, count: int, margin: _Single) -> IntArray:
        """Return landmarks among which the `count` nearest are, (rows, at least count)."""
        rows, G, s = len(scores), self._groups, self._size
        wanted = min(count + _SPARE, len(self))
        least = scores.reshape(rows, s, G).min(axis=1)
        landmarks, values = self._gathered(scores, _lowest(least, min(wanted, G)))
        best = _lowest(values, wanted)
        landmarks = np.take_along_axis(landmarks, best, axis=1)
        if wanted == len(self):
            return landmarks
        values = np.sort(np.take_along_axis(values, best, axis=1), axis=1)
        border = values[:, count - 1 : count]
        # More are as far as the last one than were taken: the first of them are to be.
        crowded = np.flatnonzero(values[:, -1] <= (border + margin)[:, 0])
        if len(crowded):
            low, high = (border - margin)[crowded], (border + margin)[crowded]
            order = _ranked(least[crowded], low, high, np.arange(G))
            groups = _lowest(order, min(wanted, G))
            some, values = self._gathered(scores[crowded], groups)
            first = _lowest(_ranked(values, low, high, some), wanted)
            landmarks[crowded] = np.take_along_axis(some, first, axis=1)
        return landmarks

    def _gathered(self, scores: _Single, groups: IntArray) -> tuple[IntArray, _Single]:
        """Return the landmarks of some groups of each row, and their scores."""
        within = np.arange(self._size)
        columns = (within * self._groups + groups[:, :, None]).reshape(len(groups), -1)
        landmarks = (within + self._size * groups[:, :, None]).reshape(len(groups), -1)
        return landmarks, np.take_along_axis(scores, columns, axis=1)

    def _squares(self, X: Sparse, norms: FloatArray, found: IntArray) -> FloatArray:
        """Return squared distances in double precision, to as many digits as ties are told by."""
        row = np.repeat(np.arange(len(found)), found.shape[1])
        products = X[row].multiply(self.vectors[found.ravel()]).sum(axis=1)
        inner = np.asarray(products).reshape(found.shape)
        square = norms[:, None] + self._norms[found] - 2.0 * inner
        return np.asarray(np.round(np.maximum(square, 0.0), TIED), dtype=np.float64)

    def _spans(self, rows: int) -> Iterator[slice]:
        step = max(1, _CELLS // (self._size * self._groups))
        for start in range(0, rows, step):
            yield slice(start, min(start + step, rows))

    def __getstate__(self) -> dict[str, Any]:
        # The layout is made again where it is needed, rather than sent.
        return {"vectors": self.vectors}


def _lowest(values: npt.NDArray[Any], count: int) -> IntArray:
    """Return the columns of the lowest values of each row, in any order."""
    if count >= values.shape[1]:
        return np.tile(np.arange(values.shape[1]), (len(values), 1))
    return np.argpartition(values, count - 1, axis=1)[:, :count]


def _ranked(values: _Single, low: _Single, high: _Single, order: IntArray) -> IntArray:
    """Return a rank of every value: below, within or above the border, and then by order."""
    level = (values >= low).astype(np.int64) + (values > high)
    return np.asarray(level * (1 << 40) + order)


def _squared_norms(X: Sparse) -> FloatArray:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
