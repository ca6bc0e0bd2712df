"""Channel: votes taken back through the vagueness and the noise of their sources."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from mhpc.consolidate.hops import Habits, hops_of
from mhpc.consolidate.learn_channel import (
    Tally,
    claims,
    first_guess,
    habits_of_sources,
    learn,
    lost_share,
    popular,
    tally,
    unexplained,
)
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.voices import Sources, heard
from mhpc.core.arrays import BoolArray, FloatArray, Sparse, dense
from mhpc.core.consolidation import Consolidation
from mhpc.core.panel import Panel
from mhpc.core.progress import Progress, silent
from mhpc.graph.local import local_means


class Channel(MethodParameters):
    """Expected origins of the votes, given how sources hop up and confuse siblings.

    A source that means t says the label h levels above it, or a sibling of that. How often is
    learnt without truth, each source being explained by the others. Every vote is then shared out
    among the labels that it may come from, by Bayes' rule with a prior from popularity; in further
    steps the prior is the instance's own origins, those of its nearest neighbours, and popularity
    (EM with smoothing; run to the end it would explain away labels that go together).

    `specific` is the expected number of votes an answer that come from a label, `score` the
    chance of at least one from it or below, 1 - exp(-x), which never rises from parent to child.
    Costs votes x K a step, and N x K of memory.
    """

    name: ClassVar[str] = "channel"
    summary: ClassVar[str] = "votes inverted through learnt vagueness and sibling noise"
    reference: ClassVar[str] = (
        "Silverman, Jones, Wilson, Nychka: A Smoothed EM Approach to Indirect Estimation "
        "Problems, JRSS B 1990"
    )

    steps: Annotated[int, Field(ge=0)] = 1
    """Steps with a prior from neighbours after the first guess, which has none."""

    neighbours: Annotated[int, Field(ge=1)] = 15
    """How many nearest instances a prior is taken from."""

    prior: Annotated[float, Field(ge=0)] = 10.0
    """How many answers the prior from neighbours and popularity is worth."""

    popularity: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of popularity in that prior; the rest is the neighbours'."""

    sources: Sources = "equal"
    """Count all sources alike, or by skill, kin sharing a voice."""

    def consolidate(self, panel: Panel, *, progress: Progress = silent) -> Consolidation:
        """Return the origins of the votes."""
        panel = heard(panel) if self.sources == "independent" else panel
        answered = panel.answers_per_instance > 0
        hops = hops_of(panel.taxonomy)
        progress("learning the channel", 0, self.steps + 2)
        claimed = claims(panel)
        habits = learn(panel, claimed, hops)
        votes, C = tally(panel, claimed), habits.matrix(hops)
        often = popular(votes, habits, hops)
        progress("inverting", 1, self.steps + 2)
        x = first_guess(votes, C, often)
        if self.steps:
            means = _neighbours(panel, answered, self.neighbours)
            for step in range(self.steps):
                x = self._step(votes, x, C, often, means)
                progress("inverting", step + 2, self.steps + 2)
        x *= answered[:, None]
        said = np.asarray((C.T @ x.T).T)
        closure = panel.taxonomy.closure
        return self.conclude(
            panel, _at_least_one(x, closure), x, said=(said, _at_least_one(said, closure))
        )

    def habits(self, panel: Panel) -> dict[str, Habits]:
        """Return how vague, level by level, and how noisy each source is found to be.

        Each source is explained by the others, its own votes weighed against what all have in
        common; so a source with few votes looks like the rest.
        """
        panel = heard(panel) if self.sources == "independent" else panel
        found = habits_of_sources(panel, claims(panel), hops_of(panel.taxonomy))
        return dict(zip(panel.sources, found, strict=True))

    def _step(
        self, votes: Tally, x: FloatArray, C: Sparse, often: FloatArray, means: Sparse
    ) -> FloatArray:
        n = votes.answers[:, None]
        around = (1 - self.popularity) * (means @ x) + self.popularity * often
        likely = (n * x + self.prior * around) / np.maximum(n + self.prior, 1e-9)
        back = (unexplained(votes.votes, likely, C) @ C.T).toarray() / np.maximum(n, 1e-9)
        lost = lost_share(votes.answers)
        return np.asarray(likely * back * (1 - lost) + lost * likely)


def _neighbours(panel: Panel, answered: BoolArray, count: int) -> Sparse:
    """Return weights by which instances average the nearest others that somebody answered."""
    rows = np.flatnonzero(answered)
    means = local_means(dense(panel.mean("augmented", "answers")[rows]), neighbours=count).tocoo()
    shape = (len(answered), len(answered))
    return sparse.csr_array((means.data, (rows[means.row], rows[means.col])), shape=shape)


def _at_least_one(expected: FloatArray, closure: Sparse) -> FloatArray:
    """Return the chance that something comes from a label or from below it."""
    return np.asarray(-np.expm1(-(closure.T @ expected.T).T))
