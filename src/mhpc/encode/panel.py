"""Votes and a taxonomy become a Panel."""

from collections.abc import Iterable

import numpy as np

from mhpc.core.arrays import IntArray, Sparse
from mhpc.core.entries import changes, from_ordered, largest_of_equal
from mhpc.core.index import UNKNOWN, Index
from mhpc.core.panel import Panel
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.votes import Votes
from mhpc.encode.augment import augment
from mhpc.encode.labels import Unknown, locate_labels
from mhpc.encode.scope import encode_scope


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
    vote, score = largest_of_equal(pair, votes.score)
    pair = vote // width
    vote -= pair * width
    first = changes(pair)
    answer = np.cumsum(first) - 1
    voted = (vote > 0) & (score > 0)
    raw = from_ordered(
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
