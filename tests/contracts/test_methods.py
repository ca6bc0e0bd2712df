"""What every method must do, whatever it computes."""

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mhpc.data import panel as dividing
from mhpc.data.panel import Panel
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.encoding.gold import add_gold_labels, clamp_gold, encode_truth
from mhpc.errors import ConvergenceWarning, UnknownMethodError
from mhpc.methods.base import BaseMethod, Method
from mhpc.methods.registry import METHODS, make_method, method_class
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.read.truth import read_truth
from tests.fixtures.build import DAG, GARDEN, Row, panel_of

BEYOND: dict[str, Any] = {
    "votes": "each", "n_neighbors": 3, "anchor_weight": "answers", "sigma": None, "fill_strength": 0.3,
    "lam": 1.0, "max_iter": 0, "source_weights": "learned",
}  # fmt: skip
"""MHPC with every parameter past the paper."""

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "sa": [{}, {"votes": "augmented"}],
    "wa": [{}, {"votes": "augmented"}],
    "majority": [{}],
    "wawa": [{}, {"prior_answers": 0.0}],
    "inat": [{}, {"min_answers": 1}],
    "dawid-skene": [{}],
    "one-truth": [{}],
    "mlcm": [{}],
    "mpc-u": [{}, {"votes": "augmented", "max_iter": 0}, {"solver": "graph"}],
    "mhpc": [
        {},
        {"votes": "augmented", "lam": 1.0, "sigma": 0.1, "max_iter": 0},
        {"graph": "augmented"},
        BEYOND,
        {**BEYOND, "solver": "graph"},
    ],
    "cross-source": [{}, {"source_weights": "learned"}],
    "auto": [{}],
    "channel": [{}, {"source_weights": "learned"}],
}

ALL = [
    pytest.param(make_method(name, parameters), id=f"{name} {parameters or ''}".strip())
    for name in METHODS
    for parameters in VARIANTS.get(name, [{}])
]
"""Every registered method: as it is, and in the ways listed above."""

SAME = [entry for entry in ALL if entry.id != "auto"]
"""Methods that stay what they are when a vote changes; auto may choose another."""


def concludes_alone(method: Any) -> bool:
    assert isinstance(method, BaseMethod)
    solver = getattr(method, "solver", "graph")
    return solver == "graph" and method.name != "auto"


LEARNING = [entry for entry in ALL if concludes_alone(entry.values[0])]
"""Methods that conclude on an instance from its own answers and from what they learnt."""

ROWS: list[Row] = [
    ("p1", "ann", "monarda"),
    ("p1", "bob", "flower"),
    ("p1", "cid", "fuchsia"),
    ("p2", "ann", "oak"),
    ("p2", "bob", "tree"),
    ("p2", "bob", "finch"),
    ("p3", "cid", "bird"),
    ("p3", "ann", None),
    ("p4", "bob", "monarda"),
    ("p4", "cid", "monarda"),
]


def consolidated(method: Method, panel: Panel) -> FloatArray:
    with warnings.catch_warnings():
        # Whether a method settles on five instances is not what is asked here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return dense(method.consolidate(panel).score)


def test_what_is_listed_here_is_registered() -> None:
    assert VARIANTS.keys() <= METHODS.keys()


@pytest.mark.parametrize("method", ALL)
def test_names_and_shapes_are_kept(method: Method) -> None:
    panel = panel_of(ROWS)
    found = method.consolidate(panel)
    assert isinstance(found, Consolidation)
    assert found.instances is panel.instances
    assert found.taxonomy is panel.taxonomy
    assert found.score.shape == found.specific.shape == (4, len(GARDEN))
    assert found.method == method.name


