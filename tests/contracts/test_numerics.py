"""What is numerically true of every method, and of which it is not, and why."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import mhpc
from mhpc.data.panel import SinglePartition
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import ConvergenceWarning, ParameterError, TooLargeError
from mhpc.methods.base import BaseMethod, Method
from mhpc.methods.memory import check_memory
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import dense
from mhpc.result import Result
from tests.contracts.test_methods import ALL
from tests.fixtures.build import DAG, Row, panel_of, votes_of
from tests.fixtures.panels import EXTREMES, LABELS, Case, cases, drawn, siblings

Waived = Mapping[str, str]
"""Methods, or variants of them by their ids, for which a property does not hold: and why."""

_AS_SAID = "labels as they are said: nothing makes a parent follow from its child"
_ROOTS = "the normalised Laplacian draws to the root of the degree, not to a mean"
_CHOOSES = "may choose otherwise"

METHODS: Mapping[str, Method] = {str(variant.id): variant.values[0] for variant in ALL}  # type: ignore[misc]


def count_paths(*names: str, why: str) -> Waived:
    """Waive a property for some methods in all their variants."""
    return {each: why for each in METHODS if each.partition(" ")[0] in names}


NOT_ABOVE_CHILDREN: Waived = {
    "sa": _AS_SAID,
    "wa": _AS_SAID,
    "mlcm": "knows no hierarchy",
    "mpc-u": _AS_SAID,
    "mhpc": _AS_SAID,
    "mhpc {'graph': 'augmented'}": _AS_SAID,
}

BEYOND_ONE: Waived = {
    **count_paths("mhpc", "mpc-u", "mhpc-local", why=_ROOTS),
    **count_paths(
        "channel", why="`specific` is a number of votes, of which an answer may have several"
    ),
    **count_paths("cross-source", why="`specific` is a regression, which knows no 1"),
    "auto": "`specific` is that of what was chosen",
}

CHANGED_BY_DOUBLING: Waived = {
    **count_paths("wa", "mhpc", why="support is a bound that narrows as answers grow"),
    **count_paths("mhpc-local", why="source weights are known better the more answers there are"),
    "wawa": "twice the answers outweigh those that every source is taken to have given",
    "dawid-skene": "twice the answers outweigh the mean of the level twice as much",
    "one-truth": "twice the answers outweigh the mean profile twice as much",
    "mlcm": "groups of twice the size hold on to their own label half as much",
    **count_paths(
        "cross-source",
        "channel",
        why="twice the answers outweigh what is usual, or one unnamed answer, twice as much",
    ),
    "auto": _CHOOSES,
}

CHANGED_BY_A_LABEL: Waived = {
    "dawid-skene": "a label more that is not affirmed is a false alarm less for everyone",
    "one-truth": "every label takes half an answer's worth of popularity",
    "channel": "one more root that others may be taken for",
    "channel {'source_weights': 'learned'}": "one more root that others may be taken for",
    "auto": _CHOOSES,
}

LOWERED_BY_SUPPORT: Waived = {
    **count_paths(
        "mhpc", "mpc-u", "mhpc-local", "channel", why="another mean answer has other neighbours"
    ),
    **count_paths(
        "wawa", why="an answer changes the majority, and what all who answered are worth"
    ),
    "dawid-skene": "an answer changes what is believed of its source, and of all others",
    "one-truth": "an answer changes what is believed of its source, and of all others",
    **count_paths("cross-source", why="an answer changes which labels go with which"),
    "auto": _CHOOSES,
}


def unless(waived: Waived) -> list[Any]:
    """Return the methods that a property is promised for; a new one is held to it."""
    assert waived.keys() <= METHODS.keys(), waived.keys() - METHODS.keys()
    return [variant for variant in ALL if variant.id not in waived]


def found_by(method: Method, rows: list[Row], taxonomy: Taxonomy = DAG) -> Consolidation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.consolidate(panel_of(rows, taxonomy))


def scores_by(method: Method, rows: list[Row], taxonomy: Taxonomy = DAG) -> dict[Any, float]:
    """Return the score of every instance and label, by their ids."""
    found = found_by(method, rows, taxonomy)
    score = dense(found.score)
    return {
        (instance, label): float(score[i, k])
        for i, instance in enumerate(found.instances)
        for k, label in enumerate(taxonomy.labels)
    }


def assert_same(one: Mapping[Any, float], other: Mapping[Any, float], *, to: float = 1e-8) -> None:
    assert one.keys() == other.keys()
    np.testing.assert_allclose([other[key] for key in one], list(one.values()), atol=to, rtol=to)


def reordered(order: str, rows: list[Row]) -> tuple[list[Row], Taxonomy]:
    """Return the same answers with one thing in another order."""
    rng = np.random.default_rng(3)
    if order == "labels":
        shuffled = [LABELS[at] for at in rng.permutation(len(LABELS))]
        edges = [(LABELS[k], LABELS[p]) for k in range(len(DAG)) for p in DAG.parents_of(k)]
        return rows, build_taxonomy(shuffled, edges)
    if order == "rows":
        return [rows[at] for at in rng.permutation(len(rows))], DAG
    at = {"instances": 0, "sources": 1}[order]
    ids = list(dict.fromkeys(row[at] for row in rows))
    place = dict(zip(ids, rng.permutation(len(ids)).tolist(), strict=True))
    return sorted(rows, key=lambda row: place[row[at]]), DAG


@pytest.mark.parametrize("method", ALL)
def test_no_order_matters(method: Method) -> None:
    rows = drawn()
    there = scores_by(method, rows)
    for order in ("rows", "instances", "sources", "labels"):
        again, taxonomy = reordered(order, rows)
        here = scores_by(method, again, taxonomy)
        assert_same(there, {key: here[key] for key in there})


@pytest.mark.parametrize("method", unless({"auto": _CHOOSES}))
def test_no_name_matters(method: Method) -> None:
    rows = drawn()
    renamed: list[Row] = [(f"{i}'\n", f"the {s}", *rest) for i, s, *rest in rows]
    here = scores_by(method, renamed)
    assert_same(scores_by(method, rows), {(i[:-2], k): here[i, k] for i, k in here})


def doubled(rows: list[Row]) -> list[Row]:
    return [*rows, *((f"{row[0]} again", *row[1:]) for row in rows)]


@pytest.mark.parametrize("method", ALL)
def test_copies_of_an_instance_are_concluded_alike(method: Method) -> None:
    here = scores_by(method, doubled(drawn()))
    first = {key: value for key, value in here.items() if "again" not in key[0]}
    assert_same(first, {(i, k): here[f"{i} again", k] for i, k in first})


@pytest.mark.parametrize("method", unless(CHANGED_BY_DOUBLING))
def test_doubling_all_instances_changes_none(method: Method) -> None:
    there, here = scores_by(method, drawn()), scores_by(method, doubled(drawn()))
    assert_same(there, {key: here[key] for key in there})


@pytest.mark.parametrize("method", unless(CHANGED_BY_A_LABEL))
def test_a_label_that_nobody_uses_changes_none(method: Method) -> None:
    edges = [(LABELS[k], LABELS[p]) for k in range(len(DAG)) for p in DAG.parents_of(k)]
    more = build_taxonomy(["unused", *LABELS], edges)
    there, here = scores_by(method, drawn()), scores_by(method, drawn(), more)
    assert_same(there, {key: here[key] for key in there})
    assert max(here[key] for key in here if key[1] == "unused") < 1e-5


@pytest.mark.parametrize("method", unless(LOWERED_BY_SUPPORT))
def test_one_more_answer_for_a_label_never_lowers_its_score(method: Method) -> None:
    rows = drawn(scores=False)
    before = scores_by(method, rows)
    for label in LABELS:
        after = scores_by(method, [*rows, ("x3", "new", label)])
        assert after["x3", label] >= before["x3", label] - 1e-12


@pytest.mark.parametrize("method", unless(NOT_ABOVE_CHILDREN))
def test_a_parent_is_never_below_its_child(method: Method) -> None:
    score = dense(found_by(method, drawn()).score)
    for label in range(len(DAG)):
        for parent in DAG.parents_of(label):
            assert (score[:, parent] >= score[:, label] - 1e-12).all()


@pytest.mark.parametrize("method", unless(BEYOND_ONE))
def test_scores_lie_between_0_and_1(method: Method) -> None:
    for rows in (drawn(), drawn(scores=False), drawn(sources=1)):
        found = found_by(method, rows)
        for view in (found.score, found.specific):
            assert dense(view).min() >= 0.0
            assert dense(view).max() <= 1 + 1e-12


def assert_sound(result: Result) -> None:
    """Hold that all numbers are numbers, none below 0, and that label sets are closed."""
    found = result.consolidation
    for view in (found.score, found.specific):
        values = dense(view)
        assert np.isfinite(values).all()
        assert values.min(initial=0.0) >= -1e-12
        assert not values[result.panel.answers_per_instance == 0].any()
    for step in found.trace:
        assert np.isfinite([step.change, step.objective or 0.0, step.spread]).all()
    sets = dense(result.decision.reason) > 0
    assert not ((sets @ dense(found.taxonomy.closure) > 0) & ~sets).any()
    for each in result.sources:
        assert np.isfinite([each.coverage, each.independence, each.dependence]).all()
        # Of a source that gave no label there is nothing to have a share of.
        assert np.isnan(each.mean_depth) == np.isnan(each.accurate.value)
        if not np.isnan(each.mean_depth):
            assert np.isfinite([*each.accurate, *each.vague, *each.wrong]).all()
    for instance in mhpc.conflicts(result).instances:
        assert np.isfinite(instance.gain)


def result_of(method: Method, case: Case) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mhpc.consolidate(
            votes_of(case[0]), case[1], method=method, instances=["nobody's instance"]
        )


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("method", ALL)
def test_there_is_an_answer_at_the_ends_of_what_can_be(method: Method, name: str) -> None:
    assert_sound(result_of(method, EXTREMES[name]()))


@given(case=cases())
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
def test_there_is_an_answer_to_whatever_was_said(case: Case) -> None:
    # All methods at once: laying out the answers costs more than most of them do.
    for name, method in METHODS.items():
        if name != "auto":
            try:
                assert_sound(result_of(method, case))
            except Exception as error:
                raise AssertionError(f"{name} fails on {case}") from error


@given(case=cases())
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_auto_has_an_answer_to_whatever_was_said(case: Case) -> None:
    assert_sound(result_of(make_method("auto"), case))


def test_without_any_answer_nothing_is_concluded() -> None:
    panel = panel_of(drawn(), DAG)
    unasked = panel.select_answers(np.zeros(len(panel.source), dtype=bool))
    for name, method in METHODS.items():
        found = method.consolidate(unasked)
        assert not dense(found.score).any(), name
        assert not dense(found.specific).any(), name


_ENOUGH: Mapping[str, int] = {"steps": 20}
"""Where 10^9 would take that long, what is large."""


def ends(method: BaseMethod) -> Iterator[dict[str, Any]]:
    """Give the least and the largest value of every number that a method takes, by its limits."""
    for name, schema in type(method).model_json_schema()["properties"].items():
        for kind in schema.get("anyOf", [schema]):
            if kind.get("type") not in ("number", "integer"):
                continue
            whole = kind["type"] == "integer"
            least = kind.get("minimum", 5e-324)
            most = kind.get("maximum", _ENOUGH.get(name, 10**9) if whole else 1e300)
            if "exclusiveMaximum" in kind:
                most = float(np.nextafter(kind["exclusiveMaximum"], 0))
            yield {name: least}
            yield {name: most}


def both_ends() -> Iterator[Any]:
    for name, method in METHODS.items():
        assert isinstance(method, BaseMethod)
        for end in ends(method):
            yield pytest.param(method, end, id=f"{name} {end}")


@pytest.mark.parametrize(("method", "end"), list(both_ends()))
def test_there_is_an_answer_at_both_ends_of_every_parameter(
    method: BaseMethod, end: dict[str, Any]
) -> None:
    given = {**method.model_dump(), **end}
    if "tol" in end and not end["tol"] and "max_iter" in given:
        # Nothing ever settles to the last bit.
        given["max_iter"] = min(given["max_iter"], 5)
    case = (drawn(instances=6, sources=3), DAG)
    try:
        assert_sound(result_of(make_method(method.name, given), case))
    except ParameterError as refused:
        assert "not allowed" in str(refused)  # noqa: PT017 - only what does not go together


WIDE = 100_000


@pytest.mark.parametrize(
    "method", [each for each in ALL if not str(each.id).startswith(("channel", "auto"))]
)
def test_a_hundred_thousand_siblings_are_no_more_than_those_that_are_said(method: Method) -> None:
    result = result_of(method, (_of_siblings(), _wide()))
    assert np.isfinite(dense(result.consolidation.score[:2])).all()
    assert len(result.labels) == 7


@pytest.mark.parametrize("sources", ["equal", "learned"])
def test_channel_refuses_as_many_siblings_as_would_all_be_taken_for_each_other(
    sources: str,
) -> None:
    with pytest.raises(TooLargeError, match="10,000,100,002 ways in which 100,001 labels"):
        method = make_method("channel", {"source_weights": sources})
        check_memory(method, SinglePartition(panel_of(_of_siblings(), _wide())))


@pytest.mark.parametrize("sources", [1, 2])
def test_auto_does_without_what_does_not_fit(sources: int) -> None:
    found = make_method("auto").consolidate(panel_of(_of_siblings(sources), _wide()))
    assert np.isfinite(dense(found.score)).all()
    assert any(note.startswith("Candidate channel was left out: ") for note in found.notes)
    assert found.selection is not None
    assert "channel" not in (*found.selection.specific, *found.selection.closed)


def _of_siblings(sources: int = 3) -> list[Row]:
    """Return answers of two labels each, so that no method for one truth is to be chosen."""
    return [
        (f"x{i}", f"s{s}", f"k{(7919 * (i + more) + (s == 2) * i) % WIDE}")
        for i in range(6)
        for s in range(sources)
        for more in range(2)
    ]


@cache
def _wide() -> Taxonomy:
    return siblings(WIDE)


GROUPED_BY_POSITION: Waived = {
    **count_paths(
        "channel", why="of more than five sources some are explained together, by their positions"
    ),
    "auto": "of more than four sources some are hidden together, drawn by their positions",
}


@pytest.mark.parametrize("method", unless(GROUPED_BY_POSITION))
def test_the_order_of_many_sources_does_not_matter(method: Method) -> None:
    rows = drawn(sources=7)
    assert_same(scores_by(method, rows), scores_by(method, reordered("sources", rows)[0]))


@pytest.mark.parametrize("method", ALL)
def test_a_tie_stays_a_tie(method: Method) -> None:
    twins = build_taxonomy(["a", "b"], [])
    for rows in (
        [("x", "s", "a"), ("x", "t", "b")],
        [("x", "s", "a"), ("x", "t", "b"), ("y", "s", "b"), ("y", "t", "a")],
    ):
        here = scores_by(method, list(rows), twins)
        assert here["x", "a"] == pytest.approx(here["x", "b"], rel=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_where_all_say_none_of_these_nothing_is_decided(method: Method) -> None:
    result = result_of(method, EXTREMES["nothing said"]())
    assert not any(result.labels.values())
    assert dense(result.consolidation.score).max() < 1e-4


@pytest.mark.parametrize("name", ["no overlap", "a source an instance"])
@pytest.mark.parametrize("method", ALL)
def test_where_no_two_answers_meet_each_is_believed(method: Method, name: str) -> None:
    rows, taxonomy = EXTREMES[name]()
    scores = scores_by(method, rows, taxonomy)
    for instance, _, label, *_ in rows:
        k = taxonomy.labels.positions[str(label)]
        implied = {taxonomy.labels[at] for at in (k, *taxonomy.ancestors_of(k))}
        rivals = [scores[instance, other] for other in taxonomy.labels if other not in implied]
        assert scores[instance, label] >= max(rivals, default=0.0)
