"""OneTruth: every instance has one true label, and sources give it exactly, vaguely or wrongly."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy import sparse

from mhpc.data.panel import Panel, PanelPartitions, drop_gold
from mhpc.data.profiles import BySource
from mhpc.data.scores import Scores
from mhpc.data.size import Size
from mhpc.errors import ConvergenceWarning, warn
from mhpc.methods.base import MAX_ANSWERS, MAX_ITER, BaseMethod
from mhpc.methods.fitted import FittedMethod, SourceChange
from mhpc.methods.one_truth.em import LearnedProfiles, run_em
from mhpc.methods.one_truth.evidence import digest_votes, extract_specific_votes
from mhpc.methods.source_dependence import estimate_dependence
from mhpc.methods.source_weights import SourceWeighting
from mhpc.numerics.arrays import Sparse, dense
from mhpc.numerics.sparse import incidence

BYTES_PER_PAIR = 200
"""Memory that a pair of a vote and a possible true label takes during EM."""


class OneTruth(BaseMethod):
    """The probability that a label is the one most specific truth of an instance.

    If z is true, a source m gives z (exact), an ancestor of it (vague), a sibling or descendant
    (near) or any other label (far), each with its own probability theta_m. Which wrong label it
    gives depends on how often the label is given in error and, as far as its answers show, on the
    source's own confusions. Truths, profiles, errors and confusions are estimated in turn by EM,

        log P(z) = log popularity(z) + sum over answers of log P_m(v | z) + constant,

    where no answer is evidence for itself. The candidates are the labels given to an instance and
    their ancestors. Time per iteration and memory grow with answers x candidates per instance; EM
    works on all instances at once, on one machine. Scopes are ignored.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.OneTruth()).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "one-truth"
    summary: ClassVar[str] = "one true label per instance; exact, vague, near and far answers"
    reference: ClassVar[str] = (
        "own, after Dawid, Skene (Applied Statistics 1979) and Jung, Kim, Shim (EDBT 2019)"
    )
    sparse: ClassVar[bool] = True

    jeffreys: Annotated[float, Field(gt=0, le=MAX_ANSWERS)] = 0.5
    """Answers per label in use that a source's own confusions must outweigh to matter."""

    prior_weight: Annotated[float, Field(gt=0, le=MAX_ANSWERS)] = 10.0
    """Answers that a source's profile must outweigh to differ from the mean profile."""

    source_weights: SourceWeighting = "learned"
    """Count all sources equally, or let dependent sources share one weight."""

    tol: Annotated[float, Field(ge=0)] = 1e-3
    """Stop once an iteration moves less than this share of the probability."""

    max_iter: Annotated[int, Field(ge=1, le=MAX_ITER)] = 100
    """The largest number of iterations."""

    def needs_all(self, instances: int) -> bool:
        """Return True: EM keeps what every answer contributed, of all instances at once."""
        return True

    def estimate_memory(self, size: Size) -> int:
        """Return the bytes that pairs of a vote and a candidate take."""
        return BYTES_PER_PAIR * size.pairs

    def describe_memory(self, size: Size) -> str:
        """Return how many pairs EM compares at once."""
        return f"for {size.pairs:,} pairs of a vote and a possible true label"

    def fit(self, partitions: PanelPartitions) -> "FittedOneTruth":
        """Run EM on all instances; gold labels are their truth, and not answers of a source."""
        panel, dependence = partitions.sample(partitions.instances), None
        if self.source_weights == "learned":
            matrix = estimate_dependence(partitions).matrix
            dependence = matrix if matrix.nnz else None
        result = run_em(
            drop_gold(panel),
            dependence=None if dependence is None else dense(dependence),
            known=_known_labels(panel),
            progress=partitions.progress,
            **self.model_dump(exclude={"source_weights"}),
        )
        change = result.trace[-1].change
        if change > self.tol:
            warn(
                f"one-truth stopped after {self.max_iter} iterations with a relative change of "
                f"{change:.2g}, above tol = {self.tol:g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        digests, first = np.unique(
            digest_votes(extract_specific_votes(panel), panel, n_sources=len(panel.sources)),
            return_index=True,
        )
        return FittedOneTruth(
            learned=result.learned,
            dependence=dependence,
            digests=digests,
            posterior=result.posterior[first],
            trace=result.trace,
            converged=change <= self.tol,
            threshold=0.5,
            one_truth=True,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedOneTruth(FittedMethod, saved_as="one-truth.fitted"):
    """Popularity, profiles and confusions, and the posterior of the instances they come from.

    A new instance is scored by one E-step. That would not reproduce the scores of an instance
    which EM has seen: there, its own votes were subtracted from the counts by which it is scored.
    The posterior of those is therefore part of the model. Instances are recognized by their votes,
    not by their ids: a digest of who gave which label with which strength. Equal votes have equal
    posteriors, so one row per distinct digest is kept.

    Attributes
    ----------
    learned : LearnedProfiles
        The parameters of an E-step.
    dependence : csr_array, (M, M), or None
        The dependence between sources; None where they are independent.
    digests : uint64 array, (D,)
        The digests of the votes on the instances of the fit, in order.
    posterior : csr_array, (D, K)
        The posterior of the truth for each digest.
    n_digested : int or None
        The number of sources of the fit, which digests depend on; None: those of the model.
    """

    learned: LearnedProfiles
    dependence: Annotated[Sparse | None, BySource(new=0.0, pairs=True)]
    digests: npt.NDArray[np.uint64]
    posterior: Sparse
    n_digested: int | None = None

    def predict(self, panel: Panel) -> Scores:
        """Return the posterior of the truth (`specific`), and summed over descendants (`score`)."""
        specific = self._posterior(panel)
        score = (specific @ panel.taxonomy.closure_of(specific.indices)).tocsr()
        np.clip(score.data, 0.0, 1.0, out=score.data)
        return Scores(score, specific)

    def with_sources(self, sources: SourceChange) -> "FittedOneTruth":
        """Return the model for other sources, which recognizes the same instances as before."""
        n_digested = self._n_digested
        return replace(super().with_sources(sources), n_digested=n_digested)

    @property
    def _n_digested(self) -> int:
        return len(self.learned.relations) if self.n_digested is None else self.n_digested

    def _posterior(self, panel: Panel) -> Sparse:
        votes = extract_specific_votes(panel)
        digests = digest_votes(votes, panel, n_sources=self._n_digested)
        position = np.searchsorted(self.digests, digests)
        position[position == len(self.digests)] = 0
        is_new = ~np.isin(digests, self.digests)
        if not is_new.any():
            return self.posterior[position]
        new, fitted = np.flatnonzero(is_new), np.flatnonzero(~is_new)
        new_panel = panel.select_instances(new)
        dependence = None if self.dependence is None else dense(self.dependence)
        known = _known_labels(new_panel)
        posterior = self.learned.posterior(drop_gold(new_panel), dependence, known)
        stacked = sparse.vstack([posterior, self.posterior[position[fitted]]], format="csr")
        return stacked[np.argsort(np.concatenate([new, fitted]))]


def _known_labels(panel: Panel) -> Sparse | None:
    """Return the labels known by gold, with ancestors, (N, K); None where none are known."""
    answers = np.flatnonzero(panel.is_gold)
    if panel.gold is None or not len(answers):
        return None
    shape = (len(panel.instances), len(answers))
    return (incidence(panel.instance[answers], shape=shape) @ panel.augmented[answers]).tocsr()
