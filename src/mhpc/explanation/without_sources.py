"""Label sets without some sources, by the model that was fitted with all of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mhpc.data.decision import FittedRule
from mhpc.data.denials import select_rows
from mhpc.data.panel import Panel, dense_blocks, panel_block
from mhpc.data.scores import Consolidation
from mhpc.explanation.effects import leave_out_sources, predict_with_denials
from mhpc.methods.fitted import FittedMethod
from mhpc.metrics.label_sets import LabelSets
from mhpc.numerics.arrays import BoolArray, FloatArray, IntArray, Sparse
from mhpc.numerics.sparse import row_indices
from mhpc.system.display import Progress, silent


@dataclass(frozen=True, eq=False)
class SetPredictor:
    """Decides on the label sets of any answers by the model of a run; nothing is fitted.

    Attributes
    ----------
    fitted : FittedMethod
        The fitted method.
    rule : FittedRule
        The fitted rule.
    scores : Consolidation
        The scores of the run, which say how much negative votes count.
    """

    fitted: FittedMethod
    rule: FittedRule
    scores: Consolidation

    def decide(self, panel: Panel) -> Sparse:
        """Return ones at the labels of every instance, (N, K); none if it has no answers."""
        spans = self.blocks(panel, len(panel.instances))
        blocks = [self._decide_block(panel_block(panel, span)) for span in spans]
        shape = (0, len(panel.taxonomy))
        return sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array(shape)

    def blocks(self, panel: Panel, instances: int) -> Iterator[slice]:
        """Divide a number of instances into blocks whose scores fit in memory."""
        return dense_blocks(instances, self.fitted.count_computed(len(panel.taxonomy)))

    def _decide_block(self, panel: Panel) -> Sparse:
        predicted = predict_with_denials(panel, fitted=self.fitted, scores=self.scores)
        sets = self.rule.decide(predicted.score, predicted.specific, panel.taxonomy).tocsr()
        sets = sets.astype(bool).astype(float)
        sets.eliminate_zeros()
        # What a method gives without any answer is a guess, not a result.
        sets.data *= panel.answers_per_instance[row_indices(sets)] > 0
        sets.eliminate_zeros()
        return sets


class Match(NamedTuple):
    """How well label sets match others, one entry per instance.

    Attributes
    ----------
    f : float array
        F of both sets; 1 if both are empty.
    same : bool array
        Whether they are the same.
    """

    f: FloatArray
    same: BoolArray


def match_sets(sets: Sparse, reference: Sparse, panel: Panel) -> Match:
    """Compare label sets with others, both with ancestors, row by row."""
    common, first, second = LabelSets(sets, reference, panel.taxonomy).sizes
    f = np.ones(len(common))
    np.divide(2 * common, first + second, out=f, where=first + second > 0)
    return Match(f, (common == first) & (common == second))


def list_pairs(panel: Panel) -> tuple[IntArray, IntArray]:
    """Return every instance and source of which the second says anything about the first."""
    M = len(panel.sources)
    cells = panel.instance * np.int64(M) + panel.source
    if panel.denials is not None:
        denied = panel.denials.instance * np.int64(M) + panel.denials.source
        cells = np.union1d(cells, denied)
    return cells // M, cells % M


def match_without(
    predictor: SetPredictor,
    panel: Panel,
    pairs: tuple[IntArray, IntArray],
    reference: Sparse,
    *,
    progress: Progress = silent,
    stage: str = "",
) -> Match:
    """Leave a source out of an instance, and compare the label set with a reference, (N, K).

    Parameters
    ----------
    predictor : SetPredictor
        Decides on label sets.
    panel : Panel
        All answers.
    pairs : pair of int arrays
        The instances, and the source to leave out of each.
    reference : csr_array, (N, K)
        What to compare with.
    progress, stage
        Where and under which name to report progress.
    """
    instance, source = pairs
    f, same = np.ones(len(instance)), np.ones(len(instance), dtype=bool)
    for span in predictor.blocks(panel, len(instance)):
        if stage:
            progress(stage, span.start, len(instance))
        without = leave_out_sources(panel, instance[span], source[span])
        sets = predictor.decide(without)
        f[span], same[span] = match_sets(sets, reference[instance[span]], panel)
    return Match(f, same)


def keep_sources(panel: Panel, kept: BoolArray) -> Panel:
    """Return the panel with the answers and negative votes of some sources, (M,)."""
    denials = panel.denials
    return replace(
        panel.select_answers(kept[panel.source]),
        denials=None if denials is None else select_rows(denials, kept[denials.source]),
    )
