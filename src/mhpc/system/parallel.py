"""Threads and processes: parallel maps whose results do not depend on how many there are.

BLAS has one thread (`mhpc.system.blas`); blocks of instances, which are always the same, keep the
cores busy.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from multiprocessing import resource_tracker
from typing import TypeVar

from mhpc.errors import MhpcWarning, WorkerError, warn
from mhpc.system.blas import continue_limit
from mhpc.system.memory import affordable_threads

Item = TypeVar("Item")
ResultT = TypeVar("ResultT")

_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)

BLAS_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""What libraries of linear algebra read when they are loaded."""


def parallel_map(
    work: Callable[[Item], ResultT], items: Iterable[Item], *, threads: int | None = None
) -> Iterator[ResultT]:
    """Yield the result of every item in order, computed by several threads.

    NumPy works outside Python's lock, so that threads do run at the same time. Unless given here
    or by `limit_threads`, there are as many threads as cores. Each item has one: `parallel_map`
    within `work` starts no others. `work` sees the context variables of the caller.
    """
    threads = threads or thread_count()
    if threads < 2:
        yield from map(work, items)
        return
    with limit_threads(1):
        context = copy_context()
    waiting: deque[Future[ResultT]] = deque()
    with _thread_pool(threads) as pool:
        for item in items:
            waiting.append(pool.submit(context.copy().run, _limited, work, item))
            # One more than there are threads: results that wait take memory.
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def thread_map(
    work: Callable[[Item], ResultT], items: Sequence[Item], *, threads: int | None = None
) -> Iterator[tuple[int, ResultT]]:
    """Yield the position and the result of every item, in the order in which they finish.

    For items that take long and unequally long. Each has one thread: `parallel_map` within `work`
    starts no others, unless items are worked on one by one, with a single thread.

    Parameters
    ----------
    work : callable
        It sees the context variables of the caller.
    items : sequence
        The first are started first.
    threads : int, optional
        How many threads; as many as cores unless given here or by `limit_threads`.
    """
    threads = threads or thread_count()
    if threads < 2:
        yield from enumerate(map(work, items))
        return
    with _thread_pool(threads) as pool:
        with limit_threads(1):
            positions = {
                pool.submit(copy_context().run, _limited, work, item): position
                for position, item in enumerate(items)
            }
        for future in as_completed(positions):
            yield positions[future], future.result()


def _limited(work: Callable[[Item], ResultT], item: Item) -> ResultT:
    with continue_limit():
        return work(item)


@contextmanager
def _thread_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Provide threads that have ended after the block; an interrupt does not wait for them."""
    pool, wait = ThreadPoolExecutor(threads), False
    try:
        yield pool
        wait = True
    except (Exception, GeneratorExit):
        wait = True
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)


def process_map(
    work: Callable[[Item], ResultT], items: Sequence[Item], *, jobs: int
) -> Iterator[tuple[int, ResultT]]:
    """Yield the position and the result of every item, in the order in which they finish.

    Parameters
    ----------
    work : callable
        A function that a new process can import; items and results must be picklable.
    items : sequence
        The first are started first.
    jobs : int
        How many processes. When one dies, as it does when memory runs out, the items that are not
        finished are given to half as many new ones.

    Raises
    ------
    WorkerError
        When a process dies that was the only one. An error of `work` itself is raised as it is.
        Whatever ends the iteration ends the processes, an interrupt included.
    """
    remaining = dict(enumerate(items))
    while remaining:
        try:
            for position, result in _map_in_pool(work, remaining, jobs):
                del remaining[position]
                yield position, result
        except BrokenProcessPool:
            if jobs == 1:
                raise WorkerError(
                    "a worker process died though it worked alone, as happens when memory runs "
                    "out; give the machine more, or the work less: fewer instances or candidates"
                ) from None
            jobs = jobs // 2
            warn(
                f"a worker process died, as happens when memory runs out; continuing with {jobs}",
                MhpcWarning,
                stacklevel=2,
            )


@contextmanager
def limit_threads(count: int | None) -> Iterator[None]:
    """Set how many threads `parallel_map` uses; None: as many as there are cores."""
    before = _THREADS.set(count)
    try:
        yield
    finally:
        _THREADS.reset(before)


def thread_count() -> int:
    """Return how many threads `parallel_map` uses."""
    return _THREADS.get() or usable_cores()


def usable_cores() -> int:
    """Return how many cores this process may use with the memory that it may use."""
    return min(core_count(), affordable_threads() or core_count())


def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Deliver interrupts at the end of the block; processes started in it never get any.

    Ctrl-C reaches all processes of a terminal. The one that started the others ends them.
    """
    handler = signal.getsignal(signal.SIGINT)
    # What is not a handler of Python could not be restored.
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    deferred: list[int] = []
    if hasattr(signal, "pthread_sigmask"):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        # The first use starts a process of its own, which before Python 3.12 lifts the block.
        resource_tracker.ensure_running()
        # A process inherits the signals that the thread which starts it blocks.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, lambda number, _: deferred.append(number))
    try:
        yield
    finally:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, handler)
        if deferred:
            signal.raise_signal(signal.SIGINT)


def _map_in_pool(
    work: Callable[[Item], ResultT], items: Mapping[int, Item], jobs: int
) -> Iterator[tuple[int, ResultT]]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(items)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
    )
    try:
        with _single_threaded_children(), defer_interrupts():
            positions = {pool.submit(work, item): position for position, item in items.items()}
        for future in as_completed(positions):
            yield positions[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        # Nobody waits for what a worker has not finished.
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Let processes that start within the block use one BLAS thread each."""
    before = {name: os.environ.get(name) for name in BLAS_THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(BLAS_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end_with_parent() -> None:
    """End this worker when the process that started it ends, in whatever way."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
