"""Limits of a process: which are too low, and what is said when memory runs out."""

import os
from collections.abc import Callable

import duckdb
import pytest

from mhpc.errors import DataError, TooLargeError
from mhpc.system import limits
from mhpc.system.limits import COMMAND_NEEDS, check_limits, cluster_needs, explain_exhaustion


def set_to(**values: int) -> Callable[[str], int | None]:
    return values.get


@pytest.mark.parametrize("name", COMMAND_NEEDS)
def test_a_limit_that_is_too_low_is_named_with_the_command_that_raises_it(name: str) -> None:
    needed = COMMAND_NEEDS[name]
    check_limits(COMMAND_NEEDS, "mhpc", limits=set_to(**{name: needed}))
    with pytest.raises(
        TooLargeError, match=r"mhpc needs at least .* may be used; .* ulimit -[vdsn]"
    ):
        check_limits(COMMAND_NEEDS, "mhpc", limits=set_to(**{name: needed - 1}))


def test_without_limits_nothing_is_refused() -> None:
    check_limits(COMMAND_NEEDS, "mhpc", limits=set_to())


def test_sizes_are_shown_as_people_write_them() -> None:
    with pytest.raises(TooLargeError) as refused:
        check_limits({"RLIMIT_AS": 10**9}, "mhpc compare", limits=set_to(RLIMIT_AS=500 * 10**6))
    assert str(refused.value) == (
        "mhpc compare needs at least 1.0 GB of address space, and 500 MB may be used; raise the "
        "limit with ulimit -v"
    )


def test_a_cluster_needs_more_than_a_command_and_more_with_every_worker() -> None:
    for name, needed in cluster_needs(0).items():
        assert COMMAND_NEEDS[name] < needed < cluster_needs(1)[name] < cluster_needs(64)[name]


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (MemoryError(), "memory ran out"),
        (MemoryError("Unable to allocate 3 GiB"), "memory ran out"),
        (duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate"), "memory ran out"),
        (RuntimeError("std::bad_alloc"), "memory ran out"),
        (ImportError("x.so: failed to map segment from shared object"), "memory ran out"),
        (OSError(12, "Cannot allocate memory", "votes.csv"), "memory ran out"),
        (RuntimeError("can't start new thread"), "no more threads"),
        (BlockingIOError(11, "Resource temporarily unavailable"), "no more threads"),
    ],
)
def test_what_libraries_say_when_memory_or_threads_run_out_is_explained(
    error: Exception, what: str
) -> None:
    assert what in (explain_exhaustion(error) or "")


@pytest.mark.parametrize(
    "error",
    [
        TooLargeError("auto needs about 3 GB"),
        DataError("votes.csv: 'out of memory' is not a label"),
        OSError(2, "No such file or directory", "out of memory.csv"),
        ValueError("another error"),
    ],
)
def test_other_errors_are_left_as_they_are(error: Exception) -> None:
    assert explain_exhaustion(error) is None


def test_the_limit_is_named_where_memory_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "resource_limit", set_to(RLIMIT_AS=2 * 10**9))
    assert "(ulimit -v allows 2.0 GB of address space)" in (explain_exhaustion(MemoryError()) or "")


@pytest.mark.parametrize("left", [None, 10**9])
def test_libraries_start_no_threads_and_need_less_if_memory_is_limited(
    left: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Restored at the end, like the others that are set.
    for name in (*limits._THRIFTY, *limits._ONE_THREAD):
        monkeypatch.setenv(name, "64")
    monkeypatch.setattr(limits, "process_memory", lambda: left)
    limits.save_memory()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["ARROW_DEFAULT_MEMORY_POOL"] == ("64" if left is None else "system")


def test_a_stack_too_large_for_threads_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("can't start new thread")
    monkeypatch.setattr(limits, "resource_limit", set_to(RLIMIT_STACK=8 << 20))
    assert "ulimit -s" not in (explain_exhaustion(error) or "")
    monkeypatch.setattr(limits, "resource_limit", set_to(RLIMIT_STACK=1 << 40))
    assert "ulimit -s allows" in (explain_exhaustion(error) or "")
