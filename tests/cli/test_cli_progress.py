import time

import pytest

from mhpc.cli.progress import StderrProgress


def wait_for(part: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was said by the time that the part was, or after ten seconds."""
    said, ends = "", time.monotonic() + 10
    while part not in said and time.monotonic() < ends:
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


def test_quick_work_is_done_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrProgress() as progress:
        progress("reading", 0, 0)
    assert capsys.readouterr() == ("", "")


def test_slow_work_tells_each_stage_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mhpc.cli.progress.PATIENCE", 0.01)
    with StderrProgress() as progress:
        progress("reading", 0, 0)
        assert wait_for("reading", capsys) == "mhpc: reading (0 s)\n"
        progress("consolidating", 3, 30)
        time.sleep(0.05)
        said = wait_for("consolidating", capsys)
        assert said == "mhpc: consolidating, 3 of at most 30 (0 s)\n"
