"""``mhpc compare``: methods side by side."""

import json
from pathlib import Path

from tests.fixtures.commands import Mhpc


def test_methods_are_compared_without_truth(mhpc: Mhpc) -> None:
    done = mhpc(
        "compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "--method", "mlcm"
    )
    assert done.returncode == 0
    closed, specific = done.stdout.strip().split("\n\n")
    for table, view in ((closed, "Closed view"), (specific, "Specific view")):
        title, head, *rows = table.splitlines()
        assert title.startswith(view)
        assert "log-rank loss" in head
        assert {row.split()[0] for row in rows} == {"sa", "mlcm"}


def test_every_combination_of_values_is_compared(mhpc: Mhpc) -> None:
    done = mhpc(
        "compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa",
        "--method", "mhpc-local", "--set", "lam=1,5", "--set", "sigma=0.3,none",
        "--set", "n_neighbors=2", "--json",
    )  # fmt: skip
    comparisons = json.loads(done.stdout)
    names = [comparison["name"] for comparison in comparisons]
    assert names == [
        "sa",
        "mhpc-local, lam=1, sigma=0.3, n_neighbors=2",
        "mhpc-local, lam=1, sigma=None, n_neighbors=2",
        "mhpc-local, lam=5, sigma=0.3, n_neighbors=2",
        "mhpc-local, lam=5, sigma=None, n_neighbors=2",
    ]
    parameters = [comparison["candidate"]["parameters"] for comparison in comparisons[1:]]
    assert [(values["lam"], values["sigma"]) for values in parameters] == [
        (1, 0.3), (1, None), (5, 0.3), (5, None)
    ]  # fmt: skip


def test_a_parameter_that_no_method_has_is_named(mhpc: Mhpc) -> None:
    done = mhpc(
        "compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "mhpc", "--set", "lamb=1"
    )
    assert done.returncode == 2
    assert "none of 'mhpc' has a parameter 'lamb' (nearest: 'lam'" in done.stderr


def test_truth_adds_the_usual_metrics(mhpc: Mhpc) -> None:
    done = mhpc(
        "compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "--json",
        "--truth", "truth.csv",
    )  # fmt: skip
    (comparison,) = json.loads(done.stdout)
    assert comparison["name"] == "sa"
    assert [card["view"] for card in comparison["scorecards"]] == ["closed", "specific"]
    assert comparison["candidate"]["closed"]


def test_methods_are_compared_on_as_many_instances_as_asked_for(mhpc: Mhpc, garden: Path) -> None:
    rows = [f"{i},{source},{'bee' if i % 3 else 'monarda'}" for i in range(90) for source in "abc"]
    (garden / "many.csv").write_text("instance,source,label\n" + "\n".join(rows) + "\n")
    arguments = ("compare", "many.csv", "--taxonomy", "taxonomy.csv", "--method", "sa")
    (few,) = json.loads(mhpc(*arguments, "--instances", "40", "--json").stdout)
    (all_of_them,) = json.loads(mhpc(*arguments, "--json").stdout)
    assert (few["candidate"]["instances"], all_of_them["candidate"]["instances"]) == (45, 90)
    assert mhpc(*arguments, "--instances", "0").returncode == 2


def test_any_number_of_jobs_gives_the_same_result(mhpc: Mhpc) -> None:
    def losses(jobs: str) -> list[list[float]]:
        done = mhpc(
            "compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa",
            "--method", "mhpc", "--jobs", jobs, "--json",
        )  # fmt: skip
        return [each["candidate"]["closed"] for each in json.loads(done.stdout)]

    assert losses("1") == losses("2")


def test_one_source_cannot_be_cross_validated(mhpc: Mhpc, garden: Path) -> None:
    (garden / "alone.csv").write_text("instance,source,label\n1,ann,monarda\n2,ann,bee\n")
    done = mhpc("compare", "alone.csv", "--taxonomy", "taxonomy.csv", "--method", "sa")
    assert done.returncode == 0
    assert "No cross-validation" in done.stdout


def test_an_unknown_method_is_named(mhpc: Mhpc) -> None:
    done = mhpc("compare", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "mhcp")
    assert done.returncode == 2
    assert "no method 'mhcp' (nearest: 'mhpc'" in done.stderr


def test_a_missing_taxonomy_is_made_from_the_labels(mhpc: Mhpc) -> None:
    done = mhpc("compare", "votes.csv", "--method", "sa")
    assert done.returncode == 0
    assert "built from the labels of votes.csv: 4 labels" in done.stderr
    done = mhpc("compare", "votes.csv", "--method", "sa", "--column", "taxonomy.label=x")
    assert done.returncode == 2
    assert "needs a taxonomy" in done.stderr
