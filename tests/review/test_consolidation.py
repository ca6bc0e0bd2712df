"""Consolidating again with what reviewers settled, end to end on the bundled example."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mhpc
from mhpc.data.profiles import Proportion, SourceProfile
from mhpc.datasets.garden import garden_folder, load_garden
from mhpc.errors import DataError
from mhpc.review.answers import ReviewAnswer, Reviews
from mhpc.review.changes import InstanceState, RunState, compare_states, read_state
from mhpc.review.consolidation import (
    combine_gold,
    consolidate_again,
    load_reviewed_run,
    make_settings,
)
from mhpc.review.files import ReviewFolder
from tests.fixtures.review_server import ReviewServer, make_answer, make_garden_run


def true_labels() -> dict[str, list[str]]:
    truth = load_garden().truth
    labels: dict[str, list[str]] = {instance: [] for instance in truth.instances}
    for instance, label in zip(truth.instance, truth.label, strict=True):
        labels[truth.instances[instance]] += [truth.labels[label]] if label >= 0 else []
    return labels


def settle(**labels: list[str]) -> Any:
    answers = [ReviewAnswer(key.replace("_", "-"), tuple(v), "ann") for key, v in labels.items()]
    return Reviews().add(answers).settle()


def test_a_review_is_consolidated_again_and_shows_what_changed(tmp_path: Path) -> None:
    make_garden_run(tmp_path / "OUT", method="wawa")
    files = {file.name: file.read_bytes() for file in (tmp_path / "OUT").iterdir()}
    truth = true_labels()
    with ReviewServer(tmp_path / "OUT") as server:
        facts = server.request("GET", "/facts").json
        review = facts["instances"]["id"][:40]
        answers = [make_answer(id_, *truth[id_]) for id_ in review]
        assert server.save(*answers, make_answer(review[0], "bee", reviewer="bob")).status == 200
        assert server.request("POST", "/consolidate").status == 202
        assert server.request("POST", "/consolidate").status == 409
        # Answers are saved as always in the meantime.
        assert server.save(make_answer(facts["instances"]["id"][50])).status == 200
        while (status := server.request("GET", "/status").json)["state"] == "running":
            assert status["stage"]
        assert status == {"state": "done", "stage": "", "result": 1, "error": None}
        newest = server.request("GET", "/facts").json
        changes = server.request("GET", "/changes").json
    result = mhpc.load_run(tmp_path / "OUT-review" / "result")
    labels = {id_: set(found) for id_, found in _most_specific(tmp_path / "OUT-review/result")}
    # Reviewers disagree on the first one, so it is not gold.
    assert result.votes is not None
    assert result.votes.gold is not None
    assert sorted(result.votes.gold.instances) == sorted(review[1:])
    assert all(labels[id_] == set(truth[id_]) for id_ in review[1:])
    assert newest["review"]["server"] is True
    assert sorted(newest["instances"]["id"]) == sorted(facts["instances"]["id"])
    assert changes["settled"] == 39
    assert changes["changed"] + changes["unchanged"] == len(labels) - 39
    assert {each["source"] for each in changes["sources"]} == {s.source for s in result.sources}
    assert not {each["instance"] for each in changes["instances"]} & set(review[1:])
    assert files == {file.name: file.read_bytes() for file in (tmp_path / "OUT").iterdir()}


def _most_specific(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    return [(id_, state.labels) for id_, state in read_state(folder).instances.items()]


def test_votes_that_have_moved_are_a_failure_that_the_server_survives(tmp_path: Path) -> None:
    shutil.copy(garden_folder() / "votes.csv", tmp_path / "votes.csv")
    make_garden_run(tmp_path / "OUT", votes=str(tmp_path / "votes.csv"))
    with ReviewServer(tmp_path / "OUT") as server:
        (tmp_path / "votes.csv").rename(tmp_path / "moved.csv")
        status = server.consolidate()
        assert status["state"] == "failed"
        assert "votes.csv" in status["error"]
        assert server.save(make_answer("photo-001", "sage")).status == 200
        (tmp_path / "moved.csv").rename(tmp_path / "votes.csv")
        assert server.consolidate()["state"] == "done"


def test_a_result_saved_from_python_is_consolidated_again(tmp_path: Path) -> None:
    garden = load_garden()
    gold = {"photo-001": ["fuchsia"], "photo-002": ["fuchsia"]}
    result = mhpc.consolidate(garden.votes, garden.taxonomy, method="majority", gold=gold)
    result.save(tmp_path / "OUT")
    reviewed = load_reviewed_run(tmp_path / "OUT")
    assert reviewed.gold == {"photo-001": ("fuchsia",), "photo-002": ("fuchsia",)}
    (tmp_path / "reviews").mkdir()
    folder = ReviewFolder(tmp_path / "reviews")
    facts = consolidate_again(reviewed, folder, settle(photo_001=["sage"]))
    assert facts["review"]["server"] is True
    states = read_state(folder.result).instances
    # What was settled takes precedence over the gold labels of the run.
    assert states["photo-001"].labels == ("sage",)
    assert states["photo-002"].labels == ("fuchsia",)


def test_without_gold_labels_the_run_is_repeated_as_it_was(
    garden_run: Path, tmp_path: Path
) -> None:
    reviewed = load_reviewed_run(garden_run)
    consolidate_again(reviewed, ReviewFolder(tmp_path), {})
    assert read_state(tmp_path / "result") == read_state(garden_run)


def test_only_instances_with_votes_become_gold(garden_run: Path) -> None:
    reviewed = load_reviewed_run(garden_run)
    assert combine_gold(reviewed, settle(photo_001=["sage"], unseen=["sage"])).keys() == {
        "photo-001"
    }


def test_a_run_that_applied_another_is_not_fitted_to_reviews(
    garden_run: Path, tmp_path: Path
) -> None:
    make_garden_run(
        tmp_path / "OUT", apply=str(garden_run), method=None,
        taxonomy=str(garden_run / "taxonomy.csv"),
    )  # fmt: skip
    with pytest.raises(DataError, match="model of another run"):
        make_settings(load_reviewed_run(tmp_path / "OUT"), None)


def test_choices_of_columns_and_a_lost_truth_do_not_disturb(
    garden_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(garden_run, tmp_path / "OUT")
    document = json.loads((tmp_path / "OUT" / "run.json").read_text())
    document["settings"] |= {"truth": "/no/such/file", "columns": {"gold.label": "diagnosis"}}
    (tmp_path / "OUT" / "run.json").write_text(json.dumps(document))
    settings = make_settings(load_reviewed_run(tmp_path / "OUT"), tmp_path / "gold.csv")
    assert settings.truth is None
    assert settings.columns == {}
    assert settings.gold == str(tmp_path / "gold.csv")


def _profile(source: str, accurate: float, wrong: float) -> SourceProfile:
    nothing = Proportion(float("nan"), 0, 1)
    return SourceProfile(
        source, 2, 1.0, 1.0, accurate=Proportion(accurate, 0, 1), vague=nothing,
        wrong=Proportion(wrong, 0, 1), independence=1.0, nearest_source="", dependence=0.0,
        relation=None, weaknesses=(), same_set=1.0,
    )  # fmt: skip


def test_changes_are_those_of_unsettled_instances_the_largest_first() -> None:
    before = RunState(
        {
            "1": InstanceState(("bee",), 0.5, 0.4),
            "2": InstanceState(("ant",), 0.6, 0.3),
            "3": InstanceState((), None, 0.2),
            "4": InstanceState(("ant", "bee"), 0.9, 0.05),
            "gone": InstanceState((), None, 1.0),
        },
        {"ann": _profile("ann", 0.75, 0.25), "bob": _profile("bob", 1.0, float("nan"))},
    )
    after = RunState(
        {
            "1": InstanceState(("bee",), 1.0, 0.0),
            "2": InstanceState(("bee",), 0.7, 0.3),
            "3": InstanceState(("ant",), 0.8, 0.35),
            "4": InstanceState(("bee", "ant"), 0.95, 0.01),
        },
        {"ann": _profile("ann", 0.5, 0.5), "bob": _profile("bob", 1.0, 0.0)},
    )
    assert compare_states(before, after, {"1"}) == {
        "instances": [
            {"instance": "3", "before": [], "after": ["ant"],
             "score_before": None, "score_after": 0.8},
            {"instance": "2", "before": ["ant"], "after": ["bee"],
             "score_before": 0.6, "score_after": 0.7},
        ],
        "changed": 2,
        "unchanged": 1,
        "sources": [
            {"source": "ann", "wrong_before": 0.25, "wrong_after": 0.5,
             "accurate_before": 0.75, "accurate_after": 0.5},
            {"source": "bob", "wrong_before": None, "wrong_after": 0.0,
             "accurate_before": 1.0, "accurate_after": 1.0},
        ],
        "left": 2,
        "gain_before": 0.55,
        "gain_after": 0.66,
    }  # fmt: skip
    assert len(compare_states(before, after, {"1"}, limit=1)["instances"]) == 1
