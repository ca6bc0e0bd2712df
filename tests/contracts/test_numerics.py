"""Numerical properties of every method, with reasoned waivers."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import mhpc
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import ConvergenceWarning, ParameterError
from mhpc.methods.base import BaseMethod, Method
from mhpc.methods.registry import make_method
from mhpc.numerics.arrays import dense
from mhpc.result import Result
from mhpc.system.memory import use_memory_budget
from tests.contracts.test_methods import ALL
from tests.fixtures.build import DAG, Row, panel_of, votes_of
from tests.fixtures.panels import EXTREMES, LABELS, Case, cases, make_siblings, random_rows

Waived = Mapping[str, str]
"""Methods, or variants of them by their ids, for which a property does not hold, and why."""

_AS_GIVEN = "scores labels as given: a parent does not follow from its child"
_LAPLACIAN = "the normalised Laplacian smooths towards the root of the degree, not a mean"
_SELECTS = "may select another method"

METHODS: Mapping[str, Method] = {str(variant.id): variant.values[0] for variant in ALL}  # type: ignore[misc]


def waive(*names: str, why: str) -> Waived:
    """Waive a property for all variants of the named methods."""
    return {variant: why for variant in METHODS if variant.partition(" ")[0] in names}


NOT_ABOVE_CHILDREN: Waived = {
    "sa": _AS_GIVEN,
    "wa": _AS_GIVEN,
    "mlcm": "ignores the hierarchy",
    "mpc-u": _AS_GIVEN,
    "mhpc": _AS_GIVEN,
    "mhpc {'graph': 'augmented'}": _AS_GIVEN,
}

BEYOND_ONE: Waived = {
    **waive("mhpc", "mpc-u", "mhpc-local", why=_LAPLACIAN),
    **waive("channel", why="`specific` is a number of votes, of which an answer may have several"),
    **waive("cross-source", why="`specific` is a regression, which may exceed 1"),
    "auto": "`specific` is that of the selected methods",
}

CHANGED_BY_DOUBLING: Waived = {
    **waive("wa", "mhpc", why="support is a bound that narrows as answers grow"),
    **waive("mhpc-local", why="source weights are shrunk less with more answers"),
    "wawa": "twice the answers outweigh the prior answers",
    "dawid-skene": "twice the answers outweigh the mean of the level twice as much",
    "one-truth": "twice the answers outweigh the mean profile twice as much",
    "mlcm": "groups of twice the size hold on to their own label half as much",
    **waive(
        "cross-source",
        "channel",
        why="twice the answers outweigh the prior twice as much",
    ),
    "auto": _SELECTS,
}

CHANGED_BY_A_LABEL: Waived = {
    "dawid-skene": "one more label that is not affirmed lowers all false-alarm rates",
    "one-truth": "every label takes half an answer's worth of popularity",
    "channel": "one more root that others may be confused with",
    "channel {'source_weights': 'learned'}": "one more root that others may be confused with",
    "auto": _SELECTS,
}

LOWERED_BY_SUPPORT: Waived = {
    **waive(
        "mhpc", "mpc-u", "mhpc-local", "channel", why="another mean answer has other neighbours"
    ),
    **waive("wawa", why="an answer changes the majority, and with it the weights of all sources"),
    "dawid-skene": "an answer changes the estimated skills of all sources",
    "one-truth": "an answer changes the estimated skills of all sources",
    **waive("cross-source", why="an answer changes which labels go with which"),
    "auto": _SELECTS,
}


def unless(waived: Waived) -> list[Any]:
    """Return the methods that must have a property: all that are not waived."""
    assert waived.keys() <= METHODS.keys(), waived.keys() - METHODS.keys()
    return [variant for variant in ALL if variant.id not in waived]


def consolidate(method: Method, rows: list[Row], taxonomy: Taxonomy = DAG) -> Consolidation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.consolidate(panel_of(rows, taxonomy))


def scores_of(method: Method, rows: list[Row], taxonomy: Taxonomy = DAG) -> dict[Any, float]:
    """Return the score of every instance and label, by their ids."""
    consolidation = consolidate(method, rows, taxonomy)
    score = dense(consolidation.score)
    return {
        (instance, label): float(score[i, k])
        for i, instance in enumerate(consolidation.instances)
        for k, label in enumerate(taxonomy.labels)
    }


def assert_same(
    expected: Mapping[Any, float], actual: Mapping[Any, float], *, tolerance: float = 1e-8
) -> None:
    assert expected.keys() == actual.keys()
    np.testing.assert_allclose(
        [actual[key] for key in expected],
        list(expected.values()),
        atol=tolerance,
        rtol=tolerance,
    )


def reordered(order: str, rows: list[Row]) -> tuple[list[Row], Taxonomy]:
    """Return the same answers with rows, instances, sources or labels in another order."""
    rng = np.random.default_rng(3)
    if order == "labels":
        shuffled = [LABELS[k] for k in rng.permutation(len(LABELS))]
        edges = [(LABELS[k], LABELS[p]) for k in range(len(DAG)) for p in DAG.parents_of(k)]
        return rows, build_taxonomy(shuffled, edges)
    if order == "rows":
        return [rows[n] for n in rng.permutation(len(rows))], DAG
    column = {"instances": 0, "sources": 1}[order]
    ids = list(dict.fromkeys(row[column] for row in rows))
    rank = dict(zip(ids, rng.permutation(len(ids)).tolist(), strict=True))
    return sorted(rows, key=lambda row: rank[row[column]]), DAG


@pytest.mark.parametrize("method", ALL)
def test_the_order_of_rows_and_names_does_not_matter(method: Method) -> None:
    rows = random_rows()
    original = scores_of(method, rows)
    for order in ("rows", "instances", "sources", "labels"):
        shuffled, taxonomy = reordered(order, rows)
        scores = scores_of(method, shuffled, taxonomy)
        assert_same(original, {key: scores[key] for key in original})


@pytest.mark.parametrize("method", unless({"auto": _SELECTS}))
def test_the_names_of_instances_and_sources_do_not_matter(method: Method) -> None:
    rows = random_rows()
    renamed: list[Row] = [(f"{i}'\n", f"the {s}", *rest) for i, s, *rest in rows]
    scores = scores_of(method, renamed)
    assert_same(scores_of(method, rows), {(i[:-2], k): scores[i, k] for i, k in scores})


def doubled(rows: list[Row]) -> list[Row]:
    return [*rows, *((f"{row[0]} again", *row[1:]) for row in rows)]


@pytest.mark.parametrize("method", ALL)
def test_copies_of_an_instance_have_the_same_scores(method: Method) -> None:
    scores = scores_of(method, doubled(random_rows()))
    first = {key: value for key, value in scores.items() if "again" not in key[0]}
    assert_same(first, {(i, k): scores[f"{i} again", k] for i, k in first})


@pytest.mark.parametrize("method", unless(CHANGED_BY_DOUBLING))
def test_doubling_all_instances_changes_no_score(method: Method) -> None:
    single, double = scores_of(method, random_rows()), scores_of(method, doubled(random_rows()))
    assert_same(single, {key: double[key] for key in single})


@pytest.mark.parametrize("method", unless(CHANGED_BY_A_LABEL))
def test_a_label_that_nobody_uses_changes_no_score(method: Method) -> None:
    edges = [(LABELS[k], LABELS[p]) for k in range(len(DAG)) for p in DAG.parents_of(k)]
    more = build_taxonomy(["unused", *LABELS], edges)
    without, with_it = scores_of(method, random_rows()), scores_of(method, random_rows(), more)
    assert_same(without, {key: with_it[key] for key in without})
    assert max(with_it[key] for key in with_it if key[1] == "unused") < 1e-5


@pytest.mark.parametrize("method", unless(LOWERED_BY_SUPPORT))
def test_one_more_answer_for_a_label_never_lowers_its_score(method: Method) -> None:
    rows = random_rows(scores=False)
    before = scores_of(method, rows)
    for label in LABELS:
        after = scores_of(method, [*rows, ("x3", "new", label)])
        assert after["x3", label] >= before["x3", label] - 1e-12


@pytest.mark.parametrize("method", unless(NOT_ABOVE_CHILDREN))
def test_a_parent_is_never_below_its_child(method: Method) -> None:
    score = dense(consolidate(method, random_rows()).score)
    for label in range(len(DAG)):
        for parent in DAG.parents_of(label):
            assert (score[:, parent] >= score[:, label] - 1e-12).all()


@pytest.mark.parametrize("method", unless(BEYOND_ONE))
def test_scores_lie_between_0_and_1(method: Method) -> None:
    for rows in (random_rows(), random_rows(scores=False), random_rows(sources=1)):
        consolidation = consolidate(method, rows)
        for view in (consolidation.score, consolidation.specific):
            assert dense(view).min() >= 0.0
            assert dense(view).max() <= 1 + 1e-12


def assert_sound(result: Result) -> None:
    """Assert that all numbers are finite, no score is negative and label sets are closed."""
    consolidation = result.consolidation
    for view in (consolidation.score, consolidation.specific):
        values = dense(view)
        assert np.isfinite(values).all()
        assert values.min(initial=0.0) >= -1e-12
        assert not values[result.panel.answers_per_instance == 0].any()
    for step in consolidation.trace:
        assert np.isfinite([step.change, step.objective or 0.0, step.spread]).all()
    sets = dense(result.decision.reason) > 0
    assert not ((sets @ dense(consolidation.taxonomy.closure) > 0) & ~sets).any()
    for profile in result.sources:
        assert np.isfinite([profile.coverage, profile.independence, profile.dependence]).all()
        # A source without labels has no shares of them.
        assert np.isnan(profile.mean_depth) == np.isnan(profile.accurate.value)
        if not np.isnan(profile.mean_depth):
            assert np.isfinite([*profile.accurate, *profile.vague, *profile.wrong]).all()
    for instance in mhpc.conflicts(result).instances:
        assert np.isfinite(instance.gain)


def result_of(method: Method, case: Case) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mhpc.consolidate(votes_of(case[0]), case[1], method=method, instances=["unanswered"])


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("method", ALL)
def test_extreme_panels_give_sound_results(method: Method, name: str) -> None:
    assert_sound(result_of(method, EXTREMES[name]()))


@given(case=cases())
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
def test_any_panel_gives_sound_results(case: Case) -> None:
    # All methods at once: encoding the answers costs more than most of them do.
    for name, method in METHODS.items():
        if name != "auto":
            try:
                assert_sound(result_of(method, case))
            except Exception as error:
                raise AssertionError(f"{name} fails on {case}") from error


@given(case=cases())
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_panel_gives_sound_results_with_auto(case: Case) -> None:
    assert_sound(result_of(make_method("auto"), case))


def test_without_answers_all_scores_are_zero() -> None:
    panel = panel_of(random_rows(), DAG)
    unanswered = panel.select_answers(np.zeros(len(panel.source), dtype=bool))
    for name, method in METHODS.items():
        consolidation = method.consolidate(unanswered)
        assert not dense(consolidation.score).any(), name
        assert not dense(consolidation.specific).any(), name


LARGE_VALUES: Mapping[str, int] = {"steps": 20}
"""Large values of parameters for which 10^9 would take too long."""


def extreme_values(method: BaseMethod) -> Iterator[dict[str, Any]]:
    """Yield the smallest and the largest allowed value of every numerical parameter."""
    for name, schema in type(method).model_json_schema()["properties"].items():
        for kind in schema.get("anyOf", [schema]):
            if kind.get("type") not in ("number", "integer"):
                continue
            is_integer = kind["type"] == "integer"
            smallest = kind.get("minimum", 5e-324)
            largest = kind.get("maximum", LARGE_VALUES.get(name, 10**9) if is_integer else 1e300)
            if "exclusiveMaximum" in kind:
                largest = float(np.nextafter(kind["exclusiveMaximum"], 0))
            yield {name: smallest}
            yield {name: largest}


def extreme_parameters() -> Iterator[Any]:
    for name, method in METHODS.items():
        assert isinstance(method, BaseMethod)
        for extreme in extreme_values(method):
            yield pytest.param(method, extreme, id=f"{name} {extreme}")


@pytest.mark.parametrize(("method", "extreme"), list(extreme_parameters()))
def test_extreme_parameters_give_sound_results(method: BaseMethod, extreme: dict[str, Any]) -> None:
    parameters = {**method.model_dump(), **extreme}
    if "tol" in extreme and not extreme["tol"] and "max_iter" in parameters:
        # No iteration converges to the last bit.
        parameters["max_iter"] = min(parameters["max_iter"], 5)
    case = (random_rows(instances=6, sources=3), DAG)
    try:
        assert_sound(result_of(make_method(method.name, parameters), case))
    except ParameterError as error:
        assert "not allowed" in str(error)  # noqa: PT017 - only values that do not go together


WIDE = 100_000


@pytest.mark.parametrize("method", ALL)
def test_unused_labels_among_a_hundred_thousand_siblings_need_no_memory(method: Method) -> None:
    result = result_of(method, (_rows_of_siblings(), _wide_taxonomy()))
    assert np.isfinite(dense(result.consolidation.score[:2])).all()
    assert len(result.labels) == 7


@pytest.mark.parametrize("sources", [1, 2])
def test_auto_leaves_out_methods_that_do_not_fit(sources: int) -> None:
    with use_memory_budget(1000):
        consolidation = make_method("auto").consolidate(
            panel_of(_rows_of_siblings(sources), _wide_taxonomy())
        )
    assert np.isfinite(dense(consolidation.score)).all()
    assert any(note.startswith("channel was left out: ") for note in consolidation.notes)
    assert consolidation.combination is not None
    assert "channel" not in consolidation.combination.members


def _rows_of_siblings(sources: int = 3) -> list[Row]:
    """Return answers of two labels each, so that methods for one true label do not apply."""
    return [
        (f"x{i}", f"s{s}", f"k{(7919 * (i + more) + (s == 2) * i) % WIDE}")
        for i in range(6)
        for s in range(sources)
        for more in range(2)
    ]


@cache
def _wide_taxonomy() -> Taxonomy:
    return make_siblings(WIDE)


GROUPED_BY_POSITION: Waived = {
    **waive("channel", why="more than five sources are grouped by their positions"),
    "auto": "more than four sources are divided into folds by their positions",
}


@pytest.mark.parametrize("method", unless(GROUPED_BY_POSITION))
def test_the_order_of_many_sources_does_not_matter(method: Method) -> None:
    rows = random_rows(sources=7)
    assert_same(scores_of(method, rows), scores_of(method, reordered("sources", rows)[0]))


@pytest.mark.parametrize("method", ALL)
def test_a_tie_stays_a_tie(method: Method) -> None:
    twins = build_taxonomy(["a", "b"], [])
    for rows in (
        [("x", "s", "a"), ("x", "t", "b")],
        [("x", "s", "a"), ("x", "t", "b"), ("y", "s", "b"), ("y", "t", "a")],
    ):
        scores = scores_of(method, list(rows), twins)
        assert scores["x", "a"] == pytest.approx(scores["x", "b"], rel=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_if_all_sources_say_none_of_these_no_label_is_assigned(method: Method) -> None:
    result = result_of(method, EXTREMES["no labels"]())
    assert not any(result.labels.values())
    assert dense(result.consolidation.score).max() < 1e-4


SMOOTHED_AWAY: Waived = {
    "mhpc-local": "with lam=10 an answer weighs less than those of its 15 nearest instances"
}


@pytest.mark.parametrize("name", ["no overlap", "one source per instance"])
@pytest.mark.parametrize("method", unless(SMOOTHED_AWAY))
def test_instances_with_a_single_answer_get_its_labels(method: Method, name: str) -> None:
    rows, taxonomy = EXTREMES[name]()
    scores = scores_of(method, rows, taxonomy)
    for instance, _, label, *_ in rows:
        k = taxonomy.labels.positions[str(label)]
        implied = {taxonomy.labels[a] for a in (k, *taxonomy.ancestors_of(k))}
        rivals = [scores[instance, rival] for rival in taxonomy.labels if rival not in implied]
        assert scores[instance, label] >= max(rivals, default=0.0)
