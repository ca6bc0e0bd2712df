"""How deep to answer: what a missed label costs, in wrong ones."""

from typing import Annotated, TypeAlias

from pydantic import Field

MOST = 20.0
"""A bias beyond this decides all by itself."""

DepthBias: TypeAlias = Annotated[float, Field(ge=-MOST, le=MOST)]


def cost_of_missing(bias: float) -> float:
    """Return how many wrong labels a missed one weighs as much as: 1, doubled by each 1 of bias."""
    return float(2.0**bias)


def tilted(level: float, bias: float) -> float:
    """Return the level above which giving a label costs less than leaving it out.

    A label of probability p is worth giving if p * cost >= (1 - p) * odds, with the odds of the
    level at cost 1. Levels of 1 and more are of no probability, and are divided by the cost.
    """
    if bias == 0:
        return level
    cost = cost_of_missing(bias)
    return level / (level + cost * (1 - level)) if level < 1 else level / cost
