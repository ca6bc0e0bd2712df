"""Importing the package is quick, silent and without consequences."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pyarrow
import pyarrow.feather
import pytest

import mhpc

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


IN_A_ZIP = """
import sys
sys.path.insert(0, sys.argv[1])
import mhpc
assert mhpc.__file__.startswith(sys.argv[1])
garden = mhpc.load_garden()
result = mhpc.consolidate(garden.votes, garden.taxonomy, method="majority")
result.report("report.html")
print(mhpc.read_votes("votes.arrow"))
"""


def test_the_package_can_be_imported_from_a_zip_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(mhpc.__file__).parent
    with ZipFile(tmp_path / "mhpc.zip", "w") as archive:
        for file in package.rglob("*.*"):
            if file.suffix != ".pyc":
                archive.write(file, file.relative_to(package.parent))
    table = pyarrow.table({"instance": ["1"], "source": ["ann"], "label": ["rose"]})
    pyarrow.feather.write_feather(table, tmp_path / "votes.arrow")
    monkeypatch.chdir(tmp_path)
    printed = run_python("-c", IN_A_ZIP, str(tmp_path / "mhpc.zip"))
    assert printed == "Votes(1 votes of 1 sources on 1 instances)\n"
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
