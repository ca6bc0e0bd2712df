import click
import pytest

from mhpc.cli.options import given, pair, parameter, setting
from mhpc.settings import RunSettings


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert pair(" label = a=b ") == ("label", "a=b")
    assert pair("label=") == ("label", "")


@pytest.mark.parametrize("text", ["lam", "=1", " =1", ""])
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not KEY=VALUE"):
        pair(text)


def test_none_is_a_value_of_parameters_and_a_name_of_columns() -> None:
    assert parameter("graph=None") == ("graph", None)
    assert parameter("lam=3") == ("lam", "3")
    assert pair("label=none") == ("label", "none")


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
    # What is not given is left to the settings file.
    assert option.default in (None, ()) or "UNSET" in repr(option.default)


def test_only_what_is_given_is_passed_on() -> None:
    values = {"method": None, "columns": (), "parameters": (("lam", "1"), ("lam", "2")), "top": "3"}
    assert given(values) == {"parameters": {"lam": "2"}, "top": "3"}
