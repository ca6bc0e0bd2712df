"""LocalEngine; write_results(): the last block of every run."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mhpc.data.decision import RULE_SAMPLE, FittedRule
from mhpc.data.panel import Panel, SinglePartition, panel_block, sample_rows
from mhpc.data.scores import (
    Consolidation,
    ScoredCells,
    Top,
    instance_blocks,
    select_instances,
    top_cells,
)
from mhpc.data.summary import Model, RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Unknown, Votes
from mhpc.encoding.gold import add_gold_labels, align_sources, clamp_gold, encode_truth
from mhpc.encoding.panel import encode
from mhpc.explanation.sources import count_block
from mhpc.methods.base import BaseMethod, predict_scores
from mhpc.methods.memory import check_memory, check_readable
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import values_at
from mhpc.read.votes import read_votes
from mhpc.system.display import Progress, silent
from mhpc.system.parallel import parallel_map
from mhpc.write.run_folder import labels_stream, scores_stream


def write_results(
    folder: Path,
    panel: Panel,
    consolidation: Consolidation,
    settled: FittedRule,
    *,
    top: Top,
    scope: Sparse | None = None,
    progress: Progress = silent,
) -> RunCounts:
    """Write ``scores.parquet`` and ``labels.csv`` in one walk over the instances.

    Scores that are made when they are asked for are so made once.

    Parameters
    ----------
    folder : Path
        Where to.
    panel, consolidation, settled
        The answers, the scores, and what decides on them.
    top : int or "all"
        How many labels of each instance to keep in scores.parquet.
    scope : csr_array, (M, K), or None
        What sources can speak about where it comes to who contradicts whom; None: as the panel has
        it.
    progress : callable
        Told after every block.
    """
    instances, labels = consolidation.instances, consolidation.taxonomy.labels
    panel = panel if scope is None else replace(panel, scope=scope)
    found: RunCounts | None = None

    def work(span: slice) -> _Finished:
        return _finished(span, panel, consolidation, settled, top)

    with ExitStack() as files:
        add_scores = files.enter_context(
            scores_stream(folder / "scores.parquet", instances, labels)
        )
        add_labels = files.enter_context(labels_stream(folder / "labels.csv", instances, labels))
        for block in parallel_map(work, instance_blocks(consolidation)):
            add_scores(block.cells)
            add_labels(block.row, block.label, block.score)
            found = block.counts if found is None else found + block.counts
            progress("writing", found.instances, len(instances))
    if found is None:
        raise ValueError("a panel has at least one instance")
    return found


@dataclass(frozen=True, eq=False)
class _Finished:
    """A block of instances: cells of the scores, label sets, and what was counted."""

    cells: ScoredCells
    row: IntArray
    label: IntArray
    score: FloatArray
    counts: RunCounts


def _finished(
    span: slice, panel: Panel, consolidation: Consolidation, settled: FittedRule, top: Top
) -> _Finished:
    score, specific = consolidation.score[span], consolidation.specific[span]
    reason = settled.decide(score, specific, consolidation.taxonomy)
    row = np.repeat(np.arange(reason.shape[0]), np.diff(reason.indptr))
    return _Finished(
        cells=top_cells(span.start, score, specific, top=top),
        row=row + span.start,
        label=reason.indices,
        score=values_at(score, row, reason.indices),
        counts=count_block(
            panel_block(panel, span), score, reason, level=settled.parameters.get("threshold")
        ),
    )


@dataclass(frozen=True)
class LocalEngine:
    """Work in this process."""

    is_local: bool = True

    def read(
        self,
        source: str,
        *,
        columns: Mapping[str, str],
        scope: str,
        folder: Path,
        format: str | None = None,  # noqa: A002 - as for read_votes
    ) -> Votes:
        """Read all votes, if they fit."""
        check_readable(source)
        return read_votes(source, columns=columns, scope=scope, format=format)

    def encode(
        self,
        votes: Votes,
        taxonomy: Taxonomy,
        *,
        unknown: Unknown,
        gold: Truth | None,
        earlier: Model | None,
        progress: Progress,
    ) -> "LocalVotes":
        """Encode them as one panel."""
        panel = add_gold(encode(votes, taxonomy, unknown=unknown), gold, unknown=unknown)
        if earlier is not None:
            panel = align_sources(panel, earlier.sources, earlier.scope)
        return LocalVotes(panel)


@dataclass(frozen=True, eq=False)
class LocalVotes:
    """A panel in memory."""

    template: Panel

    @property
    def partitions(self) -> SinglePartition:
        """The panel, as parts."""
        return SinglePartition(self.template)

    def for_method(self, method: BaseMethod, folder: Path) -> "LocalVotes":
        """Return the same: all is here."""
        return self

    def fit_and_score(self, method: BaseMethod, *, progress: Progress) -> Consolidation:
        """Return what the method concludes of all instances, if it fits."""
        check_memory(method, self.partitions)
        return clamp_gold(method.consolidate(self.template, progress=progress), self.template.gold)

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Return what the earlier run concludes of all instances."""
        method = make_method(model.method, model.parameters)
        found = predict_scores(method, model.fitted, self.template, progress=progress)
        return clamp_gold(found, self.template.gold)

    def rule_sample(self, found: Consolidation) -> Consolidation:
        """Return the consolidation of a sample."""
        return rule_sample(found, self.template)

    def write_results(
        self,
        folder: Path,
        found: Consolidation,
        settled: FittedRule,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> RunCounts:
        """Write in one walk over the instances."""
        return write_results(
            folder, self.template, found, settled, top=top, scope=scope, progress=progress
        )


def add_gold(panel: Panel, gold: Truth | None, *, unknown: Unknown) -> Panel:
    """Return the panel with what is known of its instances, if anything."""
    if gold is None:
        return panel
    return add_gold_labels(
        panel, encode_truth(gold, panel.taxonomy, panel.instances, unknown=unknown)
    )


def rule_sample(found: Consolidation, panel: Panel) -> Consolidation:
    """Return the part of a consolidation that rules look at."""
    at = sample_rows(panel, RULE_SAMPLE)
    if len(at) == len(panel.instances):
        return found
    return select_instances(found, at)
