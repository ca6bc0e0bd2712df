"""Scopes: which labels each source can speak about."""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from mhpc.core.arrays import IntArray, Sparse
from mhpc.core.index import UNKNOWN, Index
from mhpc.core.taxonomy import Taxonomy, unknown_label_message
from mhpc.core.votes import Scope
from mhpc.encode.augment import augment
from mhpc.encode.labels import Unknown
from mhpc.errors import DataError, UnknownLabelError


def encode_scope(
    scope: Scope,
    taxonomy: Taxonomy,
    sources: Index,
    source: IntArray,
    raw: Sparse,
    *,
    unknown: Unknown = "error",
) -> Sparse | None:
    """Return ones where a source can speak about a label, (M, K), or None for everywhere.

    Parameters
    ----------
    scope : "all", "used" or mapping of source to labels
        A listed label brings its ancestors; a source without a list can speak about all.
    source : int array, (A,)
        The source of every answer.
    raw : csr_array, (A, K)
        What each answer said: all of it must lie within the scope.
    unknown : "error", "drop" or "graft"
        What to do with listed labels that the taxonomy lacks; nobody said those that would be
        grafted, so that they are left out too.
    """
    if scope == "all":
        return None
    said = _said(len(sources), source, raw)
    if scope == "used":
        return augment(said, taxonomy.closure)
    assert isinstance(scope, Mapping)  # noqa: S101 - tells the type checker what is left
    rows = [_listed(scope.get(name), taxonomy, name, unknown) for name in sources]
    listed = augment(sparse.vstack(rows, format="csr"), taxonomy.closure)
    _refuse_votes_outside(said, listed, taxonomy, sources)
    return listed


def _said(sources: int, source: IntArray, raw: Sparse) -> Sparse:
    """Return ones where a source ever gave a label, (M, K)."""
    answers = len(source)
    by_source = sparse.csr_array(
        (np.ones(answers), (source, np.arange(answers))), shape=(sources, answers)
    )
    said = (by_source @ raw).tocsr()
    said.data[:] = 1.0
    return said


def _listed(
    labels: tuple[str, ...] | None, taxonomy: Taxonomy, source: str, unknown: Unknown
) -> Sparse:
    if labels is None:
        return sparse.csr_array(np.ones((1, len(taxonomy))))
    position = taxonomy.locate(labels)
    for label, found in zip(labels, position, strict=True):
        if found == UNKNOWN and unknown == "error":
            raise UnknownLabelError(
                f"the scope of source {source!r}: {unknown_label_message(taxonomy, label)}; "
                "correct it, or leave it out"
            )
    chosen = np.unique(position[position != UNKNOWN])
    entries = (np.ones(len(chosen)), (np.zeros(len(chosen), dtype=np.int64), chosen))
    return sparse.csr_array(entries, shape=(1, len(taxonomy)))


def _refuse_votes_outside(said: Sparse, listed: Sparse, taxonomy: Taxonomy, sources: Index) -> None:
    outside = (said - said.multiply(listed)).tocsr()
    outside.eliminate_zeros()
    if outside.nnz:
        first = outside.tocoo()
        raise DataError(
            f"source {sources[first.row[0]]!r} votes for {taxonomy.labels[first.col[0]]!r}, "
            "which its scope leaves out; add that label to its scope"
        )
