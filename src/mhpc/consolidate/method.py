"""What a method is: frozen parameters with one verb."""

from typing import Any, ClassVar, Protocol

from mhpc.consolidate.fitted import Fitted, concluded
from mhpc.core.arrays import Matrix
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Panel
from mhpc.core.parameters import Parameters
from mhpc.core.parts import Parts, Whole
from mhpc.core.progress import Progress, silent
from mhpc.core.size import Size
from mhpc.core.stages import finished
from mhpc.core.taxonomy import Taxonomy


class Method(Protocol):
    """Anything with a name, a summary, a reference and the verb `consolidate`.

    Every method takes sets and scores, treats "not asked" as missing, works on DAGs, is
    deterministic, says when it did not converge, and gives an instance that nobody answered 0
    for every label. Where an instance has one answer, that is believed; where answers are tied,
    so are scores, and the rule decides. Scores and what is told beside them are finite whatever
    the answers are and wherever parameters are within their limits.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return a score for every instance and label of the panel."""
        ...


class MethodParameters(Parameters):
    """The parameters of a method; what the registered ones share.

    A method says what it learns (`fit`), and how that concludes on instances (`Fitted.views`).
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]

    learns: ClassVar[bool] = True
    """Whether what is learnt is enough to conclude on other instances."""

    sparse: ClassVar[bool] = False
    """Whether scores are as sparse as the votes."""

    def needs_all(self, instances: int) -> bool:
        """Tell whether so many instances are to be consolidated at once, by `consolidate`."""
        return not self.learns

    def foreseen(self, size: Size) -> int:
        """Return the bytes that learning takes beyond the votes, at its highest."""
        return 0

    def refuse_what_does_not_fit(self, taxonomy: Taxonomy) -> None:
        """Refuse a taxonomy whose labels alone need more memory than may be used."""

    def fit(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Learn from all answers what is needed to conclude on any instance."""
        raise NotImplementedError

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return a score for every instance and label of the panel."""
        fitted = self.learnt(Whole(panel), progress=progress)
        return concluded(self, fitted, panel, progress=progress)

    def learnt(self, parts: Parts, *, progress: Progress = silent) -> Fitted:
        """Return what `fit` learns; a run that goes on from another takes it from there."""
        stage = f"learnt by {self.name} with {self.model_dump_json()}"
        return finished(stage, lambda: self.fit(parts, progress=progress))

    def conclude(
        self, panel: Panel, score: Matrix, specific: Matrix | None = None, **more: Any
    ) -> Consolidation:
        """Return a consolidation; with one number only, it stands in both views, unaltered."""
        return Consolidation(
            taxonomy=panel.taxonomy,
            instances=panel.instances,
            score=score,
            specific=score if specific is None else specific,
            method=self.name,
            parameters=self.model_dump(),
            **more,
        )


PAPER = (
    "Zhang, Xie, Li, Gao, Fan, Yu: Multi-source Hierarchical Prediction Consolidation, CIKM 2016"
)
