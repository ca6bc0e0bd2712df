"""Stages of long work: what is finished is kept where a run keeps it, so that the next can go on.

Whoever works says what its stages are; who keeps them, and for whom, it need not know.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Outcome = TypeVar("Outcome")

GOES_ON = "--resume goes on from what was finished"
"""What an error is noted with that leaves something to go on from."""


class Keeper(Protocol):
    """Keeps what stages gave, by their names."""

    def get(self, stage: str) -> Any | None:
        """Return what a stage gave, None if that is not known."""

    def put(self, stage: str, outcome: Any) -> None:
        """Keep what a stage gave, as far as that is possible."""

    def drop(self, stage: str) -> None:
        """Forget a stage, if it is kept."""


_KEEPER: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


@contextmanager
def keeping(keeper: Keeper | None) -> Iterator[None]:
    """Let a keeper keep what is finished meanwhile; None: nobody keeps anything."""
    before = _KEEPER.set(keeper)
    try:
        yield
    finally:
        _KEEPER.reset(before)


def finished(stage: str, work: Callable[[], Outcome]) -> Outcome:
    """Return what a stage gave before, or do its work and keep it.

    Parameters
    ----------
    stage : str
        Its name, which with the run's settings and inputs says all that its outcome depends on.
    work : callable
        Stages within it are part of it, and not kept by themselves.
    """
    keeper = _KEEPER.get()
    if keeper is None:
        return work()
    found: Outcome | None = keeper.get(stage)
    if found is None:
        with keeping(None):
            found = work()
        keeper.put(stage, found)
    return found


def finished_in_steps(stage: str, work: Callable[[], Outcome]) -> Outcome:
    """Return what `finished` returns; stages within it are kept until all of it is finished."""
    keeper = _KEEPER.get()
    if keeper is None:
        return work()
    found: Outcome | None = keeper.get(stage)
    if found is None:
        steps = _Steps(keeper)
        with keeping(steps):
            found = work()
        keeper.put(stage, found)
        for step in steps.names:
            keeper.drop(step)
    return found


class _Steps:
    """A keeper that knows which stages it was asked for."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper, self.names = keeper, list[str]()

    def get(self, stage: str) -> Any | None:
        self.names.append(stage)
        return self.keeper.get(stage)

    def put(self, stage: str, outcome: Any) -> None:
        self.keeper.put(stage, outcome)

    def drop(self, stage: str) -> None:
        self.keeper.drop(stage)
