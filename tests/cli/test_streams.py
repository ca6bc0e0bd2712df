"""Standard streams that are closed, full, or without a reader: one line or silence."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fixtures.commands import Mhpc

pty = pytest.importorskip("pty")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the tests redirect in a shell")

CLOSED = "mhpc: error: standard output cannot be written: it is closed\n"
FULL = "mhpc: error: standard output cannot be written: No space left on device\n"
CONSOLIDATE = "consolidate votes.csv --taxonomy taxonomy.csv --method sa -o"

COMMANDS = {
    "click": "--help",
    "rich": "methods",
    "bytes": "simulate truth.csv --taxonomy taxonomy.csv",
}
"""Commands that print in all the ways there are: by click, by rich, as bytes."""


def run(command: str, redirection: str, folder: Path, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m mhpc {command} {redirection}', sys.executable],
        cwd=folder, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_output_that_cannot_be_written_is_one_line(command: str, garden: Path) -> None:
    assert run(command, ">&-", garden) == (1, "", CLOSED)
    assert run(command, ">/dev/full", garden) == (1, "", FULL)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_reader_that_went_away_is_no_error(command: str, garden: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "mhpc", *command.split()],
            cwd=garden, stdout=writing, stderr=subprocess.PIPE, timeout=60,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- 2>&-"])
def test_streams_that_are_not_needed_may_be_closed(redirection: str, garden: Path) -> None:
    code, output, error = run("--verbose methods", redirection, garden)
    assert (code, error) == (0, "")
    assert "mlcm" in output


@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- >&- 2>&-"])
def test_an_error_that_cannot_be_shown_has_its_exit_code(redirection: str, garden: Path) -> None:
    assert run("--nothing", redirection, garden) == (2, "", "")


@pytest.mark.parametrize("redirection", ["<&-", "0>/dev/null"])
def test_a_standard_input_that_cannot_be_read_is_one_line(redirection: str, garden: Path) -> None:
    code, output, error = run("inspect -", redirection, garden)
    assert (code, output) == (1, "")
    assert "cannot be read: " in error
    assert error.count("\n") == 1


def test_a_run_without_any_stream_writes_its_files_and_nothing_else(
    garden: Path, mhpc: Mhpc
) -> None:
    """No file gets the number of a closed stream, and with it what is meant for the stream."""
    assert mhpc(*f"{CONSOLIDATE} expected".split()).returncode == 0
    code, *_ = run(f"{CONSOLIDATE} OUT --progress plain --report", "<&- >&- 2>&-", garden)
    assert code == 1
    for name in ("labels.csv", "items.csv", "sources.csv"):
        assert (garden / "OUT" / name).read_bytes() == (garden / "expected" / name).read_bytes()
    assert "mhpc:" not in (garden / "OUT" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "ending"), [("methods >&-", (1, CLOSED)), ("--nothing 2>&-", (2, ""))]
)
def test_a_file_that_took_the_number_of_a_closed_stream_gets_nothing(
    command: str, ending: tuple[int, str], garden: Path
) -> None:
    """Libraries may open files while they are imported, before the streams are guarded."""
    code = "import os; os.open('other', os.O_CREAT | os.O_RDWR); from mhpc.cli import main; main()"
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {command}', sys.executable, code],
        cwd=garden, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == ending
    assert (garden / "other").read_bytes() == b""


def test_a_stream_that_does_not_block_gets_everything(garden: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    code = "from mhpc.cli.streams import *; guard_streams(); sys.stdout.write('bee\\n' * 50_000)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=writing) as writer:
        os.close(writing)
        with open(reading, "rb") as file:  # noqa: PTH123 - a descriptor has no path
            assert file.read() == b"bee\n" * 50_000
    assert writer.returncode == 0


def test_completion_into_a_full_stream_is_one_line(garden: Path) -> None:
    code, _, error = run(
        "", ">/dev/full", garden,
        _MHPC_COMPLETE="bash_complete", COMP_WORDS="mhpc consolidate --method m", COMP_CWORD="3",
    )  # fmt: skip
    assert (code, error) == (1, FULL)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/urandom"])
def test_a_standard_input_that_never_ends_is_refused(device: str, garden: Path) -> None:
    code, output, error = run("inspect -", f"<{device}", garden)
    assert (code, output, error.count("\n")) == (1, "", 1)
    assert "standard input is a device, which may never end" in error


def test_a_standard_input_that_does_not_block_is_read_to_its_end(garden: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with subprocess.Popen(
        [sys.executable, "-m", "mhpc", "convert", "-", "-", "--to", "csv"],
        stdin=reading, stdout=subprocess.PIPE, cwd=garden,
    ) as reader:  # fmt: skip
        os.close(reading)
        with open(writing, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor has no path
            file.write(b"instance,source,label\n1,ann,bee\n")
            time.sleep(3)
            file.write(b"2,bob,bee\n")
        assert reader.stdout is not None
        assert reader.stdout.read().count(b"bee") == 2
    assert reader.returncode == 0


def test_a_person_ends_the_input_once(garden: Path) -> None:
    """By Ctrl+D; a program that reads on would wait for a second one."""
    terminal, standard_input = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mhpc", "inspect", "-"],
        stdin=standard_input, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=garden,
    ) as reader:  # fmt: skip
        os.close(standard_input)
        os.write(terminal, b"instance,source,label\n1,ann,bee\n2,bob,ant\n\x04")
        try:
            out, _ = reader.communicate(timeout=60)
        finally:
            reader.kill()
            os.close(terminal)
    assert b"2 votes" in out
    assert reader.returncode == 0
