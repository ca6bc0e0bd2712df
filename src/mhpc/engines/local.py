"""LocalEngine; write_results(): the last block of every run."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mhpc.data.decision import LOOKED_AT, Settled
from mhpc.data.panel import Panel, Whole, part_of, sample_of
from mhpc.data.scores import Consolidation, ScoredCells, Top, among, best_cells, walk
from mhpc.data.summary import Model, Tally
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Unknown, Votes
from mhpc.encoding.gold import clamped, encode_truth, of_known_sources, with_gold
from mhpc.encoding.panel import encode
from mhpc.explanation.sources import tally
from mhpc.methods.base import MethodParameters, concluded
from mhpc.methods.memory import refuse_what_cannot_be_read, refuse_what_will_not_fit
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import values_at
from mhpc.read.votes import read_votes
from mhpc.system.display import Progress, silent
from mhpc.system.parallel import ahead
from mhpc.write.run_folder import labels_stream, scores_stream


def finish(
    folder: Path,
    panel: Panel,
    consolidation: Consolidation,
    settled: Settled,
    *,
    top: Top,
    scope: Sparse | None = None,
    progress: Progress = silent,
) -> Tally:
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
    found: Tally | None = None

    def work(span: slice) -> _Finished:
        return _finished(span, panel, consolidation, settled, top)

    with ExitStack() as files:
        add_scores = files.enter_context(
            scores_stream(folder / "scores.parquet", instances, labels)
        )
        add_labels = files.enter_context(labels_stream(folder / "labels.csv", instances, labels))
        for block in ahead(work, walk(consolidation)):
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
    counts: Tally


def _finished(
    span: slice, panel: Panel, consolidation: Consolidation, settled: Settled, top: Top
) -> _Finished:
    score, specific = consolidation.score[span], consolidation.specific[span]
    reason = settled.sets(score, specific, consolidation.taxonomy)
    row = np.repeat(np.arange(reason.shape[0]), np.diff(reason.indptr))
    return _Finished(
        cells=best_cells(span.start, score, specific, top=top),
        row=row + span.start,
        label=reason.indices,
        score=values_at(score, row, reason.indices),
        counts=tally(part_of(panel, span), score, reason, level=settled.parameters.get("level")),
    )


@dataclass(frozen=True)
class Local:
    """Work in this process."""

    whole: bool = True

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
        refuse_what_cannot_be_read(source)
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
    ) -> "Here":
        """Encode them as one panel."""
        panel = with_known(encode(votes, taxonomy, unknown=unknown), gold, unknown=unknown)
        if earlier is not None:
            panel = of_known_sources(panel, earlier.sources, earlier.scope)
        return Here(panel)


@dataclass(frozen=True, eq=False)
class Here:
    """A panel in memory."""

    shape: Panel

    @property
    def parts(self) -> Whole:
        """The panel, as parts."""
        return Whole(self.shape)

    def for_method(self, method: MethodParameters, folder: Path) -> "Here":
        """Return the same: all is here."""
        return self

    def learn(self, method: MethodParameters, *, progress: Progress) -> Consolidation:
        """Return what the method concludes of all instances, if it fits."""
        refuse_what_will_not_fit(method, self.shape)
        return clamped(method.consolidate(self.shape, progress=progress), self.shape.gold)

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Return what the earlier run concludes of all instances."""
        method = make_method(model.method, model.parameters)
        found = concluded(method, model.fitted, self.shape, progress=progress)
        return clamped(found, self.shape.gold)

    def seen(self, found: Consolidation) -> Consolidation:
        """Return the consolidation of a sample."""
        return sample_seen(found, self.shape)

    def finish(
        self,
        folder: Path,
        found: Consolidation,
        settled: Settled,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> Tally:
        """Write in one walk over the instances."""
        return finish(folder, self.shape, found, settled, top=top, scope=scope, progress=progress)


def with_known(panel: Panel, gold: Truth | None, *, unknown: Unknown) -> Panel:
    """Return the panel with what is known of its instances, if anything."""
    if gold is None:
        return panel
    return with_gold(panel, encode_truth(gold, panel.taxonomy, panel.instances, unknown=unknown))


def sample_seen(found: Consolidation, panel: Panel) -> Consolidation:
    """Return the part of a consolidation that rules look at."""
    at = sample_of(panel, LOOKED_AT)
    if len(at) == len(panel.instances):
        return found
    return among(found, at)
