"""What every rule must do, whatever it takes."""

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

WANTED = 2.5


@st.composite
def hierarchies(draw: st.DrawFn, *, several: bool) -> Taxonomy:
    """Return a random forest, or a DAG where labels may have several parents."""
    K = draw(st.integers(1, 9))
    edges = []
    for label in range(1, K):
        most = min(label, 3 if several else 1)
        above = draw(st.lists(st.integers(0, label - 1), max_size=most, unique=True))
        edges += [(f"k{label}", f"k{parent}") for parent in above]
    order = draw(st.permutations([f"k{label}" for label in range(K)]))
    return build_taxonomy(order, edges)


@st.composite
def consolidations(draw: st.DrawFn, *, several: bool | None = None) -> Consolidation:
    """Return scores with ties and zeros that respect no hierarchy, on a tree or a DAG."""
    several = draw(st.booleans()) if several is None else several
    taxonomy = draw(hierarchies(several=several))
    N = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def matrix() -> FloatArray:
        coarse = rng.integers(0, 5, size=(N, len(taxonomy))) / 4
        fine = rng.random((N, len(taxonomy)))
        values = np.where(rng.random(coarse.shape) < 0.5, coarse, fine)
        return np.where(rng.random(coarse.shape) < 0.3, 0.0, values)

    level = draw(st.sampled_from([None, 0.5]))
    return scored(matrix(), matrix(), taxonomy, level)


def scored(
    score: Any, specific: Any, taxonomy: Taxonomy, level: float | None = None
) -> Consolidation:
    instances = Index(tuple(f"x{i}" for i in range(score.shape[0])))
    return Consolidation(taxonomy, instances, score, specific, "by hand", threshold=level)


def chosen(settled: FittedRule, found: Consolidation) -> BoolArray:
    assert isinstance(found.score, np.ndarray)
    assert isinstance(found.specific, np.ndarray)
    return dense(settled.decide(found.score, found.specific, found.taxonomy)) > 0


def fit(name: str, parameters: dict[str, Any], found: Consolidation, **more: Any) -> FittedRule:
    return make_rule(name, **parameters, **more).fit(found, labels_per_answer=WANTED)


def test_every_rule_is_tried_here() -> None:
    assert list(VARIANTS) == list(RULES)
    for name in RULES:
        kind = rule_class(name)
        assert issubclass(kind, Rule)
        assert kind.name == name


@pytest.mark.parametrize(("name", "parameters"), ALL)
def test_a_decision_says_by_which_rule_it_is(name: str, parameters: dict[str, Any]) -> None:
    found = scored(np.eye(len(DAG)), np.eye(len(DAG)), DAG)
    decision = make_rule(name, **parameters).decide(found, labels_per_answer=WANTED)
    assert decision.rule == name
    assert decision.reason.shape == (len(DAG), len(DAG))


@pytest.mark.parametrize(("name", "parameters"), ALL)
@given(found=consolidations(), bias=st.sampled_from([-3.0, -1.0, 0.0, 1.0, 3.0]))
@settings(max_examples=60)
def test_with_a_label_come_all_its_ancestors_and_reasons_say_which_was_meant(
    name: str, parameters: dict[str, Any], found: Consolidation, bias: float
) -> None:
    settled = fit(name, parameters, found, depth_bias=bias)
    reason = dense(settled.decide(found.score, found.specific, found.taxonomy))
    sets, own = reason > 0, reason == 1
    closure = dense(found.taxonomy.closure)
    assert np.array_equal(sets, own.astype(float) @ closure > 0)
    assert not ((sets.astype(float) @ closure > 0) & ~sets).any()
    assert set(np.unique(reason)) <= {0, 1, 2}


