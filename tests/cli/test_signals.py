"""A signal ends a real process quickly, with the right exit code and without leftovers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fixtures.commands import shows_bug

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")

SOON = 4.0
"""Seconds: two are documented, but machines that run tests are busy."""

RUN = """
import sys
import {module} as module
from mhpc.cli import main

def block(*args, **kwargs):
    print("started", file=sys.stderr, flush=True)
    {block}

module.{stage} = block
sys.argv[1:] = ["consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "deep/OUT",
                "--method", "sa", "--progress", "none", *sys.argv[1:]]
if __name__ == "__main__":
    main()
"""
"""A program that consolidates, with a stage that blocks the main thread forever."""

IN_C = (
    "import numpy as np; A = np.random.default_rng(0).random((3000, 3000)); "
    "[np.linalg.eigh(A + A.T) for _ in range(100)]"
)
IN_LAPACK = (
    "import numpy as np; from mhpc.numerics.cholesky import lower_gram; "
    "X = np.ones((4000, 3000)); [lower_gram(X, scale=1.0) for _ in range(1000)]"
)
IN_DUCKDB = "import duckdb; duckdb.sql('SELECT sum(hash(range)) FROM range(1000000000000)').show()"
IGNORING_SIGNALS = """
    import time
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""
IN_WORKERS = (
    "import time; from mhpc.system.parallel import process_map; "
    "list(process_map(time.sleep, [600.0, 600.0], jobs=2))"
)
WRITING = "(args[0].parent / 'incomplete').write_text('a table'); " + IN_C


@contextmanager
def start(folder: Path, stage: str, block: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process, and wait until it is in the middle of a stage."""
    (folder / "scratch").mkdir()
    module, _, stage = stage.rpartition(".")
    (folder / "work.py").write_text(RUN.format(module=module, stage=stage, block=block.strip()))
    with subprocess.Popen(
        [sys.executable, "work.py", *args], cwd=folder, text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(folder / "scratch"), "OPENBLAS_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == "started\n"
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def wait_for_end(process: subprocess.Popen[str]) -> tuple[float, str, str]:
    """Return the seconds until the process and its workers have ended, and its output."""
    start_time = time.monotonic()
    out, err = process.communicate(timeout=60)
    return time.monotonic() - start_time, out, err


@pytest.mark.parametrize(
    ("stage", "block"),
    [
        ("mhpc.engines.local.read_votes_as", IN_DUCKDB),
        ("mhpc.engines.local.read_votes_as", IN_C),
        ("mhpc.engines.local.encode_votes", IN_LAPACK),
        ("mhpc.engines.local.encode_votes", IGNORING_SIGNALS),
        ("mhpc.engines.local.encode_votes", IN_WORKERS),
        ("mhpc.output.write_sources", WRITING),
    ],
    ids=["query", "numpy", "lapack", "swallowed", "workers", "writing"],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_any_stage_ends_the_process_soon_without_leftovers(
    garden: Path, stage: str, block: str, number: signal.Signals, code: int
) -> None:
    before = {path.name for path in garden.iterdir()}
    with start(garden, stage, block) as process:
        time.sleep(0.7)
        os.killpg(process.pid, number)
        seconds, out, err = wait_for_end(process)
    assert process.returncode == code
    assert seconds < SOON
    assert out == ""
    assert err.strip() == ("mhpc: interrupted" if number == signal.SIGINT else "")
    assert not any((garden / "scratch").iterdir())
    assert {path.name for path in garden.iterdir()} - before <= {"scratch", "work.py"}


def test_an_interrupt_while_reading_a_pipe_ends_the_process_soon(garden: Path) -> None:
    (garden / "scratch").mkdir()
    call = [sys.executable, "-m", "mhpc", "consolidate", "-", "--taxonomy", "taxonomy.csv"]
    with subprocess.Popen(
        [*call, "-o", "OUT"], cwd=garden, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(garden / "scratch")},
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 30
        while not any((garden / "scratch").iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        start_time = time.monotonic()
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - start_time < SOON
    assert not any((garden / "scratch").iterdir())
    assert not (garden / "OUT").exists()


def test_an_earlier_output_survives_an_interrupt(garden: Path) -> None:
    (garden / "deep" / "OUT").mkdir(parents=True)
    (garden / "deep" / "OUT" / "run.json").write_text("of an earlier run")
    with start(garden, "mhpc.output.write_sources", WRITING, "--force") as process:
        os.killpg(process.pid, signal.SIGINT)
        seconds, *_ = wait_for_end(process)
    assert (process.returncode, seconds < SOON) == (130, True)
    assert [path.name for path in (garden / "deep").iterdir()] == ["OUT"]
    assert (garden / "deep" / "OUT" / "run.json").read_text() == "of an earlier run"


def test_a_second_interrupt_changes_nothing(garden: Path) -> None:
    with start(garden, "mhpc.output.write_sources", WRITING) as process:
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.1)
        seconds, _, err = wait_for_end(process)
    assert (process.returncode, seconds < SOON) == (130, True)
    assert not shows_bug(err)
    assert not (garden / "deep").exists()


INTERRUPTED_IMPORT = """
import os, signal, sys
from mhpc.__main__ import main

class Interrupt:
    def find_spec(self, name, *_):
        if name == "mhpc.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
main()
"""


def test_an_interrupt_while_the_command_line_is_loaded_leaves_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_semaphores_of_a_process_that_exits_at_once_are_released_in_silence() -> None:
    program = """
import multiprocessing, os
from mhpc.cli.messages import show_no_traceback
show_no_traceback()
lock = multiprocessing.get_context("spawn").Lock()
os._exit(143)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (143, "")
