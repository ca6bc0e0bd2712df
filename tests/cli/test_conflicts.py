import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import mhpc as package
from mhpc.data.disagreement import MAX_RANKED, MAX_RECORDED_LABELS
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
    assert [conflict["instance"] for conflict in conflicts["instances"]] == ["3", "1", "2"]
    shown = mhpc("conflicts", "out", "--top", "1")
    assert "disagree on 3 instances" in shown.stdout
    first, *_ = shown.stdout.split("Most confused")
    assert "bee (1:1)" in first
    assert "monarda" not in first


def test_a_run_of_an_earlier_version_is_refused(mhpc: Mhpc, garden: Path) -> None:
    mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "out")
    path = garden / "out" / "run.json"
    document = json.loads(path.read_text())
    del document["conflicts"]
    path.write_text(json.dumps(document))
    run = mhpc("conflicts", "out")
    assert run.returncode == 1
    assert "consolidate again" in run.stderr


DISPUTED = MAX_RANKED + 5


@pytest.fixture
def out(mhpc: Mhpc, garden: Path) -> Path:
    """A run with more disputed instances than it records; labels have names."""
    (garden / "taxonomy.csv").write_text(
        "label,parent,name\nL1,,living being\nL2,L1,plant\nL3,L1,=animal\nL4,L2,oak\n"
    )
    # The first ones are clearer than the others, and come last.
    votes = [
        f"{number},{source},{'L3' if position == number % 2 else 'L4'}\n"
        for number in range(DISPUTED)
        for position, source in enumerate("abcd" if number < 9 else "ab")
    ]
    (garden / "votes.csv").write_text("instance,source,label\n" + "".join(votes))
    done = mhpc(
        "consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--method",
        "majority",
    )  # fmt: skip
    assert "L4 oak (1 for, 1 against)" in done.stdout
    assert "all agree on L1 living being" in done.stdout
    return garden / "OUT"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_conflicts_of_any_length_are_written_to_a_file(mhpc: Mhpc, out: Path, garden: Path) -> None:
    assert mhpc("conflicts", "OUT", "-o", "all.csv").returncode == 0
    table = rows((garden / "all.csv").read_text())
    instances = list(dict.fromkeys(row["instance"] for row in table))
    assert sorted(map(int, instances)) == list(range(DISPUTED))
    assert sorted(map(int, instances[-9:])) == list(range(9))
    # The plant says the same as the oak; the root is not disputed.
    assert [(row["label"], row["name"]) for row in table[:2]] == [("L3", "=animal"), ("L4", "oak")]
    assert {row["agreed_name"] for row in table} == {"living being"}
    recorded = json.loads(mhpc("conflicts", "OUT", "--json", "--top", "3").stdout)
    assert [case["instance"] for case in recorded["instances"]] == instances[:3]
    assert recorded["names"]["L4"] == "oak"
    assert mhpc("conflicts", "OUT", "--top", "all", "-o", "all.json").returncode == 0
    document = json.loads((garden / "all.json").read_text())
    assert [case["instance"] for case in document["instances"]] == instances
    converted = mhpc("convert", "OUT", "-", "--what", "conflicts").stdout
    assert rows(converted) == table
    assert len(rows(mhpc("conflicts", "OUT", "-o", "-", "--top", "2").stdout)) == 4


def test_what_a_run_records_needs_no_votes_and_more_says_where_they_should_be(
    mhpc: Mhpc, out: Path, garden: Path
) -> None:
    (garden / "votes.csv").rename(garden / "moved.csv")
    shown = mhpc("conflicts", "OUT", "--top", MAX_RANKED)
    assert shown.returncode == 0
    assert "L4 oak (1:1)" in shown.stdout
    assert "L1 living being" in shown.stdout
    done = mhpc("conflicts", "OUT", "-o", "new.csv")
    assert (done.returncode, "--votes FILE" in done.stderr) == (1, True)
    assert not (garden / "new.csv").exists()
    done = mhpc("conflicts", "OUT", "-o", "new.csv", "--votes", "moved.csv")
    assert done.returncode == 0
    assert f"{DISPUTED} instances" in done.stderr


