from pathlib import Path

import pytest

from mhpc.core import memory


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
