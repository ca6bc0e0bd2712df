"""The nearest landmarks of every row, in blocks, whatever the number of rows.

Candidates are found in single precision, among all landmarks or, where these are many, in the
parts of space near a row; they are measured again in double precision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.graph.everywhere import WIDE, Everywhere
from mhpc.graph.leaves import Leaves
from mhpc.graph.local import TIED
from mhpc.graph.lowest import ROUNDED

EVERYWHERE = 20_000
"""Landmarks up to which all are looked at, so that the nearest are exactly that."""

_CELLS = 1 << 24
"""Rows x landmarks at once: 64 MB in single precision."""

_SPARE = 8
"""How many more than asked for are measured again."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows that others are compared with.

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

        Up to twenty thousand landmarks exact, N * L * K multiplications in single precision;
        beyond, an eighth of that, and a few of the nearest are missed. Landmarks equally far, to
        twelve digits, come in their order; where more than a few are as far as single precision
        tells, their order alone decides which of them are taken.

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
        among = min(count + (but is not None), len(self))
        wanted = min(among + _SPARE, len(self))
        for span in self._spans(N):
            margin = ROUNDED * (norms[span] + self._norms.max()).astype(np.float32)
            found = self._search.candidates(X[span], among, wanted, margin[:, None])
            found.sort(axis=1)
            square = self._squares(X[span], norms[span], found)
            if but is not None:
                square[found == but[span][:, None]] = np.inf
            order = np.argsort(square, axis=1, kind="stable")[:, :count]
            near[span] = np.take_along_axis(found, order, axis=1)
            far[span] = np.sqrt(np.take_along_axis(square, order, axis=1))
        return near, far

    @cached_property
    def _norms(self) -> FloatArray:
        return _squared_norms(self.vectors)

    @cached_property
    def _search(self) -> Everywhere | Leaves:
        everywhere = len(self) <= EVERYWHERE or self.vectors.shape[1] > WIDE
        return (Everywhere if everywhere else Leaves)(self.vectors, self._norms)

    def _squares(self, X: Sparse, norms: FloatArray, found: IntArray) -> FloatArray:
        """Return squared distances in double precision, to as many digits as ties are told by."""
        row = np.repeat(np.arange(len(found)), found.shape[1])
        products = X[row].multiply(self.vectors[found.ravel()]).sum(axis=1)
        inner = np.asarray(products).reshape(found.shape)
        square = norms[:, None] + self._norms[found] - 2.0 * inner
        return np.asarray(np.round(np.maximum(square, 0.0), TIED), dtype=np.float64)

    def _spans(self, rows: int) -> Iterator[slice]:
        step = max(1, _CELLS // self._search.columns)
        for start in range(0, rows, step):
            yield slice(start, min(start + step, rows))

    def __getstate__(self) -> dict[str, Any]:
        # What is laid out to be searched is made again where it is needed, rather than sent.
        return {"vectors": self.vectors}


def _squared_norms(X: Sparse) -> FloatArray:
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
