"""Votes and a taxonomy become a Panel."""

from collections.abc import Iterable

import numpy as np

from mhpc.core.index import UNKNOWN, Index
from mhpc.core.panel import Panel
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.votes import Votes
from mhpc.encode.augment import augment
from mhpc.encode.labels import Unknown, locate_labels
from mhpc.encode.matrix import largest_of_each
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
    pair = votes.instance * len(votes.sources) + votes.source
    pairs, answer = np.unique(pair, return_inverse=True)
    instance, source = np.divmod(pairs, len(votes.sources))
    label = np.append(located.position, UNKNOWN)[votes.label]
    voted = label != UNKNOWN
    raw = largest_of_each(
        answer[voted], label[voted], votes.score[voted], shape=(len(pairs), len(taxonomy))
    )
    return Panel(
        taxonomy=taxonomy,
        instances=Index(tuple(dict.fromkeys((*votes.instances, *instances)))),
        sources=votes.sources,
        instance=instance,
        source=source,
        raw=raw,
        augmented=augment(raw, taxonomy.closure),
        scope=encode_scope(votes.scope, taxonomy, votes.sources, source, raw),
    )


def _first_to_say(votes: Votes, label: int) -> str:
    at = np.flatnonzero(votes.label == label)[0]
    return (
        f", said by source {votes.sources[votes.source[at]]!r} "
        f"of instance {votes.instances[votes.instance[at]]!r}"
    )
