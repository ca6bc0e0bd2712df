"""Arguments of a wrong type or value are refused by name, in one line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mhpc
from mhpc.errors import ParameterError, TooLargeError
from mhpc.system.memory import use_memory_budget

VOTES = [("1", "ann", "bee"), ("1", "bob", "ant"), ("2", "ann", "bee"), ("2", "bob", "bee")]
LABELS = ["ant", "bee"]
WRONG = (7, 0.5, object(), ["x"], {"a": 1}, np.zeros((2, 2)), b"x", len, type)

ARGUMENTS: dict[str, Callable[[Any], object]] = {
    "method": lambda value: mhpc.consolidate(VOTES, LABELS, method=value),
    "rule": lambda value: mhpc.consolidate(VOTES, LABELS, rule=value),
    "unknown": lambda value: mhpc.consolidate(VOTES, LABELS, unknown=value),
    "apply": lambda value: mhpc.consolidate(VOTES, apply=value),
    "update": lambda value: mhpc.consolidate(VOTES, update=value),
    "result": lambda value: mhpc.explain(value, "1"),
    "view": lambda value: mhpc.evaluate(result(), {"1": "bee"}, view=value),
    "strategy": lambda value: mhpc.conflicts(result(), strategy=value),
    "what": lambda value: result().to_frame(value),
}


def result() -> mhpc.Result:
    return mhpc.consolidate(VOTES, LABELS, method="majority")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_a_wrong_type_is_refused_by_name(name: str) -> None:
    for value in WRONG:
        with pytest.raises(ParameterError, match=f"^{name} = ") as refusal:
            ARGUMENTS[name](value)
        assert "\n" not in str(refusal.value)


def test_one_instance_without_votes_is_one_instance() -> None:
    added = mhpc.consolidate(VOTES, LABELS, method="majority", instances="i9")
    assert added.panel.instances.ids == ("1", "2", "i9")


@pytest.mark.parametrize("seed", [-1, 2**63, 10**40])
def test_a_seed_that_does_not_fit_is_refused(seed: int) -> None:
    with pytest.raises(ParameterError, match="seed = .* is not allowed"):
        mhpc.conflicts(result(), strategy="random", seed=seed)


def test_more_simulated_answers_than_fit_are_refused() -> None:
    sources = [mhpc.Profile()] * 2
    with use_memory_budget(100), pytest.raises(TooLargeError, match="2 sources .* need about"):
        mhpc.simulate({"1": "bee"}, LABELS, sources)
