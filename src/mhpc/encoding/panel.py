"""Encoding votes as a panel: labels are located, ancestors added (Algorithm 1), scopes applied."""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import sparse

from mhpc.data.denials import Denials
from mhpc.data.hierarchy import max_along
from mhpc.data.index import Index
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import NONE_OF_THESE, Policy, Scope, Votes
from mhpc.encoding.labels import locate_labels
from mhpc.encoding.split import drop_contradictions, split_votes
from mhpc.errors import DataError
from mhpc.numerics.arrays import IntArray, Sparse
from mhpc.numerics.sparse import (
    csr_from_ends,
    incidence,
    max_of_equal,
    run_starts,
    use_int32,
)
from mhpc.parameters import check_type, to_texts


def encode(
    votes: Votes,
    taxonomy: Taxonomy,
    *,
    unknown: Policy = "error",
    instances: Iterable[str] = (),
) -> Panel:
    """Encode votes for consolidation.

    Parameters
    ----------
    votes : Votes
        The votes of all sources.
    taxonomy : Taxonomy
        Labels are located in it by id, or by a name or path that only one label has, in any
        spelling.
    unknown : LabelPolicy, or "error", "drop", "graft", "nearest" or "ancestor"
        What to do with labels that it lacks, see `mhpc.data.votes.Unknown`. An answer whose labels
        are all dropped says nothing, as if the source did not know.
    instances : iterable of str, optional
        Further instances, without answers: they get no label and change no other result.

    Returns
    -------
    Panel
        With an extended taxonomy if labels were grafted.

    Examples
    --------
    >>> import mhpc
    >>> mhpc.encode(mhpc.read_votes([("1", "ann", "rose")]), mhpc.read_taxonomy(["rose", "oak"]))
    Panel(1 answers of 1 sources on 1 instances, 2 labels)
    """
    check_type("votes", votes, Votes, "what mhpc.read_votes returns")
    check_type("taxonomy", taxonomy, Taxonomy, "what mhpc.read_taxonomy returns")
    located = locate_labels(
        taxonomy, votes.labels, unknown=unknown, origin=votes.origin,
        describe=lambda label: _first_vote_for(votes, label),
        count_share=lambda missing: float(np.isin(votes.label, missing).mean()),
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
    if unanswered := to_texts("instances", instances):
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
    pair += (np.append(position, NONE_OF_THESE) - NONE_OF_THESE)[votes.label]
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
    return augment(votes, taxonomy.closure_of(votes.indices))


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
    unknown: Policy = "error",
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
    unknown : LabelPolicy, or "error", "drop", "graft", "nearest" or "ancestor"
        What to do with listed labels that the taxonomy lacks. ``"graft"`` drops them too, since no
        answer contains them.
    """
    if scope == "all":
        return None
    used = _used_labels(len(sources), source, raw)
    if scope == "used":
        return augment(used, taxonomy.closure_of(used.indices))
    assert isinstance(scope, Mapping)  # noqa: S101 - tells the type checker what is left
    lists = _encode_lists(scope, taxonomy, sources, unknown)
    listed = augment(lists, taxonomy.closure_of(lists.indices))
    _check_votes_in_scope(used, listed, taxonomy, sources)
    return listed


def _used_labels(n_sources: int, source: IntArray, raw: Sparse) -> Sparse:
    """Return ones where a source ever gave a label, (M, K)."""
    used = (incidence(source, shape=(n_sources, len(source))) @ raw).tocsr()
    used.data[:] = 1.0
    return used


def _encode_lists(
    scope: Mapping[str, tuple[str, ...]], taxonomy: Taxonomy, sources: Index, unknown: Policy
) -> Sparse:
    """Return ones where a label is listed for a source, and everywhere for one without a list."""
    first: dict[str, str] = {}
    for name in sources:
        first |= {label: name for label in scope.get(name, ()) if label not in first}
    labels = Index(tuple(first))
    located = locate_labels(
        taxonomy, labels, unknown=unknown, origin="the scope", can_graft=False,
        describe=lambda label: f", listed for source {first[labels[label]]!r}",
    )  # fmt: skip
    rows = []
    for name in sources:
        listed = np.arange(len(taxonomy))
        if name in scope:
            listed = np.unique(located.position[labels.locate(scope[name])])
        listed = listed[listed >= 0]
        rows.append(incidence(np.zeros_like(listed), listed, shape=(1, len(taxonomy))))
    return sparse.vstack(rows, format="csr")


def _check_votes_in_scope(used: Sparse, listed: Sparse, taxonomy: Taxonomy, sources: Index) -> None:
    outside = (used - used.multiply(listed)).tocsr()
    outside.eliminate_zeros()
    if outside.nnz:
        first = outside.tocoo()
        raise DataError(
            f"source {sources[first.row[0]]!r} votes for {taxonomy.labels[first.col[0]]!r}, "
            "which its scope leaves out; add that label to its scope"
        )
