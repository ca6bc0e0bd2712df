"""What sources are worth: the change of the result without each of them.

The model that was fitted to all answers predicts without the answers of a source; nothing is fitted
again. `benchmarks/quality/contributions.py` compares this with fitting without the source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mhpc.data.contributions import (
    Accuracy,
    PanelPoint,
    SourceContribution,
    SourceContributions,
)
from mhpc.data.index import hash_ids
from mhpc.data.panel import Panel, SinglePartition, drop_gold, panel_rows
from mhpc.data.profiles import SourceProfile
from mhpc.data.votes import EncodedTruth
from mhpc.errors import DataError, ParameterError, quote_list, suggest
from mhpc.explanation.panel_costs import CostSample, choose_panel, count_trials, trace_costs
from mhpc.explanation.source_groups import (
    CORRELATED,
    NEAR_DUPLICATE,
    group_sources,
    link_sources,
    select_sources,
)
from mhpc.explanation.without_sources import (
    Match,
    SetPredictor,
    list_pairs,
    match_sets,
    match_without,
)
from mhpc.methods.source_dependence import estimate_dependence
from mhpc.methods.source_weights import count_effective_sources
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.parameters import is_number, show_value
from mhpc.system.caching import cached_property
from mhpc.system.display import Progress, silent

_ANSWER_WORK = 20
"""How many labels of an instance take as long to predict as one of its answers."""

_NEIGHBOUR_WORK, _MAX_NEIGHBOURS = 0.05, 20_000
"""How many labels take as long as one instance among which neighbours are searched, and of how many
instances at most that is so."""


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    instances : int
        The most instances on which a source, or a panel, is measured.
    work : float
        How much may be predicted for the changes, and as much again for the curve: instances x
        (labels + 20 x answers + a twentieth of all instances), about 10 million a second. With more
        to do, fewer instances are measured.
    minimum : int
        The fewest instances that are worth measuring.
    skip : bool
        Whether to measure nothing if not even these can be measured.
    """

    instances: int = 2000
    work: float = 3e8
    minimum: int = 50
    skip: bool = False

    def count_instances(self, available: int, work_per_instance: float) -> int:
        """Return the number of instances to measure; 0 if they are too few to be of use."""
        most = min(self.instances, available)
        count = min(most, int(self.work / max(work_per_instance, 1.0)))
        if count >= min(self.minimum, most):
            return count
        return 0 if self.skip else min(self.minimum, most)


QUICK = Effort(work=5e6, minimum=30, skip=True)
"""For a report, which must not take much longer for it."""


def measure_contributions(
    predictor: SetPredictor,
    panel: Panel,
    profiles: Sequence[SourceProfile],
    *,
    gold: EncodedTruth | None = None,
    costs: Mapping[str, float] | None = None,
    keep: float = 0.95,
    effort: Effort | None = None,
    progress: Progress = silent,
) -> SourceContributions:
    """Measure what every source of a result is worth.

    Parameters
    ----------
    predictor : SetPredictor
        The model of the result.
    panel : Panel
        All answers.
    profiles : sequence of SourceProfile
        The profiles of the sources, in the order of the panel.
    gold : EncodedTruth, optional
        Correct labels to measure accuracy on; by default, those of the panel.
    costs : mapping of str to float, optional
        The price of an answer of every source; by default 1.
    keep : float
        The share of the quality of all sources that the panel to keep must have.
    effort : Effort, optional
        How much to measure.
    progress : callable
        Called with the name of a stage, how much of it is done, and how much there is.
    """
    names = [profile.source for profile in profiles]
    prices = check_prices(costs, names)
    task = _Task(
        predictor, drop_gold(panel), tuple(names), _rows_to_compare(panel),
        panel.gold if gold is None else gold, effort or Effort(), progress,
    )  # fmt: skip
    dependence = select_sources(estimate_dependence(SinglePartition(panel)), len(names))
    groups, correlated = (group_sources(dependence, at) for at in (NEAR_DUPLICATE, CORRELATED))
    effective, per_instance = _count_sources(predictor, panel)
    accuracy, without = task.measure_accuracy()
    entries = task.measure_changes(profiles, groups, without)
    curve, kept, instances = task.trace(prices, keep)
    return SourceContributions(
        sources=tuple(sorted(entries, key=lambda each: (-(each.changed or 0.0), each.source))),
        effective_sources=effective,
        answers_per_instance=per_instance,
        groups=tuple(tuple(names[m] for m in group) for group in groups),
        correlated=tuple(tuple(names[m] for m in group) for group in correlated),
        tree=link_sources(dependence, names),
        curve=curve,
        kept=kept,
        kept_point=next((point for point in curve if point.sources == len(kept)), None),
        keep=keep,
        instances=instances,
        gold=0 if task.gold_part is None else len(task.gold_part[0].instances),
        accuracy=accuracy,
        has_prices=bool(costs),
    )


