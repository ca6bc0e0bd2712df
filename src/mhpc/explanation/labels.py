"""Why this label: who upholds it, who contradicts it, and what their answers do to its score."""

from dataclasses import dataclass

import numpy as np

from mhpc.data.disagreement import Answer, Explanation, LabelExplanation, Stance, Voice
from mhpc.data.panel import Panel
from mhpc.explanation.disagreement import (
    Said,
    collect_answers,
    find_disputes,
    mean_agreement,
    rank_disagreements,
    strictly_above,
)
from mhpc.numerics.arrays import Block, BoolArray, FloatArray, IntArray, Sparse, dense

_STANCES: tuple[Stance | None, ...] = (None, "against", "vague", "below", "direct")
"""By number; none of them: the source could not speak about the label."""


@dataclass(frozen=True, eq=False)
class ScoredPanel:
    """What was found of a panel's instances.

    Attributes
    ----------
    score, specific : array or csr_array, (N, K)
        As in `Consolidation`.
    reason : csr_array, (N, K)
        As in `Decision`.
    level : float
        The score from which on labels are chosen.
    effects : float array, (A, K), or None
        Of every answer on every label; nan where it is not known.
    how : str
        How effects were found, or why they were not.
    """

    score: Block
    specific: Block
    reason: Sparse
    level: float
    effects: FloatArray | None
    how: str


def explanations(
    panel: Panel, found: ScoredPanel, labels: IntArray | None = None
) -> tuple[Explanation, ...]:
    """Explain every instance of a panel: of all, labels chosen or in dispute, or those given."""
    said = collect_answers(panel)
    disputes = find_disputes(panel, said)
    rows = np.arange(len(panel.instances))
    agreed = mean_agreement(panel, disputes.upheld, rows)
    ranked = rank_disagreements(
        panel, disputes, found.score, found.reason, found.level, most=len(rows)
    )
    gain = dict(zip(ranked.ids, ranked.gain.tolist(), strict=True))
    begin = np.searchsorted(panel.instance, np.arange(len(rows) + 1))
    split = np.searchsorted(disputes.row, np.arange(len(rows) + 1))
    above = strictly_above(panel.taxonomy)
    told = []
    for i, instance in enumerate(panel.instances):
        disputed = disputes.label[split[i] : split[i + 1]]
        chosen = found.reason.indices[found.reason.indptr[i] : found.reason.indptr[i + 1]]
        asked = np.union1d(chosen, disputed).astype(np.int64) if labels is None else labels
        case = _Case(panel, said, above, i, slice(begin[i], begin[i + 1]), asked)
        told.append(
            Explanation(
                instance=instance,
                gain=gain.get(instance, 0.0),
                agreed=panel.taxonomy.labels[agreed[i]] if agreed[i] >= 0 else None,
                answers=case.answers(),
                labels=case.labels(found, chosen, disputed),
                effects=found.how,
            )
        )
    return tuple(told)


@dataclass(frozen=True, eq=False)
class _Case:
    """One instance, its answers and the labels asked for, L of them."""

    panel: Panel
    said: Said
    above: Sparse
    instance: int
    rows: slice
    asked: IntArray

    def answers(self) -> tuple[Answer, ...]:
        """Return what was said."""
        panel, raw = self.panel, self.panel.raw
        return tuple(
            Answer(
                panel.sources[panel.source[a]],
                tuple(
                    (panel.taxonomy.labels[raw.indices[at]], float(raw.data[at]))
                    for at in range(raw.indptr[a], raw.indptr[a + 1])
                ),
            )
            for a in range(self.rows.start, self.rows.stop)
        )

    def labels(
        self, found: ScoredPanel, chosen: IntArray, disputed: IntArray
    ) -> tuple[LabelExplanation, ...]:
        """Return the story of every label asked for, the highest score first, ancestors before."""
        taxonomy, stances = self.panel.taxonomy, self._stances()
        score, specific = (
            dense(view[[self.instance]])[0, self.asked] for view in (found.score, found.specific)
        )
        own = self._own(stances > 0)
        order = np.lexsort((self.asked, taxonomy.depth[self.asked], -score))
        return tuple(
            LabelExplanation(
                label=taxonomy.labels[label],
                name=taxonomy.path(label),
                score=float(score[at]),
                specific=float(specific[at]),
                chosen=label in chosen,
                disputed=label in disputed,
                own=own[at],
                learnt=None if (share := own[at]) is None else float(score[at]) - share,
                voices=self._voices(stances[:, at], label, found.effects),
            )
            for at, label in ((int(at), int(self.asked[at])) for at in order)
        )

    def _stances(self) -> IntArray:
        """Return the number of every answer's stance on every label, (a, L)."""
        closed = dense(self.said.closed[self.rows][:, self.asked]) > 0
        itself = dense(self.panel.raw[self.rows][:, self.asked]) > 0
        stops = self.said.deepest[self.rows] @ self.above[self.asked].T.tocsr()
        vague = dense(stops) > 0
        found = np.select([closed & itself, closed, vague], [4, 3, 2], 1)
        return np.where(self._could(), found, 0)

    def _could(self) -> BoolArray:
        sources = self.panel.source[self.rows]
        if self.panel.scope is None:
            return np.ones((len(sources), len(self.asked)), dtype=bool)
        return np.asarray(dense(self.panel.scope[sources][:, self.asked]) > 0)

    def _own(self, could: BoolArray) -> list[float | None]:
        """Return the share of those who could that uphold each label."""
        given = dense(self.panel.augmented[self.rows][:, self.asked])
        count = could.sum(axis=0)
        total = (given * could).sum(axis=0)
        return [float(t / n) if n else None for t, n in zip(total, count, strict=True)]

    def _voices(
        self, stances: IntArray, label: int, effects: FloatArray | None
    ) -> tuple[Voice, ...]:
        panel, found = self.panel, []
        for a, number in zip(range(self.rows.start, self.rows.stop), stances, strict=True):
            stance = _STANCES[number]
            if stance is not None:
                effect = float("nan") if effects is None else float(effects[a, label])
                source = panel.sources[panel.source[a]]
                found.append(Voice(source, stance, None if effect != effect else effect))
        return tuple(found)
