"""Votes in three parts: those for labels, abstentions, and those against labels.

What each of them means is said in `mhpc.data.votes.Votes`.
"""

from dataclasses import replace

import numpy as np

from mhpc.data.denials import Abstentions, Denials, select_rows
from mhpc.data.votes import ABSTAINED, NONE_OF_THESE, Votes
from mhpc.errors import MhpcWarning, pluralize, warn
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import run_starts, values_at


def split_votes(
    votes: Votes, position: IntArray
) -> tuple[Votes, Abstentions | None, Denials | None]:
    """Split votes into those for labels, or for none of them, and what is no answer to a method.

    Parameters
    ----------
    votes : Votes
        All votes.
    position : int array
        The position of each of their labels in the taxonomy, or `NONE_OF_THESE` or `ABSTAINED`.

    Returns
    -------
    votes : Votes
        Neither negative nor abstained; the same object if all are so.
    abstained : Abstentions or None
        The sources and instances whose votes say nothing.
    denials : Denials or None
        The negative votes, each label once per answer.
    """
    has_abstained = bool((votes.label == ABSTAINED).any() or (position == ABSTAINED).any())
    if votes.negative is None and not has_abstained:
        return votes, None, None
    label = np.append(position, (ABSTAINED, NONE_OF_THESE))[votes.label]
    negative = np.zeros(len(votes), dtype=bool) if votes.negative is None else votes.negative
    is_given = ~negative & (label != ABSTAINED)
    # A vote against something that is no label, or without any certainty, says nothing.
    is_denied = negative & (label >= 0) & (votes.score > 0)
    pair = votes.instance * np.int64(len(votes.sources)) + votes.source
    without = np.setdiff1d(pair, pair[is_given | is_denied])
    abstained = Abstentions(*np.divmod(without, len(votes.sources))) if len(without) else None
    denials = None
    if votes.negative is not None:
        denials = _collect_denials(votes, pair[is_denied], label[is_denied], votes.score[is_denied])
    return _select_votes(votes, is_given), abstained, denials


def _select_votes(votes: Votes, rows: BoolArray) -> Votes:
    return replace(
        votes,
        instance=votes.instance[rows],
        source=votes.source[rows],
        label=votes.label[rows],
        score=votes.score[rows],
        negative=None,
    )


def _collect_denials(votes: Votes, pair: IntArray, label: IntArray, score: FloatArray) -> Denials:
    """Return denials in order, with the highest score of those that are repeated."""
    order = np.lexsort((-score, label, pair))
    pair, label, score = pair[order], label[order], score[order]
    first = run_starts(pair) | run_starts(label)
    instance, source = np.divmod(pair[first], len(votes.sources))
    return Denials(instance, source, label[first], score[first])


def drop_contradictions(
    denials: Denials, answers: tuple[IntArray, IntArray], augmented: Sparse, votes: Votes
) -> Denials:
    """Drop denials of what the same answer gives, itself or by a descendant, with a warning.

    Parameters
    ----------
    denials : Denials
        The denials.
    answers : pair of int arrays, (A,)
        The instance and source of every answer, in order.
    augmented : csr_array, (A, K)
        The labels of every answer, with ancestors.
    votes : Votes
        The votes, for the warning.
    """
    n_sources = np.int64(len(votes.sources))
    pair, denied_pair = (
        instance * n_sources + source
        for instance, source in (answers, (denials.instance, denials.source))
    )
    answer = np.searchsorted(pair, denied_pair)
    answered = np.flatnonzero(np.append(pair, -1)[answer] == denied_pair)
    is_given = values_at(augmented, answer[answered], denials.label[answered]) > 0
    wrong = answered[is_given]
    if not len(wrong):
        return denials
    warn(
        f"{votes.origin}: {pluralize(len(wrong), 'negative vote')} for a label that the same "
        "answer gives, itself or by a descendant; left out "
        f"(first: source {votes.sources[denials.source[wrong[0]]]!r}, "
        f"instance {votes.instances[denials.instance[wrong[0]]]!r})",
        MhpcWarning,
        stacklevel=4,
    )
    kept = np.ones(len(denials), dtype=bool)
    kept[wrong] = False
    return select_rows(denials, kept)
