import io
import json
import sys
from pathlib import Path

import pytest

from tests.fixtures.commands import Mhpc

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")


def test_a_report_is_a_page_and_its_data(garden: Path, mhpc: Mhpc) -> None:
    assert mhpc(*CONSOLIDATE).returncode == 0
    done = mhpc("report", "OUT")
    assert (done.returncode, done.stdout, done.stderr) == (0, "OUT/report.html\n", "")
    assert "application/gzip+base64" in (garden / "OUT" / "report.html").read_text()
    facts = json.loads((garden / "OUT" / "report.json").read_text())
    assert facts["taxonomy"]["id"] == ["plant", "flower", "monarda", "fuchsia", "animal", "bee"]
    assert sorted(facts["instances"]["id"]) == ["1", "2", "3"]


def test_consolidate_writes_the_report_on_request(garden: Path, mhpc: Mhpc) -> None:
    assert mhpc(*CONSOLIDATE, "--report").returncode == 0
    with_the_run = (garden / "OUT" / "report.json").read_text()
    mhpc("report", "OUT")
    assert (garden / "OUT" / "report.json").read_text() == with_the_run
    assert json.loads((garden / "OUT" / "run.json").read_text())["settings"]["report"]
    # A folder that also holds a report may be replaced.
    assert mhpc(*CONSOLIDATE, "--force").returncode == 0
    assert not (garden / "OUT" / "report.html").exists()


def test_a_report_of_votes_from_standard_input_is_possible(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO((garden / "votes.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    done = mhpc("consolidate", "-", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--report")
    assert done.returncode == 0
    assert (garden / "OUT" / "report.html").exists()


def test_a_report_of_votes_from_standard_input_is_refused_with_dask(
    garden: Path, mhpc: Mhpc
) -> None:
    done = mhpc(
        "consolidate", "-", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--report",
        "--engine", "dask",
    )  # fmt: skip
    assert done.returncode == 2
    assert "--report reads the votes a second time" in done.stderr


def test_a_folder_that_is_not_a_run_is_refused(garden: Path, mhpc: Mhpc) -> None:
    (garden / "OUT").mkdir()
    done = mhpc("report", "OUT")
    assert done.returncode == 1
    assert "OUT is not the output of a run" in done.stderr
    assert not list((garden / "OUT").iterdir())
