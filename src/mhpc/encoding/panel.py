"""Encode(): locate labels, augment (Algorithm 1), scopes."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.hierarchy import max_along
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy, unknown_label_message
from mhpc.data.votes import Scope, Unknown, Votes
from mhpc.errors import DataError, MhpcWarning, UnknownLabelError, pluralize, quote_list
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.numerics.sparse import csr_from_sorted, max_of_equal, run_starts, use_int32


@dataclass(frozen=True, eq=False)
class Located:
    """A taxonomy, grown if labels were grafted, and the position of every given text in it."""

    taxonomy: Taxonomy
    position: IntArray


def locate_labels(
    taxonomy: Taxonomy,
    labels: Index,
    *,
    unknown: Unknown,
    origin: str,
    who: Callable[[int], str] = lambda label: "",
) -> Located:
    """Find every label; `who` tells, for the message, who named the one at a position."""
    position = taxonomy.locate(labels)
    missing = np.flatnonzero(position == UNKNOWN)
    if not len(missing):
        return Located(taxonomy, position)
    strange = [labels[at] for at in missing]
    if unknown == "error":
        more = f" ({pluralize(len(strange), 'such label')} in all)" if len(strange) > 1 else ""
        raise UnknownLabelError(
            f"{origin}: {unknown_label_message(taxonomy, strange[0])}{who(missing[0])}{more}; "
            "correct it, or leave such labels out with --unknown drop, or add them to the "
            "taxonomy with --unknown graft"
        )
    if unknown == "graft":
        taxonomy = graft(taxonomy, strange)
        position = taxonomy.locate(labels)
    done = "left out" if unknown == "drop" else "added to the taxonomy"
    warnings.warn(
        f"{origin}: {pluralize(len(strange), 'label')} not in the taxonomy, {done}: "
        f"{quote_list(strange)}",
        MhpcWarning,
        stacklevel=4,
    )
    return Located(taxonomy, position)


def graft(taxonomy: Taxonomy, labels: Sequence[str]) -> Taxonomy:
    """Add labels as new roots, or below a known label that is their path's longest prefix."""
    old = len(taxonomy)
    ids = Index((*taxonomy.labels, *labels))
    known = taxonomy.labels.positions
    edges = [
        (old + at, known[prefix])
        for at, label in enumerate(labels)
        if (prefix := _longest_prefix(label, known)) is not None
    ]
    parents = taxonomy.parents.tocoo()
    child = np.concatenate([parents.row, [c for c, _ in edges]]).astype(np.int64)
    parent = np.concatenate([parents.col, [p for _, p in edges]]).astype(np.int64)
    grown = sparse.coo_array((np.ones(len(child)), (child, parent)), shape=(len(ids), len(ids)))
    return Taxonomy(ids, (*taxonomy.names, *labels), grown.tocsr(), taxonomy.alternative_ids)


def _longest_prefix(label: str, known: dict[str, int]) -> str | None:
    """Return the longest known label that this one continues after a separator."""
    for separator in (" > ", "/"):
        steps = label.split(separator)
        for length in range(len(steps) - 1, 0, -1):
            prefix = separator.join(steps[:length])
            if prefix in known:
                return prefix
    return None


def augment(votes: Sparse, closure: Sparse) -> Sparse:
    """Return the votes with all ancestors, each with the largest score below it.

    The paper walks up from every label to the root. Over all answers that is one sparse
    product with the ancestor closure, for trees and DAGs alike.

    Parameters
    ----------
    votes : csr_array, (A, K)
        Scores in [0, 1].
    closure : csr_array, (K, K)
        Every label with itself and its ancestors, as `Taxonomy.closure`.

    Returns
    -------
    csr_array, (A, K)
        Costs the number of (vote, ancestor) pairs in time and memory.
    """
    if np.all(votes.data == 1.0):
        reached = (use_int32(votes) @ use_int32(closure)).tocsr()
        reached.data[:] = 1.0
        reached.sort_indices()
        return reached
    return max_along(votes, closure)


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
    _check_votes_in_scope(said, listed, taxonomy, sources)
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


def _check_votes_in_scope(said: Sparse, listed: Sparse, taxonomy: Taxonomy, sources: Index) -> None:
    outside = (said - said.multiply(listed)).tocsr()
    outside.eliminate_zeros()
    if outside.nnz:
        first = outside.tocoo()
        raise DataError(
            f"source {sources[first.row[0]]!r} votes for {taxonomy.labels[first.col[0]]!r}, "
            "which its scope leaves out; add that label to its scope"
        )


def encode(
    votes: Votes,
    taxonomy: Taxonomy,
    *,
    unknown: Unknown = "error",
    instances: Iterable[str] = (),
) -> Panel:
    """Encode votes for consolidation.

    Parameters
    ----------
    votes : Votes
        What sources said.
    taxonomy : Taxonomy
        Labels are found in it by id, or by a name or path that only one label has.
    unknown : "error", "drop" or "graft"
        What to do with labels that it lacks. A dropped label still leaves its answer.
    instances : iterable of str, optional
        Further instances that nobody answered: they get no label and change no other result.

    Returns
    -------
    Panel
        Its taxonomy has grown if labels were grafted.
    """
    located = locate_labels(
        taxonomy, votes.labels, unknown=unknown, origin=votes.origin,
        who=lambda label: _first_to_say(votes, label),
    )  # fmt: skip
    taxonomy = located.taxonomy
    instance, source, raw = _answers(votes, located.position, len(taxonomy))
    further = tuple(instances)
    known = votes.instances
    if further:
        known = Index(tuple(dict.fromkeys((*known, *further))))
    return Panel(
        taxonomy=taxonomy,
        instances=known,
        sources=votes.sources,
        instance=instance,
        source=source,
        raw=raw,
        augmented=augment(raw, taxonomy.closure),
        scope=encode_scope(votes.scope, taxonomy, votes.sources, source, raw, unknown=unknown),
    )


def _answers(votes: Votes, position: IntArray, labels: int) -> tuple[IntArray, IntArray, Sparse]:
    """Return the instance, source and labels of every answer, by instance, then source.

    One sort of a number for each vote does it all; a vote for nothing sorts before the others.
    """
    width = labels + 1
    pair = votes.instance * np.int64(len(votes.sources))
    pair += votes.source
    pairs = None
    if len(votes.instances) * len(votes.sources) * width > np.iinfo(np.int64).max:
        pairs, pair = np.unique(pair, return_inverse=True)
    pair *= width
    pair += (np.append(position, UNKNOWN) - UNKNOWN)[votes.label]
    vote, score = max_of_equal(pair, votes.score)
    pair = vote // width
    vote -= pair * width
    first = run_starts(pair)
    answer = np.cumsum(first) - 1
    voted = (vote > 0) & (score > 0)
    raw = csr_from_sorted(
        answer[voted], vote[voted] - 1, score[voted], shape=(int(first.sum()), labels)
    )
    found = pair[first] if pairs is None else pairs[pair[first]]
    instance, source = np.divmod(found, len(votes.sources))
    return instance, source, raw


def _first_to_say(votes: Votes, label: int) -> str:
    at = np.flatnonzero(votes.label == label)[0]
    return (
        f", said by source {votes.sources[votes.source[at]]!r} "
        f"of instance {votes.instances[votes.instance[at]]!r}"
    )
