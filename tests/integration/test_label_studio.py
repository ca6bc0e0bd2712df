"""A review in a real Label Studio: predictions go in, corrections come out as known labels."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mhpc
from mhpc.datasets.garden import garden_folder
from mhpc.errors import DataError
from tests.integration.label_studio import Project, Server, run_server

pytestmark = pytest.mark.integration

EXPORTS = {"JSON": "json", "JSON_MIN": "json", "CSV": "csv", "TSV": "tsv"}
"""The exports that hold the labels, and how their files end."""


def run_mhpc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mhpc", *words],
        cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8",
    )  # fmt: skip


def must(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def known(truth: mhpc.Truth, taxonomy: mhpc.Taxonomy) -> dict[str, set[str]]:
    """Return the labels of every instance as ids of the taxonomy."""
    labels: dict[str, set[str]] = {instance: set() for instance in truth.instances}
    names = {taxonomy.path(k): taxonomy.labels[k] for k in range(len(taxonomy.labels))}
    for i, k in zip(truth.instance, truth.label, strict=True):
        if k >= 0:
            labels[truth.instances[i]].add(names[truth.labels[k]])
    return labels


@dataclass(frozen=True)
class Review:
    """A project in which three tasks were corrected, and the labels that they should have."""

    folder: Path
    project: Project
    corrected: dict[str, set[str]]
    annotations: dict[str, int]

    def export(self, kind: str, **options: Any) -> Path:
        return self.project.export(self.folder / f"export-{kind}.{EXPORTS[kind]}", kind, **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_server(tmp_path_factory.mktemp("label-studio")) as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example with a result, and the files for Label Studio as the docs make them."""
    folder = tmp_path_factory.mktemp("garden")
    for file in garden_folder().iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    votes = ("votes.csv", "--taxonomy", "taxonomy.csv", "--method", "channel")
    must(run_mhpc(folder, "consolidate", *votes, "-o", "out"))
    must(run_mhpc(folder, "convert", "out", "predictions.json", "--to", "label-studio"))
    must(run_mhpc(folder, "convert", "taxonomy.csv", "labeling-config.xml"))
    return folder


def import_predictions(server: Server, folder: Path, title: str) -> Project:
    project = server.create_project(title, folder / "labeling-config.xml")
    project.import_file(folder / "predictions.json")
    return project


@pytest.fixture(scope="module")
def review(server: Server, folder: Path) -> Review:
    """Correct the first task, leave nothing of the second, and go up a level in the third."""
    project = import_predictions(server, folder, "review")
    corrected, annotations = {}, {}
    for correction in ("another label", "none", "a level up"):
        task = project.next_task()
        prediction = task["predictions"][0]
        path = prediction["result"][0]["value"]["taxonomy"][0]
        assert len(path) > 1, "the first tasks of this example have specific labels"
        paths = {
            "another label": [["animal", "insect", "bee"]], "none": [], "a level up": [path[:-1]],
        }[correction]  # fmt: skip
        answer = project.annotate(task["id"], paths, parent_prediction=prediction["id"])
        instance = task["data"]["mhpc_instance"]
        corrected[instance] = {path[-1] for path in paths}
        annotations[instance] = answer["id"]
    assert len(corrected) == 3, "the next task is one that is not annotated yet"
    # A reviewer who skips a task gave no answer.
    project.annotate(project.next_task()["id"], [], was_cancelled=True)
    return Review(folder, project, corrected, annotations)


def test_the_server_has_tasks_in_the_order_of_review_with_predictions_and_scores(
    server: Server, folder: Path
) -> None:
    project = import_predictions(server, folder, "untouched")
    written = json.loads((folder / "predictions.json").read_text(encoding="utf-8"))
    votes = mhpc.read_votes(folder / "votes.csv")
    must(run_mhpc(folder, "convert", "out", "conflicts.csv", "--what", "conflicts"))
    with (folder / "conflicts.csv").open(encoding="utf-8", newline="") as file:
        disputed = list(dict.fromkeys(row["instance"] for row in csv.DictReader(file)))
    tasks = project.tasks()
    instances = [task["data"]["mhpc_instance"] for task in tasks]
    assert instances == [task["data"]["mhpc_instance"] for task in written]
    # A run stores the order of the 200 instances to review first.
    assert instances[:200] == disputed[:200]
    assert set(instances) == set(votes.instances)
    for task, original in zip(tasks, written, strict=True):
        (prediction,), (sent,) = task["predictions"], original["predictions"]
        assert prediction["result"] == sent["result"]
        assert prediction["score"] == pytest.approx(sent["score"])
        assert prediction["model_version"] == "mhpc channel"
        assert task["predictions_score"] == pytest.approx(sent["score"])
    assert project.next_task()["data"]["mhpc_instance"] == disputed[0]
    settings = server.call("GET", f"projects/{project.id}")
    # With these two settings, the page fills in the labels of the prediction.
    assert settings["model_version"] == "mhpc channel"
    assert settings["show_collab_predictions"] is True


@pytest.mark.parametrize("kind", EXPORTS)
@pytest.mark.parametrize("all_tasks", [False, True])
def test_corrections_of_one_reviewer_are_known_labels(
    review: Review, kind: str, all_tasks: bool
) -> None:
    truth = mhpc.read_truth(review.export(kind, all_tasks=all_tasks))
    taxonomy = mhpc.read_taxonomy(review.folder / "taxonomy.csv")
    assert known(truth, taxonomy) == review.corrected


