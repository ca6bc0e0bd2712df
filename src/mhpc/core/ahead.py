"""Work some items ahead, in threads, and give the outcomes in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def in_threads(count: int | None) -> Iterator[None]:
    """Set how many threads work takes meanwhile; None: as many as there are cores."""
    before = _THREADS.set(count)
    try:
        yield
    finally:
        _THREADS.reset(before)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_at_once() -> int:
    """Return how many threads work takes."""
    return _THREADS.get() or cores()


def ahead(
    work: Callable[[Item], Outcome], items: Iterable[Item], *, threads: int | None = None
) -> Iterator[Outcome]:
    """Give the outcome of every item in its turn; arrays are worked on outside Python's lock.

    Unless told, here or by `in_threads`, there are as many threads as cores.
    """
    threads = threads or threads_at_once()
    if threads < 2:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Outcome]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            # One more than can be worked on: what is done waits for its turn, and takes memory.
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
