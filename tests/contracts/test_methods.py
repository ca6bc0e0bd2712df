"""What every method must do."""

import copy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.scores import Consolidation
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.encoding.gold import append_gold_source, clamp_gold, encode_truth
from mhpc.errors import ConvergenceWarning, UnknownMethodError
from mhpc.methods.base import BaseMethod, Method, predict_scores
from mhpc.methods.fitted import FittedMethod
from mhpc.methods.registry import METHODS, make_method, method_class
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.read.truth import read_truth
from mhpc.rules.base import apply_rule
from mhpc.rules.registry import RULES
from mhpc.steps import fit_rule
from mhpc.system.serialization import read_frozen, write_frozen
from tests.fixtures.build import DAG, GARDEN, Row, panel_of, small_panel

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "sa": [{}, {"votes": "augmented"}],
    "wa": [{}, {"votes": "augmented"}],
    "majority": [{}],
    "wawa": [{}, {"prior_answers": 0.0}],
    "inat": [{}, {"min_answers": 1}],
    "dawid-skene": [{}],
    "one-truth": [{}],
    "mlcm": [{}],
    "mpc-u": [{}, {"votes": "augmented", "max_iter": 0}],
    "mhpc": [
        {},
        {"votes": "augmented", "lam": 1.0, "sigma": 0.1, "max_iter": 0},
        {"graph": "augmented"},
    ],
    "mhpc-local": [
        {},
        {"n_neighbors": 3, "lam": 1.0, "label_weights": "support"},
        {"n_neighbors": 3, "lam": 1.0, "solver": "graph"},
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
"""Every registered method: with its default parameters, and in the variants listed above."""

FIXED = [entry for entry in ALL if entry.id != "auto"]
"""Methods that stay the same if a vote changes; auto may select another one."""


DIVISIBLE = [entry for entry in ALL if not entry.values[0].needs_all(4)]  # type: ignore[union-attr]
"""Methods that are fitted by sums over blocks of instances."""

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


def consolidate(method: Method, panel: Panel) -> Consolidation:
    with warnings.catch_warnings():
        # Whether a method converges on five instances does not matter here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.consolidate(panel)


def scores(method: Method, panel: Panel) -> FloatArray:
    return dense(consolidate(method, panel).score)


def test_variants_are_of_registered_methods() -> None:
    assert VARIANTS.keys() <= METHODS.keys()


@pytest.mark.parametrize("method", ALL)
def test_a_consolidation_has_the_names_and_the_shape_of_the_panel(method: Method) -> None:
    panel = panel_of(ROWS)
    consolidation = method.consolidate(panel)
    assert isinstance(consolidation, Consolidation)
    assert consolidation.instances is panel.instances
    assert consolidation.taxonomy is panel.taxonomy
    assert consolidation.score.shape == consolidation.specific.shape == (4, len(GARDEN))
    assert consolidation.method == method.name


@pytest.mark.parametrize("method", ALL)
def test_the_panel_is_not_changed(method: Method) -> None:
    panel = panel_of(ROWS)
    before = copy.deepcopy((panel.raw, panel.augmented, panel.instance, panel.source))
    method.consolidate(panel)
    for old, new in zip(before[:2], (panel.raw, panel.augmented), strict=True):
        np.testing.assert_array_equal(dense(old), dense(new))
    np.testing.assert_array_equal(before[2], panel.instance)
    np.testing.assert_array_equal(before[3], panel.source)


@pytest.mark.parametrize("method", ALL)
def test_the_same_panel_gives_the_same_bits(method: Method) -> None:
    first, second = (scores(method, panel_of(ROWS)) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def renamed(taxonomy: Taxonomy) -> Taxonomy:
    """Return the same hierarchy with other ids, in another order."""
    labels = [f"new {label}" for label in reversed(taxonomy.labels.ids)]
    edges = [
        (f"new {taxonomy.labels[k]}", f"new {taxonomy.labels[p]}")
        for k in range(len(taxonomy))
        for p in taxonomy.parents_of(k)
    ]
    return build_taxonomy(labels, edges)


@pytest.mark.parametrize("method", ALL)
def test_names_and_order_of_instances_sources_and_labels_do_not_matter(method: Method) -> None:
    original = scores(method, panel_of(ROWS))
    rows: list[Row] = [
        (f"new {i}", {"ann": "z", "bob": "y", "cid": "x"}[s], k and f"new {k}")
        for i, s, k, *_ in reversed(ROWS)
    ]
    panel = panel_of(rows, renamed(GARDEN))
    row = panel.instances.locate(f"new {i}" for i in panel_of(ROWS).instances)
    column = panel.taxonomy.labels.locate(f"new {k}" for k in GARDEN)
    np.testing.assert_allclose(scores(method, panel)[np.ix_(row, column)], original, atol=1e-12)


@pytest.mark.parametrize("method", ALL)
def test_labels_of_unanimous_sources_rank_first(method: Method) -> None:
    truth = {"p1": "monarda", "p2": "oak", "p3": "finch", "p4": "fuchsia"}
    rows = [(i, s, k) for i, k in truth.items() for s in ("ann", "bob", "cid")]
    panel = panel_of(rows)
    for row, label in zip(scores(method, panel), truth.values(), strict=True):
        k = GARDEN.labels.positions[label]
        rivals = np.setdiff1d(np.arange(len(GARDEN)), [k, *GARDEN.ancestors_of(k)])
        assert row[k] > row[rivals].max()


@pytest.mark.parametrize("method", ALL)
def test_an_instance_without_answers_scores_zero_and_changes_nothing(method: Method) -> None:
    without = scores(method, panel_of(ROWS))
    with_it = scores(method, panel_of(ROWS, instances=["unanswered"]))
    assert with_it[4].tolist() == [0.0] * len(GARDEN)
    np.testing.assert_allclose(with_it[:4], without, atol=1e-13)


@pytest.mark.parametrize("method", ALL)
def test_a_source_that_was_not_asked_has_no_effect(method: Method) -> None:
    # dee is among the sources, but her only answer is removed: that is not a "no".
    panel = panel_of([*ROWS, ("p4", "dee", "oak")])
    unasked = panel.select_answers(panel.source != panel.sources.positions["dee"])
    without = scores(method, panel_of(ROWS))
    np.testing.assert_allclose(scores(method, unasked), without, atol=1e-13)


@pytest.mark.parametrize("method", FIXED)
def test_a_vote_with_a_score_counts_less_than_a_certain_one(method: Method) -> None:
    k = GARDEN.labels.positions["finch"]

    def with_finch(score: float) -> float:
        rows: list[Row] = [*ROWS, ("p3", "bob", "finch", score)]
        return float(scores(method, panel_of(rows))[2, k])

    none, half, full = with_finch(0.0), with_finch(0.5), with_finch(1.0)
    assert none < half < full


@pytest.mark.parametrize("method", ALL)
def test_gold_labels_are_kept(method: Method) -> None:
    panel = panel_of(ROWS)
    gold = read_truth({"instance": ["p1", "p3"], "label": ["fuchsia", "finch"]})
    panel = append_gold_source(panel, encode_truth(gold, GARDEN, panel.instances))
    consolidation = clamp_gold(consolidate(method, panel), panel.gold)
    score = dense(consolidation.score)
    assert np.isfinite(score).all()
    expected = GARDEN.labels.locate(["plant", "flower", "fuchsia"])
    assert score[0].nonzero()[0].tolist() == expected.tolist()
    assert dense(consolidation.specific)[2].sum() == 1


@pytest.mark.parametrize("method", ALL)
def test_labels_may_have_several_parents(method: Method) -> None:
    rows = [("x", "s", "d"), ("x", "t", "c"), ("y", "s", "e"), ("y", "t", "a")]
    score = scores(method, panel_of(rows, DAG))
    assert np.isfinite(score).all()
    assert score[0, DAG.labels.positions["d"]] > score[0, DAG.labels.positions["e"]]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(
    "rows",
    [
        [("x", "s", "e")],
        [("x", "s", None)],
        [("x", "s", "d"), ("y", "t", "e")],
        [("x", "s", "a"), ("x", "t", "a"), ("y", "s", "a"), ("y", "t", "a")],
    ],
    ids=["one vote", "no label", "no overlap", "identical"],
)
def test_extreme_panels_give_finite_scores(method: Method, rows: list[Row]) -> None:
    assert np.isfinite(scores(method, panel_of(rows, DAG))).all()


def graph_methods() -> Iterator[tuple[str, dict[str, object]]]:
    for name in ("mhpc", "mpc-u"):
        for votes in ("raw", "augmented"):
            yield name, {"votes": votes, "lam": 0}


@pytest.mark.parametrize(("name", "parameters"), list(graph_methods()))
def test_lambda_zero_is_simple_averaging(name: str, parameters: dict[str, object]) -> None:
    panel = panel_of(ROWS)
    averaged = make_method("sa", {"votes": parameters["votes"]})
    np.testing.assert_allclose(
        scores(make_method(name, parameters), panel), scores(averaged, panel)
    )


@pytest.mark.parametrize(
    "name", [name for name in METHODS if "max_iter" in method_class(name).model_fields]
)
def test_a_method_that_did_not_converge_warns(name: str) -> None:
    solver = {"solver": "alternate"} if name == "mlcm" else {}
    method = make_method(name, {"max_iter": 1, "tol": 0, **solver})
    with pytest.warns(ConvergenceWarning, match=f"{name} stopped after 1 iterations"):
        # cid gives monarda to two instances that differ, so that no method converges at once.
        consolidation = method.consolidate(panel_of([*ROWS, ("p2", "cid", "monarda")]))
    assert not consolidation.converged


@pytest.mark.parametrize("method", DIVISIBLE)
def test_scores_do_not_depend_on_how_instances_are_divided(method: BaseMethod) -> None:
    panel = panel_of(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = method.fit(SinglePartition(panel, max_instances=1))
    divided = predict_scores(method, fitted, panel, max_instances=1)
    np.testing.assert_allclose(dense(divided.score), scores(method, panel), atol=1e-9)


@pytest.mark.parametrize("panel", [panel_of(ROWS), small_panel()], ids=["tree", "dag"])
@pytest.mark.parametrize("method", ALL)
def test_a_saved_method_gives_the_same_scores_and_label_sets(
    method: BaseMethod, panel: Panel, tmp_path: Path
) -> None:
    consolidation = consolidate(method, panel)
    rule = fit_rule(None, consolidation, panel)
    assert consolidation.fitted is not None
    write_frozen(tmp_path / "model.npz", (consolidation.fitted(), rule))
    fitted, saved_rule = read_frozen(tmp_path / "model.npz", {**METHODS, **RULES})
    assert isinstance(fitted, FittedMethod)
    restored = predict_scores(method, fitted, panel)
    for view in ("closed", "specific"):
        np.testing.assert_allclose(
            dense(restored.view(view)), dense(consolidation.view(view)), atol=1e-6
        )
    np.testing.assert_array_equal(
        dense(apply_rule(saved_rule, restored).reason),
        dense(apply_rule(rule, consolidation).reason),
    )


@pytest.mark.parametrize("method", ALL)
def test_a_fitted_method_gives_a_single_instance_the_same_scores(method: BaseMethod) -> None:
    panel = panel_of(ROWS)
    consolidation = consolidate(method, panel)
    assert consolidation.fitted is not None
    fitted = consolidation.fitted()
    for row in range(len(panel.instances)):
        single = fitted.predict(panel.select_instances(np.array([row])))
        np.testing.assert_allclose(
            dense(single.score)[0], dense(consolidation.score)[row], atol=1e-9
        )
        np.testing.assert_allclose(
            dense(single.specific)[0], dense(consolidation.specific)[row], atol=1e-9
        )


def test_an_unknown_method_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownMethodError, match="no method 'majorty' .nearest: 'majority'.*'sa'"):
        make_method("majorty")
