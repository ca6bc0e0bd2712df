import json
from pathlib import Path

import pytest

from mhpc.errors import DataError, UnreadableError
from mhpc.read.tasks import read_tasks

REGION = {"type": "taxonomy", "from_name": "kind", "to_name": "picture", "value": {"taxonomy": []}}

LABEL_STUDIO = [
    {"id": 1, "data": {"text": "a"}, "annotations": []},
    {"id": 2, "data": {"text": "b"}, "annotations": [{"result": [{"type": "textarea"}, REGION]}]},
]


def read(path: Path, content: object) -> dict[str, object]:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    tasks = read_tasks(path)
    return {"fields": dict(tasks.fields), "control": dict(tasks.control)}


def test_label_studio_has_the_data_and_the_control(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", LABEL_STUDIO) == {
        "fields": {"1": {"text": "a"}, "2": {"text": "b"}},
        "control": {"control": "taxonomy", "from_name": "kind", "to_name": "picture"},
    }


def test_argilla_has_the_fields(tmp_path: Path) -> None:
    tasks = read(tmp_path / "a.json", [{"id": "x", "fields": {"text": "a"}, "responses": {}}])
    assert tasks == {"fields": {"x": {"text": "a"}}, "control": {}}


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ({"id": 1}, DataError, "not a JSON array of tasks"),
        ([{"id": 1}], DataError, "task 1 has no 'id' with 'data'"),
        ([{"data": {}}], DataError, "task 1 has no 'id'"),
        ("[{", UnreadableError, "line 1: not JSON"),
        ("[" * 100_000, UnreadableError, "nested deeper than"),
    ],
)
def test_a_file_that_is_not_an_export_is_refused(
    tmp_path: Path, content: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(tmp_path / "a.json", content)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(LABEL_STUDIO))
    with pytest.raises(UnreadableError, match="a.json is larger than"):
        read_tasks(path, max_bytes=10)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="cannot be read: No such file"):
        read_tasks(tmp_path / "b.json")
