"""The SDKs of Label Studio and Argilla accept the files written for them.

The SDKs take hundreds of megabytes and are not among the development dependencies;
``make integration`` installs them.
"""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mhpc.data.decision import LabelledScores
from mhpc.data.taxonomy import build_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.write.tables import write_file
from tests.fixtures.build import DAG
from tests.fixtures.labelled_scores import SURE, THREE, make_labelled_scores

pytestmark = [
    pytest.mark.integration,
    # What the SDKs call is theirs to mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SPECIAL = build_taxonomy(["a&b", '"c" <d>'], [('"c" <d>', "a&b")])

RESULTS = {
    "garden": THREE,
    "several parents": make_labelled_scores({"1": dict.fromkeys("abcd", 1.0)}, taxonomy=DAG),
    "special characters": make_labelled_scores(
        {"1": {"a&b": 1.5, '"c" <d>': 0.5}}, taxonomy=SPECIAL
    ),
}


def write_tasks(folder: Path, result: LabelledScores, **parameters: Any) -> Any:
    path = folder / "new.json"
    write_file(path, result, "labels", format="label-studio", parameters=parameters)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("labels", ["all", "deepest"])
def test_label_studio_accepts_config_tasks_and_predictions(
    tmp_path: Path, name: str, labels: str
) -> None:
    import label_studio_sdk as sdk
    from label_studio_sdk.label_interface import LabelInterface
    from label_studio_sdk.label_interface.objects import TaskValue

    result = RESULTS[name]
    write_file(tmp_path / "config.xml", result.taxonomy, "taxonomy")
    interface = LabelInterface((tmp_path / "config.xml").read_text(encoding="utf-8"))
    interface.validate()
    for task in write_tasks(tmp_path, result, labels=labels):
        TaskValue.model_validate(task)
        for prediction in task["predictions"]:
            assert interface.validate_prediction(prediction, return_errors=True) == []
    for prediction in write_tasks(tmp_path, result, labels=labels, shape="predictions"):
        assert interface.validate_prediction(prediction, return_errors=True) == []
        assert sdk.PredictionRequest(**prediction).task == prediction["task"]


def test_label_studio_refuses_a_label_that_it_lacks(tmp_path: Path) -> None:
    from label_studio_sdk.label_interface import LabelInterface

    write_file(tmp_path / "config.xml", DAG, "taxonomy")
    interface = LabelInterface((tmp_path / "config.xml").read_text(encoding="utf-8"))
    (task,) = write_tasks(tmp_path, make_labelled_scores({"1": SURE}))
    assert not interface.validate_prediction(task["predictions"][0])


def test_argilla_reads_records_back(tmp_path: Path) -> None:
    from argilla.records._io import JsonIO

    write_file(tmp_path / "new.json", THREE, "labels", format="argilla")
    records = JsonIO._records_from_json(tmp_path / "new.json")
    assert [record.id for record in records] == ["3", "2", "1"]
    (suggestion,) = records[-1].suggestions
    assert suggestion.value == ["plant", "flower", "monarda"]
    assert suggestion.score == [1.0, 0.75, 0.5]


def test_flat_records_are_what_argilla_writes_flat(tmp_path: Path) -> None:
    from argilla.records._io import GenericIO, JsonIO

    for shape in ("records", "flat"):
        write_file(
            tmp_path / f"{shape}.json", THREE, "labels", format="argilla",
            parameters={"shape": shape},
        )  # fmt: skip
    records = JsonIO._records_from_json(tmp_path / "records.json")
    expected = GenericIO.to_list(records, flatten=True)
    flat = json.loads((tmp_path / "flat.json").read_text(encoding="utf-8"))
    for record, reference in zip(flat, expected, strict=True):
        assert record == {key: value for key, value in reference.items() if key in record}


def test_responses_to_suggestions_are_known_labels(tmp_path: Path) -> None:
    from argilla.records._io import GenericIO, JsonIO
    from argilla.responses import Response

    write_file(tmp_path / "new.json", THREE, "labels", format="argilla")
    records = JsonIO._records_from_json(tmp_path / "new.json")
    user = uuid4()
    corrected = {"1": ["plant"], "2": ["animal", "bird", "finch"]}
    for record in records:
        if str(record.id) in corrected:
            labels = corrected[str(record.id)]
            record.responses.add(Response("labels", value=labels, user_id=user, status="submitted"))
    JsonIO.to_json(records, tmp_path / "nested.json")
    flat = GenericIO.to_list(records, flatten=True)
    (tmp_path / "flat.json").write_text(json.dumps(flat, default=str), encoding="utf-8")
    for name in ("nested.json", "flat.json"):
        truth = read_truth(tmp_path / name)
        labels_of: dict[str, list[str]] = {}
        for i, k in zip(truth.instance, truth.label, strict=True):
            labels_of.setdefault(truth.instances[i], []).append(truth.labels[k])
        assert labels_of == corrected
        assert read_votes(tmp_path / name).sources.ids == (str(user),)
