"""Encoding votes as a panel: labels are located, ancestors added (Algorithm 1), scopes applied."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mhpc.data.denials import Denials
from mhpc.data.hierarchy import max_along
from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy, unknown_label_message
from mhpc.data.votes import Scope, Unknown, Votes
from mhpc.encoding.split import drop_contradictions, split_votes
from mhpc.errors import DataError, MhpcWarning, UnknownLabelError, pluralize, quote_list
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.numerics.sparse import (
    csr_from_ends,
    incidence,
    max_of_equal,
    run_starts,
    select_columns,
    spread_columns,
    use_int32,
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
        The votes of all sources.
    taxonomy : Taxonomy
        Labels are located in it by id, or by a name or path that only one label has.
    unknown : "error", "drop" or "graft"
        What to do with labels that it lacks. An answer whose labels are all dropped stays, as "none
        of these".
    instances : iterable of str, optional
        Further instances, without answers: they get no label and change no other result.

    Returns
    -------
    Panel
        With an extended taxonomy if labels were grafted.
    """
    located = locate_labels(
        taxonomy, votes.labels, unknown=unknown, origin=votes.origin,
        describe=lambda label: _first_vote_for(votes, label),
    )  # fmt: skip
    taxonomy = located.taxonomy
    given, abstained, denials = split_votes(votes, located.position)
    instance, source, raw = _group_answers(given, located.position, len(taxonomy))
    augmented = _add_ancestors(raw, taxonomy)
    used = source, raw
    if denials is not None:
        denials = drop_contradictions(denials, (instance, source), augmented, votes)
        used = np.append(source, denials.source), _stack_denials(raw, denials)
    all_instances = votes.instances
    if unanswered := tuple(instances):
        all_instances = Index(tuple(dict.fromkeys((*all_instances, *unanswered))))
    return Panel(
        taxonomy=taxonomy,
        instances=all_instances,
        sources=votes.sources,
        instance=instance,
        source=source,
        raw=raw,
        augmented=augmented,
        scope=encode_scope(votes.scope, taxonomy, votes.sources, *used, unknown=unknown),
        abstained=abstained,
        denials=denials,
    )


def _stack_denials(raw: Sparse, denials: Denials) -> Sparse:
    """Return the answers with one more row per denial: a source can give what it denies."""
    shape = (len(denials), raw.shape[1])
    denied = incidence(np.arange(len(denials)), denials.label, shape=shape)
    return sparse.vstack([raw, denied], format="csr")


@dataclass(frozen=True, eq=False)
class LocatedLabels:
    """A taxonomy, extended if labels were grafted, and the position of every label in it."""

    taxonomy: Taxonomy
    position: IntArray


def locate_labels(
    taxonomy: Taxonomy,
    labels: Index,
    *,
    unknown: Unknown,
    origin: str,
    describe: Callable[[int], str] = lambda label: "",
) -> "LocatedLabels":
    """Locate labels in a taxonomy, and refuse, drop or add those that it lacks.

    Parameters
    ----------
    taxonomy : Taxonomy
        Where to look.
    labels : Index
        The labels, by id, name or path.
    unknown : "error", "drop" or "graft"
        What to do with labels that the taxonomy lacks.
    origin : str
        Where the labels come from, for messages.
    describe : callable
        Returns what an error says of the label at a position, such as who gave it.
    """
    position = taxonomy.locate(labels)
    missing = np.flatnonzero(position == UNKNOWN)
    if not len(missing):
        return LocatedLabels(taxonomy, position)
    unknown_labels = [labels[position] for position in missing]
    if unknown == "error":
        more = (
            f" ({pluralize(len(unknown_labels), 'such label')} in all)" if len(missing) > 1 else ""
        )
        message = unknown_label_message(taxonomy, unknown_labels[0])
        raise UnknownLabelError(
            f"{origin}: {message}{describe(missing[0])}{more}; "
            "correct it, or leave such labels out with --unknown drop, or add them to the "
            "taxonomy with --unknown graft"
        )
    if unknown == "graft":
        taxonomy = graft(taxonomy, unknown_labels)
        position = taxonomy.locate(labels)
    treatment = "left out" if unknown == "drop" else "added to the taxonomy"
    warnings.warn(
        f"{origin}: {pluralize(len(unknown_labels), 'label')} not in the taxonomy, {treatment}: "
        f"{quote_list(unknown_labels)}",
        MhpcWarning,
        stacklevel=4,
    )
    return LocatedLabels(taxonomy, position)


