"""The findings with which the report page opens: a sentence, its numbers and a picture for each.

Every function takes what is known of all instances, not only of those that the page lists, and
returns what the page shows; nothing is computed in the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mhpc.data.disagreement import ConfusedPair
from mhpc.data.exclusive import ExclusiveConflicts
from mhpc.data.index import Index
from mhpc.data.profiles import SourceProfile
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import pluralize
from mhpc.explanation.disagreement import MIN_GAIN
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.report.sentences import (
    describe_exclusive,
    describe_weakness,
    format_interval,
    format_percent,
)

SETTLED, CONTESTED, TO_REVIEW = range(3)
"""States of an instance: certain and undisputed; certain although sources disagree; the rest."""

N_BINS = 20
"""The bars of the histogram, over expected F from 0 to 1."""

MIN_GROUPS, MAX_GROUPS = 4, 12
"""Into how many groups the taxonomy is split, if it can be."""

MAX_PAIRS = 8
"""Confused pairs in the picture."""

_MAX_NAMES = 3
"""Instances and sources that a sentence names."""

_MIN_EFFORT = 10
"""From how many instances on it is worth saying which of them are enough."""


@dataclass(frozen=True, eq=False)
class FindingsInput:
    """What findings are made of.

    Attributes
    ----------
    instances : Index
        All N instances.
    gain : float array, (N,)
        The expected gain of reviewing each, from 0 to 1.
    disputed : bool array, (N,)
        Whether sources contradict each other.
    label_sets : csr_array, (N, K)
        An entry for every label of the set of an instance.
    taxonomy : Taxonomy
        The labels.
    sources : sequence of SourceProfile
        The sources.
    confusions : sequence of ConfusedPair
        Confused labels, the largest excess over chance first.
    exclusive : ExclusiveConflicts
        The instances whose label sets have labels that exclude each other.
    """

    instances: Index
    gain: FloatArray
    disputed: BoolArray
    label_sets: Sparse
    taxonomy: Taxonomy
    sources: Sequence[SourceProfile]
    confusions: Sequence[ConfusedPair]
    exclusive: ExclusiveConflicts


def make_findings(
    data: FindingsInput, listed: IntArray, *, limit: float = MIN_GAIN
) -> dict[str, Any]:
    """Return the findings as ``docs/report.md`` describes them.

    Parameters
    ----------
    data : FindingsInput
        What was found out about all instances.
    listed : int array
        The positions of the instances that the page lists.
    limit : float
        The expected gain from which on an instance needs a review.
    """
    states = classify_instances(data.gain, data.disputed, limit=limit)
    settled, contested, to_review = np.bincount(states, minlength=3).tolist()
    first = rank_reviews(data.gain, limit=limit)[:_MAX_NAMES]
    start = [data.instances[row] for row in first.tolist()]
    request, effort = describe_request(data.gain, limit=limit)
    return {
        "min_gain": limit,
        "request": {"sentence": request, "start": start, "effort": effort},
        "settled": {
            "sentence": describe_settled(settled, contested, len(states)),
            "count": settled,
            "contested": contested,
            "groups": split_by_subtree(data.label_sets, states, data.taxonomy),
        },
        "review": {
            "sentence": describe_review(data.disputed, states),
            "count": to_review,
            "histogram": make_histogram(data.gain),
        },
        "sources": find_unreliable(data.sources, data.taxonomy),
        "confusions": {
            "sentence": describe_confusions(data.confusions, data.taxonomy),
            "shown": min(len(data.confusions), MAX_PAIRS),
        },
        "exclusive": next(describe_exclusive(data.exclusive), None),
        "states": states[listed].tolist(),
    }  # fmt: skip


def classify_instances(
    gain: FloatArray, disputed: BoolArray, *, limit: float = MIN_GAIN
) -> IntArray:
    """Return the state of every instance, (N,): `SETTLED`, `CONTESTED` or `TO_REVIEW`.

    >>> classify_instances(np.array([0.0, 0.0, 0.5]), np.array([False, True, False])).tolist()
    [0, 1, 2]
    """
    states = np.where(disputed, CONTESTED, SETTLED)
    return np.asarray(np.where(gain >= limit, TO_REVIEW, states).astype(np.int64))


def rank_reviews(gain: FloatArray, *, limit: float = MIN_GAIN) -> IntArray:
    """Return the positions of the instances that need a review, the largest gain first."""
    order = np.argsort(-gain, kind="stable")
    return np.asarray(order[: int((gain >= limit).sum())])


def make_histogram(gain: FloatArray, *, bins: int = N_BINS) -> list[int]:
    """Return how many instances have an expected F in each of equally wide ranges from 0 to 1.

    A range contains its upper end but not its lower end, except for the first one, so that an
    instance at a limit of 0.1, whose expected F is 0.9, is counted below it.

    >>> make_histogram(np.array([0.0, 0.05, 0.1, 0.9]), bins=10)
    [1, 0, 0, 0, 0, 0, 0, 0, 1, 2]
    """
    # By the gain, whose ends are exact where those of 1 - gain are not.
    bin_of = np.floor(gain * bins + 1e-9).astype(np.int64)
    counts = np.bincount(np.minimum(bin_of, bins - 1), minlength=bins)
    return [int(count) for count in counts[::-1]]


def split_by_subtree(
    label_sets: Sparse, states: IntArray, taxonomy: Taxonomy, *, most: int = MAX_GROUPS
) -> list[dict[str, Any]]:
    """Count the instances in each state, by the part of the taxonomy in which their labels are.

    The parts are the labels of the first level with at least `MIN_GROUPS` of them in the result, or
    of the level with the most. Of more than `most`, the smallest are put together. An instance with
    labels in several parts is counted in each. Instances without any label at that level, and those
    without a label at all, are parts of their own.

    Returns
    -------
    list of dict
        ``label``, a position or None for what is put together; its ``name``; ``counts`` of the
        three states. The part with the most instances is first, what is put together is last.
    """
    ones = label_sets.astype(bool).astype(float).tocsr()
    chosen = np.asarray(ones.sum(axis=0)).ravel()
    members = _choose_level(chosen, taxonomy)
    by_label = ones[:, members].tocsc()
    groups = [
        (int(label), taxonomy.names[label], _rows_of(by_label, at))
        for at, label in enumerate(members.tolist())
    ]
    groups.sort(key=lambda group: -len(group[2]))
    parts: list[tuple[int | None, str, IntArray]] = list(groups)
    if len(parts) > most:
        others = np.unique(np.concatenate([rows for _, _, rows in parts[most - 1 :]]))
        name = f"{len(parts) - most + 1:,} other labels"
        parts[most - 1 :] = [(None, name, others)]
    has_label = np.diff(ones.indptr) > 0
    has_part = np.asarray(by_label.sum(axis=1)).ravel() > 0
    parts += [
        (None, name, np.flatnonzero(rows))
        for name, rows in (
            ("less specific labels", has_label & ~has_part),
            ("no label", ~has_label),
        )
        if rows.any()
    ]
    return [
        {"label": label, "name": name, "counts": np.bincount(states[rows], minlength=3).tolist()}
        for label, name, rows in parts
    ]  # fmt: skip


def _choose_level(chosen: FloatArray, taxonomy: Taxonomy) -> IntArray:
    levels = [level[chosen[level] > 0] for level in taxonomy.levels]
    enough = (level for level in levels if len(level) >= MIN_GROUPS)
    return next(enough, max(levels, key=len, default=np.zeros(0, dtype=np.int64)))


def _rows_of(columns: Any, at: int) -> IntArray:
    return np.asarray(columns.indices[columns.indptr[at] : columns.indptr[at + 1]])


def find_unreliable(sources: Sequence[SourceProfile], taxonomy: Taxonomy) -> dict[str, Any]:
    """Find the sources that are clearly less reliable than the average source.

    These are the sources for which the whole interval of the proportion of rejected labels is above
    the mean of all answers.

    Returns
    -------
    dict
        ``sentence``; ``order``, the positions of all sources with labels, the highest lower bound
        first; ``unreliable``, how many of these, from the first; and the ``mean``.
    """
    known = [m for m, source in enumerate(sources) if source.wrong.low == source.wrong.low]
    order = sorted(known, key=lambda m: (-sources[m].wrong.low, -sources[m].wrong.value))
    if not order:
        return {"sentence": "No source gave a label.", "order": [], "unreliable": 0, "mean": None}
    weights = [max(sources[m].answers, 1) for m in order]
    mean = float(np.average([sources[m].wrong.value for m in order], weights=weights))
    n_unreliable = sum(sources[m].wrong.low > mean for m in order) if len(order) > 1 else 0
    unreliable = [sources[m] for m in order[:n_unreliable]]
    return {
        "sentence": _describe_unreliable(unreliable, len(sources), taxonomy),
        "order": order,
        "unreliable": n_unreliable,
        "mean": round(mean, 4),
    }


def _describe_unreliable(
    unreliable: Sequence[SourceProfile], n_sources: int, taxonomy: Taxonomy
) -> str:
    if n_sources == 1:
        return "There is only one source, which cannot be compared with another."
    if not unreliable:
        return "No source is clearly less reliable than the others."
    worst = unreliable[0]
    value, low, high = worst.wrong
    names = [f"{source.source} ({format_percent(source.wrong.value)})" for source in unreliable]
    count = f"{len(unreliable)} of {pluralize(n_sources, 'source')}"
    if len(unreliable) == 1:
        text = (
            f"{count} is clearly less reliable than the average: {worst.source}. On average, "
            f"{format_percent(value)} of the labels in its answers were rejected (95 % interval "
            f"{format_interval(low, high)})"
        )
    else:
        more = len(names) - _MAX_NAMES
        shown = names[:_MAX_NAMES] + ([f"{more:,} more"] if more > 0 else [])
        text = (
            f"{count} are clearly less reliable than the average, by the share of their labels "
            f"that were rejected: {', '.join(shown[:-1])} and {shown[-1]}"
        )
    under = describe_weakness(worst, taxonomy.names_of([w.label for w in worst.weaknesses[:1]]))
    if not under:
        return f"{text}."
    return f"{text}. For {worst.source}, {under}."


def describe_request(gain: FloatArray, *, limit: float = MIN_GAIN) -> tuple[str, str | None]:
    """Say what is asked of the reader, and how much work that is or how much is left after it.

    If most instances need a review, those that hold half of the errors to expect are asked for. The
    page continues the first sentence with the instances to start with.
    """
    gains = np.sort(gain[gain >= limit])[::-1]
    if not len(gains):
        return "No instance needs a person's review", None
    verb = "needs" if len(gains) == 1 else "need"
    request = f"{_part(len(gains), len(gain))} {verb} a person's review"
    if len(gains) < _MIN_EFFORT:
        return request, None
    half = 1 + int(np.searchsorted(np.cumsum(gains), gains.sum() / 2))
    if len(gains) <= len(gain) / 2:
        return request, f"The first {half:,} hold half of the errors to expect there."
    return (
        f"{_part(half, len(gain))} hold half of the errors to expect and need a person's review",
        f"In all, {_part(len(gains), len(gain))} are uncertain enough for a review.",
    )


def describe_settled(settled: int, contested: int, instances: int) -> str:
    """Say how many instances are settled, and how many are certain although sources disagree."""
    if settled:
        verb, their = ("is", "its") if settled == 1 else ("are", "their")
        share = format_percent(settled / instances)
        text = (
            f"{_part(settled, instances)} ({share}) {verb} settled: {their} labels are certain, "
            "and no source contradicts another."
        )
    else:
        text = "No instance is settled: labels are uncertain, or sources contradict each other."
    if not contested:
        return text
    verb = "is" if contested == 1 else "are"
    share = format_percent(contested / instances)
    more = " more" if settled else ""
    return f"{text} {contested:,}{more} ({share}) {verb} certain although sources disagree."


def describe_review(disputed: BoolArray, states: IntArray) -> str:
    """Say how many instances need a review, and on how many of these sources do not disagree."""
    is_uncertain = states == TO_REVIEW
    to_review, agreed = int(is_uncertain.sum()), int((is_uncertain & ~disputed).sum())
    if not to_review:
        return "No instance needs a review: all labels are certain enough."
    verb, their = ("needs", "its") if to_review == 1 else ("need", "their")
    share = format_percent(to_review / len(states))
    text = (
        f"{_part(to_review, len(states))} ({share}) {verb} a review: {their} label sets are likely "
        "to have errors."
    )
    if not agreed:
        return text
    return f"{text} On {agreed:,} of these, sources do not disagree, but answers are few or vague."


def describe_confusions(confusions: Sequence[ConfusedPair], taxonomy: Taxonomy) -> str:
    """Say which two labels sources confuse most, given how common they are."""
    if not confusions:
        return "Sources never confuse two labels."

    def name(label: str) -> str:
        return taxonomy.names[taxonomy.labels.positions[label]]

    pair = confusions[0]
    under = "" if pair.under is None else f", both under {name(pair.under)}"
    return (
        f"Sources confuse {name(pair.first)} and {name(pair.second)} more than any other labels, "
        f"given how common they are ({pluralize(pair.count, 'time')}{under})."
    )


def format_exclusive(exclusive: ExclusiveConflicts) -> dict[str, Any] | None:
    """Return the instances whose label sets have labels that exclude each other, for the page."""
    if not exclusive.instances:
        return None
    pairs: Mapping[tuple[int, int], int] = exclusive.pairs
    ranked = sorted(pairs.items(), key=lambda entry: (-entry[1], entry[0]))
    return {
        "instances": exclusive.instances,
        "first": list(exclusive.first),
        "pairs": [{"first": one, "second": other, "count": n} for (one, other), n in ranked],
    }


def _part(part: int, instances: int) -> str:
    return f"{part:,} of {pluralize(instances, 'instance')}"
