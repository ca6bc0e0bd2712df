"""Dawid-Skene for label sets in a taxonomy: sensitivity and false-alarm rate per source and level.

Every pair of an instance and a label is true or not. EM estimates, in turn, the probability that
each pair is true (E step, `estimate_truth`) and the skills of the sources given these
probabilities (M step, `count_outcomes` and `estimate_skills`). What scores mean is learned first,
from their order alone (`score_scales`).
"""

import math
import time
from dataclasses import dataclass
from typing import Annotated, ClassVar, cast

from pydantic import Field
from scipy import sparse

from mhpc.data.hierarchy import most_specific, propagate_up
from mhpc.data.panel import Panel, PanelPartitions, SinglePartition
from mhpc.data.scores import Scores, Step
from mhpc.errors import ConvergenceWarning, warn
from mhpc.methods.base import MAX_ANSWERS, MAX_ITER, BaseMethod
from mhpc.methods.dawid_skene.answers import Popularity, estimate_popularity, pair_answers
from mhpc.methods.dawid_skene.em import (
    Skills,
    calibrate_scales,
    estimate_skills,
    estimate_truth,
    run_e_step,
)
from mhpc.methods.dawid_skene.score_scales import ScoreScales, learn_scales
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.pairs import split_panel
from mhpc.numerics.arrays import Sparse, ratio

N_FIRST = 10_000
"""Instances that EM is iterated on, if there are many more."""

N_FULL = 2
"""Iterations over all instances after that."""


