"""Whatever is called, and whether or not it succeeds, the process is afterwards as it was."""

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

import mhpc
from mhpc.system.database import database, reason
from mhpc.system.parallel import defer_interrupts
from tests.fixtures.calls import (
    CALLS,
    CHEAP_METHODS,
    TAXONOMY,
    VOTES,
    consolidate,
    refuse,
    result,
    save_and_load,
)
from tests.fixtures.process_state import cache_sizes, find_differences, process_state


@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_the_process_as_it_was(name: str, folder: Path) -> None:
    # The first call of a function imports what it needs.
    if name != "read":
        CALLS[name](folder)
    before = process_state()
    CALLS[name](folder)
    assert find_differences(before, process_state()) == {}


def test_calls_that_are_refused_leave_the_process_as_it_was(folder: Path) -> None:
    before = process_state()
    refuse(folder)
    assert find_differences(before, process_state()) == {}


def test_hundreds_of_calls_leave_the_process_as_it_was_and_remember_no_more(folder: Path) -> None:
    votes, names = mhpc.read_votes(VOTES), ("majority", "evaluate", "explain", "conflicts", "show")

    def call_each() -> None:
        for method in CHEAP_METHODS:
            mhpc.consolidate(votes, TAXONOMY, method=method)
        for name in names:
            CALLS[name](folder)

    call_each()
    save_and_load(folder)
    before, sizes = process_state(), cache_sizes()
    for _ in range(12):
        call_each()
    save_and_load(folder)
    assert find_differences(before, process_state()) == {}
    assert find_differences(sizes, cache_sizes()) == {}


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Raise a KeyboardInterrupt some time after the beginning of the block, or at its end."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
        raise KeyboardInterrupt
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


# An interrupt between the opening of a file and its `with` leaves the file to Python, which closes
# it with a warning; one inside a finalizer is reported and dropped. No program can avoid either.
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize(
    "call",
    [lambda _: consolidate("auto"), lambda folder: result().save(folder / "run", force=True)],
    ids=["consolidate", "save"],
)
def test_an_interrupt_at_any_time_leaves_the_process_as_it_was(
    call: Callable[[Path], object], folder: Path
) -> None:
    call(folder)
    start = time.perf_counter()
    call(folder)
    seconds = time.perf_counter() - start
    before = process_state()
    for sixth in range(1, 7):
        with (
            pytest.raises((KeyboardInterrupt, RuntimeError)) as raised,
            interrupt_after(seconds * sixth / 6),
        ):
            call(folder)
        # Python's own locks make an error of an interrupt that meets them while they are released.
        assert any(isinstance(error, KeyboardInterrupt) for error in chain_of(raised.value))
        del raised
        gc.collect()
        wait_for_threads(before["threads"])
        assert find_differences(before, process_state()) == {}
        assert {path.name for path in folder.iterdir()} <= {"run"}


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those during whose handling it was raised."""
    while error is not None:
        yield error
        error = error.__context__


def wait_for_threads(threads: set[threading.Thread]) -> None:
    # An interrupt does not wait for them.
    for thread in set(threading.enumerate()) - threads:
        thread.join(10)


def test_an_error_of_the_callers_function_leaves_the_process_as_it_was() -> None:
    class OwnError(Exception):
        pass

    def progress(*_: object) -> None:
        raise OwnError

    consolidate("auto")
    before = process_state()
    with pytest.raises(OwnError):
        mhpc.consolidate(VOTES, TAXONOMY, method="auto", progress=progress)
    assert find_differences(before, process_state()) == {}


def test_an_interrupt_is_one_though_duckdb_makes_an_error_of_it() -> None:
    with pytest.raises(KeyboardInterrupt), database():
        raise RuntimeError("Query interrupted")
    with pytest.raises(KeyboardInterrupt), database():
        raise duckdb.Error("Traceback (most recent call last):\n  …\nKeyboardInterrupt: \n")
    asked = "counting the rows of the object registered as 'frame' failed: KeyboardInterrupt: "
    with pytest.raises(KeyboardInterrupt), database():
        raise duckdb.InvalidInputException(asked)
    with pytest.raises(duckdb.Error), database():
        raise duckdb.Error(f"CSV Error on Line: 1\nOriginal Line: {asked}")
    with pytest.raises(KeyboardInterrupt):
        reason(duckdb.Error("Traceback (most recent call last):\n  …\nKeyboardInterrupt: \n"))
    with pytest.raises(RuntimeError, match="something else"), database():
        raise RuntimeError("something else")


def test_excel_leaves_no_temporary_file_when_a_text_cannot_be_written(folder: Path) -> None:
    votes = mhpc.read_votes([("1", "ann", "rose\x01")])
    before = process_state()
    with pytest.raises(mhpc.MhpcError, match="control characters"):
        mhpc.write_votes(folder / "votes.xlsx", votes)
    assert find_differences(before, process_state()) == {}


def test_signals_that_are_blocked_stay_blocked() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        before = process_state()
        with defer_interrupts():
            pass
        # Its first use starts a process, which multiprocessing keeps.
        differences = find_differences(before, process_state())
        assert differences.keys() <= {"open files", "child processes"}
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
