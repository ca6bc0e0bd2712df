"""Look before you run: coverage, depth, conflict, unknown labels, silent sources."""

from difflib import get_close_matches

import numpy as np
from scipy import sparse

from mhpc.data.index import UNKNOWN
from mhpc.data.panel import Panel
from mhpc.data.summary import Inspection, UnknownLabel
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Votes

_NEAREST_FOR = 20
"""Unknown labels that get a list of near ones; looking is slow in large taxonomies."""


def inspection(votes: Votes, taxonomy: Taxonomy, panel: Panel) -> Inspection:
    """Return the facts; `panel` holds the votes whose labels are known."""
    per_instance = panel.answers_per_instance
    labelled = np.diff(panel.raw.indptr) > 0
    speaks = np.bincount(panel.source, weights=labelled, minlength=len(panel.sources)) > 0
    levels = np.bincount(taxonomy.depth[panel.raw.indices])
    return Inspection(
        instances=len(panel.instances),
        sources=len(panel.sources),
        answers=len(panel.instance),
        votes=int((votes.label >= 0).sum()),
        labels=len(taxonomy),
        levels=int(taxonomy.depth.max()),
        labels_used=len(np.unique(panel.raw.indices)),
        coverage=len(panel.instance) / (len(panel.instances) * len(panel.sources)),
        answers_per_instance={
            "mean": float(per_instance.mean()),
            "min": float(per_instance.min()),
            "max": float(per_instance.max()),
            "single": float((per_instance == 1).mean()),
        },
        none_answers=int((votes.label < 0).sum()),
        votes_per_level={level: int(n) for level, n in enumerate(levels) if level and n},
        conflict=_conflict(panel),
        silent_sources=tuple(
            name for name, ok in zip(panel.sources, speaks, strict=True) if not ok
        ),
        unknown_labels=_unknown_labels(votes, taxonomy),
    )


def _conflict(panel: Panel) -> float:
    answers = len(panel.instance)
    by_instance = sparse.csr_array(
        (np.ones(answers), (panel.instance, np.arange(answers))),
        shape=(len(panel.instances), answers),
    )
    together = np.diff((by_instance @ panel.augmented).tocsr().indptr)
    largest = np.zeros(len(panel.instances), dtype=np.int64)
    np.maximum.at(largest, panel.instance, np.diff(panel.augmented.indptr).astype(np.int64))
    several = panel.answers_per_instance > 1
    if not several.any():
        return float("nan")
    return float((largest < together)[several].mean())


def _unknown_labels(votes: Votes, taxonomy: Taxonomy) -> tuple[UnknownLabel, ...]:
    strange = np.flatnonzero(taxonomy.locate(votes.labels) == UNKNOWN)
    count = np.bincount(votes.label[votes.label >= 0], minlength=len(votes.labels))
    order = strange[np.argsort(-count[strange], kind="stable")]
    known = list(dict.fromkeys((*taxonomy.labels, *taxonomy.names)))
    return tuple(
        UnknownLabel(
            label=votes.labels[label],
            votes=int(count[label]),
            nearest=tuple(get_close_matches(votes.labels[label], known))
            if place < _NEAREST_FOR
            else (),
        )
        for place, label in enumerate(order)
    )
