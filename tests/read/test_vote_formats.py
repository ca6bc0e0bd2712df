"""The details of each vote format, and errors in files."""

import json
import re
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mhpc.data.votes import ABSTAIN_WORD, Votes
from mhpc.encoding.panel import encode
from mhpc.errors import (
    DataError,
    MhpcError,
    MhpcWarning,
    ParameterError,
    ReadingWarning,
    silence_warnings,
)
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.write.tables import write_votes
from tests.fixtures.build import GARDEN

Row = tuple[str, str, str | None, float]


def rows(votes: Votes) -> list[Row]:
    cells = zip(votes.instance, votes.source, votes.label, votes.score, strict=True)
    return [
        (votes.instances[i], votes.sources[s], votes.labels[k] if k >= 0 else None, float(score))
        for i, s, k, score in cells
    ]


def put(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def lines(*records: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def annotation(by: Any, paths: Sequence[Sequence[str]] | None, **fields: Any) -> dict[str, Any]:
    result = {"id": "r", "type": "taxonomy", "from_name": "topic", "value": {"taxonomy": paths}}
    return {"completed_by": by, "result": [] if paths is None else [result], **fields}


def task(id_: int, *annotations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "data": {"text": "…", "key": f"k{id_}"},
        "annotations": annotations,
        **fields,
    }


def test_label_studio_skips_cancelled_and_keeps_empty_annotations(tmp_path: Path) -> None:
    path = put(
        tmp_path / "export.json",
        [task(1, annotation(7, [["a", "b"]]), annotation(8, None, was_cancelled=True),
              annotation(9, None))],
    )  # fmt: skip
    assert rows(read_votes(path)) == [("1", "7", "a > b", 1.0), ("1", "9", None, 1.0)]


def test_label_studio_predictions_are_sources_with_their_score(tmp_path: Path) -> None:
    prediction = {"model_version": "m", "score": 0.25, "result": annotation(0, [["a"]])["result"]}
    path = put(
        tmp_path / "export.json",
        [task(1, annotation(7, [["b"]], prediction=prediction), predictions=[prediction]),
         task(2, annotation(7, [["b"]], prediction=prediction), predictions=[31])],
    )  # fmt: skip
    with warnings.catch_warnings():
        # The first prediction occurs twice, and the second one is dropped.
        warnings.simplefilter("ignore", MhpcWarning)
        actual = rows(read_votes(path))
    assert sorted(actual, key=str) == [
        ("1", "7", "b", 1.0), ("1", "m", "a", 0.25), ("2", "7", "b", 1.0), ("2", "m", "a", 0.25),
    ]  # fmt: skip


def test_ground_truth_is_gold_and_not_a_vote(tmp_path: Path) -> None:
    path = put(
        tmp_path / "export.json",
        [task(1, annotation(7, [["a"]]), annotation(8, [["a", "b"]], ground_truth=True)),
         task(2, annotation(8, [["a"]], ground_truth=True))],
    )  # fmt: skip
    votes = read_votes(path)
    assert rows(votes) == [("1", "7", "a", 1.0)]
    assert votes.gold is not None
    # Nobody voted on 2, so its truth can be used for evaluation but not as gold.
    assert votes.gold.instances.ids == ("1",)
    assert votes.gold.labels.ids == ("a > b",)
    assert read_truth(path).instances.ids == ("1", "2")


def test_results_on_regions_make_regions_the_instances(tmp_path: Path) -> None:
    part = {"id": "r1", "type": "taxonomy", "from_name": "topic"}
    regional = {**part, "value": {"x": 1, "y": 2, "width": 3, "taxonomy": [["a"]]}}
    path = put(tmp_path / "e.json", [task(1, {"completed_by": 7, "result": [regional]})])
    assert rows(read_votes(path)) == [("1/r1", "7", "a", 1.0)]


def test_a_field_of_the_data_can_be_the_instance(tmp_path: Path) -> None:
    path = put(tmp_path / "export.json", [task(1, annotation(7, [["a"]]))])
    assert rows(read_votes(path, columns={"instance": "key"})) == [("k1", "7", "a", 1.0)]


def test_one_of_several_controls_must_be_chosen(tmp_path: Path) -> None:
    def choice(name: str) -> dict[str, Any]:
        return {"id": "r", "type": "choices", "from_name": name, "value": {"choices": [name]}}

    answer = {"completed_by": 7, "result": [choice("tone_0"), choice("topic_0")]}
    path = put(tmp_path / "export.json", [task(1, answer)])
    with pytest.raises(
        DataError, match="2 controls contain labels, 'tone_0', 'topic_0'; choose one"
    ):
        read_votes(path)
    assert rows(read_votes(path, columns={"label": "topic_*"})) == [("1", "7", "topic_0", 1.0)]
    with pytest.raises(DataError, match=r"no control 'topic' \(nearest: 'topic_0'\)"):
        read_votes(path, columns={"label": "topic"})


def test_argilla_drafts_do_not_count_and_suggestions_have_scores(tmp_path: Path) -> None:
    record = {
        "id": "r", "text": "…", "q.responses": [["a"], ["b"], []],
        "q.responses.users": ["ann", "bob", "cy"],
        "q.responses.status": ["submitted", "draft", "submitted"],
        "q.suggestion": ["a", "b"], "q.suggestion.score": [0.9, 0.25], "q.suggestion.agent": "m",
    }  # fmt: skip
    actual = rows(read_votes(put(tmp_path / "records.json", [record])))
    assert actual == [
        ("r", "ann", "a", 1.0), ("r", "cy", None, 1.0), ("r", "m", "a", 0.9), ("r", "m", "b", 0.25),
    ]  # fmt: skip


def test_doccano_of_all_members_is_one_source(tmp_path: Path) -> None:
    path = put(
        tmp_path / "all.jsonl",
        lines({"id": 1, "text": "…", "label": ["a", "b"]}, {"id": 2, "text": "…", "label": []}),
    )
    assert rows(read_votes(path)) == [("1", "all", "a", 1.0), ("1", "all", "b", 1.0)]


@pytest.mark.parametrize("labels", [["bee", "", None, "bee"], [3, 7, 3, 0]])
def test_peerannot_answers_are_read_like_lists_of_one_label(
    tmp_path: Path, labels: list[Any]
) -> None:
    first, second, third, fourth = labels
    answers = {"t2": {"w9": first, "w1": second}, "none": {}, "t1": {"w1": third, "w9": fourth}}
    in_lists = {
        task: {worker: [label] for worker, label in workers.items()}
        for task, workers in answers.items()
    }
    votes = read_votes(put(tmp_path / "answers.json", answers), format="peerannot")
    assert votes.instances.ids == ("t2", "t1")
    assert votes.sources.ids == ("w9", "w1")
    listed = read_votes(put(tmp_path / "lists.json", in_lists), format="peerannot")
    assert rows(votes) == rows(listed)


def test_peerannot_errors_name_the_row(tmp_path: Path) -> None:
    path = put(tmp_path / "answers.json", {"t1": {"w1": "a"}, "t2": {"": "b"}})
    with pytest.raises(DataError, match="row 2 has an empty source"):
        read_votes(path, format="peerannot")
    path = put(tmp_path / "answers.json", {"t1": {"w1": "a"}, "t2": {"w1": "b" * 10_001}})
    with pytest.raises(DataError, match="row 2 has a label of 10,001 characters"):
        read_votes(path, format="peerannot")


def test_prodigy_rejected_and_ignored_answers(tmp_path: Path) -> None:
    def answer(hash_: int, reply: str, **fields: Any) -> dict[str, Any]:
        return {
            "_input_hash": hash_,
            "_task_hash": 0,
            "_session_id": "s",
            "answer": reply,
            **fields,
        }

    path = put(
        tmp_path / "db.jsonl",
        lines(
            answer(1, "accept", accept=["a", "b"]), answer(2, "reject", accept=["a"]),
            answer(3, "ignore", accept=["a"]), answer(4, "accept", label="a"),
            answer(4, "reject", label="b"),
        ),
    )  # fmt: skip
    votes = read_votes(path)
    assert rows(votes) == [
        ("1", "s", "a", 1.0), ("1", "s", "b", 1.0), ("2", "s", None, 1.0), ("4", "s", "a", 1.0),
        ("4", "s", "b", 1.0),
    ]  # fmt: skip
    assert votes.negative is not None
    assert votes.negative.tolist() == [False, False, False, False, True]


ZOONIVERSE = "classification_id,user_name,gold_standard,annotations,subject_ids\n"


def classification(user: str, subject: int, annotations: Any, gold: str = "") -> str:
    cell = json.dumps(annotations).replace('"', '""')
    return f'1,{user},{gold},"{cell}",{subject}\n'


def test_zooniverse_questions_choices_and_combined_tasks(tmp_path: Path) -> None:
    combined = [{"task": "T9", "value": [{"task": "T0", "value": "a"}]}]
    path = put(
        tmp_path / "c.csv",
        ZOONIVERSE
        + classification("ann", 5, [{"task": "T0", "value": "a"}])
        + classification("bob", 5, [{"task": "T0", "value": ["a", "b"]}])
        + classification("cy", 5, combined)
        + classification("dee", 5, [{"task": "T0", "value": None}, {"task": "T0", "value": ""}])
        + classification("fay", 6, [{"task": "T0", "value": "![a.png](https://x.org/a.png) a"}])
        + classification("fay", 7, [{"task": "T0", "value": []}])
        + classification("eve", 5, [{"task": "T0", "value": "b"}], gold="true"),
    )
    votes = read_votes(path)
    assert sorted(rows(votes), key=str) == [
        ("5", "ann", "a", 1.0), ("5", "bob", "a", 1.0), ("5", "bob", "b", 1.0),
        ("5", "cy", "a", 1.0), ("6", "fay", "a", 1.0), ("7", "fay", None, 1.0),
    ]  # fmt: skip
    assert votes.gold is not None
    assert votes.gold.labels.ids == ("b",)


def test_blank_is_not_asked_minus_one_is_unsure_and_zeros_are_an_answer(tmp_path: Path) -> None:
    put(tmp_path / "ann.csv", "Study,a,b\n1,1,0\n2,0,0\n3,-1,\n4,,\n")
    put(tmp_path / "bob.csv", "Study,b,a\n1,0.25,\n")
    with pytest.warns(ReadingWarning, match=r"1 cell with -1 \(unsure\) read as a score of 0.5"):
        votes = read_votes(tmp_path)
    assert sorted(rows(votes), key=str) == [
        ("1", "ann", "a", 1.0), ("1", "bob", "b", 0.25), ("2", "ann", None, 1.0),
        ("3", "ann", "a", 0.5),
    ]  # fmt: skip
    # Bob left a blank everywhere, so it is out of his scope.
    assert votes.scope == {"ann": ("a", "b"), "bob": ("b",)}
    with silence_warnings():
        assert read_votes(tmp_path, scope="used").scope == "used"


def test_a_column_that_is_not_in_the_taxonomy_can_be_dropped(
    tmp_path: Path,
) -> None:
    put(tmp_path / "ann.csv", "Study,plant,odd\n1,1,1\n")
    put(tmp_path / "bob.csv", "Study,plant\n1,1\n")
    with pytest.warns(MhpcWarning, match="1 label not in the taxonomy, left out: 'odd'"):
        panel = encode(read_votes(tmp_path), GARDEN, unknown="drop")
    assert panel.scope is not None
    assert panel.scope.toarray().sum(axis=1).tolist() == [1, 1]


def test_other_columns_of_a_wide_table_are_left_out_and_said(tmp_path: Path) -> None:
    path = put(
        tmp_path / "w.csv",
        "example_no,annotator_id,age,type.sexist,type.racist\n7,ann,31,1,0\n7,bob,45,0,0\n",
    )
    with pytest.warns(ReadingWarning, match="one column per label, .*; 'age' left out"):
        votes = read_votes(path)
    assert rows(votes) == [("7", "ann", "type.sexist", 1.0), ("7", "bob", None, 1.0)]


def test_a_list_may_be_json_in_a_cell_of_csv(tmp_path: Path) -> None:
    path = put(tmp_path / "v.csv", 'task,worker,label\n1,ann,"[""a"", ""b""]"\n1,bob,[]\n')
    assert rows(read_votes(path)) == [
        ("1", "ann", "a", 1.0), ("1", "ann", "b", 1.0), ("1", "bob", None, 1.0),
    ]  # fmt: skip


def test_a_label_that_begins_with_a_bracket_is_not_a_list(tmp_path: Path) -> None:
    path = put(tmp_path / "v.csv", "task,worker,label\n1,ann,[a]\n1,bob,b\n")
    assert {row[2] for row in rows(read_votes(path))} == {"[a]", "b"}


def test_an_unknown_format_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"no format 'prodgy' \(nearest: 'prodigy'\)"):
        read_votes(put(tmp_path / "v.csv", "task,worker,label\n1,a,b\n"), format="prodgy")


GOOD = {"_input_hash": 1, "_task_hash": 0, "answer": "accept", "accept": ["a"]}

WRONG: dict[str, tuple[str, Any, str | None, str]] = {
    "json line": ("v.jsonl", '{"item": 1}\n\n{"item": }\n', None, "v.jsonl, line 3: '{"),
    "json array": ("v.json", '[{"item": 1},\n {"item": }]', None, "v.json, line 2: not JSON"),
    "json array of numbers": ("v.json", "[1, 2]", None, "v.json, record 1: '1' is not"),
    "task without id": ("e.json", [task(1, annotation(1, [["a"]])), {
        "data": {}, "annotations": [annotation(1, [["a"]])],
    }], None, "e.json, record 2: the task has no id"),
    "annotations no list": ("e.json", [task(1, annotation(1, [["a"]])), {
        "id": 2, "data": {}, "annotations": "none",
    }], None, "e.json, record 2: its annotations are not a list"),
    "annotation without source": ("e.json", [task(1, annotation(None, [["a"]]))], None,
        "e.json, record 1: no source"),
    "score out of range": ("e.json", [task(1, predictions=[{
        "model_version": "m", "score": 3, "result": annotation(0, [["a"]])["result"],
    }])], None, "e.json, record 1: score '3.0' for label 'a'"),
    "prodigy answer": ("p.jsonl", lines(GOOD, {**GOOD, "answer": "yes"}), None,
        "p.jsonl, line 2: answer 'yes'; it must be accept, reject or ignore"),
    "prodigy spans": ("p.jsonl", lines({k: v for k, v in GOOD.items() if k != "accept"}), None,
        "p.jsonl, line 1: neither a list 'accept' nor a 'label'"),
    "cafa score": ("t.tsv", "T1\tGO:1\t0.5\nT1\tGO:2\t7\n", None,
        "t.tsv, row 2: score '7.0' for label 'GO:2'"),
    "cafa cells": ("t.tsv", "T1\tGO:1\t0.5\nT1\tGO:2\n", None,
        "t.tsv, row 2: 'T1 GO:2' is not target, term and score"),
    "wide cell": ("w.csv", "task,worker,a,b\n1,ann,1,0\n2,ann,0,1\n3,ann,0,2\n", None,
        "w.csv, row 3: column 'b' has something other than"),
    "matrix cell": ("m.csv", "Study,a,b\n1,1,0\n2,0,1\n3,x,0\n", None,
        "m.csv, line 4: column 'a' has 'x', which is not a number"),
    "matrix score": ("m.csv", "Study,a,b\n1,1,0\n2,0,1\n3,7,0\n", None,
        "m.csv, row 3: column 'a' has something other than"),
    "cafa more cells": ("t.tsv", "T1\tGO:1\t0.5\nT1\tGO:2\t0.5\tmore\n", None, "t.tsv, line 2: "),
    "doccano spans": ("all.jsonl", lines({"id": 1, "text": "…", "label": [[0, 2, "a"]]}), None,
        "all.jsonl, line 1: it labels spans"),
    "zooniverse annotations": ("c.csv", f"{ZOONIVERSE}1,ann,,no list,5\n", None,
        "c.csv, row 1: its annotations are not a JSON list"),
    "not that format": ("v.csv", "task,worker,label\n1,a,b\n", "prodigy",
        "v.csv contains no JSON objects, which format 'prodigy' needs"),
    "no zip": ("v.zip", "PK\x03\x04 and so on", None, "does not decompress"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_place(case: str, tmp_path: Path) -> None:
    name, content, format_, message = WRONG[case]
    with pytest.raises(MhpcError) as error:
        read_votes(put(tmp_path / name, content), format=format_)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_errors_name_the_right_one_of_several_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("ann.jsonl", lines({"id": 1, "text": "…", "label": ["a"]}))
        archive.writestr("bob.jsonl", lines({"id": 1, "text": "…", "label": "a"}))
    with pytest.raises(DataError, match=r"export.zip/bob.jsonl, line 1: it has no list of labels"):
        read_votes(tmp_path / "export.zip", format="doccano")


@pytest.mark.parametrize("n_labels", [1_760, 1_900], ids=["cut in a row", "cut in the header"])
def test_a_matrix_with_thousands_of_labels_loses_no_votes(tmp_path: Path, n_labels: int) -> None:
    """The first row does not fit into the head of the file, by which formats are recognized."""
    names = [f"a label with a rather long name {i:04}" for i in range(n_labels)]
    lines = [
        ",".join(["i1", "ann", *("01"[i % 2] for i in range(n_labels))]),
        ",".join(["i2", "bob", *["0"] * (n_labels - 1), "-1"]),
        ",".join(["i3", "bob", *["0"] * n_labels]),
    ]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join([",".join(["instance", "source", *names]), *lines, ""]))
    odd = [("i1", "ann", name, 1.0) for name in names[1::2]]
    last = [("i2", "bob", names[-1], 0.5), ("i3", "bob", None, 1.0)]
    with silence_warnings():
        votes = read_votes(path)
    assert sorted(rows(votes), key=str) == sorted([*odd, *last], key=str)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.jsonl", '{"item": 1, "model": "a", "label": "bee"}\n{"item": 2, "model": "a", "label": '
         'null}\n{"item": 3, "model": "a"}\n{"item": 4, "model": "a", "label": ""}\n'),
        ("v.jsonl", '{"item": 1, "model": "a", "label": ["bee"]}\n{"item": 2, "model": "a", '
         '"label": [null]}\n{"item": 3, "model": "a", "label": [{"label": null}]}\n'
         '{"item": 4, "model": "a", "label": []}\n'),
        ("answers.json",
         '{"1": {"a": "bee"}, "2": {"a": null}, "3": {"a": null}, "4": {"a": ""}}'),
    ],
)  # fmt: skip
def test_null_is_no_answer_in_any_shape_of_json(tmp_path: Path, name: str, text: str) -> None:
    votes = rows(read_votes(put(tmp_path / name, text)))
    assert {(instance, label) for instance, _, label, _ in votes} == {
        ("1", "bee"), ("2", ABSTAIN_WORD), ("3", ABSTAIN_WORD), ("4", None),
    }  # fmt: skip


def test_answers_without_labels_survive_json_lines(tmp_path: Path) -> None:
    votes = read_votes([("1", "ann", "bee"), ("2", "ann", None), ("3", "ann", "abstain")])
    write_votes(tmp_path / "v.jsonl", votes)
    assert rows(read_votes(tmp_path / "v.jsonl")) == rows(votes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"item": 1, "item": 2, "model": "a", "label": "x"}', "line 1: key 'item' is given twice"),
        (
            '[{"item": 1, "annotations": {"a": ["x"], "a": ["y"]}}]',
            "record 1: a source is given tw",
        ),
        ('[{"item": 1, "model": "a", "labels": [{"klass": "x"}]}]', '"klass":"x"} has no label'),
    ],
)
def test_json_that_would_lose_answers_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MhpcError, match=re.escape(message)):
        read_votes(put(tmp_path / "v.json", text))


def test_a_header_in_the_middle_is_no_vote(tmp_path: Path) -> None:
    path = put(tmp_path / "v.csv", "item,worker,label\n1,a,x\nitem,worker,label\n2,a,y\n")
    with pytest.raises(DataError, match="row 2: the header again"):
        read_votes(path)
