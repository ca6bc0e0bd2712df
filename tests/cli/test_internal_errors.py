"""Errors that nobody foresaw: one line with their place in the code, and a traceback on request."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mhpc.cli import main
from mhpc.cli.messages import explain_error
from mhpc.errors import describe_bug
from tests.fixtures.commands import shows_bug

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")

PROGRAM = """
import asyncio, atexit, logging, sys, threading
from mhpc.cli import cli, main

class Fragile:
    def __del__(self):
        raise ValueError("in a destructor")

def fail(*_):
    raise KeyError("bee")

async def forget_task():
    asyncio.create_task(asyncio.to_thread(fail))
    await asyncio.sleep(0.1)

def log():
    try:
        fail()
    except KeyError:
        logging.getLogger("tornado.application").exception("Uncaught")

def run(**_):
    {what}

cli.get_command(None, "methods").callback = run
sys.argv[1:] = [*sys.argv[1:], "methods"]
main()
"""
"""A program whose command `methods` does something else."""


def run(what: str, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{what}", what), *words],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


def recurse() -> None:
    recurse()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (KeyError("a\x1b[2J\nb"), r"KeyError: 'a\x1b[2J\nb'"),
        (ValueError("two\nlines\x1b[2J"), r"ValueError: two lines\x1b[2J"),
        (AssertionError(), "AssertionError"),
        (ImportError("no module"), "ImportError: no module"),
        (BaseException("a panic of Rust"), "BaseException: a panic of Rust"),
    ],
)
def test_an_unforeseen_error_in_a_run_is_one_line(
    error: BaseException,
    line: str,
    garden: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("mhpc.output.write_sources", fail)
    monkeypatch.setenv("MHPC_PROGRESS", "none")
    before = sorted(garden.iterdir())
    with pytest.raises(SystemExit) as end:
        main([*CONSOLIDATE])
    message = capsys.readouterr().err
    assert end.value.code == 1
    assert message.startswith(f"mhpc: error: internal error: {line} (output.py:")
    assert "; please report it; mhpc --debug COMMAND shows the traceback" in message
    assert message.count("\n") == 1
    assert shows_bug(message)
    assert sorted(garden.iterdir()) == before
    with pytest.raises(type(error)):
        main(["--debug", *CONSOLIDATE])


def test_endless_recursion_is_one_line() -> None:
    with pytest.raises(RecursionError) as caught:
        recurse()
    line = explain_error(caught.value)
    assert line.startswith("internal error: RecursionError: maximum recursion depth")
    assert "(test_internal_errors.py:" in line


def test_an_error_without_words_is_described() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe_bug(SilentError()) == "internal error: SilentError; please report it"
    assert len(describe_bug(ValueError("x" * 100_000))) < 1000


@pytest.mark.parametrize(
    "what",
    [
        "threading.Thread(target=fail).start()",
        "Fragile()",
        "atexit.register(fail)",
        "asyncio.run(forget_task())",
        "log()",
    ],
    ids=["thread", "destructor", "exit", "task", "log"],
)
def test_an_error_beside_the_command_is_one_line(what: str) -> None:
    code, message = run(what)
    assert (code, message.count("\n")) == (0, 1)
    assert message.startswith("mhpc: warning: ")
    assert "internal error: " in message
    assert "Traceback" not in message


def test_what_an_interrupt_breaks_off_adds_nothing_to_its_line() -> None:
    what = "import os, signal; "
    what += "atexit.register(log); import multiprocessing.synchronize; "
    what += "os.kill(os.getpid(), signal.SIGINT)"
    assert run(what) == (130, "\nmhpc: interrupted\n")


def test_debug_shows_the_traceback_of_an_error_in_a_thread() -> None:
    assert "Traceback" in run("threading.Thread(target=fail).start()", "--debug")[1]


def test_warnings_of_libraries_are_no_errors() -> None:
    assert run("import warnings; warnings.warn('old', DeprecationWarning)") == (0, "")


def test_an_incomplete_installation_is_one_line() -> None:
    code = "import sys; sys.modules['click'] = None; from mhpc.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "import of click halted" in done.stderr
    assert "install it again" in done.stderr


@pytest.mark.parametrize("error", ["MemoryError()", "OSError(12, 'Cannot allocate memory', 'x')"])
def test_memory_that_runs_out_while_the_command_line_is_loaded_is_one_line(error: str) -> None:
    code = "import sys, types; finder = types.SimpleNamespace(find_spec=lambda *_: find()); "
    code += "sys.meta_path.insert(0, finder)\n"
    code += f"def find(): raise {error}\nfrom mhpc.__main__ import main; main()"
    code = f"import errno, os, signal, mhpc.__main__; {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "mhpc: error: memory ran out at the start; raise the limit with ulimit\n"
    )


@pytest.mark.parametrize("content", ["int('x')", "import nothing_there", "raise OverflowError"])
def test_a_library_that_cannot_be_loaded_is_named(content: str, garden: Path) -> None:
    """Some read environment variables when they are imported, and others are half installed."""
    (garden / "libraries" / "duckdb").mkdir(parents=True)
    (garden / "libraries" / "duckdb" / "__init__.py").write_text(content)
    paths = [str(garden / "libraries"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "mhpc", "inspect", "votes.csv"], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert " cannot be loaded: " in done.stderr
    assert "environment variables" in done.stderr
