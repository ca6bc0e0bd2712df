"""What to know about votes before a run: coverage, depth, disagreement, unknown labels."""

from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from mhpc.data.index import UNKNOWN, Index
from mhpc.data.panel import Panel
from mhpc.data.summary import Inspection, MatchedLabel, UnknownLabel
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import ABSTAINED, NONE_OF_THESE, MatchKind, Policy, Votes
from mhpc.encoding.labels import LabelMatches, find_ancestors, find_nearest, match_labels
from mhpc.explanation.disagreement import find_disputed
from mhpc.methods.scope import with_inferred_scope
from mhpc.numerics.arrays import IntArray

_MAX_SUGGESTIONS = 20
"""Unknown labels for which similar ones are searched, which is slow in large taxonomies."""


_WORDS = {ABSTAINED: "abstain", NONE_OF_THESE: "none of these"}
"""Words that are understood wherever labels are read."""


def inspect_panel(
    votes: Votes, taxonomy: Taxonomy, panel: Panel, unknown: Policy = "drop"
) -> Inspection:
    """Collect the facts; `panel` holds the votes whose labels are known under a policy."""
    matches = match_labels(taxonomy, votes.labels, unknown)
    count = np.bincount(votes.label[votes.label >= 0], minlength=len(votes.labels))
    answers_per_instance = panel.answers_per_instance
    labelled = np.diff(panel.raw.indptr) > 0
    has_label = np.bincount(panel.source, weights=labelled, minlength=len(panel.sources)) > 0
    levels = np.bincount(taxonomy.depth[panel.raw.indices])
    unknown_votes = _select_unknown(votes, matches)
    disputed, several = _count_disputed(panel)
    return Inspection(
        instances=len(panel.instances),
        sources=len(panel.sources),
        answers=len(panel.instance),
        votes=panel.raw.nnz + len(unknown_votes),
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
        none_answers=int((~labelled).sum()),
        votes_per_level={
            level: int(votes) for level, votes in enumerate(levels) if level and votes
        },
        disagreement=disputed / several if several else float("nan"),
        silent_sources=tuple(
            source for source, labels in zip(panel.sources, has_label, strict=True) if not labels
        ),
        unknown_labels=_list_unknown(votes.labels, count, matches, taxonomy),
        matched_labels=_list_matched(votes.labels, count, matches, taxonomy),
        disputed=disputed,
        abstentions=0 if panel.abstained is None else len(panel.abstained),
        unknown_answers=_count_unknown_answers(votes, unknown_votes, panel),
        denials=0 if panel.denials is None else len(panel.denials),
    )


def _select_unknown(votes: Votes, matches: LabelMatches) -> IntArray:
    """Return the votes for labels that the taxonomy does not have."""
    is_unknown = np.isin(votes.label, matches.missing)
    if votes.negative is not None:
        is_unknown &= ~votes.negative
    return np.flatnonzero(is_unknown)


def _count_unknown_answers(votes: Votes, unknown: IntArray, panel: Panel) -> int:
    """Count the answers that have nothing but unknown labels, which count as "did not know"."""
    if panel.abstained is None:
        return 0
    M = np.int64(len(panel.sources))
    pairs = np.unique(votes.instance[unknown] * M + votes.source[unknown])
    return int(np.isin(panel.abstained.instance * M + panel.abstained.source, pairs).sum())


def _count_disputed(panel: Panel) -> tuple[int, int]:
    """Return the number of instances on which sources disagree, as a run counts them.

    And the number of those about which several sources say something.
    """
    M = np.int64(len(panel.sources))
    pairs = panel.instance * M + panel.source
    if panel.denials is not None:
        pairs = np.union1d(pairs, panel.denials.instance * M + panel.denials.source)
    several = np.bincount(pairs // M, minlength=len(panel.instances)) > 1
    return int(find_disputed(with_inferred_scope(panel)).sum()), int(several.sum())


def _list_matched(
    labels: Index, count: IntArray, matches: LabelMatches, taxonomy: Taxonomy
) -> tuple[MatchedLabel, ...]:
    """Return the labels that are understood although they are written differently."""
    entries = []
    for label in sorted(matches.kinds, key=lambda label: -count[label]):
        how, position = matches.kinds[label], int(matches.position[label])
        to = _WORDS[position] if position < 0 else taxonomy.labels[position]
        entries.append(MatchedLabel(labels[label], int(count[label]), to, how))
    return tuple(entries)


def _list_unknown(
    labels: Index, count: IntArray, matches: LabelMatches, taxonomy: Taxonomy
) -> tuple[UnknownLabel, ...]:
    """Return the unknown labels, with those that could be meant."""
    missing = matches.missing[np.argsort(-count[matches.missing], kind="stable")]
    texts = [labels[label] for label in missing]
    nearest, ancestors = find_nearest(taxonomy, texts), find_ancestors(taxonomy, texts)
    known = list(dict.fromkeys((*taxonomy.labels, *taxonomy.names)))
    entries = []
    for rank, text in enumerate(texts):
        how: MatchKind = "nearest" if nearest[rank] != UNKNOWN else "ancestor"
        to = int(nearest[rank] if how == "nearest" else ancestors[rank])
        similar = get_close_matches(text, known) if rank < _MAX_SUGGESTIONS else []
        if how == "nearest":
            similar = list(dict.fromkeys((taxonomy.labels[to], *similar)))
        entry = UnknownLabel(text, int(count[missing[rank]]), tuple(similar))
        if to != UNKNOWN:
            entry = replace(entry, to=taxonomy.labels[to], how=how)
        entries.append(entry)
    return tuple(entries)
