"""Cross-source: what each source says, predicted from what the others say."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from mhpc.consolidate.descent import descended
from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.regression import Predictor, Sums, from_answers, from_sums, over_all, summed
from mhpc.consolidate.voices import Hearing, Sources, hearing, listen
from mhpc.core.arrays import FloatArray, IntArray, dense
from mhpc.core.memory import as_text, memory_budget
from mhpc.core.panel import Panel, VotesKind
from mhpc.core.parts import Parts
from mhpc.core.progress import Progress, silent
from mhpc.core.size import Size
from mhpc.core.views import Views
from mhpc.errors import TooLargeError


class CrossSource(MethodParameters):
    """Ridge regression of every answer on the mean of the other answers to the same instance.

    What is learnt, which labels go with which, needs no truth: each source is the others' target.
    Applied to the mean of all answers it gives what a further source would say. `specific`
    predicts labels as said, `score` labels with their ancestors, made to fall from parent to
    child. Missing answers are missing: an answer without others teaches nothing, nor does silence
    on a label out of a source's scope. One K x K system,
    or one of answers x answers where that is smaller, K being the labels that anyone said; the
    sums behind it are sparse products, linear in the answers.

    Where no instance has two answers there is nothing to learn from, and mean answers are given.
    """

    name: ClassVar[str] = "cross-source"
    summary: ClassVar[str] = "each source predicted from the others, by ridge regression"
    reference: ClassVar[str] = (
        "Hoerl, Kennard: Ridge Regression, Technometrics 1970; co-training of sources, this package"
    )

    penalty: Annotated[float, Field(gt=0)] = 1.0
    """Ridge penalty, in units of the mean variance of what is regressed on."""

    sources: Sources = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    fill: Annotated[float, Field(ge=0)] = 0.3
    """How many answers it is worth that labels below one that was said are as popular as
    elsewhere, in `score`."""

    def foreseen(self, size: Size) -> int:
        """Return what the system between labels takes."""
        return _needed(size.labels, size.answers)

    def fit(self, parts: Parts, *, progress: Progress = silent) -> "Predictions":
        """Learn which labels go with which."""
        heard = hearing(parts, self.sources)
        popularity, evidence, answers = parts.total(
            partial(_counted, heard=heard), stage="counting", progress=progress
        )
        # Who is heard at no weight at all may still have said a label.
        used = np.flatnonzero(popularity > 0)
        _refuse_what_does_not_fit(len(used), int(answers))
        specific, closed = self._predictors(parts, heard, used, int(answers), progress)
        if 2 * len(used) > len(popularity):
            # Picking columns costs more than multiplying some zeros.
            specific, closed = (
                over_all(each, used, len(popularity)) for each in (specific, closed)
            )
            used = np.arange(len(popularity))
        return Predictions(
            heard=heard, used=used, specific=specific, closed=closed, popularity=popularity,
            evidence=float(evidence), fill=self.fill, probable=True,
        )  # fmt: skip

    def _predictors(
        self,
        parts: Parts,
        heard: Hearing | None,
        used: IntArray,
        answers: int,
        progress: Progress,
    ) -> tuple[Predictor | None, Predictor | None]:
        if not len(used):
            return None, None
        if answers < len(used):
            return from_answers(listen(parts.sample(parts.instances), heard), used, self.penalty)
        sums = parts.total(
            partial(summed, heard=heard, used=used), stage="regressing", progress=progress
        )
        return from_sums(Sums(*sums), self.penalty)


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions(Fitted):
    """What a further answer would hold, by the labels of those that there are."""

    heard: Hearing | None
    used: IntArray
    specific: Predictor | None
    closed: Predictor | None
    popularity: FloatArray
    evidence: float
    fill: float

    def views(self, panel: Panel) -> Views:
        """Return what a further source would say."""
        panel = listen(panel, self.heard)
        score = descended(
            self.predicted(panel, "augmented"), panel.evidence, self.popularity, panel.taxonomy,
            strength=self.fill, total=self.evidence,
        )  # fmt: skip
        specific = self.predicted(panel, "raw")
        np.maximum(specific, 0.0, out=specific)
        silent = panel.answers_per_instance == 0
        score[silent], specific[silent] = 0.0, 0.0
        return Views(score, specific)

    def predicted(self, panel: Panel, target: VotesKind) -> FloatArray:
        """Return what a further answer to every instance would hold, (N, K)."""
        predictor = self.specific if target == "raw" else self.closed
        if predictor is None:
            return dense(panel.mean(target, "answers"))
        mean = panel.mean("augmented", "answers")
        if len(self.used) == mean.shape[1]:
            return predictor(mean)
        # Nothing is predicted of labels that nobody said.
        found = np.zeros(mean.shape)
        found[:, self.used] = predictor(mean[:, self.used])
        return found


def _counted(panel: Panel, *, heard: Hearing | None) -> tuple[FloatArray, float, int]:
    panel = listen(panel, heard)
    return panel.popularity, float(panel.evidence.sum()), len(panel.instance)


def _needed(labels: int, answers: int) -> int:
    return 8 * 5 * min(labels, answers) * labels


def _refuse_what_does_not_fit(labels: int, answers: int) -> None:
    needed, budget = _needed(labels, answers), memory_budget()
    if needed > budget:
        raise TooLargeError(
            f"regression between {labels:,} labels needs about {as_text(needed)}, and "
            f"{as_text(budget)} may be used; raise --memory, or use --method majority"
        )
