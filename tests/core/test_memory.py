from pathlib import Path

import pytest

from mhpc.core import memory
from mhpc.core.memory import as_bytes, available_memory, memory_budget, within_memory
from mhpc.errors import ParameterError


def test_available_memory_is_what_linux_says_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable: 5 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", told)
    assert memory.available_memory() == 5 * 1024


def test_elsewhere_it_is_all_memory_or_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "missing")
    monkeypatch.setattr("os.sysconf", lambda name: 3)
    assert memory.available_memory() == 9
    monkeypatch.delattr("os.sysconf")
    assert memory.available_memory() is None


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
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert as_bytes(text) == size


@pytest.mark.parametrize("text", ["much", "-3GB", "0", "3 PB", ""])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="give a size such as 6GB"):
        as_bytes(text)


def test_the_budget_is_what_was_set_and_else_half_of_what_is_free() -> None:
    free = available_memory()
    if free is not None:
        assert memory_budget() == pytest.approx(free / 2, rel=0.2)
    with within_memory(12345):
        assert memory_budget() == 12345
    assert memory_budget() != 12345
