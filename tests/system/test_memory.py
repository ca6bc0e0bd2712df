import os
from pathlib import Path

import pytest

from mhpc.errors import ParameterError
from mhpc.system import memory, parallel
from mhpc.system.database import database
from mhpc.system.memory import (
    MIN_DATABASE_MEMORY,
    available_memory,
    database_memory,
    memory_budget,
    parse_size,
    use_memory_budget,
)


def test_available_memory_is_what_linux_reports(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable: 5 kB\n")
    assert available_memory(meminfo=meminfo) == 5 * 1024


def test_without_meminfo_it_is_the_total_memory_or_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "missing"
    monkeypatch.setattr("os.sysconf", lambda name: 3)
    assert available_memory(meminfo=missing, cgroup=missing) == 9
    monkeypatch.delattr("os.sysconf")
    assert available_memory(meminfo=missing, cgroup=missing) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("6GB", 6 * 10**9),
        ("500 mb", 500 * 10**6),
        ("4GiB", 4 << 30),
        ("1.5k", 1500),
        ("2048", 2048),
    ],
)
def test_sizes_are_parsed_with_their_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "much", "-3GB", "0", "3 PB", "", "99999999999TB", "9" * 70, "9" * 400, "9" * 5000, "nan",
        "inf", "1e400GB", "0.0001", "٣GB", -1, 0, 10**16,
        pytest.param(10**5000, id="huge"), pytest.param(-(10**5000), id="-huge"),
    ],
)  # fmt: skip
def test_what_is_not_a_possible_size_is_refused(text: str | int) -> None:
    with pytest.raises(ParameterError, match="give a size such as 6GB"):
        parse_size(text)


def test_the_budget_is_half_of_the_free_memory_unless_it_is_set() -> None:
    free = available_memory()
    if free is not None:
        assert memory_budget() == pytest.approx(free / 2, rel=0.2)
    with use_memory_budget(12345):
        assert memory_budget() == 12345
    assert memory_budget() != 12345


def test_a_container_may_have_less_than_the_machine(tmp_path: Path) -> None:
    free = available_memory(cgroup=tmp_path)
    for name, content in (
        ("memory.max", "9000\n"),
        ("memory.current", "5000\n"),
        ("memory.stat", "anon 100\ninactive_file 300\nactive_file 20\n"),
    ):
        (tmp_path / name).write_text(content)
    assert available_memory(cgroup=tmp_path) == 4300
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory(cgroup=tmp_path) == pytest.approx(free, rel=0.2)


def test_the_limit_is_the_free_memory_unless_it_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 7000)
    assert (memory.memory_limit(), memory_budget()) == (7000, 3500)
    with use_memory_budget(12345):
        assert memory.memory_limit() == 12345


def test_the_memory_of_this_process_is_at_least_ten_megabytes_or_unknown(tmp_path: Path) -> None:
    assert memory.held_memory() == 0 or memory.held_memory() > 10**7
    assert memory.held_memory(statm=tmp_path / "missing") == 0


def test_the_largest_size_can_be_given_to_the_database() -> None:
    with database() as connection:
        for size in (parse_size("1"), parse_size("1000TB")):
            with use_memory_budget(size):
                limit = max(MIN_DATABASE_MEMORY, memory_budget())
            connection.execute(f"SET memory_limit = '{limit}B'")


def write_statm(path: Path, *, size: int, data: int) -> Path:
    page = os.sysconf("SC_PAGE_SIZE")
    path.write_text(f"{size // page} 1 1 1 0 {data // page} 0\n")
    return path


def test_a_process_may_have_less_than_the_machine(tmp_path: Path) -> None:
    statm = write_statm(tmp_path / "statm", size=600 << 20, data=200 << 20)
    reserved = memory._RESERVED

    def left(**limits: int) -> int | None:
        return memory.process_memory(limits=limits.get, statm=statm)

    assert left() is None
    assert left(RLIMIT_AS=1000 << 20) == (400 << 20) - reserved
    assert left(RLIMIT_DATA=1000 << 20) == (800 << 20) - reserved
    assert left(RLIMIT_AS=2000 << 20, RLIMIT_DATA=500 << 20) == (300 << 20) - reserved
    assert left(RLIMIT_AS=500 << 20) == 0


def test_limits_count_for_nothing_where_the_system_does_not_say_what_is_used(
    tmp_path: Path,
) -> None:
    limits = {"RLIMIT_AS": 10**9}.get
    assert memory.process_memory(limits=limits, statm=tmp_path / "missing") is None


def test_the_available_memory_is_within_the_limits_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "process_memory", lambda: 12345)
    assert available_memory() == 12345


def test_more_than_the_limits_of_the_process_leave_cannot_be_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "process_memory", lambda: 12345)
    for budget, expected in ((10**9, 12345), (100, 100)):
        with use_memory_budget(budget):
            assert (memory.memory_limit(), memory_budget()) == (expected, expected)


@pytest.mark.parametrize(
    ("limits", "threads"),
    [
        ({}, None),
        ({"RLIMIT_AS": 500 << 20}, 1),
        ({"RLIMIT_AS": 8 << 30}, 8),
        ({"RLIMIT_AS": 8 << 30, "RLIMIT_DATA": 3 << 30}, 3),
    ],
)
def test_there_are_as_many_threads_as_the_limits_allow_for(
    limits: dict[str, int], threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memory.affordable_threads(limits=limits.get) == threads
    monkeypatch.setattr(memory, "resource_limit", limits.get)
    monkeypatch.setattr(parallel, "core_count", lambda: 6)
    assert parallel.thread_count() == min(6, threads or 6)


@pytest.mark.parametrize(
    ("left", "size", "expected"),
    [
        (None, 5, MIN_DATABASE_MEMORY),
        (None, 8 * 10**9, 8 * 10**9),
        (6 * 10**8, 8 * 10**9, 3 * 10**8),
        (0, 5, 64 << 20),
    ],
)
def test_the_database_stays_within_the_limits_of_the_process(
    left: int | None, size: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "process_memory", lambda: left)
    assert database_memory(size) == expected
