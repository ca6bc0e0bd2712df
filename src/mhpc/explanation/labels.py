"""Why this label: which sources support it, which contradict it, and the effects of both."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mhpc.data.denials import select_rows
from mhpc.data.disagreement import Answer, Explanation, LabelExplanation, SourceStance, Stance
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.explanation.disagreement import (
    AnswerLabels,
    collect_labels,
    find_agreed_labels,
    find_deniers,
    find_disputes,
    proper_ancestors,
)
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, dense
from mhpc.system.caching import cached_property

_STANCES: tuple[Stance | None, ...] = (None, "against", "vague", "below", "direct")
"""Stances by number; None if the label is not in the scope of the source."""


@dataclass(frozen=True, eq=False)
class ScoredPanel:
    """Answers about some instances, with the scores, label sets and effects to explain.

    Attributes
    ----------
    panel : Panel
        The answers.
    score, specific : array or csr_array, (N, K)
        As in `Consolidation`.
    reason : csr_array, (N, K)
        As in `Decision`.
    gain : float array, (N,)
        The expected gain of a review.
    effects : float array, (A, K), or None
        The effect of every answer on every label; nan where it is not known.
    how : str
        How the effects were computed, or why they were not.
    """

    panel: Panel
    score: Block
    specific: Block
    reason: Sparse
    gain: FloatArray
    effects: FloatArray | None
    how: str


def explain_all(scored: ScoredPanel, labels: IntArray | None = None) -> tuple[Explanation, ...]:
    """Explain every instance of a panel.

    Parameters
    ----------
    scored : ScoredPanel
        The instances.
    labels : int array, optional
        The labels to explain; by default those that are chosen or disputed.
    """
    panel, reason = scored.panel, scored.reason
    taxonomy, rows = panel.taxonomy, np.arange(len(panel.instances) + 1)
    given = collect_labels(panel)
    disputes = find_disputes(panel, given)
    agreed = find_agreed_labels(panel, disputes.supported, rows[:-1])
    answer_ends = np.searchsorted(panel.instance, rows)
    dispute_ends = np.searchsorted(disputes.row, rows)
    named = [
        panel.augmented.indices,
        reason.indices,
        disputes.label,
        *([] if labels is None else [labels]),
    ]
    ancestors = proper_ancestors(
        np.concatenate(named).astype(np.int64), taxonomy, among=given.deepest.indices
    )
    explanations = []
    for row, instance in enumerate(panel.instances):
        disputed = disputes.label[dispute_ends[row] : dispute_ends[row + 1]]
        chosen = reason.indices[reason.indptr[row] : reason.indptr[row + 1]]
        asked = np.union1d(chosen, disputed).astype(np.int64) if labels is None else labels
        answers = slice(answer_ends[row], answer_ends[row + 1])
        case = _Case(scored, given, ancestors, row, answers, asked)
        explanation = Explanation(
            instance=instance,
            gain=float(scored.gain[row]),
            agreed=taxonomy.labels[agreed[row]] if agreed[row] >= 0 else None,
            answers=case.list_answers(),
            labels=case.explain_labels(chosen, disputed),
            effects=scored.how,
        )
        explanations.append(replace(explanation, names=_names_in(explanation, taxonomy)))
    return tuple(explanations)


def _names_in(explanation: Explanation, taxonomy: Taxonomy) -> dict[str, str]:
    agreed = () if explanation.agreed is None else (explanation.agreed,)
    given = (label for answer in explanation.answers for label, _ in answer.labels)
    return taxonomy.names_of([*agreed, *given, *(label.label for label in explanation.labels)])


@dataclass(frozen=True, eq=False)
class _Case:
    """One instance, its answers (a of them) and the labels asked for (L of them)."""

    scored: ScoredPanel
    given: AnswerLabels
    ancestors: Sparse
    row: int
    answers: slice
    asked: IntArray

    def list_answers(self) -> tuple[Answer, ...]:
        """List what every source said of the instance, in the order of sources."""
        panel, raw = self.scored.panel, self.scored.panel.raw
        answers: dict[int, Answer] = {}
        for answer in range(self.answers.start, self.answers.stop):
            entries = slice(raw.indptr[answer], raw.indptr[answer + 1])
            labels = self._with_scores(raw.indices[entries], raw.data[entries])
            source = int(panel.source[answer])
            answers[source] = Answer(panel.sources[source], labels)
        for source, denied in self._denied_labels().items():
            answer_of = answers.get(source, Answer(panel.sources[source], ()))
            answers[source] = replace(answer_of, denied=denied)
        if panel.abstained is not None:
            for source in panel.abstained.source[panel.abstained.instance == self.row].tolist():
                answers[source] = Answer(panel.sources[source], (), abstained=True)
        return tuple(answers[source] for source in sorted(answers))

    def _denied_labels(self) -> dict[int, tuple[tuple[str, float], ...]]:
        denials = self.scored.panel.denials
        if denials is None:
            return {}
        own = select_rows(denials, denials.instance == self.row)
        return {
            source: self._with_scores(own.label[is_own], own.score[is_own])
            for source in np.unique(own.source).tolist()
            for is_own in (own.source == source,)
        }

    def _with_scores(self, labels: IntArray, scores: FloatArray) -> tuple[tuple[str, float], ...]:
        names = self.scored.panel.taxonomy.labels
        return tuple((names[k], float(score)) for k, score in zip(labels, scores, strict=True))

    def explain_labels(self, chosen: IntArray, disputed: IntArray) -> tuple[LabelExplanation, ...]:
        """Explain the labels asked for, the highest score first, ancestors before descendants."""
        taxonomy, stances = self.scored.panel.taxonomy, self._stances()
        score, specific = (
            dense(view[[self.row]])[0, self.asked]
            for view in (self.scored.score, self.scored.specific)
        )
        vote_share = self._vote_share(stances > 0)
        order = np.lexsort((self.asked, taxonomy.depth[self.asked], -score))
        return tuple(
            LabelExplanation(
                label=taxonomy.labels[label],
                name=taxonomy.path(label),
                score=float(score[column]),
                specific=float(specific[column]),
                chosen=label in chosen,
                disputed=label in disputed,
                vote_share=vote_share[column],
                adjustment=None
                if (share := vote_share[column]) is None
                else float(score[column]) - share,
                stances=(
                    *self._list_stances(stances[:, column], label),
                    *self._list_further_deniers(column),
                ),
            )
            for column, label in ((int(column), int(self.asked[column])) for column in order)
        )

    def _stances(self) -> IntArray:
        """Return the number of every answer's stance on every label, (a, L)."""
        supports = dense(self.given.closed[self.answers][:, self.asked]) > 0
        direct = dense(self.scored.panel.raw[self.answers][:, self.asked]) > 0
        stops_above = self.given.deepest[self.answers] @ self.ancestors[self.asked].T.tocsr()
        vague = dense(stops_above) > 0
        stances = np.select([supports & direct, supports, vague], [4, 3, 2], 1)
        stances = np.where(self._in_scope(), stances, 0)
        column, source = self._deniers
        answer_source = self.scored.panel.source[self.answers]
        for position, denying in zip(column, source, strict=True):
            stances[answer_source == denying, position] = 1
        return np.asarray(stances)

    @cached_property
    def _deniers(self) -> tuple[IntArray, IntArray]:
        """The sources that deny the labels asked for, as pairs (column, source)."""
        return find_deniers(self.scored.panel, np.full(len(self.asked), self.row), self.asked)

    def _in_scope(self) -> BoolArray:
        panel = self.scored.panel
        sources = panel.source[self.answers]
        if panel.scope is None:
            return np.ones((len(sources), len(self.asked)), dtype=bool)
        return np.asarray(dense(panel.scope[sources][:, self.asked]) > 0)

    def _vote_share(self, in_scope: BoolArray) -> list[float | None]:
        panel = self.scored.panel
        votes = dense(panel.augmented[self.answers][:, self.asked])
        # Gold labels are not votes.
        in_scope = in_scope & ~panel.is_gold[self.answers, None]
        count = in_scope.sum(axis=0)
        total = (votes * in_scope).sum(axis=0)
        return [float(t / n) if n else None for t, n in zip(total, count, strict=True)]

    def _list_stances(self, numbers: IntArray, label: int) -> tuple[SourceStance, ...]:
        panel, effects = self.scored.panel, self.scored.effects
        stances = []
        for answer, number in enumerate(numbers, start=self.answers.start):
            stance = _STANCES[number]
            if stance is not None:
                effect = float("nan") if effects is None else float(effects[answer, label])
                source = panel.sources[panel.source[answer]]
                stances.append(SourceStance(source, stance, None if effect != effect else effect))
        return tuple(stances)

    def _list_further_deniers(self, wanted: int) -> Iterator[SourceStance]:
        """List the sources that deny a label and give none, so that they have no answer."""
        panel, (column, source) = self.scored.panel, self._deniers
        if not len(column):
            return
        for denying in np.setdiff1d(source[column == wanted], panel.source[self.answers]):
            yield SourceStance(panel.sources[denying], "against", None)
