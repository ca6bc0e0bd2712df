"""Options made from RunSettings, and the output of facts."""

import json
from dataclasses import dataclass

import click
import pytest

from mhpc.cli.options import given_settings, parse_pair, parse_parameter, setting, show
from mhpc.settings import RunSettings


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert parse_pair(" label = a=b ") == ("label", "a=b")
    assert parse_pair("label=") == ("label", "")


@pytest.mark.parametrize("text", ["lam", "=1", " =1", ""])
def test_text_without_key_or_equals_sign_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not KEY=VALUE"):
        parse_pair(text)


def test_none_is_a_value_for_parameters_and_a_name_for_columns() -> None:
    assert parse_parameter("graph=None") == ("graph", None)
    assert parse_parameter("lam=3") == ("lam", "3")
    assert parse_pair("label=none") == ("label", "none")


@pytest.mark.parametrize("name", [name for name in RunSettings.model_fields if name != "votes"])
def test_every_setting_has_an_option_that_explains_it(name: str) -> None:
    @setting(name)
    def command() -> None: ...

    (option,) = click.command()(command).params
    assert isinstance(option, click.Option)
    assert option.name == name
    description = RunSettings.model_fields[name].description
    assert description is not None
    assert option.help is not None
    assert option.help.startswith(" ".join(description.split()))
    # An option that is not given is left to the settings file.
    assert option.default in (None, ()) or "UNSET" in repr(option.default)


def test_only_given_options_are_passed_on() -> None:
    values = {"method": None, "columns": (), "parameters": (("lam", "1"), ("lam", "2")), "top": "3"}
    assert given_settings(values) == {"parameters": {"lam": "2"}, "top": "3"}


@dataclass(frozen=True)
class Facts:
    name: str
    value: float


def render(facts: Facts) -> str:
    return f"{facts.name} is {facts.value}"


def test_facts_are_rendered_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    show(Facts("coverage", 0.5), render, as_json=False)
    assert capsys.readouterr().out == "coverage is 0.5\n"


def test_facts_are_printed_as_json_with_null_for_nan(capsys: pytest.CaptureFixture[str]) -> None:
    show([Facts("coverage", float("nan"))], render, as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"name": "coverage", "value": None}]


def test_lines_in_a_pipe_are_not_wrapped_at_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show(Facts("x" * 100, 1), render, as_json=False)
    assert capsys.readouterr().out.count("\n") == 1
