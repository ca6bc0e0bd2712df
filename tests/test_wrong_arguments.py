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
    "label": lambda value: mhpc.explain(result(), "1", value),
    "decided": lambda value: mhpc.evaluate(result(), {"1": "bee"}, decided=value),
    "format": lambda value: mhpc.read_votes(VOTES, format=value),
    "separator": lambda value: mhpc.read_truth({"1": "bee"}, separator=value),
    "negative": lambda value: mhpc.read_votes(VOTES, negative=value),
    "sources": lambda value: mhpc.simulate({"1": "bee"}, LABELS, value),
    "votes": lambda value: mhpc.encode(value, mhpc.read_taxonomy(LABELS)),
    "taxonomy": lambda value: mhpc.encode(mhpc.read_votes(VOTES), value),
    "folder": lambda value: mhpc.load_run(value),
    "target": lambda value: mhpc.write_votes(value, mhpc.read_votes(VOTES)),
}

NUMBERS: dict[str, Callable[[Any], object]] = {
    "seed": lambda value: mhpc.conflicts(result(), strategy="random", seed=value),
    "folds": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], folds=value),
    "jobs": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], jobs=value),
    "instances": lambda value: mhpc.compare(VOTES, LABELS, ["sa"], instances=value),
    "score_max": lambda value: mhpc.read_votes(VOTES, score_max=value),
    "keep": lambda value: mhpc.source_contributions(result(), keep=value),
}

MAPPINGS: dict[str, Callable[[Any], object]] = {
    "columns": lambda value: mhpc.read_taxonomy(LABELS, columns=value),
    "costs": lambda value: mhpc.source_contributions(result(), costs=value),
}


def result() -> mhpc.Result:
    return mhpc.consolidate(VOTES, LABELS, method="majority")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_a_wrong_type_is_refused_by_name(name: str) -> None:
    for value in WRONG:
        with pytest.raises(ParameterError, match=f"^{name} = ") as refusal:
            ARGUMENTS[name](value)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_not_a_number_is_refused_by_name(name: str) -> None:
    for value in ("x", True, -0.5, float("nan"), [1], {"a": 1}, np.zeros(2), len):
        with pytest.raises(ParameterError, match=f"^{name} = "):
            NUMBERS[name](value)


@pytest.mark.parametrize("name", MAPPINGS)
def test_what_is_not_a_mapping_of_texts_is_refused_by_name(name: str) -> None:
    for value in ("x", 7, ["x"], [("a", "b")], {7: "x"}, np.zeros(2), len):
        with pytest.raises(ParameterError, match=f"^{name} = "):
            MAPPINGS[name](value)


@pytest.mark.parametrize("methods", [7, [7], {"a": 1}, [mhpc.SA], b"sa"])
def test_methods_that_are_none_are_refused(methods: Any) -> None:
    with pytest.raises(ParameterError, match="^methods? = .* is not allowed"):
        mhpc.compare(VOTES, LABELS, methods)


def test_a_price_that_is_no_number_is_refused() -> None:
    with pytest.raises(ParameterError, match="the price of 'ann' is 'x'"):
        mhpc.source_contributions(result(), costs={"ann": "x", "bob": 1})  # type: ignore[dict-item]


def test_half_a_character_separates_nothing() -> None:
    with pytest.raises(ParameterError, match="^separator = "):
        mhpc.read_votes(VOTES, separator="\ud800")


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
