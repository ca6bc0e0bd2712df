"""What every rule must do, with all its parameters."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mhpc.data.decision import FittedRule
from mhpc.data.index import Index
from mhpc.data.scores import Consolidation
from mhpc.data.summary import Model
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.errors import ParameterError
from mhpc.model import read_model, write_model
from mhpc.numerics.arrays import BoolArray, FloatArray, dense
from mhpc.rules.base import Rule
from mhpc.rules.paths import FittedPaths
from mhpc.rules.registry import RULES, make_rule, rule_class
from tests.fixtures.build import DAG, GARDEN
from tests.fixtures.scores import consolidation_of

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "expected-f": [{}, {"over": "each"}],
    "threshold": [{}, {"threshold": 0.4}, {"threshold": 3.0}],
    "min-probability": [{}, {"threshold": 0.9}],
    "one-path": [{}, {"threshold": 0.4}],
    "top-paths": [{}, {"paths": 1}, {"paths": 2, "threshold": 0.4}],
}

ALL = [
    pytest.param(name, parameters, id=f"{name} {parameters or ''}".strip())
    for name, variants in VARIANTS.items()
    for parameters in variants
]

LABELS_PER_ANSWER = 2.5


@st.composite
def taxonomies(draw: st.DrawFn, *, several: bool) -> Taxonomy:
    """Draw a forest, or a DAG whose labels may have several parents."""
    K = draw(st.integers(1, 9))
    edges = []
    for label in range(1, K):
        max_parents = min(label, 3 if several else 1)
        parents = draw(st.lists(st.integers(0, label - 1), max_size=max_parents, unique=True))
        edges += [(f"k{label}", f"k{parent}") for parent in parents]
    order = draw(st.permutations([f"k{label}" for label in range(K)]))
    return build_taxonomy(order, edges)


@st.composite
def consolidations(draw: st.DrawFn, *, several: bool | None = None) -> Consolidation:
    """Draw scores with ties and zeros on a tree or a DAG; parents may score below children."""
    several = draw(st.booleans()) if several is None else several
    taxonomy = draw(taxonomies(several=several))
    N = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def matrix() -> FloatArray:
        coarse = rng.integers(0, 5, size=(N, len(taxonomy))) / 4
        fine = rng.random((N, len(taxonomy)))
        values = np.where(rng.random(coarse.shape) < 0.5, coarse, fine)
        return np.where(rng.random(coarse.shape) < 0.3, 0.0, values)

    threshold = draw(st.sampled_from([None, 0.5]))
    return consolidation_of(matrix(), taxonomy, specific=matrix(), threshold=threshold)


def decide(rule: FittedRule, scores: Consolidation) -> BoolArray:
    """Return the label sets by dense scores, (N, K)."""
    assert isinstance(scores.score, np.ndarray)
    assert isinstance(scores.specific, np.ndarray)
    return dense(rule.decide(scores.score, scores.specific, scores.taxonomy)) > 0


def fit(name: str, parameters: dict[str, Any], scores: Consolidation, **more: Any) -> FittedRule:
    return make_rule(name, **parameters, **more).fit(scores, labels_per_answer=LABELS_PER_ANSWER)


def test_every_rule_has_variants() -> None:
    assert list(VARIANTS) == list(RULES)
    for name in RULES:
        kind = rule_class(name)
        assert issubclass(kind, Rule)
        assert kind.name == name


@pytest.mark.parametrize(("name", "parameters"), ALL)
def test_a_decision_has_the_name_of_its_rule(name: str, parameters: dict[str, Any]) -> None:
    scores = consolidation_of(np.eye(len(DAG)), DAG)
    decision = make_rule(name, **parameters).decide(scores, labels_per_answer=LABELS_PER_ANSWER)
    assert decision.rule == name
    assert decision.reason.shape == (len(DAG), len(DAG))


@pytest.mark.parametrize(("name", "parameters"), ALL)
@given(scores=consolidations(), depth_bias=st.sampled_from([-3.0, -1.0, 0.0, 1.0, 3.0]))
@settings(max_examples=60)
def test_label_sets_are_closed_and_reasons_distinguish_labels_from_ancestors(
    name: str, parameters: dict[str, Any], scores: Consolidation, depth_bias: float
) -> None:
    fitted = fit(name, parameters, scores, depth_bias=depth_bias)
    reason = dense(fitted.decide(scores.score, scores.specific, scores.taxonomy))
    sets, own = reason > 0, reason == 1
    closure = dense(scores.taxonomy.closure)
    assert np.array_equal(sets, own.astype(float) @ closure > 0)
    assert not ((sets.astype(float) @ closure > 0) & ~sets).any()
    assert set(np.unique(reason)) <= {0, 1, 2}


@pytest.mark.parametrize(("name", "parameters"), ALL)
@given(scores=consolidations(), depth_bias=st.sampled_from([-1.0, 0.0, 1.0]))
@settings(max_examples=60)
def test_sparse_scores_and_any_division_into_blocks_give_the_same_sets(
    name: str, parameters: dict[str, Any], scores: Consolidation, depth_bias: float
) -> None:
    fitted = fit(name, parameters, scores, depth_bias=depth_bias)
    sparse_scores = replace(
        scores, score=sparse.csr_array(scores.score), specific=sparse.csr_array(scores.specific)
    )
    assert fit(name, parameters, sparse_scores, depth_bias=depth_bias) == fitted
    sets = decide(fitted, scores)
    rows = [
        fitted.decide(matrices.score[i : i + 1], matrices.specific[i : i + 1], scores.taxonomy)
        for matrices in (scores, sparse_scores)
        for i in range(len(scores.instances))
    ]
    assert np.array_equal(dense(sparse.vstack(rows)) > 0, np.vstack([sets, sets]))


@pytest.mark.parametrize(("name", "parameters"), ALL)
@pytest.mark.parametrize("noise", [1e-12, -1e-12])
def test_rounding_errors_do_not_change_the_sets(
    name: str, parameters: dict[str, Any], noise: float
) -> None:
    rng = np.random.default_rng(0)
    eighths = rng.integers(0, 9, size=(40, len(GARDEN))) / 8
    specific = rng.permutation(len(GARDEN) * 40).reshape(40, -1) / 400.0
    exact, rounded = (
        consolidation_of(score, GARDEN, specific=specific)
        for score in (eighths, eighths * (1 + noise * rng.random(eighths.shape)))
    )
    fitted = fit(name, parameters, exact)
    assert np.array_equal(decide(fitted, exact), decide(fitted, rounded))


@pytest.mark.parametrize(("name", "parameters"), ALL)
@given(
    scores=consolidations(),
    depth_biases=st.lists(st.floats(-6, 6), min_size=2, max_size=4).map(sorted),
)
@settings(max_examples=80)
def test_a_larger_depth_bias_never_gives_shallower_sets(
    name: str, parameters: dict[str, Any], scores: Consolidation, depth_biases: list[float]
) -> None:
    rules = [fit(name, parameters, scores, depth_bias=depth_bias) for depth_bias in depth_biases]
    for shallower, deeper in pairwise(decide(fitted, scores) for fitted in rules):
        if isinstance(rules[0], FittedPaths):
            # Paths end deeper, which may be on another branch.
            assert (max_depth(shallower, scores) <= max_depth(deeper, scores)).all()
        else:
            assert not (shallower & ~deeper).any()


@given(
    scores=consolidations(several=False),
    depth_biases=st.lists(st.floats(-6, 0), min_size=2, max_size=4).map(sorted),
)
def test_paths_in_a_tree_become_shorter_with_a_smaller_depth_bias(
    scores: Consolidation, depth_biases: list[float]
) -> None:
    sets = [
        decide(fit("top-paths", {"paths": 3}, scores, depth_bias=depth_bias), scores)
        for depth_bias in [*depth_biases, 0.0]
    ]
    for shallower, deeper in pairwise(sets):
        assert not (shallower & ~deeper).any()


def max_depth(sets: BoolArray, scores: Consolidation) -> FloatArray:
    return np.asarray((sets * scores.taxonomy.depth).max(axis=1), dtype=np.float64)


@pytest.mark.parametrize(("name", "parameters"), ALL)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_instances_without_scores_get_no_labels(
    name: str, parameters: dict[str, Any], kind: Any
) -> None:
    zeros = kind(np.zeros((2, len(GARDEN))))
    decision = make_rule(name, **parameters).decide(
        consolidation_of(zeros, GARDEN), labels_per_answer=LABELS_PER_ANSWER
    )
    assert decision.labels() == {"x0": [], "x1": []}


@pytest.mark.parametrize(("name", "parameters"), ALL)
def test_a_fitted_rule_can_be_saved(tmp_path: Path, name: str, parameters: dict[str, Any]) -> None:
    scores = np.random.default_rng(0).random((5, len(GARDEN)))
    fitted = fit(name, parameters, consolidation_of(scores, GARDEN), depth_bias=0.5)
    write_model(tmp_path, Model("sa", {}, None, fitted, Index(("ann",)), None))
    assert read_model(tmp_path).rule == fitted
    assert fitted.rule == name
    assert fitted.parameters["depth_bias"] == 0.5


def test_an_unknown_rule_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError, match="no rule 'treshold'.*threshold"):
        rule_class("treshold")
