"""Exports of a review: tasks that mhpc wrote, with the answers of reviewers.

The JSON has the shape in which a Label Studio server 1.23 exports such tasks.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mhpc.data.votes import Truth, Votes
from mhpc.errors import DataError
from mhpc.read.tasks import read_tasks
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes

Paths = Sequence[Sequence[str]]

VOTES = "instance,source,label\nphoto-1,ann,oak\nphoto-2,ann,elm\nphoto-3,bob,finch\n"


def result_of(paths: Paths) -> list[dict[str, Any]]:
    control = {"from_name": "taxonomy", "to_name": "text", "type": "taxonomy"}
    return [{"id": "r", **control, "value": {"taxonomy": paths}}] if paths else []


def task(number: int, instance: str, *annotations: dict[str, Any], **data: Any) -> dict[str, Any]:
    return {
        "id": number,
        "annotations": list(annotations),
        "drafts": [],
        "predictions": [number],
        "data": {"mhpc_instance": instance, "text": instance, **data},
        "meta": {},
        "inner_id": number,
        "total_annotations": len(annotations),
        "project": 2,
    }


def annotation(
    paths: Paths, *, by: int = 1, model: str = "mhpc auto", **fields: Any
) -> dict[str, Any]:
    prediction = {"id": 9, "result": result_of([["plant"]]), "model_version": model, "score": 0.4}
    return {
        "completed_by": by,
        "result": result_of(paths),
        "was_cancelled": False,
        "ground_truth": False,
        "prediction": prediction,
        **fields,
    }


REVIEW = [
    task(12, "photo-1", annotation([["plant", "oak"], ["animal"]])),
    task(11, "photo-2", annotation([])),
    task(13, "photo-3", annotation([], was_cancelled=True)),
]

MIN_REVIEW = [
    {
        "mhpc_instance": "photo-1", "text": "photo-1", "id": 12,
        "taxonomy": [{"taxonomy": [["plant", "oak"], ["animal"]]}],
        "annotator": 1, "annotation_id": 1, "created_at": "…", "lead_time": 4.2,
    },
    # An annotation without labels has no field for the control.
    {
        "mhpc_instance": "photo-2", "text": "photo-2", "id": 11,
        "annotator": 1, "annotation_id": 2, "created_at": "…", "lead_time": 4.2,
    },
]  # fmt: skip

MIN_REVIEW_CSV = (
    '"annotation_id","annotator","id","lead_time","mhpc_instance","taxonomy","text"\n'
    '1,"1",12,4.2,"photo-1","[{""taxonomy"":[[""plant"",""oak""],[""animal""]]}]","photo-1"\n'
    '2,"1",11,4.2,"photo-2","","photo-2"\n'
)

ARGILLA = [
    {
        "id": instance, "fields": {"text": "…"}, "metadata": {}, "vectors": {},
        "responses": {"labels": [{"value": labels, "user_id": "u1", "status": "submitted"}]},
        "suggestions": {"labels": {"value": ["plant"], "score": [0.4], "agent": "mhpc auto"}},
    }
    for instance, labels in {"photo-1": ["plant > oak", "animal"], "photo-2": []}.items()
]  # fmt: skip

REVIEWS = {
    "export.json": json.dumps(REVIEW),
    "export-min.json": json.dumps(MIN_REVIEW),
    "export.csv": MIN_REVIEW_CSV,
    "records.json": json.dumps(ARGILLA),
}


def put(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def labels_of(table: Truth | Votes) -> dict[str, set[str]]:
    labels: dict[str, set[str]] = {table.instances[i]: set() for i in table.instance}
    for i, k in zip(table.instance, table.label, strict=True):
        if k >= 0:
            labels[table.instances[i]].add(table.labels[k])
    return labels


@pytest.mark.parametrize("name", REVIEWS)
def test_answers_of_one_reviewer_are_known_labels_of_the_instances_of_the_votes(
    tmp_path: Path, name: str
) -> None:
    truth = read_truth(put(tmp_path / name, REVIEWS[name]))
    assert labels_of(truth) == {"photo-1": {"plant > oak", "animal"}, "photo-2": set()}


@pytest.mark.parametrize("name", REVIEWS)
def test_a_reviewer_is_a_source_and_the_reviewed_result_is_none(tmp_path: Path, name: str) -> None:
    export, table = put(tmp_path / name, REVIEWS[name]), put(tmp_path / "votes.csv", VOTES)
    votes = read_votes(export)
    assert len(votes.sources) == 1
    assert labels_of(votes) == {"photo-1": {"plant > oak", "animal"}, "photo-2": set()}
    # No warning says that votes lack scores, since nobody gave any.
    together = read_votes([table, export])
    assert set(together.sources) == {"ann", "bob", *votes.sources}
    assert set(together.instances) == {"photo-1", "photo-2", "photo-3"}


def test_a_result_that_nobody_reviewed_is_a_source(tmp_path: Path) -> None:
    prediction = {"model_version": "mhpc auto", "score": 0.5, "result": result_of([["plant"]])}
    export = put(tmp_path / "e.json", [{**task(1, "p"), "predictions": [prediction]}])
    assert read_votes(export).sources.ids == ("mhpc auto",)
    with pytest.raises(DataError, match="only models answered in it .'mhpc auto'.; known labels"):
        read_truth(export)


def test_other_models_are_sources_but_not_reviewers(tmp_path: Path) -> None:
    export = put(tmp_path / "e.json", [task(1, "p", annotation([["oak"]], model="resnet"))])
    assert set(read_votes(export).sources) == {"1", "resnet"}
    assert labels_of(read_truth(export)) == {"p": {"oak"}}


def test_several_reviewers_need_a_mark(tmp_path: Path) -> None:
    first, second = annotation([["oak"]]), annotation([["elm"]], by=2)
    export = put(tmp_path / "e.json", [task(1, "p", first, second), task(2, "q", second)])
    with pytest.raises(
        DataError, match="2 sources .'1', '2'.. Mark the correct ones as ground truth"
    ):
        read_truth(export)
    marked = {**second, "ground_truth": True}
    put(export, [task(1, "p", first, marked), task(2, "q", second)])
    assert labels_of(read_truth(export)) == {"p": {"elm"}}


def test_tasks_of_the_project_and_tasks_that_mhpc_wrote_are_the_same_instances(
    tmp_path: Path,
) -> None:
    original = task(5, "", annotation([["oak"]], by=2))
    del original["data"]["mhpc_instance"]
    again = task(61, "5", annotation([["elm"]]))
    votes = read_votes(put(tmp_path / "e.json", [original, again]))
    assert votes.instances.ids == ("5",)
    assert set(votes.sources) == {"1", "2"}


def test_a_field_called_instance_is_not_the_instance(tmp_path: Path) -> None:
    record = task(5, "", annotation([["oak"]]))
    record["data"] = {"text": "…", "instance": "server-1"}
    votes = read_votes(put(tmp_path / "e.json", [record]))
    assert votes.instances.ids == ("5",)


def test_a_chosen_field_takes_precedence(tmp_path: Path) -> None:
    record = task(5, "photo-1", annotation([["oak"]]), key="k")
    votes = read_votes(put(tmp_path / "e.json", [record]), columns={"instance": "key"})
    assert votes.instances.ids == ("k",)


def test_tasks_are_found_by_the_instance_and_keep_their_number(tmp_path: Path) -> None:
    tasks = read_tasks(put(tmp_path / "e.json", REVIEW))
    assert dict(tasks.numbers) == {"photo-1": 12, "photo-2": 11, "photo-3": 13}
    assert tasks.fields["photo-2"]["text"] == "photo-2"
