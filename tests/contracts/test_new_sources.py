"""Every fitted method can be applied to votes with sources and labels that it does not know."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.index import UNKNOWN
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.summary import Model
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.encoding.known_sources import align_sources
from mhpc.encoding.panel import encode
from mhpc.errors import MhpcWarning
from mhpc.methods.base import BaseMethod
from mhpc.methods.fitted import FittedMethod, SourceChange
from mhpc.methods.mlcm import FittedMLCM
from mhpc.methods.registry import METHODS, make_method
from mhpc.methods.scope import effective_scope
from mhpc.numerics.arrays import dense
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.rules.registry import make_rule
from mhpc.selection.stacking import find_given
from mhpc.steps import adapt_model, apply_model, encode_votes, fit_and_score, known_sources
from tests.fixtures.build import GARDEN, Row, panel_of

VARIANTS: list[BaseMethod] = [
    *(make_method(name) for name in METHODS),
    make_method("majority", {"source_weights": "learned"}),
    make_method("cross-source", {"source_weights": "learned"}),
    make_method("channel", {"source_weights": "learned"}),
]

METHOD = pytest.mark.parametrize(
    "method", VARIANTS, ids=[f"{m.name} {getattr(m, 'source_weights', '')}" for m in VARIANTS]
)

LEAVES = ("monarda", "fuchsia", "oak", "finch")


def simulate(n: int, sources: str, *, seed: int) -> list[Row]:
    """Return answers about `n` instances; a source is right in three of four."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(LEAVES), size=n)
    return [
        (f"{seed}-{i}", source, LEAVES[truth[i] if rng.random() < 0.75 else rng.integers(4)])
        for i in range(n)
        for source in sources
    ]


OLD = simulate(30, "abc", seed=1)
NEW = simulate(6, "abc", seed=2)


def fit(method: BaseMethod, panel: Panel) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MhpcWarning)
        scores = fit_and_score(method, panel)
    assert scores.fitted is not None
    rule = make_rule("threshold", threshold=0.5).fit(scores, labels_per_answer=1.0)
    fitted: FittedMethod = scores.fitted()
    return Model(
        method.name, method.model_dump(), fitted, rule, panel.sources, panel.scope,
        has_gold=panel.gold is not None,
    )  # fmt: skip


def score(model: Model, panel: Panel) -> np.ndarray:
    aligned = align_sources(panel, known_sources(model, "prior"))
    adapted = adapt_model(model, aligned, taxonomy=GARDEN)
    return np.asarray(dense(apply_model(adapted, aligned).score))


@METHOD
def test_without_new_sources_and_labels_the_model_is_the_same(method: BaseMethod) -> None:
    model = fit(method, panel_of(OLD))
    aligned = align_sources(panel_of(NEW), known_sources(model, "prior"))
    assert adapt_model(model, aligned, taxonomy=GARDEN) is model


@METHOD
@pytest.mark.parametrize("has_gold", [False, True])
def test_a_new_source_changes_no_instance_that_it_did_not_answer(
    method: BaseMethod, has_gold: bool
) -> None:
    panel = panel_of(OLD)
    if has_gold:
        truth = read_truth({"instance": ["1-0", "1-1"], "label": ["oak", "finch"]})
        panel = append_gold_source(panel, encode_truth(truth, GARDEN, panel.instances))
    model = fit(method, panel)
    before = score(model, panel_of([*OLD, *NEW]))
    of_new: list[Row] = [(i, s, i) for i in ("oak", "finch") for s in ("new", "other")]
    after = score(model, panel_of([*OLD, *NEW, *of_new]))
    np.testing.assert_allclose(after[:-2], before, atol=1e-9)
    assert np.isfinite(after).all()
    # What two average sources agree on counts.
    oak, finch = (GARDEN.labels.positions[label] for label in ("oak", "finch"))
    assert after[-2, oak] > after[-1, oak]
    assert after[-1, finch] > after[-2, finch]


@METHOD
def test_a_new_label_scores_the_share_of_its_answers(method: BaseMethod) -> None:
    model = fit(method, panel_of(OLD))
    known = score(model, panel_of(NEW))
    rows = [*NEW, ("z", "a", "rock"), ("z", "b", "rock"), ("z", "c", "oak")]
    instance, source, label = zip(*rows, strict=True)
    votes = read_votes({"instance": instance, "source": source, "label": label})
    with pytest.warns(MhpcWarning, match="rock"):
        panel = encode(votes, GARDEN, unknown="graft")
    scores = score(model, panel)
    assert scores.shape == (7, len(GARDEN) + 1)
    assert scores[-1, -1] == pytest.approx(2 / 3)
    np.testing.assert_allclose(scores[:-1, :-1], known, atol=1e-9)


