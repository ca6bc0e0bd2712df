import json
from pathlib import Path

import mhpc as package
from mhpc.report.summary import to_json
from tests.fixtures.commands import Mhpc


def test_the_command_gives_the_same_conflicts_as_python(mhpc: Mhpc, garden: Path) -> None:
    with (garden / "votes.csv").open("a") as file:
        file.write("1,cid,fuchsia\n2,cid,flower\n3,bob,bee\n")
    mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "out", "--method", "sa")
    (garden / "votes.csv").rename(garden / "moved.csv")
    conflicts = json.loads(mhpc("conflicts", "out", "--json").stdout)
    result = package.consolidate(
        package.read_votes(garden / "moved.csv"),
        package.read_taxonomy(garden / "taxonomy.csv"),
        method="sa",
    )
    assert conflicts == to_json(package.conflicts(result))
    assert [conflict["instance"] for conflict in conflicts["instances"]] == ["2", "1", "3"]
    shown = mhpc("conflicts", "out", "--top", "1")
    assert "disagree on 3 instances" in shown.stdout
    assert "animal (2:1)" in shown.stdout
    assert "monarda" not in shown.stdout.split("Most confused")[0]


def test_a_run_of_an_earlier_version_is_refused(mhpc: Mhpc, garden: Path) -> None:
    mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "out")
    path = garden / "out" / "run.json"
    document = json.loads(path.read_text())
    del document["conflicts"]
    path.write_text(json.dumps(document))
    run = mhpc("conflicts", "out")
    assert run.returncode == 1
    assert "consolidate again" in run.stderr
