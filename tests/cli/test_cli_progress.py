import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from mhpc.cli.progress import Show, Stage, StderrProgress, duration, line, pace

Mhpc = Callable[..., CompletedProcess[str]]

SLOW = """
import sys, time
import mhpc.cli.progress as progress
progress.PATIENCE = 0.05
with progress.StderrProgress(sys.argv[1]) as tell:
    for step in range(20):
        tell("solving [lam=1]", step, 20)
        time.sleep(0.03)
    tell("writing", 0, 0)
    time.sleep(0.3)
"""
"""A program with a slow stage of known length and another one of unknown length."""


def wait_for(part: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was said by the time that the part was, or after ten seconds."""
    said, ends = "", time.monotonic() + 10
    while part not in said and time.monotonic() < ends:
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


def at(name: str, done: int, most: int, *, began: float = 0.0, first: int = 0) -> Stage:
    return Stage(name, done, most, began, first)


def test_quick_work_is_done_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrProgress() as progress:
        progress("reading", 0, 0)
    assert capsys.readouterr() == ("", "")


def test_slow_work_tells_each_stage_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mhpc.cli.progress.PATIENCE", 0.01)
    with StderrProgress("plain") as progress:
        progress("reading", 0, 0)
        assert wait_for("reading", capsys) == "mhpc: reading (0 s)\n"
        progress("consolidating", 3, 30)
        time.sleep(0.05)
        said = wait_for("consolidating", capsys)
        assert said == "mhpc: consolidating, 3 of at most 30 (0 s)\n"


def test_nothing_is_told_before_a_stage_has_a_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mhpc.cli.progress.PATIENCE", 0.01)
    with StderrProgress("plain"):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (at("reading", 0, 0), "reading (8 s)"),
        (at("solving", 0, 30), "solving, 0 of at most 30 (8 s)"),
        (at("solving", 2, 30), "solving, 2 of at most 30 (8 s, 1 min 52 s left)"),
        # What an earlier run had finished says nothing about how fast this one is.
        (at("cells", 1_002, 1_006, first=1_000), "cells, 1,002 of at most 1,006 (8 s, 16 s left)"),
        (at("solving", 3, 30, began=8.0), "solving, 3 of at most 30 (0 s)"),
    ],
)
def test_a_line_has_the_steps_and_the_times_that_are_known(stage: Stage, says: str) -> None:
    assert line(stage, 8.0) == says


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (at("reading", 0, 0), "8 s"),
        (at("solving", 2, 4), "4.0 s each, 8 s left"),
        (at("instances", 16_000, 20_000), "2,000/s, 2 s left"),
    ],
)
def test_beside_a_bar_stand_the_rate_and_the_time_left(stage: Stage, says: str) -> None:
    assert pace(stage, 8.0) == says


def test_the_time_left_counts_from_the_start_of_the_stage() -> None:
    reading = at("reading", 0, 0).then("reading", 0, 0, 50.0)
    solving = reading.then("solving", 0, 10, 100.0).then("solving", 5, 10, 110.0)
    assert solving.seconds_left(110.0) == 10.0
    # The same name again with fewer steps done is another stage.
    assert solving.then("solving", 1, 10, 120.0).began == 120.0


@pytest.mark.parametrize(
    ("seconds", "says"), [(0.4, "0 s"), (59, "59 s"), (125, "2 min 5 s"), (12_030, "3 h 20 min")]
)
def test_times_are_said_as_people_say_them(seconds: float, says: str) -> None:
    assert duration(seconds) == says


def told(show: Show) -> str:
    call = [sys.executable, "-c", SLOW, show]
    return subprocess.run(call, capture_output=True, text=True, check=True, timeout=60).stderr


@pytest.mark.parametrize("show", ["auto", "plain"])
def test_lines_tell_a_slow_stage_where_there_is_no_terminal(show: Show) -> None:
    said = told(show).splitlines()
    assert any(" of at most 20 (" in line and line.endswith(" s left)") for line in said)
    assert said[-1] == "mhpc: writing (0 s)"
    assert all(line.startswith("mhpc: ") for line in said)


def test_none_tells_nothing() -> None:
    assert told("none") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("show", ["auto", "bar", "plain", "none"])
def test_a_terminal_shows_what_was_asked_for(show: Show) -> None:
    said = on_terminal([sys.executable, "-c", SLOW, show])
    assert ("\x1b[" in said) == (show in ("auto", "bar"))
    assert ("mhpc: writing" in said) == (show == "plain")
    if show in ("auto", "bar"):
        assert "solving [lam=1]" in said
        assert "/20" in said
        assert " left" in said
        # The cursor is hidden meanwhile, and shown again.
        assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l")


def on_terminal(call: list[str]) -> str:
    """Return what a program writes to a standard error that is a terminal."""
    import pty

    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(call, stderr=theirs, env=environment) as running:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:
            pass  # so Linux tells that nobody writes any more
        assert running.wait(timeout=60) == 0
    os.close(ours)
    return said.decode()


@pytest.mark.parametrize("command", ["consolidate", "compare", "inspect", "demo", "reproduce"])
def test_the_commands_that_take_long_can_be_told_how_to_show_it(mhpc: Mhpc, command: str) -> None:
    assert "--progress [auto|bar|plain|none]" in mhpc(command, "--help").stdout
    done = mhpc(command, "--progress", "loud")
    assert done.returncode == 2
    assert "'loud' is not one of 'auto', 'bar', 'plain', 'none'" in done.stderr


def test_how_it_is_shown_is_no_setting_of_a_run(mhpc: Mhpc, garden: Path) -> None:
    args = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa")
    assert mhpc(*args, "-o", "OUT", "--progress", "none").returncode == 0
    assert "progress" not in (garden / "OUT" / "run.json").read_text()
