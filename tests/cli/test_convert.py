import json
import subprocess
import sys
from pathlib import Path

import pytest

from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes
from tests.cli.conftest import TAXONOMY, VOTES
from tests.fixtures.commands import Mhpc


@pytest.fixture
def out(mhpc: Mhpc) -> str:
    done = mhpc(
        "consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", "OUT"
    )
    assert done.returncode == 0
    return "OUT"


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_votes_survive_every_file_format(garden: Path, mhpc: Mhpc, end: str) -> None:
    assert mhpc("convert", "votes.csv", f"new.{end}").returncode == 0
    done = mhpc("convert", f"new.{end}", "-")
    assert (done.stdout, done.stderr) == (VOTES, "")


def test_a_taxonomy_is_recognized_by_its_columns(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc("convert", "taxonomy.csv", "-", "--to", "label-studio-config")
    assert (done.returncode, done.stderr) == (0, "")
    assert '<Choice value="monarda"/>' in done.stdout
    assert mhpc("convert", "taxonomy.csv", "new.parquet").returncode == 0
    assert read_taxonomy(garden / "new.parquet").labels.ids == (
        "plant", "flower", "monarda", "fuchsia", "animal", "bee",
    )  # fmt: skip


def test_a_result_is_converted_to_its_labels_by_default(garden: Path, mhpc: Mhpc, out: str) -> None:
    assert mhpc("convert", out, "-").stdout == (garden / out / "labels.csv").read_text()
    assert "specific" in mhpc("convert", out, "-", "--what", "scores").stdout.splitlines()[0]
    assert mhpc("convert", out, "-", "--what", "wide").stdout.startswith("instance,plant,flower")
    assert mhpc("convert", out, "-", "--to", "cafa").stdout.startswith("1\t")
    done = mhpc("convert", out, "-", "--what", "taxonomy")
    assert done.stdout == (garden / out / "taxonomy.csv").read_text()


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
@pytest.mark.parametrize("what", ["items", "wide", "sources", "conflicts"])
def test_every_table_of_a_result_is_converted_to_every_format(
    garden: Path, mhpc: Mhpc, out: str, end: str, what: str
) -> None:
    done = mhpc("convert", out, f"new.{end}", "--what", what)
    assert (done.returncode, done.stderr) == (0, "")
    assert (garden / f"new.{end}").stat().st_size or what == "conflicts"


def test_items_and_sources_are_those_of_the_run(garden: Path, mhpc: Mhpc, out: str) -> None:
    for what in ("items", "sources"):
        done = mhpc("convert", out, "-", "--what", what)
        assert done.stdout == (garden / out / f"{what}.csv").read_text()
    lines = mhpc("convert", out, "-", "--what", "items", "--to", "jsonl").stdout.splitlines()
    assert json.loads(lines[2])["probability"] is None
    (garden / out / "items.csv").unlink()
    done = mhpc("convert", out, "-", "--what", "items")
    assert (done.returncode, "consolidate again" in done.stderr) == (1, True)


def test_predictions_contain_the_data_and_control_of_the_tasks(
    garden: Path, mhpc: Mhpc, out: str
) -> None:
    region = {"type": "taxonomy", "from_name": "kind", "to_name": "photo", "value": {}}
    export = [
        {"id": number, "data": {"url": f"{number}.jpg"}, "annotations": [{"result": [region]}]}
        for number in (1, 2, 3)
    ]
    (garden / "export.json").write_text(json.dumps(export))
    done = mhpc(
        "convert", out, "new.json", "--to", "label-studio", "--tasks", "export.json",
        "--set", "model_version=first",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    tasks = json.loads((garden / "new.json").read_text())
    assert sorted(task["id"] for task in tasks) == [1, 2, 3]
    first = next(task for task in tasks if task["id"] == 1)
    assert first["data"]["url"].endswith(".jpg")
    (prediction,) = first["predictions"]
    assert prediction["model_version"] == "first"
    (predicted,) = prediction["result"]
    assert (predicted["from_name"], predicted["to_name"]) == ("kind", "photo")


def test_standard_input_is_votes_by_default(garden: Path) -> None:
    command = [sys.executable, "-m", "mhpc", "convert", "-", "-", "--to", "jsonl"]
    done = subprocess.run(command, input=VOTES, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout.splitlines()[0]) == {
        "instance": "1", "source": "ann", "label": "monarda",
    }  # fmt: skip
    done = subprocess.run(
        [*command, "--what", "taxonomy"], input=TAXONOMY, capture_output=True, text=True, timeout=60
    )
    assert json.loads(done.stdout.splitlines()[1])["parent"] == "plant"


def test_ids_that_look_like_formulas_are_unchanged_in_csv_and_safe_in_spreadsheets(
    garden: Path, mhpc: Mhpc
) -> None:
    (garden / "formulas.csv").write_text("instance,source,label\n=1+1,ann,@bee\n")
    done = mhpc("convert", "formulas.csv", "new.csv")
    assert done.returncode == 0
    assert "would take ids such as '=1+1', '@bee' for formulas" in done.stderr
    assert read_votes(garden / "new.csv").instances.ids == ("=1+1",)
    done = mhpc("convert", "formulas.csv", "-", "--to", "spreadsheet")
    assert done.stderr == ""
    assert done.stdout == "\ufeffinstance,source,label\n'=1+1,ann,'@bee\n"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("votes.csv", "new.json"), 2, "the name does not determine the format"),
        (("votes.csv", "new.csv", "--to", "cafa"), 2, "cafa cannot hold votes, only scores"),
        (("votes.csv", "new.csv", "--what", "labels"), 2, "votes.csv is not the folder of a run"),
        (("votes.csv", "new.csv", "--what", "items"), 2, "votes.csv is not the folder of a run"),
        (("OUT", "new.csv", "--what", "item"), 2, "'items', 'sources', 'conflicts'"),
        (("OUT", "new.csv", "--to", "exel"), 2, "'spreadsheet', 'xlsx'"),
        (("OUT", "new.csv", "--to", "cafa", "--what", "items"), 2, "cafa cannot hold items"),
        (("votes.csv", "taxonomy.csv"), 2, "taxonomy.csv is there already"),
        (("votes.csv", "nowhere/new.csv"), 2, "there is no folder 'nowhere'"),
        (("truth.csv", "new.csv"), 1, "truth.csv: no column 'source'"),
        (("truth.csv", "new.csv", "--what", "votes"), 1, "truth.csv: no column 'source'"),
        (("OUT", "new.csv", "--what", "votes"), 2, "contains no votes"),
        (("OUT", "new.csv", "--to", "argilla", "--what", "wide"), 2, "argilla cannot hold wide"),
        (("OUT", "new.csv", "--tasks", "votes.csv"), 2, "--tasks works with label-studio"),
        (("votes.csv", "new.csv", "--tasks", "votes.csv"), 2, "--tasks needs a result"),
        (("OUT", "a.json", "--to", "argilla", "--set", "qestion=x"), 2, "nearest: 'question'"),
        (("votes.cvs", "new.csv"), 1, "votes.cvs: no such file"),
    ],
)
def test_impossible_conversions_say_what_would_work(
    garden: Path, mhpc: Mhpc, out: str, args: tuple[str, ...], code: int, message: str
) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in garden.iterdir()}
    done = mhpc("convert", *args)
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())
    assert {path.name: path.stat().st_mtime_ns for path in garden.iterdir()} == before


def test_an_existing_file_is_replaced_only_with_force(garden: Path, mhpc: Mhpc) -> None:
    (garden / "new.csv").write_text("old")
    assert mhpc("convert", "votes.csv", "new.csv", "--force").returncode == 0
    assert (garden / "new.csv").read_text() == VOTES


def test_verbose_logs_stages(garden: Path) -> None:
    command = [
        sys.executable, "-m", "mhpc", "--verbose", "consolidate", "votes.csv", "--taxonomy",
        "taxonomy.csv", "-o", "OUT",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "mhpc: reading: done in " in done.stderr
    assert "mhpc: combined: dawid-skene, " in done.stderr


def test_votes_are_converted_as_they_are_meant(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text("item,judge,labels,conf\n1,ann,bee;ant,4\n2,bob,bee,5\n")
    options = ("--separator", ";", "--score-max", "5")
    assert mhpc("convert", "votes.csv", "long.csv", *options).returncode == 0
    assert (garden / "long.csv").read_text().splitlines()[1:] == [
        "1,ann,bee,0.8",
        "1,ann,ant,0.8",
        "2,bob,bee,1.0",
    ]