def check_prices(costs: Mapping[str, float] | None, names: Sequence[str]) -> FloatArray:
    """Return the price of an answer of every source, 1 for all if none is given.

    Unknown sources, negative prices, and sources without a price if others have one are refused.
    """
    if len(names) < 2:
        raise DataError(
            "there is only one source, and without it there is no result; what a source is worth "
            "can be measured from two sources on"
        )
    if not costs:
        return np.ones(len(names))
    for source, price in costs.items():
        if source not in names:
            raise ParameterError(
                f"a price is given for {source!r}, which is no source of this run"
                f"{suggest(source, names)}"
            )
        if not is_number(price) or not 0 <= price < np.inf:
            raise ParameterError(
                f"the price of {source!r} is {show_value(price)}; give a number from 0 on"
            )
    missing = [name for name in names if name not in costs]
    if missing:
        raise ParameterError(
            f"these sources have no price: {quote_list(missing)}; give one for every source, or "
            "for none"
        )
    return np.array([float(costs[name]) for name in names])


@dataclass(frozen=True, eq=False)
class _Task:
    """What is measured on what.

    Attributes
    ----------
    predictor : SetPredictor
        The model.
    panel : Panel
        All answers, without gold labels.
    names : tuple of str
        The M sources, which are the first of the panel.
    rows : int array
        Instances whose label sets are compared with those of all sources, in sampling order.
    gold : EncodedTruth or None
        Gold labels.
    effort, progress
        How much to measure, and where to report it.
    """

    predictor: SetPredictor
    panel: Panel
    names: tuple[str, ...]
    rows: IntArray
    gold: EncodedTruth | None
    effort: Effort
    progress: Progress

    @property
    def work(self) -> float:
        """The work of predicting one instance."""
        labels = self.predictor.fitted.count_computed(len(self.panel.taxonomy))
        neighbours = min(len(self.panel.instances), _MAX_NEIGHBOURS)
        return float(
            labels + _ANSWER_WORK * self._answers_per_instance + _NEIGHBOUR_WORK * neighbours
        )

    @property
    def _answers_per_instance(self) -> float:
        return len(self.panel.instance) / max(len(self.panel.instances), 1)

    def measure_changes(
        self,
        profiles: Sequence[SourceProfile],
        groups: Sequence[IntArray],
        without: Sequence[Accuracy] | None,
    ) -> list[SourceContribution]:
        """Measure the change without every source on a sample of the instances it answered."""
        M = len(self.names)
        panel = panel_rows(self.panel, np.sort(self.rows))
        instance, source = list_pairs(panel)
        total = np.bincount(source, minlength=M)
        most = int(total.max(initial=0))
        work = self.work * (len(instance) / max(most, 1))
        sampled = _first_of_each(panel, source, instance, self.effort.count_instances(most, work))
        pairs = instance[sampled], source[sampled]
        measured = np.bincount(pairs[1], minlength=M)
        match = self._match_all(panel, pairs)
        # The label sets of instances that a source did not answer stay as they are.
        scale = total / np.maximum(measured, 1) / max(len(panel.instances), 1)
        changed = scale * np.bincount(pairs[1], ~match.same, minlength=M)
        lost = scale * np.bincount(pairs[1], 1.0 - match.f, minlength=M)
        known = (measured > 0) | (total == 0)
        group_of = {int(m): number for number, group in enumerate(groups) for m in group}
        return [
            SourceContribution(
                source=profile.source,
                answers=profile.answers,
                changed=float(changed[m]) if known[m] else None,
                agreement=float(1.0 - lost[m]) if known[m] else None,
                instances=int(measured[m]),
                alone=profile.same_set,
                group=group_of.get(m),
                accuracy=None if without is None else without[m],
            )
            for m, profile in enumerate(profiles)
        ]

    def _match_all(self, panel: Panel, pairs: tuple[IntArray, IntArray]) -> Match:
        """Compare label sets without a source with those of all sources."""
        if not len(pairs[0]):
            return Match(np.ones(0), np.ones(0, dtype=bool))
        used, position = np.unique(pairs[0], return_inverse=True)
        part = panel_rows(panel, used)
        return match_without(
            self.predictor, part, (position, pairs[1]), self.predictor.decide(part),
            progress=self.progress, stage="leaving out each source",
        )  # fmt: skip

    def measure_accuracy(self) -> tuple[Accuracy | None, list[Accuracy] | None]:
        """Measure the accuracy on gold labels of all sources, and without each of them."""
        if self.gold_part is None:
            return None, None
        M, (panel, closed) = len(self.names), self.gold_part
        pairs = list_pairs(panel)
        full = match_sets(self.predictor.decide(panel), closed, panel)
        match = match_without(
            self.predictor, panel, pairs, closed,
            progress=self.progress, stage="measuring accuracy",
        )  # fmt: skip
        exact, f = (
            before.mean()
            + np.bincount(pairs[1], after - before[pairs[0]], minlength=M) / len(before)
            for before, after in zip(
                (full.same.astype(float), full.f), (match.same.astype(float), match.f), strict=True
            )
        )
        with_all = Accuracy(float(full.same.mean()), float(full.f.mean()))
        return with_all, [Accuracy(float(exact[m]), float(f[m])) for m in range(M)]

    @cached_property
    def gold_part(self) -> tuple[Panel, Sparse] | None:
        """The answers to instances with gold labels, at most as many as are measured, and these."""
        if self.gold is None:
            return None
        rows = self.gold.rows
        count = self.effort.count_instances(len(rows), self.work * self._answers_per_instance)
        if not count:
            return None
        first = np.argsort(hash_ids(self.panel.instances.select(rows)), kind="stable")[:count]
        order = first[np.argsort(rows[first])]
        return panel_rows(self.panel, rows[order]), self.gold.closed[order]

    def trace(
        self, prices: FloatArray, keep: float
    ) -> tuple[tuple[PanelPoint, ...], tuple[str, ...], int]:
        """Return the curve, the panel to keep, and the number of instances measured on."""
        M = len(self.names)
        trials = count_trials(M) * self._answers_per_instance / M
        count = self.effort.count_instances(len(self.rows), self.work * trials)
        if not count:
            return (), (), 0
        gold_panel, gold = self.gold_part or (None, None)
        sample = CostSample(
            panel=panel_rows(self.panel, np.sort(self.rows[:count])),
            names=self.names,
            saved=prices * self.panel.answers_per_source[:M],
            gold_panel=gold_panel,
            gold=gold,
        )
        curve, panels = trace_costs(self.predictor, sample, progress=self.progress)
        kept = panels[choose_panel(curve, keep)]
        return curve, tuple(self.names[m] for m in kept), count


def _count_sources(predictor: SetPredictor, panel: Panel) -> tuple[float, float]:
    """Return the effective number of sources, as `auto` found it if it did, and of answers."""
    effective, answers = count_effective_sources(SinglePartition(panel))
    combination = predictor.scores.combination
    return effective if combination is None else combination.effective_sources, answers


def _rows_to_compare(panel: Panel) -> IntArray:
    """Return the answered instances without gold labels, in random order; else all answered ones.

    Gold labels do not depend on sources.
    """
    rows = np.unique(drop_gold(panel).instance)
    if panel.gold is not None and len(np.setdiff1d(rows, panel.gold.rows)):
        rows = np.setdiff1d(rows, panel.gold.rows)
    return rows[np.argsort(hash_ids(panel.instances.select(rows)), kind="stable")]


def _first_of_each(panel: Panel, source: IntArray, instance: IntArray, count: int) -> IntArray:
    """Return the positions of at most `count` pairs of every source, chosen by hash."""
    rank = hash_ids(panel.instances)[instance]
    order = np.lexsort((rank, source))
    begin = np.searchsorted(source[order], source[order], side="left")
    return np.sort(order[np.arange(len(order)) - begin < count])
