"""Parameters at the limits of their declared ranges: sound results inside, an error outside."""

import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mhpc.data.panel import Panel
from mhpc.data.scores import Consolidation
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.errors import ConvergenceWarning, ParameterError
from mhpc.methods.registry import METHODS, make_method, method_class
from mhpc.numerics.arrays import dense
from mhpc.parameters import Parameters
from mhpc.read.truth import read_truth
from mhpc.rules.base import apply_rule
from mhpc.rules.registry import RULES, make_rule, rule_class
from mhpc.settings import RunSettings
from tests.contracts.test_numerics import BEYOND_ONE, NOT_ABOVE_CHILDREN
from tests.fixtures.build import DAG, Row, panel_of
from tests.fixtures.panels import random_rows
from tests.fixtures.scores import consolidation_of

LIMIT_SCORES = (5e-324, 1e-300, 1 - 1e-16, 1.0, 0.0)
"""Scores at the limits of what a vote can have."""

SCORE_BEYOND_ONE = {name for name in BEYOND_ONE if name in ("mhpc", "mpc-u", "mhpc-local")}
"""Methods whose scores, not only `specific`, may exceed 1: see docs/paper.md."""

MAX_INTEGER = 10**30
"""Tried where an integer has no upper limit, such as a seed."""

ROUNDING = 1e-9


@dataclass(frozen=True)
class Range:
    """The declared range of a numeric parameter: its lowest and highest value, and its type."""

    name: str
    lowest: float
    highest: float
    is_integer: bool

    def inside(self) -> list[float]:
        """Return both ends, and the numbers next to them."""
        near = {self.lowest, self.highest, self._step(self.lowest, 1), self._step(self.highest, -1)}
        return sorted(value for value in near if self.lowest <= value <= self.highest)

    def outside(self) -> list[float]:
        """Return the numbers just beyond the ends, as far as there are any, and no numbers."""
        beyond = [self._step(self.lowest, -1)]
        if self.highest not in (sys.float_info.max, MAX_INTEGER):
            beyond.append(self._step(self.highest, 1))
        return [*beyond, math.nan, math.inf, -math.inf]

    def values(self) -> st.SearchStrategy[float]:
        """Return any values within the range."""
        if self.is_integer:
            return st.integers(int(self.lowest), int(self.highest))
        return st.floats(self.lowest, self.highest)

    def _step(self, value: float, direction: int) -> float:
        if self.is_integer:
            return int(value) + direction
        return float(np.nextafter(value, direction * np.inf))


def numeric_ranges(kind: type[Parameters]) -> Iterator[Range]:
    for name, schema in kind.model_json_schema()["properties"].items():
        for choice in schema.get("anyOf", [schema]):
            if choice.get("type") in ("number", "integer"):
                yield _read_range(name, choice)


def _read_range(name: str, schema: Mapping[str, Any]) -> Range:
    is_integer = schema["type"] == "integer"
    most: float = MAX_INTEGER if is_integer else sys.float_info.max
    lowest, highest = schema.get("minimum", -most), schema.get("maximum", most)
    if "exclusiveMinimum" in schema:
        lowest = float(np.nextafter(schema["exclusiveMinimum"], np.inf))
    if "exclusiveMaximum" in schema:
        highest = float(np.nextafter(schema["exclusiveMaximum"], -np.inf))
    return Range(name, lowest, highest, is_integer)


METHOD_RANGES = [
    pytest.param(name, each, id=f"{name} {each.name}")
    for name in METHODS
    for each in numeric_ranges(method_class(name))
]

RULE_RANGES = [
    pytest.param(name, each, id=f"{name} {each.name}")
    for name in RULES
    for each in numeric_ranges(rule_class(name))
]


@cache
def panels() -> Mapping[str, Panel]:
    """Return small panels on a DAG; the last instance of some has no answer."""
    plain, unanswered = random_rows(instances=6, sources=3, scores=False), ["unanswered"]
    rng = np.random.default_rng(1)
    limits: list[Row] = [(*row[:3], float(rng.choice(LIMIT_SCORES))) for row in plain]
    one_label: list[Row] = [
        (f"x{i}", f"s{s}", "abcde"[(i + s * (i % 2)) % 5]) for i in range(6) for s in range(3)
    ]
    with_gold = panel_of(plain, DAG)
    gold = read_truth({"instance": ["x1", "x3"], "label": ["d", "e"]})
    return {
        "votes": panel_of(plain, DAG, instances=unanswered),
        "votes with scores": panel_of(random_rows(instances=6, sources=3), DAG),
        "scores at their limits": panel_of(limits, DAG, instances=unanswered),
        "one label per answer": panel_of(one_label, DAG),
        "no labels": panel_of([("x", "s", None), ("y", "s", None), ("y", "t", None)], DAG),
        "one source": panel_of(random_rows(instances=6, sources=1), DAG),
        "gold": append_gold_source(with_gold, encode_truth(gold, DAG, with_gold.instances)),
    }


