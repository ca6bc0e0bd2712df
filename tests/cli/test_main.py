"""Help, completion, pipes and interrupts of the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from mhpc.cli import COMMANDS
from tests.fixtures.commands import Mhpc

HEAVY = ("numpy", "scipy", "duckdb", "narwhals", "rich")
REPORT = f"""
import json, sys
from mhpc.cli import main
try:
    main(sys.argv[1:])
finally:
    json.dump([name for name in {HEAVY} if name in sys.modules], sys.stderr)
"""
"""A program that runs a command and then prints, on standard error, what it imported."""


def run_program(
    *args: str, code: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    target = ["-c", code] if code else ["-m", "mhpc"]
    return subprocess.run(
        [sys.executable, *target, *args],
        env=os.environ | environment, capture_output=True, text=True, encoding="utf-8", timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("args", "environment", "text"),
    [
        (("--help",), {}, "consolidate"),
        (("consolidate", "--help"), {}, "--taxonomy FILE"),
        (
            (),
            {
                "_MHPC_COMPLETE": "bash_complete",
                "COMP_WORDS": "mhpc consolidate --method m",
                "COMP_CWORD": "3",
            },
            "plain,mlcm",
        ),
        ((), {"_MHPC_COMPLETE": "bash_source"}, "_mhpc_completion"),
    ],
    ids=["help", "help of a command", "completion", "completion script"],
)
def test_help_and_completion_import_nothing_heavy(
    args: tuple[str, ...], environment: dict[str, str], text: str
) -> None:
    done = run_program(*args, code=REPORT, **environment)
    assert text in done.stdout
    assert json.loads(done.stderr) == []


def test_completion_offers_names_with_the_same_beginning() -> None:
    done = run_program(
        _MHPC_COMPLETE="bash_complete", COMP_WORDS="mhpc consolidate --method ml", COMP_CWORD="3"
    )
    assert (done.stdout, done.stderr) == ("plain,mlcm\n", "")


def test_completion_offers_formats() -> None:
    done = run_program(
        _MHPC_COMPLETE="bash_complete", COMP_WORDS="mhpc convert --to label", COMP_CWORD="3"
    )
    assert (done.stdout, done.stderr) == ("plain,label-studio\nplain,label-studio-config\n", "")


def test_the_version_is_shown() -> None:
    done = run_program("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"mhpc, version {version('mhpc')}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(mhpc: Mhpc, command: str) -> None:
    done = mhpc(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: mhpc {command} ")
    assert f"  {command} " in mhpc("-h").stdout


def test_the_help_lists_the_exit_codes(mhpc: Mhpc) -> None:
    text = " ".join(mhpc("--help").stdout.split())
    assert "Exit codes: 0 success; 1 the data are wrong" in text
    assert "130 interrupted; 143 terminated." in text


def test_an_unknown_command_names_the_nearest(mhpc: Mhpc) -> None:
    done = mhpc("simulte")
    assert done.returncode == 2
    assert "no command 'simulte' (nearest: 'simulate')" in done.stderr


def test_an_interrupt_exits_with_130_without_leftovers(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(garden.iterdir())

    def interrupt(path: Path, *_: object) -> None:
        path.write_text("an incomplete table")
        raise KeyboardInterrupt

    monkeypatch.setattr("mhpc.output.write_sources", interrupt)
    done = mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr.strip() == "mhpc: interrupted"
    assert sorted(garden.iterdir()) == before


def test_an_operating_system_error_is_one_line(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("mhpc.output.write_sources", fail)
    done = mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")
    assert done.returncode == 1
    assert done.stderr == "mhpc: error: Input/output error\n"
    assert not (garden / "OUT").exists()


def test_a_closed_pipe_is_not_an_error(garden: Path) -> None:
    rows = "".join(f"{n},bee\n" for n in range(20_000))
    (garden / "truth.csv").write_text(f"instance,label\n{rows}")
    command = [sys.executable, "-m", "mhpc", "simulate", "truth.csv", "--taxonomy", "taxonomy.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        assert writer.stdout.readline() == b"instance,source,label\n"
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 0


def test_output_is_utf8_in_any_locale(garden: Path) -> None:
    (garden / "taxonomy.csv").write_text("label,parent\nplänt,\nbée,\n", encoding="utf-8")
    (garden / "truth.csv").write_text("instance,label\n1,bée\n", encoding="utf-8")
    done = run_program(
        "simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "--vague", "1", "--noise", "1",
        PYTHONIOENCODING="ascii",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "1,s1,bée\n" in done.stdout


def test_sigterm_leaves_nothing_behind(garden: Path) -> None:
    scratch = garden / "scratch"
    scratch.mkdir()
    command = [
        sys.executable,
        "-m",
        "mhpc",
        "consolidate",
        "-",
        "--taxonomy",
        "taxonomy.csv",
        "-o",
        "out",
    ]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, cwd=garden, stdin=subprocess.PIPE, env=environment) as running:
        deadline = time.monotonic() + 30
        while not any(scratch.iterdir()) and time.monotonic() < deadline:
            # The program saves what it receives, and waits for more.
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=10) == 128 + signal.SIGTERM
    assert not any(scratch.iterdir())
    assert not (garden / "out").exists()