@pytest.mark.parametrize("kind", EXPORTS)
def test_corrections_are_the_votes_of_the_annotator(review: Review, kind: str) -> None:
    votes = mhpc.read_votes(review.export(kind))
    assert votes.sources.ids == ("1",)
    assert set(votes.instances) == set(review.corrected)
    together = mhpc.read_votes([review.folder / "votes.csv", review.export(kind)])
    assert set(together.instances) == set(mhpc.read_votes(review.folder / "votes.csv").instances)
    assert "1" in together.sources
    assert not [source for source in together.sources if source.startswith("mhpc")]


@pytest.mark.parametrize("kind", EXPORTS)
def test_consolidation_keeps_the_corrections(review: Review, kind: str) -> None:
    export = review.export(kind).name
    out = f"settled-{kind}"
    options = ("--taxonomy", "taxonomy.csv", "--method", "channel", "--gold", export, "-o", out)
    must(run_mhpc(review.folder, "consolidate", "votes.csv", *options))
    labels: dict[str, set[str]] = {instance: set() for instance in review.corrected}
    with (review.folder / out / "labels.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["instance"] in labels:
                labels[row["instance"]].add(row["label"])
    taxonomy = mhpc.read_taxonomy(review.folder / "taxonomy.csv")
    expected = {
        instance: {
            taxonomy.labels[k]
            for label in given
            for k in taxonomy.closure[[taxonomy.labels.positions[label]]].indices
        }
        for instance, given in review.corrected.items()
    }
    assert labels == expected


def test_predictions_of_a_later_run_reach_the_same_tasks(review: Review) -> None:
    export = review.export("JSON", all_tasks=True)
    options = ("--taxonomy", "taxonomy.csv", "--method", "majority", "--gold", export.name)
    must(run_mhpc(review.folder, "consolidate", "votes.csv", *options, "-o", "second"))
    convert = ("second", "second.json", "--to", "label-studio", "--tasks", export.name)
    must(run_mhpc(review.folder, "convert", *convert, "--set", "shape=predictions"))
    review.project.import_file(review.folder / "second.json", predictions=True)
    result = mhpc.load_run(review.folder / "second")
    taxonomy = mhpc.read_taxonomy(review.folder / "taxonomy.csv")
    for task in review.project.tasks():
        (new,) = [p for p in task["predictions"] if p["model_version"] == "mhpc majority"]
        chosen = {
            name
            for region in new["result"]
            for path in region["value"]["taxonomy"]
            for name in path
        }
        assert chosen == set(result.labels[task["data"]["mhpc_instance"]])
    assert known(mhpc.read_truth(review.export("JSON")), taxonomy) == review.corrected


def test_several_reviewers_need_a_mark(server: Server, folder: Path, tmp_path: Path) -> None:
    project = import_predictions(server, folder, "two reviewers")
    email = "second@example.org"
    second = server.call("POST", "users/", {"email": email, "username": email})["id"]
    first_task, second_task = project.tasks()[:2]
    plant, animal = [["plant"]], [["animal"]]
    marked = project.annotate(first_task["id"], plant)["id"]
    project.annotate(first_task["id"], animal, completed_by=second)
    project.annotate(second_task["id"], animal, completed_by=second)
    for kind, end in EXPORTS.items():
        export = project.export(tmp_path / f"export.{end}", kind)
        with pytest.raises(DataError, match="answers of 2 sources .*one reviewer"):
            mhpc.read_truth(export)
    server.call("PATCH", f"annotations/{marked}/", {"ground_truth": True})
    export = project.export(tmp_path / "export.json", "JSON")
    taxonomy = mhpc.read_taxonomy(folder / "taxonomy.csv")
    assert known(mhpc.read_truth(export), taxonomy) == {
        first_task["data"]["mhpc_instance"]: {"plant"}
    }
    votes = mhpc.read_votes(export)
    assert votes.sources.ids == (str(second),)
    assert votes.gold is not None


def test_labels_with_codes_and_special_characters_survive(server: Server, tmp_path: Path) -> None:
    (tmp_path / "taxonomy.csv").write_text(
        'label,parent,name\nA,,"fruit & ""nut"""\nA1,A,<b>pear</b>\nA2,A,äpple\n', encoding="utf-8"
    )
    (tmp_path / "votes.csv").write_text(
        'instance,source,label\n7,ann,A1\n7,bob,A2\n"x, ""y""",ann,A2\n', encoding="utf-8"
    )
    options = ("--taxonomy", "taxonomy.csv", "--method", "majority")
    must(run_mhpc(tmp_path, "consolidate", "votes.csv", *options, "-o", "out"))
    must(run_mhpc(tmp_path, "convert", "out", "predictions.json", "--to", "label-studio"))
    must(run_mhpc(tmp_path, "convert", "taxonomy.csv", "labeling-config.xml"))
    project = import_predictions(server, tmp_path, "codes")
    given = {"7": "<b>pear</b>", 'x, "y"': "äpple"}
    for task in project.tasks():
        name = given[task["data"]["mhpc_instance"]]
        project.annotate(task["id"], [['fruit & "nut"', name]])
    for kind, end in EXPORTS.items():
        export = project.export(tmp_path / f"{kind}.{end}", kind)
        out = f"out-{kind}"
        must(
            run_mhpc(
                tmp_path, "consolidate", "votes.csv", *options, "--gold", export.name, "-o", out
            )
        )
        assert mhpc.load_run(tmp_path / out).labels == {"7": ["A", "A1"], 'x, "y"': ["A", "A2"]}
