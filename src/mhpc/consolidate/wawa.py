"""Wawa: a majority in which sources count by how far they agreed with the majority."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.shares import MORE_THAN_HALF, Shares
from mhpc.core.arrays import FloatArray
from mhpc.core.panel import Panel
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent


class Wawa(MethodParameters):
    """The share of the answers that affirm a label, each counted by its source's skill.

    The skill of a source is the mean agreement of its answers with the majority, which is
    the Jaccard similarity of the labels that it affirms, ancestors included, and of those that
    more than half of the answers affirm, as far as it can speak about them. Where every answer is
    one label of a flat set this is worker agreement with aggregate. One round of what EM would
    repeat: cheap, and never far from the majority. Costs two passes over the votes.
    """

    name: ClassVar[str] = "wawa"
    summary: ClassVar[str] = "majority, each source weighted by its agreement with the majority"
    reference: ClassVar[str] = (
        "Worker Agreement With Aggregate, as in Ustalov, Pavlichenko, Tseitlin: Learning from "
        "Crowds with Crowd-Kit, JOSS 2024, for sets of labels in a hierarchy"
    )
    sparse: ClassVar[bool] = True

    smooth: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Answers that agree, and as many that do not, which every source is taken to have given: of a
    source that said little, little is known. 0: none, and one that never agreed is not heard."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn the skills: the majority of every instance is that of its own answers."""
        agreed, answers = parts.total(_agreement, stage="agreement", progress=progress)
        skill = (agreed + self.smooth) / np.maximum(answers + 2 * self.smooth, 1.0)
        return Shares(heard=Skilled(skill), level=MORE_THAN_HALF)


@dataclass(frozen=True, eq=False)
class Skilled:
    """Answers that count by the skill of their sources, (M,)."""

    skill: FloatArray

    def __call__(self, panel: Panel) -> Panel:
        """Return the panel with every answer weighted."""
        skill = self.skill[panel.source]
        return replace(panel, weight=skill if panel.weight is None else panel.weight * skill)


def _agreement(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return how far the answers of every source agreed in all, and how many there are, (M,)."""
    majority = panel.mean("augmented", "answers") > 0.5
    chosen = majority[panel.instance].astype(float)
    if panel.scope is not None:
        chosen = chosen.multiply(panel.scope[panel.source] > 0).tocsr()
    both = np.asarray(panel.augmented.minimum(chosen).sum(axis=1)).ravel()
    either = np.asarray(panel.augmented.maximum(chosen).sum(axis=1)).ravel()
    # Who chose nothing where nothing has a majority agrees.
    agreement = np.divide(both, either, out=np.ones(len(both)), where=either > 0)
    agreed = np.bincount(panel.source, agreement, minlength=len(panel.sources)).astype(float)
    return agreed, panel.answers_per_source.astype(float)
