"""Progress on standard error."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mhpc.cli.progress import (
    Display,
    Stage,
    StderrProgress,
    format_duration,
    format_line,
    format_pace,
)
from tests.fixtures.commands import Mhpc

SLOW_PROGRAM = """
import sys, time
from mhpc.cli.progress import StderrProgress
with StderrProgress(sys.argv[1], interval=0.05) as progress:
    for step in range(20):
        progress("solving [lam=1]", step, 20)
        time.sleep(0.03)
    progress("writing", 0, 0)
    time.sleep(0.3)
"""
"""A program with a slow stage of known length and one of unknown length."""


def wait_for(part: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return standard error up to the time that it contains a part, for at most ten seconds."""
    text, end = "", time.monotonic() + 10
    while part not in text and time.monotonic() < end:
        time.sleep(0.01)
        text += capsys.readouterr().err
    return text


def make_stage(name: str, done: int, total: int, *, began: float = 0.0, first: int = 0) -> Stage:
    return Stage(name, done, total, began, first)


def test_quick_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrProgress() as progress:
        progress("reading", 0, 0)
    assert capsys.readouterr() == ("", "")


def test_slow_work_prints_each_stage_once(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrProgress("plain", interval=0.01) as progress:
        progress("reading", 0, 0)
        assert wait_for("reading", capsys) == "mhpc: reading (0 s)\n"
        progress("consolidating", 3, 30)
        time.sleep(0.05)
        text = wait_for("consolidating", capsys)
        assert text == "mhpc: consolidating, 3 of at most 30 (0 s)\n"


def test_a_stage_without_new_steps_is_printed_again_after_a_while(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with StderrProgress("plain", interval=0.01, repeat=0.05) as progress:
        progress("reporting", 0, 0)
        text = wait_for("reporting (0 s)\nmhpc: reporting (0 s)\n", capsys)
    assert text.count("reporting") >= 2


def test_nothing_is_printed_before_the_first_stage(capsys: pytest.CaptureFixture[str]) -> None:
    with StderrProgress("plain", interval=0.01):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        (make_stage("reading", 0, 0), "reading (8 s)"),
        (make_stage("solving", 0, 30), "solving, 0 of at most 30 (8 s)"),
        (make_stage("solving", 2, 30), "solving, 2 of at most 30 (8 s, 1 min 52 s left)"),
        # Steps that an earlier run had finished do not count for the rate.
        (
            make_stage("cells", 1_002, 1_006, first=1_000),
            "cells, 1,002 of at most 1,006 (8 s, 16 s left)",
        ),
        (make_stage("solving", 3, 30, began=8.0), "solving, 3 of at most 30 (0 s)"),
    ],
)
def test_a_line_has_the_steps_and_the_times_that_are_known(stage: Stage, line: str) -> None:
    assert format_line(stage, 8.0) == line


@pytest.mark.parametrize(
    ("stage", "pace"),
    [
        (make_stage("reading", 0, 0), "8 s"),
        (make_stage("solving", 2, 4), "4.0 s each, 8 s left"),
        (make_stage("instances", 16_000, 20_000), "2,000/s, 2 s left"),
    ],
)
def test_a_bar_has_the_rate_and_the_time_left(stage: Stage, pace: str) -> None:
    assert format_pace(stage, 8.0) == pace


def test_the_time_left_counts_from_the_start_of_the_stage() -> None:
    reading = make_stage("reading", 0, 0).advance("reading", 0, 0, 50.0)
    solving = reading.advance("solving", 0, 10, 100.0).advance("solving", 5, 10, 110.0)
    assert solving.seconds_left(110.0) == 10.0
    # The same name again with fewer steps done is another stage.
    assert solving.advance("solving", 1, 10, 120.0).began == 120.0


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (125, "2 min 5 s"), (12_030, "3 h 20 min")]
)
def test_durations_have_at_most_two_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def run_slow_program(display: Display) -> str:
    command = [sys.executable, "-c", SLOW_PROGRAM, display]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stderr


@pytest.mark.parametrize("display", ["auto", "plain"])
def test_without_a_terminal_lines_are_printed(display: Display) -> None:
    lines = run_slow_program(display).splitlines()
    assert any(" of at most 20 (" in line and line.endswith(" s left)") for line in lines)
    assert lines[-1] == "mhpc: writing (0 s)"
    assert all(line.startswith("mhpc: ") for line in lines)


def test_none_prints_nothing() -> None:
    assert run_slow_program("none") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("display", ["auto", "bar", "plain", "none"])
def test_a_terminal_shows_the_selected_display(display: Display) -> None:
    text = run_on_terminal([sys.executable, "-c", SLOW_PROGRAM, display])
    assert ("\x1b[" in text) == (display in ("auto", "bar"))
    assert ("mhpc: writing" in text) == (display == "plain")
    if display in ("auto", "bar"):
        assert "solving [lam=1]" in text
        assert "/20" in text
        assert " left" in text
        # The cursor is hidden during the work, and shown again.
        assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def run_on_terminal(command: list[str]) -> str:
    """Return what a program writes to a standard error that is a terminal."""
    import pty

    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stderr=theirs, env=environment) as process:
        os.close(theirs)
        output = b""
        try:
            while part := os.read(ours, 4096):
                output += part
        except OSError:
            pass  # Linux reports the closed terminal in this way.
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return output.decode()


@pytest.mark.parametrize("command", ["consolidate", "compare", "inspect", "demo", "reproduce"])
def test_slow_commands_have_the_progress_option(mhpc: Mhpc, command: str) -> None:
    assert "--progress [auto|bar|plain|none]" in mhpc(command, "--help").stdout
    done = mhpc(command, "--progress", "loud")
    assert done.returncode == 2
    assert "'loud' is not one of 'auto', 'bar', 'plain', 'none'" in done.stderr


def test_the_progress_option_is_not_a_setting_of_the_run(mhpc: Mhpc, garden: Path) -> None:
    arguments = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa")
    assert mhpc(*arguments, "-o", "OUT", "--progress", "none").returncode == 0
    # The name of this test is in the path of the folder, and so in run.json.
    document = (garden / "OUT" / "run.json").read_text().replace(str(garden), "")
    assert "progress" not in document


def test_lines_that_stay_are_printed_at_once_and_only_if_the_work_is_slow(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with StderrProgress("plain", interval=0.01) as progress:
        progress.write("sa: 0.5")
        assert wait_for("sa", capsys) == "mhpc: sa: 0.5\n"
    with StderrProgress("plain", interval=60) as progress:
        progress.write("sa: 0.5")
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_lines_that_stay_are_above_the_bar() -> None:
    program = SLOW_PROGRAM.replace('"writing", 0, 0)', '"writing", 0, 0); progress.write("sa [1]")')
    text = run_on_terminal([sys.executable, "-c", program, "bar"])
    assert "mhpc: sa [1]\r\n" in text


def test_work_in_per_cent_has_no_number_of_steps() -> None:
    assert format_line(make_stage("comparing", 20, 100), 8.0) == "comparing, 20 % (8 s, 32 s left)"
    assert format_pace(make_stage("comparing", 20, 100), 8.0) == "32 s left"