class DawidSkene(BaseMethod):
    """The probability that a label applies, given the skills of all sources.

    Every pair of an instance and a label is true or not, and source m affirms it with probability

        sensitivity[m, level]              if it is true,
        rate[m, level] * popularity[k]     if it is not.

    If its scores have several grades (`ScoreScales`), which of them the vote has is further
    evidence: every grade has a probability among the source's true votes and one among its untrue
    votes. So a score says what votes with that score turned out to be worth, not what its number
    claims.

    Labels of a level share these skills, since a source gives few labels often enough to estimate
    its skill for each. EM starts from the share of answers that affirm a pair; the prior is the
    label's popularity. Pairs that nobody affirmed are 0. Gold labels are the truth of their
    instances, from which skills are learned, and not the answers of a source. Labels are estimated
    independently of each other; at the end a parent is raised to its best child.

    Assumes that sources err independently: copies, or similar classifiers, outvote better sources.
    An iteration is one pass over the answers, and costs, summed over the instances, the number of
    answers times the number of affirmed labels; only the skills are kept in between.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "rose", "bob": "flower"}, "2": {"ann": "oak", "bob": "rose"}}
    >>> taxonomy = {"flower": ["rose", "tulip"], "tree": ["oak"]}
    >>> mhpc.consolidate(votes, taxonomy, method=mhpc.DawidSkene()).labels["1"]
    ['flower', 'rose']
    """

    name: ClassVar[str] = "dawid-skene"
    summary: ClassVar[str] = "hit and false alarm rates of every source and level, by EM"
    reference: ClassVar[str] = (
        "Dawid, Skene: Maximum Likelihood Estimation of Observer Error-Rates, Appl. Stat. 1979"
    )
    sparse: ClassVar[bool] = True

    prior_answers: Annotated[float, Field(gt=0, le=MAX_ANSWERS)] = 1.0
    """How many answers the mean skill of a level counts for in the skill of each source."""

    tol: Annotated[float, Field(ge=0)] = 1e-4
    """Stop once the relative change of an iteration is below this."""

    max_iter: Annotated[int, Field(ge=1, le=MAX_ITER)] = 200
    """Iterations at most."""

    def fit(self, partitions: PanelPartitions, *, n_first: int = N_FIRST) -> "FittedDawidSkene":
        """Estimate skills and truth in turn until the truth no longer changes.

        Parameters
        ----------
        partitions : PanelPartitions
            All answers.
        n_first : int
            Of more than three times as many instances, a sample of this size is iterated until it
            converges, and all of them are then iterated twice: the sample knows how the truth
            looks, and sources that it hardly contains get their skills from all answers.
        """
        scales = learn_scales(partitions)
        popularity = estimate_popularity(partitions, scales)
        if partitions.instances <= 3 * n_first:
            skills, trace = self._iterate(partitions, popularity, scales)
        else:
            sample = SinglePartition(partitions.sample(n_first), partitions.progress)
            skills, trace = self._iterate(sample, popularity, scales)
            for _ in range(N_FULL):
                _, counts = run_e_step(partitions, popularity, scales, skills, skills)
                skills = estimate_skills(counts, scales, prior_answers=self.prior_answers)
        converged = trace[-1].change <= self.tol
        if not converged:
            warn(
                f"dawid-skene stopped after {self.max_iter} iterations with a relative change of "
                f"{trace[-1].change:.2g}, above tol = {self.tol:g}; raise max_iter or "
                "prior_answers",
                ConvergenceWarning,
                stacklevel=3,
            )
        return FittedDawidSkene(
            skills=skills,
            popularity=popularity,
            scales=calibrate_scales(partitions, popularity, scales, skills),
            trace=trace,
            converged=converged,
            threshold=0.5,
        )

    def _iterate(
        self, partitions: PanelPartitions, popularity: Popularity, scales: ScoreScales
    ) -> tuple[Skills, tuple[Step, ...]]:
        """Return the skills at the end, beginning with the shares of answers, and the trace."""
        skills: Skills | None = None
        sums, counts = run_e_step(partitions, popularity, scales, None, None)
        initial_spread = sums.spread(partitions.instances)
        trace = list[Step]()
        for iteration in range(self.max_iter):
            start = time.perf_counter()
            previous = skills
            skills = estimate_skills(counts, scales, prior_answers=self.prior_answers)
            sums, counts = run_e_step(partitions, popularity, scales, previous, skills)
            change = ratio(math.sqrt(sums.change), math.sqrt(sums.before))
            spread = ratio(sums.spread(partitions.instances), initial_spread)
            trace.append(Step(iteration, change, None, spread, time.perf_counter() - start))
            partitions.progress("estimating source skills", iteration + 1, self.max_iter)
            if change <= self.tol:
                break
        return cast(Skills, skills), tuple(trace)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedDawidSkene(FittedMethod, saved_as="dawid-skene.fitted"):
    """The skills of all sources, what their scores mean, and the prior of every label.

    Attributes
    ----------
    skills : Skills or None
        None before the first iteration: the share of answers that affirm a pair.
    popularity : Popularity
        The prior of every label, and how often it is affirmed.
    scales : ScoreScales
        What the scores of every source mean.
    """

    skills: Skills | None
    popularity: Popularity
    scales: ScoreScales

    def predict(self, panel: Panel) -> Scores:
        """Return the probability of every label, and its excess over that of the best child."""
        score = self.predict_truth(panel)
        return Scores(score, most_specific(score, panel.taxonomy))

    def predict_truth(self, panel: Panel) -> Sparse:
        """Return the probability of every label, (N, K)."""
        blocks = [self._predict_block(block) for block in split_panel(panel)]
        return propagate_up(sparse.vstack(blocks, format="csr"), panel.taxonomy)

    def calibrate(self, panel: Panel) -> Panel:
        """Return the panel with probabilities instead of scores, so that sources can be compared.

        A score of a graded source becomes the mean probability that the pairs with such a score
        would have if the source had been silent about them; a rank becomes its plausibility. The
        votes of sources that give one score only, or too few votes, are not changed.
        """
        return self.scales.calibrate(panel)

    def _predict_block(self, panel: Panel) -> Sparse:
        data = pair_answers(panel, self.popularity, self.scales)
        return data.pairs.to_matrix(estimate_truth(data, self.skills), len(panel.instances))
