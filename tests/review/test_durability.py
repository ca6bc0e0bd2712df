"""Answers that were confirmed survive kills, restarts and other reviewers."""

from pathlib import Path

from stress.review import kill_servers
from tests.fixtures.review_server import ReviewServer, make_answer


def test_no_confirmed_answer_is_lost_when_the_server_is_killed(
    garden_run: Path, tmp_path: Path
) -> None:
    counts = kill_servers(garden_run, tmp_path / "reviews", kills=5, seed=0)
    assert counts["kills"] == 5
    assert counts["confirmed"] > 5
    assert (counts["lost"], counts["damaged"]) == (0, 0)


def test_the_last_answer_of_a_reviewer_counts_and_those_of_others_stay(
    server: ReviewServer,
) -> None:
    for label in ("sage", "monarda"):
        for reviewer in ("ann", "bob"):
            assert server.save(make_answer("photo-001", label, reviewer=reviewer)).status == 200
    assert server.save(make_answer("photo-001", "sage", reviewer="eve")).status == 200
    assert [
        (each["reviewer"], each["labels"])
        for each in server.answers()
        if each["instance"] == "photo-001"
    ] == [("ann", ["monarda"]), ("bob", ["monarda"]), ("eve", ["sage"])]
