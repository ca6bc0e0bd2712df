"""``mhpc consolidate --engine``, and votes in several files."""

import json
import sys
from pathlib import Path

import duckdb
import pytest

from tests.fixtures.commands import Mhpc

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "wa")


@pytest.mark.parametrize("engine", ["spark", "Dask", "dask:8786", "dask=", "localhost"])
def test_an_unknown_engine_is_refused(engine: str, garden: Path, mhpc: Mhpc) -> None:
    done = mhpc(*CONSOLIDATE, "-o", "OUT", "--engine", engine)
    assert done.returncode == 2
    assert (
        f"engine = {engine!r} is not allowed; give local | dask | dask=tcp://HOST:PORT"
        in done.stderr
    )


def test_an_address_that_is_none_is_refused_before_anything_connects(
    garden: Path, mhpc: Mhpc
) -> None:
    done = mhpc(*CONSOLIDATE, "-o", "OUT", "--engine", "dask=http://localhost:8786")
    assert done.returncode == 2
    assert done.stderr == (
        "mhpc: error: a run: engine = 'dask=http://localhost:8786' is not allowed (it begins with "
        "'http', not with tcp:// or tls://); give local | dask | dask=tcp://HOST:PORT\n"
    )
    assert not (garden / "OUT").exists()


def test_the_local_engine_can_be_named(garden: Path, mhpc: Mhpc) -> None:
    assert mhpc(*CONSOLIDATE, "-o", "OUT", "--engine", "local").returncode == 0


def test_without_dask_the_message_says_what_to_install(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = mhpc(*CONSOLIDATE, "-o", "OUT", "--engine", "dask")
    assert done.returncode == 2
    assert "pip install 'mhpc[dask]'" in done.stderr
    assert not (garden / "OUT").exists()


def test_votes_may_be_a_folder_of_parquet_files(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes").mkdir()
    for part in (0, 1):
        duckdb.execute(
            f"COPY (FROM read_csv('{garden}/votes.csv', all_varchar=true) WHERE "
            f"(instance = '1') = ({part} = 0)) TO '{garden}/votes/{part}.parquet' (FORMAT parquet)"
        )
    assert mhpc(*CONSOLIDATE, "-o", "FROM_FILE").returncode == 0
    folder = ("consolidate", "votes/", *CONSOLIDATE[2:])
    assert mhpc(*folder, "-o", "FROM_FOLDER").returncode == 0
    inputs = json.loads((garden / "FROM_FOLDER/run.json").read_text())["inputs"]
    assert inputs["votes"]["files"] == 2
    assert (garden / "FROM_FILE/labels.csv").read_text() == (
        garden / "FROM_FOLDER/labels.csv"
    ).read_text()
