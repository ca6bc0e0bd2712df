import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mhpc.data.index import Index
from mhpc.data.panel import Panel, SinglePartition
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.errors import ConvergenceWarning
from mhpc.methods.one_truth import FittedOneTruth, OneTruth
from mhpc.methods.one_truth.em import run_em
from mhpc.methods.one_truth.label_relations import Relation, relate_labels
from mhpc.model import HOMES
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.read.truth import read_truth
from mhpc.system.serialization import read_frozen, write_frozen
from tests.fixtures.build import DAG, GARDEN, Row, panel_of
from tests.methods.one_truth.panels import random_panel

PANELS = {
    "tree": random_panel(GARDEN, 2),
    "dag": random_panel(DAG, 8),
    "sets": random_panel(DAG, 8, sets=True),
}

EQUAL = OneTruth(max_iter=5, source_weights="equal")


def fit(panel: Panel, method: OneTruth = EQUAL) -> FittedOneTruth:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.fit(SinglePartition(panel))


@pytest.mark.parametrize("panel", PANELS.values(), ids=list(PANELS))
def test_instances_of_the_fit_keep_the_posterior_of_em(panel: Panel) -> None:
    fitted, expected = fit(panel), dense(run_em(panel, max_iter=5).posterior)
    np.testing.assert_allclose(dense(fitted.predict(panel).specific), expected, atol=1e-12)
    for row in range(len(panel.instances)):
        single = fitted.predict(panel.select_instances(np.array([row])))
        np.testing.assert_allclose(dense(single.specific)[0], expected[row], atol=1e-12)


def test_instances_of_the_fit_are_recognized_by_their_votes_not_by_their_ids() -> None:
    panel = PANELS["sets"]
    renamed = replace(panel, instances=Index(tuple(f"new {id_}" for id_ in panel.instances)))
    fitted = fit(panel)
    expected = dense(fitted.predict(panel).specific)
    np.testing.assert_array_equal(dense(fitted.predict(renamed).specific), expected)


def e_step_by_loops(panel: Panel, fitted: FittedOneTruth) -> FloatArray:
    """The posterior of every candidate by the learned counts, one vote at a time."""
    learned, K, taxonomy = fitted.learned, len(panel.taxonomy), panel.taxonomy
    vote, true = (axis.ravel() for axis in np.indices((K, K)))
    relation = relate_labels(taxonomy, vote, true).reshape(K, K)
    J, errors = learned.prior_confusions, learned.errors

    def likelihood(m: int, v: int, z: int) -> float:
        r = relation[v, z]
        vague = 1 / max(len(taxonomy.ancestors_of(z)), 1)
        share = errors[v] / errors[relation[:, z] == r].sum()
        within = {Relation.EXACT: 1.0, Relation.VAGUE: vague}.get(Relation(r), share)
        n_z = learned.truths.at(np.array([m * K + z]))[0]
        n_zv = learned.confusions.at(np.array([(m * K + z) * K + v]))[0]
        return float((n_zv + J * learned.profiles[m, r] * within) / (n_z + J))

    posterior = np.zeros((len(panel.instances), K))
    for i in range(len(panel.instances)):
        answers = np.flatnonzero(panel.instance == i)
        votes = [(int(panel.source[a]), int(panel.raw[[a]].indices[0])) for a in answers]
        for z in {k for _, v in votes for k in [v, *taxonomy.ancestors_of(v)]}:
            product = np.prod([likelihood(m, v, int(z)) for m, v in votes])
            posterior[i, z] = learned.popularity[z] * product
    return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))


def test_new_instances_are_scored_by_one_e_step() -> None:
    fitted = fit(PANELS["tree"])
    new: list[Row] = [("new", "a", "oak"), ("new", "c", "tree"), ("newer", "e", "finch"),
                      ("newer", "b", "bird"), ("newer", "a", "monarda")]  # fmt: skip
    known_sources: list[Row] = [("all", source, "oak") for source in PANELS["tree"].sources]
    panel = panel_of([*known_sources, *new])
    assert panel.sources.ids == PANELS["tree"].sources.ids
    predicted = fitted.predict(panel)
    expected = e_step_by_loops(panel, fitted)
    np.testing.assert_allclose(dense(predicted.specific), expected, atol=1e-12)
    np.testing.assert_allclose(dense(predicted.score), expected @ dense(GARDEN.closure), atol=1e-12)


