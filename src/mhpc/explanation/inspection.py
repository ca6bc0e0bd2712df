"""What to know about votes before a run: coverage, depth, disagreement, unknown labels."""

from difflib import get_close_matches

import numpy as np

from mhpc.data.index import UNKNOWN
from mhpc.data.panel import Panel
from mhpc.data.summary import Inspection, UnknownLabel
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import NONE_OF_THESE, Votes
from mhpc.numerics.sparse import incidence

_MAX_SUGGESTIONS = 20
"""Unknown labels for which similar ones are searched, which is slow in large taxonomies."""


def inspect_panel(votes: Votes, taxonomy: Taxonomy, panel: Panel) -> Inspection:
    """Collect the facts; `panel` holds the votes whose labels are known."""
    answers_per_instance = panel.answers_per_instance
    labelled = np.diff(panel.raw.indptr) > 0
    has_label = np.bincount(panel.source, weights=labelled, minlength=len(panel.sources)) > 0
    levels = np.bincount(taxonomy.depth[panel.raw.indices])
    is_vote = votes.label >= 0 if votes.negative is None else (votes.label >= 0) & ~votes.negative
    return Inspection(
        instances=len(panel.instances),
        sources=len(panel.sources),
        answers=len(panel.instance),
        votes=int(is_vote.sum()),
        labels=len(taxonomy),
        levels=int(taxonomy.depth.max()),
        labels_used=len(np.unique(panel.raw.indices)),
        coverage=len(panel.instance) / (len(panel.instances) * len(panel.sources)),
        answers_per_instance={
            "mean": float(answers_per_instance.mean()),
            "min": float(answers_per_instance.min()),
            "max": float(answers_per_instance.max()),
            "single": float((answers_per_instance == 1).mean()),
        },
        none_answers=int((votes.label == NONE_OF_THESE).sum()),
        votes_per_level={
            level: int(count) for level, count in enumerate(levels) if level and count
        },
        disagreement=_measure_disagreement(panel),
        silent_sources=tuple(
            source for source, labels in zip(panel.sources, has_label, strict=True) if not labels
        ),
        unknown_labels=_find_unknown_labels(votes, taxonomy),
        abstentions=0 if panel.abstained is None else len(panel.abstained),
        denials=0 if panel.denials is None else len(panel.denials),
    )


def _measure_disagreement(panel: Panel) -> float:
    """Return the proportion of instances on which no answer includes all the others."""
    several = panel.answers_per_instance > 1
    if not several.any():
        return float("nan")
    n_answers = len(panel.instance)
    by_instance = incidence(panel.instance, shape=(len(panel.instances), n_answers))
    union_size = np.diff((by_instance @ panel.augmented).tocsr().indptr)
    largest = np.zeros(len(panel.instances), dtype=np.int64)
    np.maximum.at(largest, panel.instance, np.diff(panel.augmented.indptr).astype(np.int64))
    return float((largest < union_size)[several].mean())


def _find_unknown_labels(votes: Votes, taxonomy: Taxonomy) -> tuple[UnknownLabel, ...]:
    unknown = np.flatnonzero(taxonomy.locate(votes.labels) == UNKNOWN)
    count = np.bincount(votes.label[votes.label >= 0], minlength=len(votes.labels))
    order = unknown[np.argsort(-count[unknown], kind="stable")]
    known = list(dict.fromkeys((*taxonomy.labels, *taxonomy.names)))
    return tuple(
        UnknownLabel(
            label=votes.labels[label],
            votes=int(count[label]),
            nearest=tuple(get_close_matches(votes.labels[label], known))
            if rank < _MAX_SUGGESTIONS
            else (),
        )
        for rank, label in enumerate(order)
    )
