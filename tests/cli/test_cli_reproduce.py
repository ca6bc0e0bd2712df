"""``mhpc reproduce`` as people call it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.fixtures.yeast import write_small_sets

Mhpc = Callable[..., CompletedProcess[str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_small_sets(tmp_path / "data", genes=12)


def test_an_experiment_is_run_and_told(mhpc: Mhpc, data: Path, tmp_path: Path) -> None:
    done = mhpc("reproduce", "methods", "--data", data, "-o", tmp_path / "out", "--seeds", 1)
    assert done.returncode == 0
    assert "All methods on the yeast sets" in done.stdout
    assert "methods.csv, methods.svg, methods.png, methods.html" in done.stdout
    assert (tmp_path / "out" / "methods.html").is_file()


def test_what_came_of_it_can_be_had_as_json(mhpc: Mhpc, data: Path, tmp_path: Path) -> None:
    args = ("reproduce", "methods", "--data", data, "-o", tmp_path / "out", "--seeds", 1, "--json")
    (found,) = json.loads(mhpc(*args).stdout)
    assert found["name"] == "methods"
    assert found["report"]["findings"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("mehtods", "-o", "out"), "no experiment 'mehtods' (nearest: 'methods')"),
        (("methods", "-o", "out", "--data", "nowhere"), "'nowhere' does not exist"),
        (("methods",), "Missing option '-o'"),
        (("methods", "-o", "out", "--seeds", "0"), "0 is not in the range x>=1"),
        (("methods", "-o", "."), "is not an output of reproduce"),
    ],
)
def test_a_wrong_call_is_told_and_leaves_nothing(
    mhpc: Mhpc, garden: Path, args: tuple[str, ...], says: str
) -> None:
    before = sorted(garden.iterdir())
    done = mhpc("reproduce", *args)
    assert done.returncode == 2
    assert says in done.stderr
    assert sorted(garden.iterdir()) == before


def test_a_folder_without_the_data_is_told(mhpc: Mhpc, garden: Path) -> None:
    done = mhpc("reproduce", "methods", "--data", garden, "-o", garden / "out")
    assert done.returncode == 1
    assert "church_FUN.train.arff: no such file" in done.stderr
    assert not (garden / "out").exists()


def test_an_interrupt_ends_it_soon_and_the_same_call_goes_on(data: Path, tmp_path: Path) -> None:
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
    assert "Traceback" not in err
    assert [path.name for path in out.iterdir()] == ["cells"]
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "cells").glob("[!.]*")}
    subprocess.run(call, check=True, capture_output=True)
    assert (out / "sensitivity.html").is_file()
    assert all((out / "cells" / name).stat().st_mtime_ns == at for name, at in kept.items())
