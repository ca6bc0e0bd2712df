"""``mhpc compare``: methods side by side."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

Mhpc = Callable[..., CompletedProcess[str]]


def test_methods_are_judged_without_truth(mhpc: Mhpc) -> None:
    done = mhpc(
        "compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "--method", "mlcm"
    )
    assert done.returncode == 0
    assert "surprise, closed" in done.stdout
    assert {line.split()[0] for line in done.stdout.splitlines()[1:]} == {"sa", "mlcm"}


def test_truth_adds_the_usual_metrics(mhpc: Mhpc) -> None:
    done = mhpc(
        "compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "--json",
        "--truth", "truth.csv",
    )  # fmt: skip
    (found,) = json.loads(done.stdout)
    assert found["name"] == "sa"
    assert [card["view"] for card in found["scorecards"]] == ["closed", "specific"]
    assert found["judged"]["closed"]


def test_one_source_cannot_be_judged(mhpc: Mhpc, garden: Path) -> None:
    (garden / "alone.csv").write_text("instance,source,label\n1,ann,monarda\n2,ann,bee\n")
    done = mhpc("compare", "alone.csv", "--taxonomy", "taxonomy.csv", "--method", "sa")
    assert done.returncode == 0
    assert "not judged" in done.stdout


def test_an_unknown_method_is_named(mhpc: Mhpc) -> None:
    done = mhpc("compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "mhcp")
    assert done.returncode == 2
    assert "no method 'mhcp' (nearest: 'mhpc'" in done.stderr


def test_a_missing_taxonomy_is_told(mhpc: Mhpc) -> None:
    done = mhpc("compare", "votes.csv")
    assert done.returncode == 2
    assert "--taxonomy FILE is missing" in done.stderr
