"""Smoothing that is solved on some instances, and told to others by one row each.

n: how much an instance holds on to its own value y. c: how many instances a vertex stands for.
d: degree. (n + lam - lam / d_i) z_i = n y_i + lam sum_j c_j w_ij / sqrt(d_i d_j) z_j is row i of
(n + lam L) Z = n Y, with W_ii = 1 and the neighbours' z known.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.graph.distinct import distinct_digests, row_digests
from mhpc.graph.landmarks import Landmarks
from mhpc.graph.laplacian import strength
from mhpc.graph.local import REACH, Solution, joined, mean_distance, solution_of
from mhpc.graph.similarity import fallen


@dataclass(frozen=True, eq=False)
class Smoothable:
    """Instances as they are smoothed.

    Attributes
    ----------
    compared : csr_array, (N, K)
        What distances are taken of, weighted.
    values : csr_array, (N, columns)
        y, what is smoothed.
    evidence : float array, (N,)
        n.
    """

    compared: Sparse
    values: Sparse
    evidence: FloatArray

    def rows(self, which: IntArray) -> "Smoothable":
        """Return some of the instances."""
        return Smoothable(self.compared[which], self.values[which], self.evidence[which])

    def digests(self) -> npt.NDArray[np.uint64]:
        """Return a number an instance, the same for those that cannot be told apart."""
        told_by = [self.values, self.compared, sparse.csr_array(self.evidence[:, None])]
        return row_digests(sparse.hstack(told_by, format="csr"))


@dataclass(frozen=True, eq=False)
class Extension:
    """A solution on vertices, and what it takes to extend it to any instance.

    Attributes
    ----------
    landmarks : Landmarks
        What the V vertices are compared by.
    solved : float array, (V, columns)
        z of the vertices.
    counts, degree : float arrays, (V,)
        c and d.
    digests : uint64 array, (V,)
        By which an instance is known to be a vertex.
    neighbours : int
        How many vertices an instance is joined to.
    sigma, lam : float
        Reach of similarity, strength of smoothing.
    """

    landmarks: Landmarks
    solved: FloatArray
    counts: FloatArray
    degree: FloatArray
    digests: npt.NDArray[np.uint64]
    neighbours: int
    sigma: float
    lam: float

    def __call__(self, instances: Smoothable) -> FloatArray:
        """Return z of instances, (N, columns): that of a vertex as it is, else by one row."""
        vertex = self._vertex(instances)
        known, other = np.flatnonzero(vertex >= 0), np.flatnonzero(vertex < 0)
        if not len(other):
            return np.asarray(self.solved[vertex])
        if not len(known):
            return self._joined(instances)
        z = np.empty(instances.values.shape)
        z[known] = self.solved[vertex[known]]
        z[other] = self._joined(instances.rows(other))
        return z

    def _vertex(self, instances: Smoothable) -> IntArray:
        """Return the vertex that each instance is, -1 where it is none."""
        if not len(self.digests):
            return np.full(len(instances.evidence), -1)
        digests, order = instances.digests(), np.argsort(self.digests)
        at = np.searchsorted(self.digests, digests, sorter=order)
        vertex = order[np.minimum(at, len(order) - 1)]
        return np.where(self.digests[vertex] == digests, vertex, -1)

    def _joined(self, instances: Smoothable) -> FloatArray:
        near, far = self.landmarks.nearest(instances.compared, self.neighbours)
        weight = self.counts[near] * fallen(far, self.sigma)
        degree = 1.0 + weight.sum(axis=1)
        n, lam = instances.evidence, strength(self.lam)
        shares = lam * weight / np.sqrt(degree[:, None] * self.degree[near])
        start = np.arange(len(near) + 1) * near.shape[1]
        around = sparse.csr_array(
            (shares.ravel(), near.ravel(), start), shape=(len(near), len(self.counts))
        )
        z = around @ self.solved
        z += dense(sparse.diags_array(n, format="csr") @ instances.values)
        # Never below n, as lam - lam / degree is where rounding leaves nothing of an own value.
        z /= np.maximum(n + lam * (weight.sum(axis=1) / degree), 1e-12)[:, None]
        return np.asarray(z)


@dataclass(frozen=True, eq=False)
class Vertices:
    """Distinct instances, and how many each stands for."""

    distinct: Smoothable
    counts: FloatArray
    digests: npt.NDArray[np.uint64]


def vertices_of(instances: Smoothable) -> Vertices:
    """Return the distinct among some instances, in their order."""
    digests = instances.digests()
    first, _, counts = distinct_digests(digests)
    return Vertices(instances.rows(first), counts, digests[first])


def solve_extension(
    vertices: Vertices, *, neighbours: int, sigma: float | None, lam: float
) -> tuple[Extension, Solution]:
    """Join every vertex to its nearest, solve, and return what extends that to others.

    Nothing of vertices x vertices is dense. V * V * K multiplications in single precision to
    find the nearest, and V * neighbours * columns a step of the solver.

    Parameters
    ----------
    vertices : Vertices
        V of them.
    neighbours : int
        How many nearest vertices each is joined to, and it to whose nearest it belongs.
    sigma : float or None
        Reach of similarity; None: the mean distance to the nearest vertices.
    lam : float
        Strength of the smoothing.
    """
    distinct, counts = vertices.distinct, vertices.counts
    landmarks = Landmarks(distinct.compared)
    near, far = _nearest_others(landmarks, max(neighbours, REACH if sigma is None else 1))
    sigma = mean_distance(far[:, :REACH]) if sigma is None else sigma
    near, far = near[:, :neighbours], far[:, :neighbours]
    W = joined(near, fallen(far, sigma))
    root = np.sqrt(counts)
    B = (sparse.diags_array(root, format="csr") @ distinct.values).tocsr()
    solution = solution_of(W, B, counts=counts, evidence=distinct.evidence, lam=lam)
    solved = np.ascontiguousarray(solution.values)
    solved /= root[:, None]
    extension = Extension(
        landmarks, solved, counts, W @ counts, vertices.digests, neighbours, sigma, lam
    )
    return extension, Solution(solved, solution.steps, solution.residual)


def _nearest_others(landmarks: Landmarks, count: int) -> tuple[IntArray, FloatArray]:
    V = len(landmarks)
    return landmarks.nearest(landmarks.vectors, min(count, V - 1), but=np.arange(V))
