"""Commands under limits of the system end in one line, or work; they never crash."""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

resource = pytest.importorskip("resource")

CONSOLIDATE = (
    "consolidate",
    "votes.csv",
    "--taxonomy",
    "taxonomy.csv",
    "--method",
    "sa",
    "-o",
    "OUT",
)


def run_limited(
    folder: Path, kind: str, most: int, *words: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mhpc", *words],
        cwd=folder, capture_output=True, text=True, check=False,
        preexec_fn=partial(resource.setrlimit, getattr(resource, kind), (most, most)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("RLIMIT_AS", 300 << 20),
        ("RLIMIT_AS", 700 << 20),
        ("RLIMIT_DATA", 200 << 20),
        ("RLIMIT_NOFILE", 10),
    ],
)
def test_a_limit_that_is_too_low_is_one_line(kind: str, most: int, garden: Path) -> None:
    before = sorted(garden.iterdir())
    done = run_limited(garden, kind, most, *CONSOLIDATE)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("mhpc: error: mhpc consolidate needs at least ")
    assert "may be used; raise the limit with ulimit -" in done.stderr
    assert sorted(garden.iterdir()) == before


def test_memory_that_runs_out_at_the_start_is_one_line(garden: Path) -> None:
    for most in range(12 << 20, 28 << 20, 4 << 20):
        done = run_limited(garden, "RLIMIT_DATA", most, "methods")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
        assert done.stderr.startswith("mhpc: error: m")


def test_help_needs_little_memory(garden: Path) -> None:
    done = run_limited(garden, "RLIMIT_AS", 200 << 20, "consolidate", "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_works_with_the_least_memory_that_is_not_refused(garden: Path) -> None:
    done = run_limited(garden, "RLIMIT_AS", 10**9, *CONSOLIDATE)
    assert done.returncode == 0, done.stderr
    assert (garden / "OUT" / "labels.csv").exists()


def test_no_more_threads_is_one_line_and_no_interrupt(garden: Path) -> None:
    """OpenBLAS sends an interrupt to its own process if it cannot start threads."""
    if shutil.which("setpriv") is None or os.getuid() != 0:
        pytest.skip("only root can become a user whose threads are limited")
    methods = ("--method", "sa", "--method", "majority")
    # A user who has no other processes, and may read what root may.
    rights = [f"--{kind}=-all,+dac_override" for kind in ("inh-caps", "ambient-caps")]
    user = ["setpriv", "--reuid=54321", "--clear-groups", *rights]
    for most in (1, 2, 4):
        done = subprocess.run(
            [*user, sys.executable, "-m", "mhpc", "compare", *CONSOLIDATE[1:4], *methods],
            cwd=garden, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "64"},
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_NPROC, (most, most)),
        )  # fmt: skip
        assert "OpenBLAS" not in done.stderr
        assert (done.returncode, done.stderr.count("mhpc: error: ")) in ((0, 0), (1, 1)), (
            done.stderr
        )


def test_an_error_of_the_system_is_said_without_its_number(garden: Path) -> None:
    done = run_limited(garden, "RLIMIT_NOFILE", 5, "--version")
    assert done.returncode == 1
    assert "Too many open files" in done.stderr
    assert "Errno" not in done.stderr
