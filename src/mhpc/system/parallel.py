"""Parallel_map (threads), process pool, one BLAS thread.

BLAS divides sums by the number of its threads, and rounds them accordingly. With one thread it
does not; cores are kept busy by blocks of instances instead, which are always the same.

Each has one thread for linear algebra: cores are kept busy by processes, and a result does not
depend, to the last bit, on how many there are.
"""

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import resource_tracker
from typing import TypeVar

from mhpc.errors import MhpcWarning, WorkerError

Item = TypeVar("Item")
ResultT = TypeVar("ResultT")


_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def limit_threads(count: int | None) -> Iterator[None]:
    """Set how many threads work takes meanwhile; None: as many as there are cores."""
    before = _THREADS.set(count)
    try:
        yield
    finally:
        _THREADS.reset(before)


def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Return how many threads work takes."""
    return _THREADS.get() or core_count()


def parallel_map(
    work: Callable[[Item], ResultT], items: Iterable[Item], *, threads: int | None = None
) -> Iterator[ResultT]:
    """Give the outcome of every item in its turn; arrays are worked on outside Python's lock.

    Unless told, here or by `limit_threads`, there are as many threads as cores.
    """
    threads = threads or thread_count()
    if threads < 2:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[ResultT]] = deque()
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


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Let every call of BLAS and LAPACK take one thread meanwhile, whatever the environment says.

    Libraries that cannot be told, as Apple's, keep their own way.
    """
    # Both bring a library of their own, and only those that are loaded can be told.
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_limits

    del np, scipy
    with threadpool_limits(limits=1, user_api="blas"):
        yield


_BLAS_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""What the libraries of linear algebra read when they are loaded."""


begun: list[int] = []
"""How many processes were asked for, each time that some were."""


def process_map(
    work: Callable[[Item], ResultT], items: Sequence[Item], *, jobs: int
) -> Iterator[tuple[int, ResultT]]:
    """Give the position and the outcome of every item, as they come.

    Parameters
    ----------
    work : callable
        A function that a new process can import, with items and outcomes that can be sent.
    items : sequence
        What to work on; the first are begun first.
    jobs : int
        How many processes.

    When a process dies, as it does when memory runs out, what was not finished is given to half
    as many new ones.

    Raises
    ------
    WorkerError
        When a process dies that was the only one. An error of `work` itself arrives
        as it is. Whatever ends the iteration ends the processes, an interrupt included.
    """
    left = dict(enumerate(items))
    while left:
        try:
            for at, outcome in _in_pool(work, left, jobs):
                del left[at]
                yield at, outcome
        except BrokenProcessPool:
            if jobs == 1:
                raise WorkerError(
                    "a worker process died though it worked alone, as happens when memory runs "
                    "out; give the machine more, or the work less: fewer instances or candidates"
                ) from None
            jobs = jobs // 2
            warnings.warn(
                f"a worker process died, as happens when memory runs out; going on with {jobs}",
                MhpcWarning,
                stacklevel=2,
            )


def _in_pool(
    work: Callable[[Item], ResultT], items: Mapping[int, Item], jobs: int
) -> Iterator[tuple[int, ResultT]]:
    begun.append(jobs)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(items)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
    )
    try:
        with _as_workers_start():
            positions = {pool.submit(work, item): at for at, item in items.items()}
        for done in as_completed(positions):
            yield positions[done], done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        # What a worker has begun is of no use to anyone any more.
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()


@contextmanager
def _as_workers_start() -> Iterator[None]:
    """Let new processes inherit one thread each, and leave interrupts to this one."""
    before = {name: os.environ.get(name) for name in _BLAS_THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_BLAS_THREAD_VARIABLES, "1"))
    try:
        with _interrupts_kept_back():
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_kept_back() -> Iterator[None]:
    """Let interrupts wait until the end of the block; processes begun in it never hear any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    if hasattr(signal, "pthread_sigmask"):
        # The first use starts a process of its own, which before Python 3.12 lifts the block.
        resource_tracker.ensure_running()
        # What a thread blocks, the processes it starts block too, for as long as they live.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _end_with_parent() -> None:
    """End this worker when the process that started it ends, however that happens."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
