"""Documents for reviewers: Label Studio tasks and Argilla records."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from mhpc.data.taxonomy import build_taxonomy
from mhpc.errors import DataError
from mhpc.write.formats import Content, make_format
from tests.fixtures.build import DAG, GARDEN
from tests.fixtures.labelled_scores import SURE, THREE, UNSURE, make_labelled_scores


def write_document(
    format_: str, subject: Any = THREE, content: Content = "labels", **parameters: Any
) -> Any:
    file = io.BytesIO()
    make_format(format_, content, parameters).write(file, subject, content)
    return json.loads(file.getvalue())


def test_tasks_have_predictions_and_the_least_certain_come_first() -> None:
    assert write_document("label-studio") == [
        {
            "id": 3,
            "data": {"mhpc_instance": "3", "text": "3"},
            "predictions": [{"model_version": "mhpc sa", "score": 0.0, "result": []}],
        },
        {
            "id": 2,
            "data": {"mhpc_instance": "2", "text": "2"},
            "predictions": [
                {
                    "model_version": "mhpc sa",
                    "score": 0.25,
                    "result": [
                        {
                            "id": "mhpc-1",
                            "from_name": "taxonomy",
                            "to_name": "text",
                            "type": "taxonomy",
                            "value": {"taxonomy": [["animal", "bird"]]},
                        }
                    ],
                }
            ],
        },
        {
            "id": 1,
            "data": {"mhpc_instance": "1", "text": "1"},
            "predictions": [
                {
                    "model_version": "mhpc sa",
                    "score": 0.5,
                    "result": [
                        {
                            "id": "mhpc-0",
                            "from_name": "taxonomy",
                            "to_name": "text",
                            "type": "taxonomy",
                            "value": {"taxonomy": [["plant", "flower", "monarda"]]},
                        }
                    ],
                }
            ],
        },
    ]


def test_disputed_instances_come_before_uncertain_ones() -> None:
    tasks = write_document("label-studio", replace(THREE, review_order=("2", "1")))
    assert [task["id"] for task in tasks] == [2, 1, 3]


def test_all_labels_are_all_paths_and_choices_are_names() -> None:
    tasks = write_document("label-studio", labels="all", order="given")
    (region,) = tasks[0]["predictions"][0]["result"]
    assert region["value"] == {
        "taxonomy": [["plant"], ["plant", "flower"], ["plant", "flower", "monarda"]]
    }
    tasks = write_document("label-studio", control="choices", from_name="kind", order="given")
    (region,) = tasks[0]["predictions"][0]["result"]
    assert (region["type"], region["from_name"]) == ("choices", "kind")
    assert region["value"] == {"choices": ["monarda"]}


def test_predictions_have_the_number_of_their_task() -> None:
    result = write_document("label-studio", shape="predictions", order="given")
    assert [prediction["task"] for prediction in result] == [1, 2, 3]
    with pytest.raises(DataError, match="'photo-1' is not the number of a task; shape=tasks"):
        write_document("label-studio", make_labelled_scores({"photo-1": SURE}), shape="predictions")


def test_predictions_have_the_number_that_the_task_has_in_the_export() -> None:
    result = make_labelled_scores({"photo-1": SURE, "2": UNSURE}, fields={"photo-1": {}, "2": {}})
    result = replace(result, task_numbers={"photo-1": 2, "2": 7})
    predictions = write_document("label-studio", result, shape="predictions", order="given")
    assert [prediction["task"] for prediction in predictions] == [2, 7]
    result = replace(result, task_numbers={"photo-1": 2})
    with pytest.raises(DataError, match="'2' has no task in the export; export all tasks"):
        write_document("label-studio", result, shape="predictions")


def test_an_id_that_is_not_a_number_is_stored_in_the_data() -> None:
    (task,) = write_document("label-studio", make_labelled_scores({"007": SURE}))
    assert "id" not in task
    assert task["data"] == {"mhpc_instance": "007", "text": "007"}


def test_fields_of_tasks_are_written_with_the_labels() -> None:
    fields = {"1": {"text": "a red flower"}, "2": {"text": "a small bird"}}
    result = make_labelled_scores({"1": SURE, "2": UNSURE}, fields=fields)
    assert [task["data"] for task in write_document("label-studio", result)] == [
        {"mhpc_instance": "2", "text": "a small bird"},
        {"mhpc_instance": "1", "text": "a red flower"},
    ]
    assert write_document("argilla", result)[0]["fields"] == {"text": "a small bird"}
    result = make_labelled_scores({"11": SURE}, fields={"111": {}})
    with pytest.raises(DataError, match="'11' is not among the tasks .nearest: '111'"):
        write_document("label-studio", result)


def test_a_score_is_clipped_for_label_studio() -> None:
    (task,) = write_document("label-studio", make_labelled_scores({"1": {"plant": 1.5}}))
    assert task["predictions"][0]["score"] == 1.0


def test_a_label_with_two_parents_is_written_below_the_first() -> None:
    result = make_labelled_scores({"1": dict.fromkeys("abcd", 1.0)}, taxonomy=DAG)
    (task,) = write_document("label-studio", result)
    (region,) = task["predictions"][0]["result"]
    assert region["value"]["taxonomy"] == [["a", "b", "d"]]


def test_labels_with_the_same_path_are_refused() -> None:
    paris = build_taxonomy(["1", "2", "3"], [], names=["Paris", "Lyon", "Paris"])
    result = make_labelled_scores({"x": {"3": 1.0}}, taxonomy=paris)
    with pytest.raises(DataError, match="labels '1', '3' are both 'Paris' in Label Studio"):
        write_document("label-studio", result)


def test_a_config_nests_choices_and_escapes_them() -> None:
    special = 'say "<b>" & go'
    taxonomy = build_taxonomy(["a", special, "c"], [(special, "a"), ("c", "a"), ("c", special)])
    file = io.BytesIO()
    make_format("label-studio-config", "taxonomy").write(file, taxonomy, "taxonomy")
    assert file.getvalue().decode() == (
        "<View>\n"
        '  <Text name="text" value="$text"/>\n'
        '  <Taxonomy name="taxonomy" toName="text">\n'
        '    <Choice value="a">\n'
        """      <Choice value='say "&lt;b&gt;" &amp; go'>\n"""
        '        <Choice value="c"/>\n'
        "      </Choice>\n"
        '      <Choice value="c"/>\n'
        "    </Choice>\n"
        "  </Taxonomy>\n"
        "</View>\n"
    )


def test_a_config_refuses_what_xml_cannot_hold() -> None:
    taxonomy = build_taxonomy(["a", "bell\x07"], [])
    with pytest.raises(DataError, match="which XML cannot hold"):
        make_format("label-studio-config", "taxonomy").write(io.BytesIO(), taxonomy, "taxonomy")


def test_argilla_records_have_suggestions() -> None:
    unlabelled, _, labelled = write_document("argilla")
    assert unlabelled["suggestions"] == {}
    assert labelled == {
        "id": "1",
        "fields": {"text": "1"},
        "metadata": {},
        "responses": {},
        "vectors": {},
        "suggestions": {
            "labels": {
                "value": ["plant", "flower", "monarda"],
                "score": [1.0, 0.75, 0.5],
                "agent": "mhpc sa",
            }
        },
    }


def test_argilla_records_may_be_flat_and_without_fields() -> None:
    result = write_document("argilla", shape="flat", field=None, labels="deepest", text="path")
    assert result[0] == {"id": "3"}
    assert result[2] == {
        "id": "1",
        "labels.suggestion": ["plant > flower > monarda"],
        "labels.suggestion.score": [0.5],
        "labels.suggestion.agent": "mhpc sa",
    }


def test_no_instances_are_an_empty_array() -> None:
    assert write_document("argilla", make_labelled_scores({}, taxonomy=GARDEN)) == []
