from pathlib import Path

import pytest

from mhpc.errors import ParameterError
from mhpc.system import memory
from mhpc.system.memory import available_memory, memory_budget, parse_size, use_memory_budget


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


@pytest.mark.parametrize("text", ["much", "-3GB", "0", "3 PB", ""])
def test_a_text_that_is_not_a_size_is_refused(text: str) -> None:
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
