"""Spreadsheets, unusual taxonomies, no taxonomy and YAML settings on the command line."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import mhpc as package
from mhpc.errors import MhpcWarning
from mhpc.read.inputs import fingerprint, fingerprint_inputs, is_lasting
from mhpc.read.options import ReadOptions
from mhpc.read.partitioned import survey_votes
from mhpc.read.taxonomy import taxonomy_from_votes
from mhpc.read.votes import read_votes
from tests.fixtures.commands import Mhpc
from tests.fixtures.spreadsheets import Rows, write_xlsx

SHEETS: dict[str, Rows] = {
    "Votes": [
        ["item", "worker", "label"], [1, "ann", "monarda"], [1, "bob", "flower"], [2, "ann", "bee"],
        [2, "bob", "bee"],
    ],
    "Labels": [["L1", "L2", "L3"], ["plant", "flower", "monarda"], ["animal", "bee"]],
    "Known": [["item", "label"], [1, "monarda"], [2, "bee"]],
}  # fmt: skip


@pytest.fixture
def workbook(garden: Path) -> Path:
    return write_xlsx(garden / "team.xlsx", SHEETS)


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_document(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return document


def test_a_workbook_is_all_that_a_run_needs(garden: Path, workbook: Path, mhpc: Mhpc) -> None:
    done = mhpc(
        "consolidate", "team.xlsx:Votes", "--taxonomy", "team.xlsx:Labels", "--method", "sa",
        "--truth", "team.xlsx:Known", "--gold", "team.xlsx:Known", "-o", "OUT",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    labels = {(row["instance"], row["label"]) for row in read_rows(garden / "OUT/labels.csv")}
    assert {("1", "monarda"), ("1", "plant"), ("2", "bee")} <= labels
    document = read_document(garden / "OUT")
    assert document["settings"]["votes"] == f"{workbook}:Votes"
    sha256 = fingerprint(workbook)["sha256"]
    for name in ("votes", "taxonomy", "truth", "gold"):
        assert document["inputs"][name]["sha256"] == sha256


def test_a_run_of_a_sheet_can_be_repeated_and_read_again(
    garden: Path, workbook: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    mhpc("consolidate", "team.xlsx:Votes", "--taxonomy", "team.xlsx:Labels", "--method", "sa",
         "-o", "OUT")  # fmt: skip
    (garden / "elsewhere").mkdir()
    monkeypatch.chdir(garden / "elsewhere")
    assert mhpc("consolidate", "--config", "../OUT/run.json", "-o", "OUT").returncode == 0
    assert mhpc("explain", "../OUT", "1", "monarda").returncode == 0
    write_xlsx(workbook, {**SHEETS, "More": [["x"]]})
    done = mhpc("explain", "../OUT", "1", "monarda")
    assert done.returncode == 1
    assert "team.xlsx:Votes has changed" in done.stderr


def test_the_file_of_a_sheet_is_the_one_that_is_fingerprinted(workbook: Path) -> None:
    assert is_lasting(Path(f"{workbook}:Votes"))
    assert not is_lasting(Path(f"{workbook}.gone:Votes"))
    inputs = fingerprint_inputs({"votes": f"{workbook}:Votes", "gold": None})
    assert list(inputs.states) == [workbook]
    assert inputs.fingerprints["votes"] == fingerprint(workbook)


def test_a_taxonomy_that_is_not_given_is_made_from_the_labels(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc("consolidate", "votes.csv", "--method", "sa", "-o", "OUT")
    assert done.returncode == 0
    assert "No taxonomy was given" in done.stderr
    assert "votes.csv: 4 labels without a hierarchy" in done.stderr
    rows = read_rows(garden / "OUT/taxonomy.csv")
    assert [row["label"] for row in rows] == ["monarda", "flower", "bee", "animal"]
    assert not any(row["parent"] for row in rows)
    document = read_document(garden / "OUT")
    assert document["settings"]["taxonomy"] is None
    assert "taxonomy" not in document["inputs"]
    assert mhpc("report", "OUT").returncode == 0
    assert mhpc("inspect", "votes.csv").returncode == 0


def test_labels_that_are_paths_give_the_taxonomy_of_a_run(garden: Path, mhpc: Mhpc) -> None:
    (garden / "paths.csv").write_text(
        "instance,source,label\n1,ann,plant > flower > monarda\n1,bob,plant > flower\n"
        "2,ann,animal > bee\n2,bob,animal > bee\n"
    )
    assert mhpc("consolidate", "paths.csv", "--method", "sa", "-o", "OUT").returncode == 0
    parent = {row["label"]: row["parent"] for row in read_rows(garden / "OUT/taxonomy.csv")}
    assert parent == {
        "plant": "", "plant > flower": "plant", "plant > flower > monarda": "plant > flower",
        "animal": "", "animal > bee": "animal",
    }  # fmt: skip


def test_gold_labels_are_part_of_a_taxonomy_that_is_made(garden: Path, mhpc: Mhpc) -> None:
    (garden / "gold.csv").write_text("instance,label\n1,fuchsia\n")
    done = mhpc("consolidate", "votes.csv", "--gold", "gold.csv", "--method", "sa", "-o", "OUT")
    assert done.returncode == 0
    assert "fuchsia" in {row["label"] for row in read_rows(garden / "OUT/taxonomy.csv")}


def test_python_makes_a_taxonomy_from_the_labels_too(garden: Path) -> None:
    votes = read_votes(garden / "votes.csv")
    with pytest.warns(MhpcWarning, match="No taxonomy was given.*5 labels"):
        result = package.consolidate(votes, method="sa", gold={"instance": ["1"], "label": ["oak"]})
    assert result.panel.taxonomy.labels.ids == ("monarda", "flower", "bee", "animal", "oak")
    with pytest.warns(MhpcWarning, match="No taxonomy was given"):
        assert package.inspect(votes).unknown_labels == ()
    with pytest.warns(MhpcWarning, match="No taxonomy was given"):
        assert len(package.compare(votes, methods=["sa"])) == 1


def test_votes_that_are_read_in_parts_give_the_same_taxonomy(garden: Path) -> None:
    path = str(garden / "votes.csv")
    survey = survey_votes(path, ReadOptions(), scope="all", keep=garden / "kept.parquet")
    with pytest.warns(MhpcWarning, match="No taxonomy was given"):
        parts, whole = taxonomy_from_votes(survey), taxonomy_from_votes(read_votes(path))
    assert parts.labels.ids == whole.labels.ids


@pytest.mark.parametrize("command", ["consolidate", "inspect", "compare"])
def test_columns_of_the_taxonomy_can_be_named(garden: Path, mhpc: Mhpc, command: str) -> None:
    text = (garden / "taxonomy.csv").read_text().replace("label,parent", "was,unter")
    (garden / "taxonomy.csv").write_text(text)
    extra = ("-o", "OUT", "--method", "sa") if command == "consolidate" else ()
    done = mhpc(
        command, "votes.csv", "--taxonomy", "taxonomy.csv", "--column", "taxonomy.label=was",
        "--column", "taxonomy.parent=unter", *extra,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_settings_may_be_yaml(garden: Path, mhpc: Mhpc) -> None:
    (garden / "run.yaml").write_text(
        "votes: votes.csv\ntaxonomy: taxonomy.csv\nmethod: mhpc\ntop: 1\nparameters:\n  lam: 3\n"
    )
    done = mhpc("consolidate", "--config", "run.yaml", "-o", "OUT", "--top", "2")
    assert done.returncode == 0, done.stderr
    settings = read_document(garden / "OUT")["settings"]
    assert settings["top"] == 2
    assert settings["parameters"] == {"lam": 3}


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("top: [1\n", 1, "settings run.yml, line 2: not YAML"),
        ("metod: sa\n", 2, "'metod' (nearest: 'method')"),
        ("votes: 3\n", 2, "settings run.yml: "),
        ("- a\n", 1, "settings run.yml: give names and values"),
        ("1: a\n", 1, "settings run.yml: give names and values"),
    ],
)
def test_settings_in_yaml_are_checked(
    garden: Path, mhpc: Mhpc, text: str, code: int, message: str
) -> None:
    (garden / "run.yml").write_text(text)
    done = mhpc("consolidate", "votes.csv", "--config", "run.yml", "-o", "OUT")
    assert done.returncode == code
    assert message in done.stderr
