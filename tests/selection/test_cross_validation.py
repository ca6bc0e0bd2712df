"""Which answers are held out, how predictions of them are scored, and how candidates compare."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.data.votes import EncodedTruth
from mhpc.methods.registry import make_method
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import FloatArray
from mhpc.selection.cross_validation import (
    FEW_SOURCES,
    cross_validate,
    log_rank_loss,
    make_folds,
    split_answers,
)
from tests.fixtures.build import panel_of

ROWS = [(f"i{i}", f"s{m}", "oak") for i in range(6) for m in range(4)]

SimulatedGarden = tuple[Panel, EncodedTruth]


def test_every_source_is_held_out_once() -> None:
    panel = panel_of(ROWS)
    folds = split_answers(panel, independent_sources(4), n_folds=4, seed=0)
    assert sorted(int(fold.test.source[0]) for fold in folds) == [0, 1, 2, 3]
    for fold in folds:
        assert fold.holds_out_sources
        assert not np.isin(fold.train.source, fold.test.source).any()
        assert len(fold.train.source) + len(fold.test.source) == len(panel.source)


def test_fewer_folds_hold_out_several_sources_together() -> None:
    folds = split_answers(panel_of(ROWS), independent_sources(4), n_folds=2, seed=0)
    assert [len(np.unique(fold.test.source)) for fold in folds] == [2, 2]


def test_near_duplicates_of_a_held_out_source_are_not_trained_on() -> None:
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 0] = 1.0
    dependence = SourceDependence(np.ones(4), sparse.csr_array(matrix))
    for fold in split_answers(panel_of(ROWS), dependence, n_folds=4, seed=0):
        if fold.test.source[0] in (0, 1):
            assert set(fold.train.source.tolist()) == {2, 3}
        else:
            assert len(set(fold.train.source.tolist())) == 3


def test_if_all_sources_depend_on_each_other_only_the_held_out_are_removed() -> None:
    dependence = SourceDependence(np.ones(4), sparse.csr_array(1.0 - np.eye(4)))
    folds = split_answers(panel_of(ROWS), dependence, n_folds=4, seed=0)
    assert all(len(set(fold.train.source.tolist())) == 3 for fold in folds)


def test_of_many_sources_single_answers_are_held_out() -> None:
    rows = [(f"i{i}", f"s{m}", "oak") for i in range(6) for m in range(FEW_SOURCES + 1)]
    folds = split_answers(panel_of(rows), independent_sources(FEW_SOURCES + 1), n_folds=3, seed=0)
    assert len(folds) == 3
    assert sum(len(fold.test.source) for fold in folds) == len(rows)
    assert not all(fold.holds_out_sources for fold in folds)


def test_answers_without_training_answers_to_the_same_instance_are_not_predicted() -> None:
    panel = panel_of([("x", "s", "oak"), ("x", "t", "oak"), ("y", "s", "oak")])
    for fold in split_answers(panel, independent_sources(2), n_folds=4, seed=0):
        assert fold.test.instance.tolist() == [0]


@pytest.mark.parametrize(
    "rows",
    [[("x", "s", "oak"), ("y", "s", "oak")], [("x", "s", "oak"), ("y", "t", "oak")]],
    ids=["one source", "no common instance"],
)
def test_there_are_no_folds_without_instances_that_two_sources_answered(
    rows: list[tuple[str, str, str]],
) -> None:
    panel = panel_of(rows)
    n_sources = len(panel.sources)
    assert split_answers(panel, independent_sources(n_sources), n_folds=4, seed=0) == []
    assert cross_validate(panel, {"sa": make_method("sa")}) == ()


def test_folds_of_a_large_panel_are_made_from_a_sample_of_its_instances() -> None:
    rows = [(f"i{i}", f"s{m}", "oak") for i in range(150) for m in range(3)]
    folds = make_folds(SinglePartition(panel_of(rows)), n_folds=3, seed=0, max_cells=1)
    assert {len(fold.train.instances) for fold in folds} == {100}


def log_rank_loss_by_definition(
    scores: FloatArray, answers: FloatArray, scope: FloatArray | None
) -> list[float]:
    losses = []
    for row in range(len(answers)):
        ranked = [k for k in range(answers.shape[1]) if scope is None or scope[row, k]]
        total = weight = 0.0
        for k in np.flatnonzero(answers[row]):
            higher = sum(scores[row, j] > scores[row, k] for j in ranked)
            equal = sum(scores[row, j] == scores[row, k] for j in ranked)
            rank = higher + (equal - 1) / 2
            total += answers[row, k] * math.log1p(rank) / math.log1p(len(ranked))
            weight += answers[row, k]
        losses.append(total / weight if weight else math.nan)
    return losses


cells = st.lists(
    st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=5, max_size=5), min_size=1, max_size=4
)


@given(scores=cells, answers=cells, block_cells=st.sampled_from([1, 10, 1000]))
def test_the_loss_is_the_mean_log_rank_of_the_labels_of_an_answer(
    scores: list[list[float]], answers: list[list[float]], block_cells: int
) -> None:
    rows = min(len(scores), len(answers))
    S, Y = np.array(scores[:rows]), np.array(answers[:rows])
    losses = log_rank_loss(S, np.arange(rows), sparse.csr_array(Y), block_cells=block_cells)
    np.testing.assert_allclose(losses, log_rank_loss_by_definition(S, Y, None))


@given(scores=cells, answers=cells, in_scope=st.integers(1, 31))
def test_only_labels_in_scope_are_ranked(
    scores: list[list[float]], answers: list[list[float]], in_scope: int
) -> None:
    rows = min(len(scores), len(answers))
    scope = np.tile([float(in_scope >> k & 1) for k in range(5)], (rows, 1))
    S, Y = np.array(scores[:rows]), np.array(answers[:rows]) * scope
    losses = log_rank_loss(S, np.arange(rows), sparse.csr_array(Y), scope=sparse.csr_array(scope))
    np.testing.assert_allclose(losses, log_rank_loss_by_definition(S, Y, scope))


def test_the_loss_is_0_for_the_first_rank_and_close_to_1_for_the_last() -> None:
    scores = np.linspace(1, 0, 50)[None, :]
    first_label, last_label = np.zeros((2, 1, 50))
    first_label[0, 0] = last_label[0, -1] = 1.0
    instance = np.array([0])
    assert log_rank_loss(scores, instance, sparse.csr_array(first_label)).tolist() == [0.0]
    assert log_rank_loss(scores, instance, sparse.csr_array(last_label))[0] == pytest.approx(
        math.log(50) / math.log(51)
    )


def test_answers_about_the_same_instance_share_its_ranking() -> None:
    scores = np.array([[0.1, 0.4, 0.4], [0.7, 0.2, 0.0]])
    answers = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    instance = np.array([0, 0, 1, 0])
    np.testing.assert_allclose(
        log_rank_loss(scores, instance, sparse.csr_array(answers)),
        log_rank_loss_by_definition(scores[instance], answers, None),
    )


def test_an_answer_without_labels_has_no_loss() -> None:
    losses = log_rank_loss(np.ones((1, 3)), np.array([0]), sparse.csr_array((1, 3)))
    assert np.isnan(losses).all()


def test_sparse_and_dense_scores_have_the_same_loss() -> None:
    scores = np.array([[0.0, 0.5, 0.1], [0.2, 0.0, 0.0]])
    answers = sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    instance = np.array([1, 0])
    np.testing.assert_array_equal(
        log_rank_loss(sparse.csr_array(scores), instance, answers),
        log_rank_loss(scores, instance, answers),
    )


def test_cross_validation_ranks_methods_as_the_truth_does(
    simulated_garden: SimulatedGarden,
) -> None:
    panel, truth = simulated_garden
    methods = {name: make_method(name) for name in ("sa", "majority", "cross-source", "channel")}
    losses = {score.name: score.loss("closed") for score in cross_validate(panel, methods)}
    true_losses = {
        name: ranking_loss(truth.closed, method.consolidate(panel).score[truth.rows])
        for name, method in methods.items()
    }
    best_by_truth = sorted(true_losses, key=true_losses.__getitem__)[:2]
    assert min(losses, key=losses.__getitem__) in best_by_truth
    assert max(losses, key=losses.__getitem__) == max(true_losses, key=true_losses.__getitem__)


def test_the_seed_determines_the_split(simulated_garden: SimulatedGarden) -> None:
    panel, _ = simulated_garden
    methods = {"sa": make_method("sa")}
    losses, same_seed, other_seed = (
        cross_validate(panel, methods, n_folds=2, seed=seed)[0].closed for seed in (0, 0, 5)
    )
    assert losses == same_seed
    assert losses != other_seed


def test_several_threads_give_the_losses_of_one(simulated_garden: SimulatedGarden) -> None:
    methods = {name: make_method(name) for name in ("sa", "majority")}
    in_one_thread, in_two = (
        cross_validate(simulated_garden[0], methods, n_folds=2, jobs=jobs) for jobs in (1, 2)
    )
    assert [score.name for score in in_two] == ["sa", "majority"]
    for serial, parallel in zip(in_one_thread, in_two, strict=True):
        assert serial.closed == parallel.closed


def test_cross_validation_does_not_warn_of_non_convergence(
    simulated_garden: SimulatedGarden,
) -> None:
    method = mhpc.MHPC(max_iter=1, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate(simulated_garden[0], {"mhpc": method}, n_folds=2)