def graft(taxonomy: Taxonomy, labels: Sequence[str]) -> Taxonomy:
    """Add labels as roots, or below the known label that is the longest prefix of their path."""
    old = len(taxonomy)
    ids = Index((*taxonomy.labels, *labels))
    known = taxonomy.labels.positions
    edges = [
        (old + number, known[prefix])
        for number, label in enumerate(labels)
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


def _group_answers(
    votes: Votes, position: IntArray, labels: int
) -> tuple[IntArray, IntArray, Sparse]:
    """Return the instance, source and labels of every answer, sorted by instance, then source.

    Votes are sorted once, by one number each; "none of these" comes first within an answer.
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
    first = np.flatnonzero(run_starts(pair))
    pair = pair[first]
    ends = np.append(first, len(vote))
    voted = (vote > 0) & (score > 0)
    if not voted.all():
        ends = np.append(0, np.cumsum(voted))[ends]
        vote, score = vote[voted], score[voted]
    vote -= 1
    raw = csr_from_ends(ends, vote, score, shape=(len(first), labels))
    instance, source = np.divmod(pair if pairs is None else pairs[pair], len(votes.sources))
    return instance, source, raw


def _first_vote_for(votes: Votes, label: int) -> str:
    vote = np.flatnonzero(votes.label == label)[0]
    return (
        f", given by source {votes.sources[votes.source[vote]]!r} "
        f"to instance {votes.instances[votes.instance[vote]]!r}"
    )


def _add_ancestors(votes: Sparse, taxonomy: Taxonomy) -> Sparse:
    """Return the votes with all ancestors; only those of labels that were given are computed."""
    given = taxonomy.with_ancestors(np.unique(votes.indices))
    if 2 * len(given) > len(taxonomy):
        return augment(votes, taxonomy.closure)
    augmented = augment(select_columns(votes, given), taxonomy.select(given).closure)
    return spread_columns(augmented, given, len(taxonomy))


def augment(votes: Sparse, closure: Sparse) -> Sparse:
    """Add all ancestors to the votes, each with the largest score below it (Algorithm 1).

    The paper walks up from every label to the root. For all answers together this is one sparse
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
        augmented = (use_int32(votes) @ use_int32(closure)).tocsr()
        augmented.data[:] = 1.0
        augmented.sort_indices()
        return augmented
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
    """Return ones where a label is in the scope of a source, (M, K), or None for everywhere.

    Parameters
    ----------
    scope : "all", "used" or mapping of source to labels
        With a listed label, its ancestors are in scope; for a source without a list, all labels.
    taxonomy : Taxonomy
        K labels.
    sources : Index
        M sources.
    source : int array, (A,)
        The source of every answer.
    raw : csr_array, (A, K)
        The labels of every answer, and of every denial, which must all be in scope.
    unknown : "error", "drop" or "graft"
        What to do with listed labels that the taxonomy lacks. ``"graft"`` drops them too, since no
        answer contains them.
    """
    if scope == "all":
        return None
    used = _used_labels(len(sources), source, raw)
    if scope == "used":
        return augment(used, taxonomy.closure)
    assert isinstance(scope, Mapping)  # noqa: S101 - tells the type checker what is left
    rows = [_encode_list(scope.get(name), taxonomy, name, unknown) for name in sources]
    listed = augment(sparse.vstack(rows, format="csr"), taxonomy.closure)
    _check_votes_in_scope(used, listed, taxonomy, sources)
    return listed


def _used_labels(n_sources: int, source: IntArray, raw: Sparse) -> Sparse:
    """Return ones where a source ever gave a label, (M, K)."""
    used = (incidence(source, shape=(n_sources, len(source))) @ raw).tocsr()
    used.data[:] = 1.0
    return used


def _encode_list(
    labels: tuple[str, ...] | None, taxonomy: Taxonomy, source: str, unknown: Unknown
) -> Sparse:
    if labels is None:
        return sparse.csr_array(np.ones((1, len(taxonomy))))
    position = taxonomy.locate(labels)
    for label, located in zip(labels, position, strict=True):
        if located == UNKNOWN and unknown == "error":
            raise UnknownLabelError(
                f"the scope of source {source!r}: {unknown_label_message(taxonomy, label)}; "
                "correct it, or leave it out"
            )
    known = np.unique(position[position != UNKNOWN])
    return incidence(np.zeros(len(known), dtype=np.int64), known, shape=(1, len(taxonomy)))


def _check_votes_in_scope(used: Sparse, listed: Sparse, taxonomy: Taxonomy, sources: Index) -> None:
    outside = (used - used.multiply(listed)).tocsr()
    outside.eliminate_zeros()
    if outside.nnz:
        first = outside.tocoo()
        raise DataError(
            f"source {sources[first.row[0]]!r} votes for {taxonomy.labels[first.col[0]]!r}, "
            "which its scope leaves out; add that label to its scope"
        )
