from typing import Annotated, Literal

import pytest
from pydantic import Field

from mhpc.errors import ParameterError
from mhpc.methods.registry import METHODS, method_class
from mhpc.parameters import MAX_SEED, Parameters, Seed, check_seed


class Oven(Parameters):
    """An oven."""

    heat: Annotated[float, Field(ge=0, lt=300)] = 180.0
    """Degrees."""

    rack: Literal["top", "middle"] | None = None
    """Where."""


def test_parameters_are_frozen() -> None:
    with pytest.raises(Exception, match="frozen"):
        Oven().heat = 200


def test_numbers_may_be_given_as_text() -> None:
    assert Oven(heat="200").heat == 200.0  # type: ignore[arg-type]


def test_an_invalid_value_is_refused_with_the_valid_range() -> None:
    with pytest.raises(ParameterError, match="Oven: heat = 300 is not allowed; give number >= 0"):
        Oven(heat=300)
    with pytest.raises(ParameterError, match="rack = 'low' is not allowed; give top | middle or"):
        Oven(rack="low")  # type: ignore[arg-type]


def test_an_unknown_parameter_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError, match="Oven has no parameter 'heta'.*'heat'"):
        Oven(heta=3)  # type: ignore[call-arg]


def test_parameters_are_described_with_default_range_and_meaning() -> None:
    assert Oven.describe()[0] == {
        "name": "heat", "default": 180.0, "range": "number >= 0, < 300", "meaning": "Degrees.",
    }  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_of_every_method_has_a_meaning_and_a_range(name: str) -> None:
    for entry in method_class(name).describe():
        assert entry["meaning"].endswith("."), entry
        assert entry["range"], entry


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1, pytest.param(10**5000, id="huge")])
def test_a_seed_that_does_not_fit_is_refused(seed: int) -> None:
    with pytest.raises(ParameterError, match="seed = .* is not allowed; give an integer from 0"):
        check_seed(seed)


def test_bounds_of_integers_are_written_out() -> None:
    class Draw(Parameters):
        """A draw."""

        seed: Seed = 0
        """Seed."""

    assert Draw.describe()[0]["range"] == "integer >= 0, <= 9,223,372,036,854,775,807"
