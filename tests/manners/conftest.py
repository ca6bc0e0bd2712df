"""Every test has a current and a temporary folder of its own, in which nothing may be left."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to write to; the current and the temporary folder are others, also empty."""
    for name in ("current", "temporary", "output"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "current")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "output"
