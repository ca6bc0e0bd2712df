"""``mhpc reproduce``: outputs, errors and interrupts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fixtures.commands import Mhpc, shows_bug
from tests.fixtures.yeast import write_small_sets


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_small_sets(tmp_path / "data", genes=12)


def test_an_experiment_writes_its_files_and_shows_its_findings(
    mhpc: Mhpc, data: Path, tmp_path: Path
) -> None:
    done = mhpc("reproduce", "methods", "--data", data, "-o", tmp_path / "out", "--seeds", 1)
    assert done.returncode == 0
    assert "All methods on the yeast sets" in done.stdout
    assert "methods.csv, methods.svg, methods.png, methods.html" in done.stdout
    assert (tmp_path / "out" / "methods.html").is_file()


def test_findings_are_printed_as_json(mhpc: Mhpc, data: Path, tmp_path: Path) -> None:
    args = ("reproduce", "methods", "--data", data, "-o", tmp_path / "out", "--seeds", 1, "--json")
    (experiment,) = json.loads(mhpc(*args).stdout)
    assert experiment["name"] == "methods"
    assert experiment["report"]["findings"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("mehtods", "-o", "out"), "no experiment 'mehtods' (nearest: 'methods')"),
        (("methods", "-o", "out", "--data", "nowhere"), "'nowhere' does not exist"),
        (("methods",), "Missing option '-o'"),
        (("methods", "-o", "out", "--seeds", "0"), "0 is not in the range x>=1"),
        (("methods", "-o", "."), "is not an output of reproduce"),
    ],
)
def test_wrong_usage_is_refused_without_leftovers(
    mhpc: Mhpc, garden: Path, args: tuple[str, ...], message: str
) -> None:
    before = sorted(garden.iterdir())
    done = mhpc("reproduce", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(garden.iterdir()) == before


def test_missing_data_are_named(mhpc: Mhpc, garden: Path) -> None:
    done = mhpc("reproduce", "methods", "--data", garden, "-o", garden / "out")
    assert done.returncode == 1
    assert "church_FUN.train.arff: no such file" in done.stderr
    assert not (garden / "out").exists()


def test_an_interrupted_experiment_is_resumed_by_the_same_command(
    data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    call = [sys.executable, "-m", "mhpc", "reproduce", "sensitivity"]
    call += ["--data", str(data), "-o", str(out)]
    running = subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not (out / "cells").exists() or len(list((out / "cells").iterdir())) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err.endswith("mhpc: interrupted\n")
    assert not shows_bug(err)
    assert [path.name for path in out.iterdir()] == ["cells"]
    modified = {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("[!.]*")}
    subprocess.run(call, check=True, capture_output=True)
    assert (out / "sensitivity.html").is_file()
    assert all(
        (out / "cells" / name).stat().st_mtime_ns == time_ns for name, time_ns in modified.items()
    )
