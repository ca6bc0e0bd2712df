"""Which answers to hide: whole sources with their kin, or single answers where sources are many."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mhpc.core.arrays import BoolArray
from mhpc.core.kinship import Kinship
from mhpc.core.panel import Panel

FEW_SOURCES = 12
"""Up to so many sources whole sources are hidden; of more, single answers."""

KIN = 0.3
"""From this kinship on a source is taken away together with a hidden one: a copy that stays would
reward methods for repeating it."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A panel without some answers, and the answers that were hidden from it."""

    rest: Panel
    hidden: Panel


def folds(panel: Panel, kin: Kinship, *, count: int, seed: int) -> list[Fold]:
    """Return at most `count` ways to hide a part of the panel; none where nothing can be told.

    That is so with one source: what it says of an instance is all there is to foretell it from.
    """
    sources = np.unique(panel.source[~panel.by_gold])
    rng = np.random.default_rng(seed)
    found: list[Fold] = []
    if len(sources) > FEW_SOURCES:
        hides = _by_answer(panel, count, rng)
    else:
        hides = _by_source(panel, kin, sources, count if len(sources) > 1 else 0, rng)
    for hidden, away in hides:
        found += _fold(panel, hidden, away)
    return found


def gold_fold(panel: Panel) -> list[Fold]:
    """Return the fold in which what is known is hidden, if anything is known."""
    return list(_fold(panel, panel.by_gold, panel.by_gold))


def _by_answer(
    panel: Panel, count: int, rng: np.random.Generator
) -> Iterator[tuple[BoolArray, BoolArray]]:
    part = np.where(panel.by_gold, -1, rng.integers(count, size=len(panel.source)))
    for at in range(count):
        yield part == at, part == at


def _by_source(
    panel: Panel, kin: Kinship, sources: np.ndarray, count: int, rng: np.random.Generator
) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Give the answers to hide and those to take away with them."""
    group = rng.permutation(len(sources)) % max(1, min(count, len(sources)))
    for at in range(int(group.max()) + 1 if count else 0):
        some = sources[group == at]
        hidden = np.isin(panel.source, some)
        family = np.asarray(kin.alike[some].max(axis=0).toarray()).ravel() > KIN
        away = hidden | family[panel.source]
        # Where all are kin, nobody would be left to foretell from.
        away &= ~panel.by_gold
        yield hidden, away if not (away | panel.by_gold).all() else hidden


def _fold(panel: Panel, hidden: BoolArray, away: BoolArray) -> Iterator[Fold]:
    """Give the fold, if any hidden answer is to an instance that others answered."""
    rest = panel.only(~away)
    useful = hidden & (rest.answers_per_instance[panel.instance] > 0)
    if useful.any():
        yield Fold(rest, panel.only(useful))