@METHOD
@pytest.mark.parametrize("scope", ["all", "used"])
def test_a_label_outside_the_earlier_scope_has_a_score_from_0_to_1(
    method: BaseMethod, scope: str
) -> None:
    rows = [row for row in OLD if row[1] != "a" or row[2] != "finch"]
    instance, source, label = zip(*rows, strict=True)
    votes = read_votes({"instance": instance, "source": source, "label": label}, scope=scope)
    model = fit(method, encode_votes(votes, GARDEN))
    new: list[Row] = [("y", "a", "finch"), ("z", "a", "finch"), ("z", "b", "finch")]
    scores = score(model, panel_of(new))
    assert np.isfinite(scores).all()
    assert scores.min() >= -1e-9
    assert scores.max() <= 1 + 1e-9
    assert (scores[:, GARDEN.labels.positions["finch"]] > 0).all()


def test_a_new_source_has_the_mean_of_the_known_ones_without_those_that_are_left_out() -> None:
    change = SourceChange(np.array([0, 1, 2, UNKNOWN]), averaged=np.arange(3))
    skills = np.array([0.9, 0.5, 0.1])
    np.testing.assert_allclose(change.extend(skills, None), [0.9, 0.5, 0.1, 0.5])
    np.testing.assert_allclose(
        change.average_without(np.array([2])).extend(skills, None), [0.9, 0.5, 0.1, 0.7]
    )
    assert change.average_without(np.arange(3)).averaged.tolist() == [0, 1, 2]


def test_wawa_weighs_a_new_source_by_the_mean_agreement_of_the_known_ones() -> None:
    model = fit(make_method("wawa"), panel_of(OLD))
    aligned = align_sources(panel_of([("z", "new", "oak")]), known_sources(model, "prior"))
    weights = adapt_model(model, aligned, taxonomy=GARDEN).fitted.weights
    assert weights.agreement[3] == pytest.approx(weights.agreement[:3].mean())
    assert weights.answers[3] == 0


def test_an_adapted_model_can_be_adapted_again() -> None:
    model = fit(make_method("auto"), panel_of(OLD))
    for name in ("d", "e"):
        panel = panel_of([*NEW, ("z", name, "oak")])
        aligned = align_sources(panel, known_sources(model, "prior"))
        model = adapt_model(model, aligned, taxonomy=GARDEN)
    assert model.sources.ids == ("a", "b", "c", "d", "e")
    assert np.isfinite(dense(apply_model(model, aligned).score)).all()


def test_auto_leaves_sources_without_information_out_of_the_average() -> None:
    model = fit(make_method("auto"), panel_of(OLD))
    fitted = replace(model.fitted, left_out=np.array([2]))
    aligned = align_sources(panel_of([("z", "new", "oak")]), known_sources(model, "prior"))
    adapted = adapt_model(replace(model, fitted=fitted), aligned, taxonomy=GARDEN).fitted
    skill = adapted.dawid_skene.skills.sensitivity
    assert skill[2].tolist() != skill[:2].mean(axis=0).tolist()
    np.testing.assert_allclose(skill[3], skill[:2].mean(axis=0))


def test_a_new_source_of_mlcm_does_not_mean_what_gold_labels_meant() -> None:
    # ann's oak and gold's oak; a new source comes between them.
    oak, K = GARDEN.labels.positions["oak"], len(GARDEN)
    fitted = FittedMLCM(group=np.array([oak, K + oak]), q=np.ones((2, K)))
    changed = fitted.with_sources(SourceChange(np.array([0, UNKNOWN, 1]), averaged=np.array([0])))
    assert changed.group.tolist() == [oak, 2 * K + oak]


def test_a_label_outside_the_scope_was_asked_for_where_it_was_given() -> None:
    rows: list[Row] = [("x", "a", "oak"), ("x", "b", "oak"), ("x", "c", "finch")]
    scope = np.ones((3, len(GARDEN)))
    scope[:2, GARDEN.labels.positions["oak"]] = 0.0
    panel = replace(panel_of(rows), scope=sparse.csr_array(scope))
    given = find_given(panel)
    # Two sources gave it outside their scope, and the third could have.
    assert given.asked[given.label == GARDEN.labels.positions["oak"]].tolist() == [3.0]


def test_the_effective_scope_has_the_labels_that_sources_give_now() -> None:
    rows: list[Row] = [("x", "a", "oak"), ("x", "b", "finch")]
    panel = panel_of(rows, scope="used")
    assert panel.scope is not None
    assert effective_scope(SinglePartition(panel), panel) is panel.scope
    earlier = replace(panel, scope=sparse.csr_array((2, len(GARDEN))))
    found = effective_scope(SinglePartition(earlier), earlier)
    np.testing.assert_array_equal(dense(found), dense(panel.scope))
