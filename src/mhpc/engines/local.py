"""LocalEngine: all votes in the memory of this process. Every engine writes results as it does."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mhpc.data.decision import RULE_SAMPLE, Decision, FittedRule
from mhpc.data.items import Items
from mhpc.data.panel import Panel, SinglePartition, panel_block
from mhpc.data.scores import (
    Consolidation,
    ScoredCells,
    Top,
    add_label_sets,
    instance_blocks,
    sort_best_first,
    top_cells,
)
from mhpc.data.summary import Model, RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Policy, Truth, Votes
from mhpc.encoding.known_sources import KnownSources
from mhpc.explanation.disagreement import find_even_score
from mhpc.explanation.items import list_items
from mhpc.explanation.sources import examine_block
from mhpc.methods.base import BaseMethod
from mhpc.methods.memory import check_readable
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import row_indices, values_at
from mhpc.read.options import ReadOptions
from mhpc.read.votes import read_votes_as
from mhpc.rules.base import Rule
from mhpc.steps import apply_model, encode_votes, fit_and_score, fit_rule
from mhpc.system.display import Progress, silent
from mhpc.system.parallel import parallel_map
from mhpc.write.run_folder import items_stream, labels_stream, scores_stream


@dataclass(frozen=True)
class LocalEngine:
    """Works in this process."""

    rule_sample: int = RULE_SAMPLE
    is_local: bool = True

    def read(
        self,
        source: str | Sequence[str],
        options: ReadOptions,
        *,
        scope: str,
        folder: Path,
    ) -> Votes:
        """Read all votes, if they fit into memory."""
        check_readable(source)
        return read_votes_as(source, options, scope=scope)

    def encode(
        self,
        votes: Votes,
        taxonomy: Taxonomy,
        *,
        unknown: Policy,
        gold: Truth | None,
        earlier: KnownSources | None,
        progress: Progress,
    ) -> "LocalVotes":
        """Encode the votes as one panel."""
        panel = encode_votes(votes, taxonomy, unknown=unknown, gold=gold, known_sources=earlier)
        return LocalVotes(panel, self.rule_sample)


@dataclass(frozen=True, eq=False)
class LocalVotes:
    """One panel in memory, which is its own template."""

    template: Panel
    rule_sample: int = RULE_SAMPLE

    @property
    def partitions(self) -> SinglePartition:
        """The panel as a single partition."""
        return SinglePartition(self.template)

    def place_for(self, method: BaseMethod, folder: Path) -> "LocalVotes":
        """Return the same votes: all of them are here."""
        return self

    def fit_and_score(self, method: BaseMethod, *, progress: Progress) -> Consolidation:
        """Fit a method and score all instances, if that fits into memory."""
        return fit_and_score(method, self.template, progress=progress)

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Score all instances by the model of an earlier run."""
        return apply_model(model, self.template, progress=progress)

    def fit_rule(self, rule: Rule, scores: Consolidation) -> FittedRule:
        """Fit a rule to a sample of the scores."""
        return fit_rule(rule, scores, self.template, sample=self.rule_sample)

    def write_results(
        self,
        folder: Path,
        scores: Consolidation,
        rule: FittedRule,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> RunCounts:
        """Write the items, scores and label sets of all instances into a folder."""
        return write_results(
            folder, self.template, scores, rule, top=top, scope=scope, progress=progress
        )


def write_results(
    folder: Path,
    panel: Panel,
    scores: Consolidation,
    rule: FittedRule | Decision,
    *,
    top: Top,
    scope: Sparse | None = None,
    progress: Progress = silent,
) -> RunCounts:
    """Write ``items.csv``, ``labels.csv`` and ``scores.parquet`` in blocks; count on the way.

    Scores that do not fit into memory are computed once for all of them.

    Parameters
    ----------
    folder : Path
        Where to write.
    panel, scores, rule
        The votes, their scores, and the rule that turns scores into label sets, or these sets.
    top : int or "all"
        How many labels of each instance to keep in scores.parquet, beside its label set.
    scope : csr_array, (M, K), or None
        The labels that each source can give, for finding out who contradicts whom; None: as in the
        panel.
    progress : callable
        Called after every block.
    """
    instances, labels = scores.instances, scores.taxonomy.labels
    panel = panel if scope is None else replace(panel, scope=scope)
    counts: RunCounts | None = None
    decide_block = partial(_decide_block, panel=panel, scores=scores, rule=rule, top=top)
    with ExitStack() as files:
        add_scores = files.enter_context(
            scores_stream(folder / "scores.parquet", instances, labels)
        )
        add_labels = files.enter_context(labels_stream(folder / "labels.csv", instances, labels))
        add_items = files.enter_context(items_stream(folder / "items.csv"))
        for block in parallel_map(decide_block, instance_blocks(scores)):
            add_scores(block.cells)
            add_labels(block.row, block.label, block.score)
            add_items(block.items)
            counts = block.counts if counts is None else counts + block.counts
            progress("writing", counts.instances, len(instances))
    if counts is None:
        raise ValueError("a panel has at least one instance")
    return counts


@dataclass(frozen=True, eq=False)
class _DecidedBlock:
    """A block of instances: its best scores, its label sets as cells, its items and counts."""

    cells: ScoredCells
    row: IntArray
    label: IntArray
    score: FloatArray
    items: Items
    counts: RunCounts


def _decide_block(
    rows: slice, *, panel: Panel, scores: Consolidation, rule: FittedRule | Decision, top: Top
) -> _DecidedBlock:
    score, specific = scores.score[rows], scores.specific[rows]
    if isinstance(rule, Decision):
        label_sets = rule.reason[rows]
    else:
        label_sets = rule.decide(score, specific, scores.taxonomy)
    row, part = row_indices(label_sets), panel_block(panel, rows)
    even_score = find_even_score(rule.parameters)
    examined = examine_block(part, score, label_sets, even_score=even_score)
    cells = top_cells(rows.start, score, specific, top=top)
    return _DecidedBlock(
        cells=sort_best_first(add_label_sets(cells, rows.start, score, specific, label_sets)),
        row=row + rows.start,
        label=label_sets.indices,
        score=values_at(score, row, label_sets.indices),
        items=list_items(part, score, label_sets, examined),
        counts=examined.counts,
    )
