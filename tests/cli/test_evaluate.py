import json
from pathlib import Path

import pytest

from tests.fixtures.commands import Mhpc

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")


@pytest.fixture
def run(mhpc: Mhpc) -> Mhpc:
    assert mhpc(*CONSOLIDATE, "--top", "all", "--truth", "truth.csv").returncode == 0
    return mhpc


@pytest.mark.parametrize("view", ["closed", "specific"])
def test_a_loaded_run_has_the_metrics_that_it_had_in_memory(
    garden: Path, run: Mhpc, view: str
) -> None:
    done = run("evaluate", "OUT", "--truth", "truth.csv", "--view", view, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    cards = json.loads((garden / "OUT" / "run.json").read_text())["scorecards"]
    assert json.loads(done.stdout) == next(card for card in cards if card["view"] == view)


def test_metrics_are_shown_in_tables(run: Mhpc) -> None:
    done = run("evaluate", "OUT", "--truth", "truth.csv")
    head, row, _, sets, *rest = done.stdout.splitlines()
    assert head.split("  ")[-1].strip() == "instances"
    assert row.split()[0] == "auto"
    assert sets.startswith("Label sets")
    assert any(line.startswith("hierarchical F ↑") for line in rest)
    assert [line.split()[0] for line in rest[-3:]] == ["1", "2", "3"]


def test_labels_edited_by_hand_are_measured_with_their_ancestors(garden: Path, run: Mhpc) -> None:
    truth = (garden / "truth.csv").read_text()
    (garden / "OUT" / "labels.csv").write_text(truth)
    done = run("evaluate", "OUT", "--truth", "truth.csv", "--json")
    sets = {score["metric"]: score["value"] for score in json.loads(done.stdout)["sets"]}
    assert (sets["hierarchical_f"], sets["exact_match"], sets["tree_distance"]) == (1, 1, 0)


def test_a_run_without_labels_can_be_measured(garden: Path, run: Mhpc) -> None:
    (garden / "OUT" / "labels.csv").write_text("instance,label,score\n")
    done = run("evaluate", "OUT", "--truth", "truth.csv", "--json")
    assert {score["value"] for score in json.loads(done.stdout)["sets"][:6]} == {0}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("9,monarda", "OUT: instance '9' of labels.csv is not in scores.parquet"),
        ("1,monada", "OUT: label 'monada' of labels.csv is not in taxonomy.csv"),
    ],
)
def test_labels_of_another_run_are_refused(garden: Path, run: Mhpc, row: str, message: str) -> None:
    (garden / "OUT" / "labels.csv").write_text(f"instance,label\n{row}\n")
    done = run("evaluate", "OUT", "--truth", "truth.csv")
    assert done.returncode == 1
    assert message in done.stderr


def test_missing_scores_give_a_warning(mhpc: Mhpc) -> None:
    mhpc(*CONSOLIDATE, "--top", "1")
    done = mhpc("evaluate", "OUT", "--truth", "truth.csv", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["instances"] == 3
    assert done.stderr.startswith("mhpc: warning: OUT holds only 1 score per instance")


def test_a_truth_may_have_some_of_the_instances(garden: Path, run: Mhpc) -> None:
    (garden / "truth.csv").write_text("instance,label\n1,monarda\n")
    done = run("evaluate", "OUT", "--truth", "truth.csv", "--json")
    assert json.loads(done.stdout)["instances"] == 1


def test_instances_that_the_run_does_not_have_can_be_dropped(garden: Path, run: Mhpc) -> None:
    (garden / "truth.csv").write_text("instance,label\n1,monarda\n9,bee\n")
    assert run("evaluate", "OUT", "--truth", "truth.csv").returncode == 1
    done = run("evaluate", "OUT", "--truth", "truth.csv", "--unknown", "drop", "--json")
    assert json.loads(done.stdout)["instances"] == 1
    assert "truth.csv: 1 instance without votes left out (first: '9')" in done.stderr


def test_labels_of_the_truth_can_be_replaced_by_the_nearest(garden: Path, run: Mhpc) -> None:
    right = run("evaluate", "OUT", "--truth", "truth.csv", "--json").stdout
    (garden / "truth.csv").write_text("instance,label\n1,monrada\n2, BEE\n3,none\n")
    assert run("evaluate", "OUT", "--truth", "truth.csv").returncode == 1
    done = run("evaluate", "OUT", "--truth", "truth.csv", "--unknown", "nearest", "--json")
    assert (done.returncode, done.stdout) == (0, right)
    assert "'monrada' as 'monarda'" in done.stderr


SOME = "instance,label,drawn\n1,monarda,random\n2,bee,{drawn}\n"


def test_the_others_are_estimated_from_a_truth_of_some(garden: Path, run: Mhpc) -> None:
    (garden / "some.csv").write_text("instance,label\n1,monarda\n2,bee\n")
    done = run("evaluate", "OUT", "--truth", "some.csv")
    assert "for the other 1 instance, if the 2 instances of the truth were" in done.stdout
    found = json.loads(run("evaluate", "OUT", "--truth", "some.csv", "--json").stdout)["accuracy"]
    assert (found["measured"], found["others"], found["is_assumed"]) == (2, 1, True)
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1


def test_what_was_not_drawn_at_random_is_left_out(garden: Path, run: Mhpc) -> None:
    (garden / "some.csv").write_text(SOME.format(drawn="gain"))
    done = run("evaluate", "OUT", "--truth", "some.csv")
    assert "1 instance not drawn at random left out" in " ".join(done.stdout.split())
    (garden / "some.csv").write_text(SOME.format(drawn="gain").replace("random", "gain"))
    done = run("evaluate", "OUT", "--truth", "some.csv")
    assert (done.returncode, "nothing can be estimated" in done.stdout) == (0, True)


def test_gold_labels_of_a_run_are_held_out_in_turn(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text(
        "instance,source,label\n" + "".join(f"{n},ann,bee\n{n},bob,bee\n" for n in range(20))
    )
    # All sources are wrong about all of them.
    (garden / "gold.csv").write_text(
        "instance,label,drawn\n" + "".join(f"{n},monarda,random\n" for n in range(6))
    )
    assert mhpc(*CONSOLIDATE, "--gold", "gold.csv", "--method", "majority").returncode == 0
    done = mhpc("evaluate", "OUT", "--truth", "gold.csv", "--json")
    found = json.loads(done.stdout)
    sets = {score["metric"]: score["value"] for score in found["sets"]}
    assert (sets["exact_match"], found["accuracy"]["value"]) == (1, 0)
    (garden / "votes.csv").rename(garden / "moved.csv")
    done = mhpc("evaluate", "OUT", "--truth", "gold.csv", "--json")
    assert (done.returncode, "accuracy" in json.loads(done.stdout)) == (0, False)
    (line,) = done.stderr.splitlines()
    assert "are not estimated" in line
    # What the line advises works.
    assert line.endswith("say where it is with --votes FILE")
    done = mhpc("evaluate", "OUT", "--truth", "gold.csv", "--votes", "moved.csv", "--json")
    assert (done.stderr, json.loads(done.stdout)["accuracy"]) == ("", found["accuracy"])