@pytest.mark.parametrize("method", ALL)
def test_the_panel_is_left_as_it_was(method: Method) -> None:
    panel = panel_of(ROWS)
    before = copy.deepcopy((panel.raw, panel.augmented, panel.instance, panel.source))
    method.consolidate(panel)
    for then, now in zip(before[:2], (panel.raw, panel.augmented), strict=True):
        np.testing.assert_array_equal(dense(then), dense(now))
    np.testing.assert_array_equal(before[2], panel.instance)
    np.testing.assert_array_equal(before[3], panel.source)


@pytest.mark.parametrize("method", ALL)
def test_the_same_panel_gives_the_same_bits(method: Method) -> None:
    first, second = (consolidated(method, panel_of(ROWS)) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def renamed(taxonomy: Taxonomy) -> Taxonomy:
    """The same hierarchy with other ids, in another order."""
    labels = [f"new {label}" for label in reversed(taxonomy.labels.ids)]
    edges = [
        (f"new {taxonomy.labels[k]}", f"new {taxonomy.labels[p]}")
        for k in range(len(taxonomy))
        for p in taxonomy.parents_of(k)
    ]
    return build_taxonomy(labels, edges)


@pytest.mark.parametrize("method", ALL)
def test_renaming_and_reordering_everything_only_renames_and_reorders(method: Method) -> None:
    there = consolidated(method, panel_of(ROWS))
    rows: list[Row] = [
        (f"new {i}", {"ann": "z", "bob": "y", "cid": "x"}[s], k and f"new {k}")
        for i, s, k, *_ in reversed(ROWS)
    ]
    other = panel_of(rows, renamed(GARDEN))
    here = consolidated(method, other)
    row = other.instances.locate(f"new {i}" for i in panel_of(ROWS).instances)
    column = other.taxonomy.labels.locate(f"new {k}" for k in GARDEN)
    np.testing.assert_allclose(here[np.ix_(row, column)], there, atol=1e-12)


@pytest.mark.parametrize("method", ALL)
def test_unanimous_sources_keep_their_labels_on_top(method: Method) -> None:
    truth = {"p1": "monarda", "p2": "oak", "p3": "finch", "p4": "fuchsia"}
    rows = [(i, s, k) for i, k in truth.items() for s in ("ann", "bob", "cid")]
    panel = panel_of(rows)
    for scores, label in zip(consolidated(method, panel), truth.values(), strict=True):
        k = GARDEN.labels.positions[label]
        rivals = np.setdiff1d(np.arange(len(GARDEN)), [k, *GARDEN.ancestors_of(k)])
        assert scores[k] > scores[rivals].max()


@pytest.mark.parametrize("method", ALL)
def test_an_instance_that_nobody_answered_scores_zero_and_changes_nothing(method: Method) -> None:
    without = consolidated(method, panel_of(ROWS))
    with_one = consolidated(method, panel_of(ROWS, instances=["lonely"]))
    assert with_one[4].tolist() == [0.0] * len(GARDEN)
    np.testing.assert_allclose(with_one[:4], without, atol=1e-13)


@pytest.mark.parametrize("method", ALL)
def test_a_source_that_was_not_asked_says_nothing(method: Method) -> None:
    # dee is among the sources, but her one answer is taken away: not "no", but nothing.
    panel = panel_of([*ROWS, ("p4", "dee", "oak")])
    unasked = panel.select_answers(panel.source != panel.sources.positions["dee"])
    without = consolidated(method, panel_of(ROWS))
    np.testing.assert_allclose(consolidated(method, unasked), without, atol=1e-13)


@pytest.mark.parametrize("method", SAME)
def test_scores_as_input_lie_between_silence_and_certainty(method: Method) -> None:
    k = GARDEN.labels.positions["finch"]

    def with_finch(score: float) -> float:
        rows: list[Row] = [*ROWS, ("p3", "bob", "finch", score)]
        return float(consolidated(method, panel_of(rows))[2, k])

    none, half, full = with_finch(0.0), with_finch(0.5), with_finch(1.0)
    assert none < half < full


@pytest.mark.parametrize("method", ALL)
def test_gold_is_accepted_and_stays_as_it_is(method: Method) -> None:
    panel = panel_of(ROWS)
    known = read_truth({"instance": ["p1", "p3"], "label": ["fuchsia", "finch"]})
    append_gold_source = add_gold_labels(panel, encode_truth(known, GARDEN, panel.instances))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = clamp_gold(method.consolidate(append_gold_source), append_gold_source.gold)
    scores = dense(found.score)
    assert np.isfinite(scores).all()
    assert (
        scores[0].nonzero()[0].tolist()
        == GARDEN.labels.locate(["plant", "flower", "fuchsia"]).tolist()
    )
    assert dense(found.specific)[2].sum() == 1


@pytest.mark.parametrize("method", ALL)
def test_a_dag_is_as_good_as_a_tree(method: Method) -> None:
    rows = [("x", "s", "d"), ("x", "t", "c"), ("y", "s", "e"), ("y", "t", "a")]
    scores = consolidated(method, panel_of(rows, DAG))
    assert np.isfinite(scores).all()
    assert scores[0, DAG.labels.positions["d"]] > scores[0, DAG.labels.positions["e"]]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(
    "rows",
    [
        [("x", "s", "e")],
        [("x", "s", None)],
        [("x", "s", "d"), ("y", "t", "e")],
        [("x", "s", "a"), ("x", "t", "a"), ("y", "s", "a"), ("y", "t", "a")],
    ],
    ids=["one vote", "nothing said", "no overlap", "identical"],
)
def test_extreme_panels_give_finite_scores(method: Method, rows: list[Row]) -> None:
    assert np.isfinite(consolidated(method, panel_of(rows, DAG))).all()


def graph_methods() -> Iterator[tuple[str, dict[str, object]]]:
    for name in ("mhpc", "mpc-u"):
        for votes in ("raw", "augmented"):
            yield name, {"votes": votes, "lam": 0}


@pytest.mark.parametrize(("name", "parameters"), list(graph_methods()))
def test_lambda_zero_is_simple_averaging(name: str, parameters: dict[str, object]) -> None:
    panel = panel_of(ROWS)
    averaged = make_method("sa", {"votes": parameters["votes"]})
    np.testing.assert_allclose(
        consolidated(make_method(name, parameters), panel), consolidated(averaged, panel)
    )


@pytest.mark.parametrize(
    "name", [name for name in METHODS if "max_iter" in method_class(name).model_fields]
)
def test_a_method_that_did_not_settle_says_so(name: str) -> None:
    in_turn = {"solver": "alternate"} if name == "mlcm" else {}
    method = make_method(name, {"max_iter": 1, "tol": 0, **in_turn})
    with pytest.warns(ConvergenceWarning, match=f"{name} stopped after 1 iterations"):
        # cid says monarda of two instances that differ, so that no method is at rest at once.
        found = method.consolidate(panel_of([*ROWS, ("p2", "cid", "monarda")]))
    assert not found.converged


@pytest.mark.parametrize("method", LEARNING)
def test_it_does_not_matter_how_instances_are_divided(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = panel_of(ROWS)
    whole = consolidated(method, panel)
    monkeypatch.setattr(dividing, "_INSTANCES", 1)
    np.testing.assert_allclose(consolidated(method, panel), whole, atol=1e-9)


@pytest.mark.parametrize("method", LEARNING)
def test_what_was_learnt_concludes_as_the_method_did(method: Method) -> None:
    panel = panel_of(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = method.consolidate(panel)
    assert found.fitted is not None
    learnt = found.fitted()
    for at in range(len(panel.instances)):
        alone = learnt.predict(panel.select_instances(np.array([at])))
        np.testing.assert_allclose(dense(alone.score)[0], dense(found.score)[at], atol=1e-9)
        np.testing.assert_allclose(dense(alone.specific)[0], dense(found.specific)[at], atol=1e-9)


def test_a_method_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownMethodError, match="no method 'majorty' .nearest: 'majority'.*'sa'"):
        make_method("majorty")