@pytest.mark.parametrize(("name", "parameters"), ALL)
@given(found=consolidations(), bias=st.sampled_from([-1.0, 0.0, 1.0]))
@settings(max_examples=60)
def test_sparse_scores_and_any_division_give_the_same_sets(
    name: str, parameters: dict[str, Any], found: Consolidation, bias: float
) -> None:
    settled = fit(name, parameters, found, depth_bias=bias)
    sparsely = scored(
        sparse.csr_array(found.score),
        sparse.csr_array(found.specific),
        found.taxonomy,
        found.threshold,
    )
    assert fit(name, parameters, sparsely, depth_bias=bias) == settled
    whole = chosen(settled, found)
    rows = [
        settled.decide(matrices.score[i : i + 1], matrices.specific[i : i + 1], found.taxonomy)
        for matrices in (found, sparsely)
        for i in range(len(found.instances))
    ]
    assert np.array_equal(dense(sparse.vstack(rows)) > 0, np.vstack([whole, whole]))


@pytest.mark.parametrize(("name", "parameters"), ALL)
@pytest.mark.parametrize("noise", [1e-12, -1e-12])
def test_round_scores_that_were_computed_otherwise_are_decided_the_same(
    name: str, parameters: dict[str, Any], noise: float
) -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, size=(40, len(GARDEN))) / 8
    specific = rng.permutation(len(GARDEN) * 40).reshape(40, -1) / 400.0
    otherwise = scores * (1 + noise * rng.random(scores.shape))
    found, again = (scored(each, specific, GARDEN) for each in (scores, otherwise))
    settled = fit(name, parameters, found)
    assert np.array_equal(chosen(settled, found), chosen(settled, again))


@pytest.mark.parametrize(("name", "parameters"), ALL)
@given(
    found=consolidations(),
    biases=st.lists(st.floats(-6, 6), min_size=2, max_size=4).map(sorted),
)
@settings(max_examples=80)
def test_a_larger_bias_never_answers_less_deep(
    name: str, parameters: dict[str, Any], found: Consolidation, biases: list[float]
) -> None:
    steps = [fit(name, parameters, found, depth_bias=bias) for bias in biases]
    for less, more in pairwise(chosen(settled, found) for settled in steps):
        if isinstance(steps[0], FittedPaths):
            # Paths end deeper, which on a branch may be elsewhere.
            assert (_deepest(less, found) <= _deepest(more, found)).all()
        else:
            assert not (less & ~more).any()


@given(
    found=consolidations(several=False),
    biases=st.lists(st.floats(-6, 0), min_size=2, max_size=4).map(sorted),
)
def test_paths_in_a_tree_are_taken_back_the_way_they_went(
    found: Consolidation, biases: list[float]
) -> None:
    steps = [
        chosen(fit("top-paths", {"paths": 3}, found, depth_bias=bias), found)
        for bias in [*biases, 0.0]
    ]
    for less, more in pairwise(steps):
        assert not (less & ~more).any()


def _deepest(sets: BoolArray, found: Consolidation) -> FloatArray:
    return np.asarray((sets * found.taxonomy.depth).max(axis=1), dtype=np.float64)


@pytest.mark.parametrize(("name", "parameters"), ALL)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_of_what_nothing_is_known_nothing_is_said(
    name: str, parameters: dict[str, Any], kind: Any
) -> None:
    nothing = kind(np.zeros((2, len(GARDEN))))
    decision = make_rule(name, **parameters).decide(
        scored(nothing, nothing, GARDEN), labels_per_answer=WANTED
    )
    assert decision.labels() == {"x0": [], "x1": []}


@pytest.mark.parametrize(("name", "parameters"), ALL)
def test_what_was_settled_can_be_kept(
    tmp_path: Path, name: str, parameters: dict[str, Any]
) -> None:
    scores = np.random.default_rng(0).random((5, len(GARDEN)))
    settled = fit(name, parameters, scored(scores, scores, GARDEN), depth_bias=0.5)
    write_model(tmp_path, Model("sa", {}, None, settled, Index(("ann",)), None))
    assert read_model(tmp_path).rule == settled
    assert settled.rule == name
    assert settled.parameters["depth_bias"] == 0.5


def test_a_rule_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="no rule 'treshold'.*threshold"):
        rule_class("treshold")
