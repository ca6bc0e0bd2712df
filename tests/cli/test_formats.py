"""Exports of annotation tools on the command line, with the ground truth that they mark."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.commands import Mhpc

CONFIG = """<View><Taxonomy name="topic" toName="text">
<Choice value="plant"><Choice value="flower"/><Choice value="tree"/></Choice>
<Choice value="animal"><Choice value="bee"/></Choice>
</Taxonomy></View>"""


def annotation(by: int, path: list[str], **more: Any) -> dict[str, Any]:
    value = {"taxonomy": [path]}
    result = {"id": "r", "type": "taxonomy", "from_name": "topic", "value": value}
    return {"completed_by": by, "result": [result], **more}


@pytest.fixture
def export(garden: Path) -> None:
    """Write an export and its config; task 1 has a ground truth."""
    flower, bee = ["plant", "flower"], ["animal", "bee"]
    tasks = [
        [annotation(1, bee), annotation(2, bee), annotation(3, flower, ground_truth=True)],
        [annotation(1, bee), annotation(2, ["animal"])],
        [annotation(1, flower), annotation(2, flower)],
    ]
    records = [
        {"id": number, "data": {"text": "…"}, "annotations": annotations}
        for number, annotations in enumerate(tasks, start=1)
    ]
    (garden / "export.json").write_text(json.dumps(records))
    (garden / "config.xml").write_text(CONFIG)


def labels(path: Path) -> set[tuple[str, str]]:
    with (path / "labels.csv").open(newline="") as file:
        return {(row["instance"], row["label"]) for row in csv.DictReader(file)}


@pytest.mark.usefixtures("export")
def test_an_export_and_its_config_are_inspected(mhpc: Mhpc) -> None:
    done = mhpc("inspect", "export.json", "--taxonomy", "config.xml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 answers" in done.stdout
    assert "not in the taxonomy: none" in done.stdout


@pytest.mark.usefixtures("export")
@pytest.mark.parametrize("formats", [(), ("--format", "label-studio", "--taxonomy-format",
                                         "label-studio=topic")])  # fmt: skip
def test_ground_truth_in_an_export_is_gold(
    mhpc: Mhpc, garden: Path, formats: tuple[str, ...]
) -> None:
    run = ("consolidate", "export.json", "--taxonomy", "config.xml", "--method", "majority")
    done = mhpc(*run, *formats, "-o", "out")
    assert done.returncode == 0, done.stderr
    rows = labels(garden / "out")
    # Both sources answered bee, but the ground truth is flower.
    assert {label for instance, label in rows if instance == "1"} == {"plant", "plant > flower"}


@pytest.mark.usefixtures("export")
def test_a_run_can_be_repeated_with_its_formats(mhpc: Mhpc, garden: Path) -> None:
    run = ("consolidate", "export.json", "--taxonomy", "config.xml", "--format", "label-studio")
    assert mhpc(*run, "--method", "sa", "-o", "out").returncode == 0
    assert mhpc("consolidate", "--config", "out/run.json", "-o", "again").returncode == 0
    assert labels(garden / "again") == labels(garden / "out")


def test_an_unknown_format_is_wrong_usage(mhpc: Mhpc) -> None:
    done = mhpc("inspect", "votes.csv", "--taxonomy", "taxonomy.csv", "--format", "lng")
    assert done.returncode == 2
    assert "no format 'lng' (nearest: 'long')" in done.stderr


def test_a_taxonomy_can_be_given_by_name(mhpc: Mhpc, garden: Path) -> None:
    (garden / "codes.csv").write_text("instance,source,label\n1,ann,A00.0\n1,bob,A00\n2,ann,C7A\n")
    run = ("consolidate", "codes.csv", "--taxonomy", "icd-10-cm", "--method", "majority")
    assert mhpc(*run, "-o", "out").returncode == 0
    assert json.loads((garden / "out/run.json").read_text())["settings"]["taxonomy"] == "icd-10-cm"
