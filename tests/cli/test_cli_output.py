import json
from dataclasses import dataclass

import pytest

from mhpc.cli.options import show


@dataclass(frozen=True)
class Facts:
    name: str
    value: float


def render(facts: Facts) -> str:
    return f"{facts.name} is {facts.value}"


def test_people_get_a_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    show(Facts("coverage", 0.5), render, as_json=False)
    assert capsys.readouterr().out == "coverage is 0.5\n"


def test_programs_get_json_in_which_nan_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    show([Facts("coverage", float("nan"))], render, as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"name": "coverage", "value": None}]


def test_a_pipe_does_not_squeeze_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show(Facts("x" * 100, 1), render, as_json=False)
    assert capsys.readouterr().out.count("\n") == 1
