"""The process: what all of its threads share, and what a fork must not copy half done.

A forked process has one thread. What other threads were doing is never finished there, and a lock
that one of them held is never released.
"""

import concurrent.futures.thread  # noqa: F401 - it has a lock for forks, which comes before ours
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial


def fork_safe_lock() -> threading.RLock:
    """Return a lock that no other thread holds while the process is forked.

    A fork waits for the lock, so hold it for short. A thread that holds it must not wait for
    another such lock.
    """
    lock = threading.RLock()
    _LOCKS.append(lock)
    return lock


_LOCKS: list[threading.RLock] = []
_HELD: list[threading.RLock] = []
"""The locks that there are, and those that a thread holds which calls fork."""


def _hold_locks() -> None:
    for lock in _LOCKS:
        lock.acquire()
        _HELD.append(lock)


def _release_locks() -> None:
    while _HELD:
        _HELD.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_hold_locks, after_in_parent=_release_locks, after_in_child=_release_locks
    )


no_fork = fork_safe_lock()
"""Held while modules are imported and settings of the process are changed.

A module that another thread is importing during a fork can never be imported in the new process.
"""


def clean_up(action: Callable[[], None]) -> None:
    """Call a function, and once more if it is interrupted; it must do no harm twice."""
    try:
        action()
    except BaseException:
        action()
        raise


class SharedSetting:
    """A setting of the whole process that several threads may need at the same time.

    The first that needs it applies it, and the last that needed it undoes it. Settings that each
    thread saves and restores on its own are not restored if threads begin and end in turn. In a
    forked process, only the thread that called fork still needs it.

    Parameters
    ----------
    apply : callable
        Applies the setting.
    undo : callable
        Undoes it, as far as it was applied: `apply` may have failed or been interrupted.
    """

    def __init__(self, apply: Callable[[], None], undo: Callable[[], None]) -> None:
        self._apply, self._undo = apply, undo
        self._is_applied = False
        self._threads: dict[object, int] = {}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_other_threads)

    @property
    def is_in_force(self) -> bool:
        """Whether some thread needs the setting now."""
        return bool(self._threads)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Apply the setting until the end of the block.

        A generator may be suspended within the block, and ended by another thread.
        """
        block = object()
        try:
            self._enter(block)
            yield
        finally:
            clean_up(partial(self._leave, block))

    def _enter(self, block: object) -> None:
        with no_fork:
            self._threads[block] = threading.get_ident()
            if self._is_applied:
                return
            try:
                self._apply()
                self._is_applied = True
            except BaseException:
                clean_up(self._undo)
                raise

    def _leave(self, block: object) -> None:
        with no_fork:
            # After a fork, the block of another thread is not there.
            self._threads.pop(block, None)
            self._undo_unless_needed()

    def _forget_other_threads(self) -> None:
        current = threading.get_ident()
        self._threads = {
            block: thread for block, thread in self._threads.items() if thread == current
        }
        self._undo_unless_needed()

    def _undo_unless_needed(self) -> None:
        if self._is_applied and not self._threads:
            self._undo()
            self._is_applied = False
