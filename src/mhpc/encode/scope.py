"""Scopes: which labels each source can speak about."""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from mhpc.core.arrays import FloatArray, IntArray, Sparse
from mhpc.core.index import Index
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.votes import Scope
from mhpc.encode.labels import locate_labels
from mhpc.errors import DataError


def encode_scope(
    scope: Scope, taxonomy: Taxonomy, sources: Index, source: IntArray, augmented: Sparse
) -> Sparse | None:
    """Return ones where a source can speak about a label, (M, K), or None for everywhere.

    Parameters
    ----------
    scope : "all", "used" or mapping of source to labels
        A listed label brings its ancestors; a source without a list can speak about all.
    source : int array, (A,)
        The source of every answer.
    augmented : csr_array, (A, K)
        What each answer said, with ancestors: all of it must lie within the scope.
    """
    if scope == "all":
        return None
    used = _used(sources, source, augmented)
    if scope == "used":
        return used
    assert isinstance(scope, Mapping)  # noqa: S101 - tells the type checker what is left
    listed = sparse.csr_array(
        np.vstack([_listed(scope.get(name), taxonomy, name) for name in sources])
    )
    _refuse_votes_outside(used, listed, taxonomy, sources)
    return listed


def _used(sources: Index, source: IntArray, augmented: Sparse) -> Sparse:
    answers = len(source)
    by_source = sparse.csr_array(
        (np.ones(answers), (source, np.arange(answers))), shape=(len(sources), answers)
    )
    used = (by_source @ augmented).tocsr()
    used.data[:] = 1.0
    return used


def _listed(labels: tuple[str, ...] | None, taxonomy: Taxonomy, source: str) -> FloatArray:
    if labels is None:
        return np.ones(len(taxonomy))
    located = locate_labels(
        taxonomy, Index(tuple(dict.fromkeys(labels))), unknown="error",
        origin=f"the scope of source {source!r}",
    )  # fmt: skip
    row = np.zeros(len(taxonomy))
    row[taxonomy.closure[located.position].indices] = 1.0
    return row


def _refuse_votes_outside(used: Sparse, listed: Sparse, taxonomy: Taxonomy, sources: Index) -> None:
    outside = (used - used.multiply(listed)).tocsr()
    outside.eliminate_zeros()
    if outside.nnz:
        first = outside.tocoo()
        raise DataError(
            f"source {sources[first.row[0]]!r} votes for {taxonomy.labels[first.col[0]]!r}, "
            "which its scope leaves out; add that label to its scope"
        )
