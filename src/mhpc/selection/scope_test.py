"""Whether a scope that was inferred from silence helps to predict answers that were held out."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mhpc.data.panel import Panel, PanelPartitions, set_scope, transform_partitions
from mhpc.errors import pluralize
from mhpc.methods.mhpc import LocalMHPC
from mhpc.numerics.arrays import Sparse
from mhpc.parameters import registered
from mhpc.selection.cross_validation import Fold, make_folds
from mhpc.system.parallel import thread_map

MAX_INCREASE = 0.02
"""The relative increase of the loss from which on a scope is harmful, if it is not chance."""

MAX_ERRORS = 2.0
"""Standard errors of the paired difference beyond which it is not chance."""


@registered("auto.scope-test")
@dataclass(frozen=True)
class ScopeTest:
    """The loss on held-out answers with the scope and without it.

    Attributes
    ----------
    outside : int
        Pairs of a source and a label outside its scope.
    with_scope, without : tuple of float
        The loss on every fold; empty if no answer could be held out.
    """

    outside: int
    with_scope: tuple[float, ...]
    without: tuple[float, ...]

    @property
    def increase(self) -> float:
        """The relative increase of the loss by the scope."""
        return float(np.sum(self.with_scope) / max(np.sum(self.without), 1e-12)) - 1.0

    @property
    def is_noise(self) -> bool:
        """Whether the difference is within two standard errors."""
        difference = np.subtract(self.with_scope, self.without)
        if len(difference) < 2:
            return True
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        return bool(abs(difference.mean()) <= MAX_ERRORS * error)

    @property
    def is_harmful(self) -> bool:
        """Whether held-out answers are predicted clearly worse with the scope."""
        return bool(self.with_scope) and self.increase > MAX_INCREASE and not self.is_noise

    def describe(self) -> str:
        """Return a sentence for the user."""
        count = pluralize(self.outside, "combination")
        why = "the source never gives the label, while others often do"
        if self.is_harmful:
            return (
                f"{count} of source and label could be out of scope ({why}), but held-out answers "
                f"would be predicted {self._percent} worse"
            )
        found = f"{count} of source and label taken to be out of scope: {why}"
        if not self.with_scope:
            return f"{found}. This could not be tested"
        if self.is_noise:
            effect = "about as well"
        else:
            effect = f"{self._percent} {'worse' if self.increase > 0 else 'better'}"
        return f"{found}. Held-out answers are predicted {effect} that way"

    @property
    def _percent(self) -> str:
        return f"{100 * abs(self.increase):.1f} %"


def try_scope(partitions: PanelPartitions, scope: Sparse, *, n_folds: int, seed: int) -> ScopeTest:
    """Predict held-out answers from the others by `mhpc-local`, with the scope and without it."""
    scoped = transform_partitions(partitions, partial(set_scope, scope=scope))
    folds = make_folds(scoped, n_folds=n_folds, seed=seed)
    method = LocalMHPC(lam=1.0, votes="augmented")
    trains = [
        (fold, train)
        for fold in folds
        if not fold.is_gold
        for train in (fold.train, replace(fold.train, scope=None))
    ]

    def find_loss(trial: tuple[Fold, Panel]) -> float:
        fold, train = trial
        return fold.loss("closed", method.consolidate(train).score)

    losses = [loss for _, loss in sorted(thread_map(find_loss, trains))]
    with_scope, without = losses[::2], losses[1::2]
    outside = int(np.prod(scope.shape)) - scope.nnz
    return ScopeTest(outside, tuple(with_scope), tuple(without))
