from typing import Annotated, Literal

import pytest
from pydantic import Field

from mhpc.errors import ParameterError
from mhpc.methods.registry import METHODS, method_class
from mhpc.parameters import Parameters


class Oven(Parameters):
    """An oven."""

    heat: Annotated[float, Field(ge=0, lt=300)] = 180.0
    """Degrees."""

    rack: Literal["top", "middle"] | None = None
    """Where."""


def test_parameters_are_frozen() -> None:
    with pytest.raises(Exception, match="frozen"):
        Oven().heat = 200


def test_text_from_a_command_line_is_as_good_as_a_number() -> None:
    assert Oven(heat="200").heat == 200.0  # type: ignore[arg-type]


def test_a_wrong_value_is_named_with_what_would_do() -> None:
    with pytest.raises(ParameterError, match="Oven: heat = 300 is not allowed; give number >= 0"):
        Oven(heat=300)
    with pytest.raises(ParameterError, match="rack = 'low' is not allowed; give top | middle or"):
        Oven(rack="low")  # type: ignore[arg-type]


def test_an_unknown_name_is_named_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="Oven has no parameter 'heta'.*'heat'"):
        Oven(heta=3)  # type: ignore[call-arg]


def test_parameters_describe_themselves() -> None:
    assert Oven.describe()[0] == {
        "name": "heat", "default": 180.0, "range": "number >= 0, < 300", "meaning": "Degrees.",
    }  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_of_every_method_says_its_meaning_and_range(name: str) -> None:
    for entry in method_class(name).describe():
        assert entry["meaning"].endswith("."), entry
        assert entry["range"], entry
