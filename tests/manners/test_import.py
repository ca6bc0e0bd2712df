"""Importing the package is quick, silent and without consequences."""

import subprocess
import sys

import pytest

STATE = """
import signal, sys, threading, warnings, logging, gc
def state():
    return (
        [signal.getsignal(n) for n in signal.valid_signals()], threading.enumerate(),
        list(warnings.filters), warnings.showwarning, logging.root.handlers, logging.root.level,
        gc.get_threshold(), sys.excepthook, sys.path[:], threading.excepthook,
    )
before = state()
import mhpc
assert state() == before
assert not {"numpy", "pydantic", "duckdb", "scipy", "asyncio", "click"} & sys.modules.keys()
"""


def run_python(*arguments: str) -> str:
    """Run Python, which must say nothing on its standard error."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_import_changes_nothing_and_loads_no_large_package() -> None:
    run_python("-W", "error", "-c", STATE)


def test_every_public_name_can_be_imported_at_once() -> None:
    names = run_python("-W", "error", "-c", "from mhpc import *\nprint(*sorted(globals()))")
    assert {"consolidate", "Result", "MHPC", "load_run"} <= set(names.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "mhpc", "--help"),
        ("-m", "mhpc", "--version"),
        (
            "-c",
            "import mhpc\n"
            "votes = [('1', 'ann', 'bee'), ('1', 'bob', 'ant'), ('2', 'ann', 'bee')]\n"
            "mhpc.consolidate(votes, ['bee', 'ant', 'fly'], method='majority').save('run')\n"
            "mhpc.load_run('run').to_frame('scores')\n",
        ),
    ],
    ids=["help", "version", "consolidate"],
)
def test_python_in_development_mode_has_nothing_to_say(arguments: tuple[str, ...]) -> None:
    run_python("-X", "dev", "-W", "error", *arguments)