def assert_sound_scores(name: str, consolidation: Consolidation) -> None:
    """Assert that scores are numbers from 0 to 1, no parent's below its child's."""
    score, specific = dense(consolidation.score), dense(consolidation.specific)
    assert np.isfinite(score).all()
    assert np.isfinite(specific).all()
    assert score.min() >= 0.0
    assert specific.min() >= 0.0
    # Smoothing by the normalised Laplacian multiplies by the root of a ratio of degrees at most.
    assert score.max() <= (len(score) ** 0.5 if name in SCORE_BEYOND_ONE else 1.0)
    if name not in NOT_ABOVE_CHILDREN:
        for label in range(len(DAG)):
            for parent in DAG.parents_of(label):
                assert (score[:, parent] >= score[:, label] - ROUNDING).all()


def assert_sound(name: str, parameters: Mapping[str, Any], *titles: str) -> None:
    """Assert that a method gives sound scores on some or all panels, and NumPy warns of nothing."""
    method = make_method(name, parameters)
    for title in titles or panels():
        panel = panels()[title]
        with warnings.catch_warnings():
            # Whether a method converges does not matter here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                assert_sound_scores(name, method.consolidate(panel))
            except Exception as error:
                raise AssertionError(f"{name} with {parameters} fails on {title}") from error


@pytest.mark.parametrize("name", METHODS)
def test_default_parameters_give_sound_scores(name: str) -> None:
    assert_sound(name, {})


@pytest.mark.parametrize(("name", "limits"), METHOD_RANGES)
def test_the_ends_of_a_range_give_sound_scores(name: str, limits: Range) -> None:
    titles = ("votes with scores", "scores at their limits") if name == "auto" else ()
    for value in limits.inside():
        assert_sound(name, {limits.name: value}, *titles)


@st.composite
def drawn_parameters(draw: st.DrawFn, name: str) -> dict[str, float]:
    """Return a value within its range for some parameters of a method."""
    ranges = {each.name: each.values() for each in numeric_ranges(method_class(name))}
    return draw(st.fixed_dictionaries({}, optional=ranges))


@pytest.mark.parametrize("name", [name for name in METHODS if name != "auto"])
@given(data=st.data())
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_parameters_within_their_ranges_give_sound_scores(
    name: str, data: st.DataObject
) -> None:
    titles = ("votes", "scores at their limits", "one label per answer")
    assert_sound(name, data.draw(drawn_parameters(name)), *titles)


def _random_scores() -> Consolidation:
    rng = np.random.default_rng(3)
    values = rng.choice([*LIMIT_SCORES, 0.25, 0.5], size=(12, len(DAG)))
    values[:4] = rng.random((4, len(DAG)))
    return consolidation_of(values, DAG, specific=rng.permuted(values, axis=1))


@pytest.mark.parametrize(("name", "limits"), RULE_RANGES)
@pytest.mark.parametrize("labels_per_answer", [0.0, 5e-324, 2.5, 1e6])
def test_the_ends_of_a_range_of_a_rule_give_closed_sets(
    name: str, limits: Range, labels_per_answer: float
) -> None:
    scores, closure = _random_scores(), dense(DAG.closure)
    for value in limits.inside():
        fitted = make_rule(name, **{limits.name: value}).fit(
            scores, labels_per_answer=labels_per_answer
        )
        sets = dense(apply_rule(fitted, scores).reason) > 0
        assert not ((sets @ closure > 0) & ~sets).any()
        numbers = [each for each in fitted.parameters.values() if isinstance(each, float)]
        assert np.isfinite(numbers).all()


@pytest.mark.parametrize(("name", "limits"), METHOD_RANGES)
def test_beyond_the_range_of_a_method_is_refused_by_name(name: str, limits: Range) -> None:
    for value in limits.outside():
        with pytest.raises(ParameterError, match=f"^{name}: {limits.name} = .* is not allowed"):
            make_method(name, {limits.name: value})


@pytest.mark.parametrize(("name", "limits"), RULE_RANGES)
def test_beyond_the_range_of_a_rule_is_refused_by_name(name: str, limits: Range) -> None:
    for value in limits.outside():
        with pytest.raises(ParameterError, match=f"^{name}: {limits.name} = .* is not allowed"):
            make_rule(name, **{limits.name: value})


@pytest.mark.parametrize(
    "limits", [pytest.param(each, id=each.name) for each in numeric_ranges(RunSettings)]
)
def test_beyond_the_range_of_a_setting_is_refused_by_name(limits: Range) -> None:
    for value in limits.outside():
        values: dict[str, Any] = {"votes": "votes.csv", limits.name: value}
        with pytest.raises(ParameterError, match=f"{limits.name} = .* is not allowed"):
            RunSettings(**values)
