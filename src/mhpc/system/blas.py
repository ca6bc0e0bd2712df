"""BLAS: how many threads linear algebra uses.

It splits sums between its threads, and rounds them accordingly. With one thread, results are the
same everywhere.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from mhpc.process import SharedSetting


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Let BLAS and LAPACK use one thread within the block, whatever the environment says.

    Libraries that offer no way to set this, such as Apple's, are left as they are. In most
    libraries the limit holds for the whole process: of several threads, the first that enters a
    block sets it, and the last that leaves one lifts it. Others have a limit for each thread.
    """
    with _LIMIT.in_force(), _limit_in_this_thread():
        yield


def continue_limit() -> AbstractContextManager[None]:
    """Let BLAS use one thread within the block if it is so limited, by whatever thread."""
    return single_threaded_blas() if _LIMIT.is_in_force else nullcontext()


_LIBRARIES: list[Any] = []
_BEFORE: list[tuple[Any, int]] = []
"""The libraries of linear algebra, and the threads of those that are limited for all threads."""


def _limit_process() -> None:
    # Both bring a library of their own, and only libraries that are loaded can be limited.
    import numpy as np
    import scipy.linalg
    from threadpoolctl import ThreadpoolController

    del np, scipy
    _LIBRARIES[:] = ThreadpoolController().select(user_api="blas").lib_controllers
    _BEFORE[:] = _count_threads()
    _limit_in_another_thread([(library, 1) for library, _ in _BEFORE])
    own = [library for library, _ in _count_threads()]
    _BEFORE[:] = [(library, count) for library, count in _BEFORE if library not in own]


def _limit_in_another_thread(limits: list[tuple[Any, int]]) -> None:
    """Set limits in a thread of their own, with which those for one thread end."""
    at_work = threading.Lock()

    def set_limits() -> None:
        with at_work:
            _set_threads(limits)

    setting = threading.Thread(target=set_limits)
    try:
        setting.start()
        setting.join()
    except BaseException:
        # After an interrupt, the thread may still be about to start: it must find nothing to do.
        with at_work:
            limits.clear()
        raise


def _lift_limit() -> None:
    _set_threads(_BEFORE)
    _BEFORE.clear()


@contextmanager
def _limit_in_this_thread() -> Iterator[None]:
    """Limit the libraries that have a limit for each thread."""
    before = _count_threads()
    try:
        _set_threads([(library, 1) for library, _ in before])
        yield
    finally:
        _set_threads(before)


def _count_threads() -> list[tuple[Any, int]]:
    """Return the libraries that use several threads, and how many."""
    counts = [(library, library.num_threads) for library in _LIBRARIES]
    # A library that does not say how many cannot be limited either.
    return [(library, count) for library, count in counts if count is not None and count > 1]


def _set_threads(counts: Sequence[tuple[Any, int]]) -> None:
    for library, threads in counts:
        # Otherwise only the thread that did so first could set the threads of OpenBLAS.
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
        library.set_num_threads(threads)
        if release is not None:
            release(force=True)


_LIMIT = SharedSetting(_limit_process, _lift_limit)
