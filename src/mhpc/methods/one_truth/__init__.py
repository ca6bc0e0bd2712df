"""OneTruth: every instance has one true label, and every answer is a kind of it."""

import warnings
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import deepest
from mhpc.data.panel import Panel, PanelPartitions, Size
from mhpc.data.scores import Consolidation
from mhpc.errors import ConvergenceWarning, ParameterError
from mhpc.methods.base import BaseMethod, FittedMethod
from mhpc.methods.one_truth.em import infer
from mhpc.methods.one_truth.evidence import BYTES
from mhpc.methods.source_weights import Sources, panel_dependence
from mhpc.numerics.arrays import Sparse, dense
from mhpc.system.display import Progress, silent


def fits(panel: Panel) -> bool:
    """Tell whether no answer holds two labels of which neither implies the other."""
    return bool((np.diff(deepest(panel.augmented, panel.taxonomy).indptr) <= 1).all())


class OneTruth(BaseMethod):
    """The probability of each label to be the one most specific truth of an instance.

    If z is true, a source m says z (exact), an ancestor (vague), a sibling or descendant (near)
    or any other label (far), each with its own probability theta_m. Which wrong label it says
    goes by how often the label is said in error, and, as far as its answers show them, by the
    source's habits. Truths, profiles, errors and habits are learnt in turn,

        log P(z) = log popularity(z) + sum over answers of log P_m(v | z) + constant,

    where no answer testifies for itself. Candidates are the labels said of an instance and
    their ancestors. Each round costs answers x candidates of an instance, and so does memory: all
    instances are learnt from at once, on one machine. Ignores scopes.
    """

    name: ClassVar[str] = "one-truth"
    summary: ClassVar[str] = "one true label an instance; exact, vague, near and far answers"
    reference: ClassVar[str] = (
        "own, after Dawid, Skene (Applied Statistics 1979) and Jung, Kim, Shim (EDBT 2019)"
    )
    sparse: ClassVar[bool] = True
    learns: ClassVar[bool] = False

    jeffreys: Annotated[float, Field(gt=0)] = 0.5
    """Answers per label ever said that a source's habits must outweigh to be believed."""

    prior_weight: Annotated[float, Field(gt=0)] = 10.0
    """Answers that a source's profile must outweigh to differ from the mean profile."""

    source_weights: Sources = "learned"
    """Hear all sources alike, or kin as one voice."""

    tol: Annotated[float, Field(ge=0)] = 1e-3
    """Stop once a round moves less than this share of the probability."""

    max_iter: Annotated[int, Field(ge=1)] = 100
    """Rounds at most."""

    def fit(self, parts: PanelPartitions) -> FittedMethod:
        """Refuse: an answer's own count is taken out of what its instance is judged by.

        That count is the belief of the round before, which goes back to the one before it, so
        that what was learnt does not suffice to conclude on an instance.
        """
        raise ParameterError(
            "one-truth cannot be learnt in parts, nor applied to instances that it did not learn "
            "from: its rounds remember what every answer counted for; run it on all instances on "
            "one machine, or use --method dawid-skene"
        )

    def estimate_memory(self, size: Size) -> int:
        """Return what all statements take beside what they may mean."""
        return BYTES * size.pairs

    def consolidate(
        self,
        panel: Panel,
        *,
        progress: Progress = silent,
    ) -> Consolidation:
        """Return the probabilities; what is known is taken as it is."""
        alike = panel_dependence(panel).matrix if self.source_weights == "learned" else None
        kinship = dense(alike) if alike is not None and alike.nnz else None
        found = infer(
            panel, kinship=kinship, known=_known(panel), progress=progress,
            **self.model_dump(exclude={"source_weights"}),
        )  # fmt: skip
        last = found.trace[-1].change
        if last > self.tol:
            warnings.warn(
                f"one-truth stopped after {self.max_iter} iterations with a relative change of "
                f"{last:.2g}, above tol = {self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        score = (found.specific @ panel.taxonomy.closure).tocsr()
        np.clip(score.data, 0.0, 1.0, out=score.data)
        return self.make_consolidation(
            panel,
            score,
            found.specific,
            trace=found.trace,
            converged=last <= self.tol,
            threshold=0.5,
            one_truth=True,
        )


def _known(panel: Panel) -> Sparse | None:
    """Return what is known, at the panel's instances, (N, K); None where nothing is told."""
    told = np.flatnonzero(panel.is_gold)
    if panel.gold is None or not len(told):
        return None
    N = len(panel.instances)
    rows = sparse.csr_array(
        (np.ones(len(told)), (panel.instance[told], np.arange(len(told)))), shape=(N, len(told))
    )
    return (rows @ panel.augmented[told]).tocsr()