def test_fitted_and_new_instances_may_be_mixed_in_any_order() -> None:
    panel = PANELS["tree"]
    fitted = fit(panel.select_instances(np.array([0, 2, 3])))
    predicted_together = dense(fitted.predict(panel).specific)
    for row in range(len(panel.instances)):
        predicted_alone = fitted.predict(panel.select_instances(np.array([row])))
        np.testing.assert_allclose(
            predicted_together[row], dense(predicted_alone.specific)[0], atol=1e-12
        )


def test_an_answer_that_is_removed_makes_a_new_instance() -> None:
    panel = PANELS["tree"]
    fitted = fit(panel)
    removed = np.flatnonzero(panel.instance == 0)[0]
    without = panel.select_answers(np.arange(len(panel.instance)) != removed)
    before, after = (dense(fitted.predict(p).specific) for p in (panel, without))
    assert np.abs(before[0] - after[0]).max() > 0.01
    np.testing.assert_array_equal(before[1:], after[1:])


def test_labels_known_by_gold_are_fixed_in_new_instances_too() -> None:
    def with_gold(**labels: str) -> Panel:
        panel = panel_of([(i, s, k) for i in labels for s, k in (("ann", "oak"), ("bob", "finch"))])
        truth = read_truth({"instance": list(labels), "label": list(labels.values())})
        return append_gold_source(panel, encode_truth(truth, GARDEN, panel.instances))

    fitted = fit(with_gold(x="oak", y="oak"))
    predicted = dense(fitted.predict(with_gold(x="oak", new="monarda")).specific)
    oak, monarda = GARDEN.labels.locate(["oak", "monarda"])
    np.testing.assert_array_equal([predicted[0, oak], predicted[1, monarda]], [1, 1])


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    panel = PANELS["sets"]
    fitted = fit(panel.select_instances(np.arange(4)), OneTruth(max_iter=5))
    write_frozen(tmp_path / "fitted.npz", fitted)
    loaded = read_frozen(tmp_path / "fitted.npz", HOMES)
    expected = dense(fitted.predict(panel).score)
    np.testing.assert_array_equal(dense(loaded.predict(panel).score), expected)


def test_a_panel_without_votes_can_be_fitted_and_predicted() -> None:
    panel = panel_of([("x", "ann", None)], instances=["y"])
    fitted = fit(panel)
    assert not dense(fitted.predict(panel).score).any()
    specific = dense(fitted.predict(panel_of([("x", "ann", "oak")])).specific)
    assert specific.sum() == pytest.approx(1)


@pytest.mark.parametrize("sets", [False, True])
def test_scores_are_probabilities_and_do_not_rise_from_parent_to_child(sets: bool) -> None:
    result = OneTruth(max_iter=500).consolidate(random_panel(DAG, 8, sets=sets))
    score = dense(result.score)
    np.testing.assert_allclose(dense(result.specific).sum(axis=1), 1)
    assert score.max() <= 1
    for label in range(len(DAG)):
        for parent in DAG.parents_of(label):
            assert (score[:, parent] >= score[:, label] - 1e-12).all()
    assert result.one_truth
    assert result.threshold == 0.5


def test_the_trace_has_every_iteration_and_too_few_of_them_warn() -> None:
    panel = random_panel(GARDEN, 2)
    with pytest.warns(ConvergenceWarning, match="one-truth stopped after 3 iterations"):
        result = OneTruth(tol=0, max_iter=3).consolidate(panel)
    posteriors = [dense(run_em(panel, tol=0, max_iter=n).posterior) for n in (1, 2, 3)]
    assert [step.iteration for step in result.trace] == [0, 1, 2]
    for n in (1, 2):
        change = np.abs(posteriors[n] - posteriors[n - 1]).sum() / posteriors[n - 1].sum()
        assert result.trace[n].change == pytest.approx(change)
    assert OneTruth().consolidate(panel).converged
