"""``mhpc sources``."""

import csv
import json
from pathlib import Path

import pytest

from tests.fixtures.commands import Mhpc


@pytest.fixture
def out(mhpc: Mhpc, garden: Path) -> Path:
    with (garden / "votes.csv").open("a") as file:
        file.write("1,cid,fuchsia\n2,cid,bee\n3,[b]=,\n")
    options = ("--taxonomy", "taxonomy.csv", "--method", "majority", "-o", "out")
    run = mhpc("consolidate", "votes.csv", *options)
    assert run.returncode == 0, run.stderr
    return garden / "out"


def test_findings_come_first(mhpc: Mhpc, out: Path) -> None:
    run = mhpc("sources", "out")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("4 sources")
    assert "The result depends most on " in run.stdout
    assert "[b]=" in run.stdout
    assert run.stderr == ""


def test_facts_are_printed_as_json(mhpc: Mhpc, out: Path) -> None:
    facts = json.loads(mhpc("sources", "out", "--gold", "truth.csv", "--json").stdout)
    assert {each["source"] for each in facts["sources"]} == {"ann", "bob", "cid", "[b]="}
    assert facts["gold"] == 3
    assert facts["curve"][0]["cost"] == 8
    assert [point["sources"] for point in facts["curve"]] == [4, 3, 2, 1]


def test_prices_are_those_of_answers(mhpc: Mhpc, out: Path) -> None:
    prices = ("--cost", "ann=2", "--cost", "bob=0.5", "--cost", "cid=1", "--cost", "[b]==3")
    facts = json.loads(mhpc("sources", "out", *prices, "--json").stdout)
    assert facts["curve"][0]["cost"] == 3 * 2 + 2 * 0.5 + 2 * 1 + 3
    assert facts["has_prices"]


def test_a_table_is_written(mhpc: Mhpc, out: Path, garden: Path) -> None:
    run = mhpc("sources", "out", "-o", "worth.csv")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "4 sources in worth.csv\n")
    with (garden / "worth.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["source"]: row["answers"] for row in rows} == {
        "ann": "3", "bob": "2", "cid": "2", "[b]=": "1",
    }  # fmt: skip
    assert mhpc("sources", "out", "-o", "worth.csv").returncode == 2
    assert mhpc("sources", "out", "-o", "worth.json").returncode == 0
    assert "curve" in json.loads((garden / "worth.json").read_text())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cost", "anne=1"], "nearest: 'ann'"),
        (["--cost", "ann=-1"], "the price of 'ann' is -1"),
        (["--cost", "ann=cheap"], "'cheap' is not a price"),
        (["--cost", "ann=1"], "these sources have no price: 'bob', 'cid', '[b]='"),
        (["--cost", "ann"], "is not KEY=VALUE"),
        (["--keep", "0"], "--keep"),
    ],
)
def test_wrong_options_are_refused(mhpc: Mhpc, out: Path, words: list[str], message: str) -> None:
    run = mhpc("sources", "out", *words)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in " ".join(run.stderr.split())


def test_a_folder_that_is_no_run_or_has_no_model_is_refused(mhpc: Mhpc, out: Path) -> None:
    assert "is not the output of a run" in mhpc("sources", "nowhere").stderr
    (out / "model.npz").unlink()
    run = mhpc("sources", "out")
    assert run.returncode == 1
    assert "has no model" in run.stderr


def test_one_source_is_refused(mhpc: Mhpc, garden: Path) -> None:
    (garden / "one.csv").write_text("instance,source,label\n1,ann,bee\n2,ann,monarda\n")
    mhpc("consolidate", "one.csv", "--taxonomy", "taxonomy.csv", "-o", "one")
    run = mhpc("sources", "one")
    assert run.returncode == 1
    assert "only one source" in run.stderr