def test_a_run_that_recorded_no_names_is_read(mhpc: Mhpc, out: Path) -> None:
    document = json.loads((out / "run.json").read_text())
    del document["names"], document["conflicts"]["names"]
    (out / "run.json").write_text(json.dumps(document))
    assert "L4 (1:1)" in mhpc("conflicts", "OUT").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--top", "0"), "'0' is neither a count"),
        (("--top", "some"), "'some' is neither a count"),
        (("-o", "new.xml"), "end the name in .json, .csv"),
        (("-o", "votes.csv"), "votes.csv is there already"),
        (("-o", "nowhere/new.csv"), "there is no folder 'nowhere'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    mhpc: Mhpc, out: Path, garden: Path, args: Any, message: str
) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in garden.iterdir()}
    done = mhpc("conflicts", "OUT", *args)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert {path.name: path.stat().st_mtime_ns for path in garden.iterdir()} == before
    assert mhpc("conflicts", "OUT", "-o", "votes.csv", "--force", "--top", "1").returncode == 0


def test_an_explanation_has_names_beside_ids(mhpc: Mhpc, out: Path) -> None:
    text = mhpc("explain", "OUT", "20").stdout
    assert "all answers agree on L1 living being" in text
    assert "L3 =animal" in text
    assert "L4 (living being > plant > oak)" in text


def test_random_instances_are_listed_with_how_they_were_drawn(mhpc: Mhpc, garden: Path) -> None:
    with (garden / "votes.csv").open("a") as file:
        file.write("1,cid,fuchsia\n")
    mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "out", "--method", "sa")
    shown = mhpc("conflicts", "out", "--strategy", "random")
    assert shown.returncode == 0
    assert shown.stdout.count("random") > 3
    assert sorted(line.split()[0] for line in shown.stdout.splitlines()[2:]) == ["1", "2", "3"]
    written = mhpc("conflicts", "out", "--strategy", "mixed", "-o", "-").stdout
    rows = list(csv.DictReader(io.StringIO(written)))
    assert {(row["instance"], row["drawn"]) for row in rows} == {
        ("1", "gain"), ("2", "random"), ("3", "random"),
    }  # fmt: skip
    # Sources agree on the last two, so that no label of them is disputed.
    assert [row["label"] for row in rows if row["instance"] != "1"] == ["", ""]


def test_another_seed_draws_another_sample(mhpc: Mhpc, out: Path) -> None:
    first, again, other = (
        [
            case["instance"]
            for case in json.loads(
                mhpc(
                    "conflicts", out, "--strategy", "random", "--top", 9, "--json", "--seed", seed
                ).stdout
            )["instances"]
        ]
        for seed in (0, 0, 1)
    )
    assert first == again != other
    assert len(set(first)) == 9


def test_a_run_records_fewer_instances_if_each_has_many_disputed_labels(
    mhpc: Mhpc, garden: Path
) -> None:
    n_parents, n_instances = 150, 150
    parents = "".join(f"p{number},\nhub,p{number}\n" for number in range(n_parents))
    (garden / "taxonomy.csv").write_text(f"label,parent\n{parents}leaf,hub\n")
    # Ann's label is below one parent only; Bob supports all others, which she contradicts.
    votes = "".join(
        f"{number},ann,p{number}\n{number},bob,leaf\n{number},cat,leaf\n"
        for number in range(n_instances)
    )
    (garden / "votes.csv").write_text(f"instance,source,label\n{votes}")
    mhpc(
        "consolidate",
        "votes.csv",
        "--taxonomy",
        "taxonomy.csv",
        "-o",
        "OUT",
        "--method",
        "majority",
    )
    recorded = json.loads((garden / "OUT" / "run.json").read_text())["conflicts"]["instances"]
    n_labels = [len(case["disputed"]) for case in recorded]
    assert sum(n_labels[:-1]) < MAX_RECORDED_LABELS <= sum(n_labels)
    found = json.loads(mhpc("conflicts", "OUT", "--json", "--top", n_instances).stdout)["instances"]
    assert len(found) == n_instances > len(recorded)
    assert found[: len(recorded)] == recorded
