from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.panel import Average, Panel, VotesKind
from mhpc.data.scores import Consolidation
from mhpc.data.votes import Scope
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, Row, panel_of

FLOWER, MONARDA, OAK = (GARDEN.labels.positions[name] for name in ("flower", "monarda", "oak"))

KINDS: tuple[VotesKind, ...] = ("raw", "augmented")
AVERAGES: tuple[Average, ...] = ("answers", "all-sources")

ROWS: list[Row] = [
    ("p1", "ann", "monarda"),
    ("p1", "bob", "flower"),
    ("p1", "cid", None),
    ("p2", "ann", "oak"),
]


def test_mean_divides_by_the_answers_that_an_instance_got() -> None:
    mean = dense(panel_of(ROWS).mean("raw", "answers"))
    assert mean[0, MONARDA] == pytest.approx(1 / 3)
    assert mean[1, OAK] == 1.0


def test_mean_over_all_sources_divides_by_m_as_the_paper_does() -> None:
    mean = dense(panel_of(ROWS).mean("raw", "all-sources"))
    assert mean[1, OAK] == pytest.approx(1 / 3)


def test_mean_of_augmented_votes_counts_a_vote_for_its_ancestors() -> None:
    mean = dense(panel_of(ROWS).mean("augmented", "answers"))
    assert mean[0, FLOWER] == pytest.approx(2 / 3)
    assert mean[0, MONARDA] == pytest.approx(1 / 3)


def test_a_missing_label_outside_the_scope_is_not_a_no() -> None:
    # cid can only give trees, so only ann and bob were asked about flowers.
    scope = {"cid": ("oak",)}
    mean = dense(panel_of(ROWS, scope=scope).mean("raw", "answers"))
    assert mean[0, MONARDA] == pytest.approx(1 / 2)
    assert mean[1, OAK] == 1.0


def test_answers_per_label_counts_sources_that_can_give_it() -> None:
    panel = panel_of(ROWS, scope={"cid": ("oak",)})
    assert panel.answers_per_label[MONARDA] == 3
    assert panel.answers_per_label[OAK] == 4
    assert panel_of(ROWS).answers_per_label[MONARDA] == 4


def test_a_panel_of_selected_answers_keeps_instances_and_sources() -> None:
    panel = panel_of(ROWS)
    of_bob = panel.select_answers(panel.source == panel.sources.positions["bob"])
    assert of_bob.instances.ids == panel.instances.ids
    assert of_bob.answers_per_instance.tolist() == [1, 0]
    assert np.flatnonzero(dense(of_bob.mean("raw", "answers"))[0]).tolist() == [FLOWER]


def test_labels_per_answer_divides_by_the_answers_that_could_contain_a_label() -> None:
    # monarda counts for 3 labels, flower for 2, oak for 3; cid gives none.
    assert panel_of(ROWS).labels_per_answer == pytest.approx(8 / 4)
    # cid can only give oak, tree and plant: flower and monarda have 3 trials, not 4.
    scoped = panel_of(ROWS, scope={"cid": ("oak",)})
    assert scoped.labels_per_answer == pytest.approx(3 / 4 + 2 / 3 + 1 / 3 + 1 / 4 + 1 / 4)


def weight_panel(*weight: float, scope: Scope = "all") -> Panel:
    return replace(panel_of(ROWS, scope=scope), weight=np.array(weight))


def test_weights_of_one_change_no_mean_and_no_count() -> None:
    unweighted, weighted_by_one = panel_of(ROWS), weight_panel(1, 1, 1, 1)
    for average in AVERAGES:
        np.testing.assert_array_equal(
            dense(weighted_by_one.mean("raw", average)), dense(unweighted.mean("raw", average))
        )
    assert weighted_by_one.evidence.tolist() == unweighted.evidence.tolist() == [3.0, 1.0]
    assert (
        weighted_by_one.popularity.tolist()
        == unweighted.popularity.tolist()
        == unweighted.occurrences.tolist()
    )


def test_a_mean_counts_every_answer_by_its_weight() -> None:
    mean = dense(weight_panel(2, 1, 0.5, 3).mean("raw", "answers"))
    assert mean[0, MONARDA] == pytest.approx(2 / 3.5)
    assert mean[0, FLOWER] == pytest.approx(1 / 3.5)
    assert mean[1, OAK] == 1.0


def test_an_answer_of_double_weight_counts_as_two() -> None:
    twice = panel_of([*ROWS, ("p1", "ann again", "monarda"), ("p2", "ann again", "oak")])
    double = weight_panel(2, 1, 1, 2)
    for kind in KINDS:
        np.testing.assert_allclose(
            dense(double.mean(kind, "answers")), dense(twice.mean(kind, "answers"))
        )
    assert double.evidence.tolist() == twice.evidence.tolist()
    assert double.popularity.tolist() == twice.popularity.tolist()


def test_weights_count_among_sources_that_can_give_a_label() -> None:
    # cid can only give trees: only ann and bob were asked about monarda.
    mean = dense(weight_panel(2, 1, 5, 1, scope={"cid": ("oak",)}).mean("raw", "answers"))
    assert mean[0, MONARDA] == pytest.approx(2 / 3)


@pytest.mark.parametrize("scope", ["all", {"cid": ("oak",)}])
def test_an_answer_of_weight_zero_does_not_count(scope: Scope) -> None:
    mean = dense(weight_panel(1, 0, 1, 0, scope=scope).mean("raw", "answers"))
    assert mean[0, FLOWER] == 0.0
    assert not mean[1].any()


def test_sums_are_over_the_answers_of_an_instance() -> None:
    panel = weight_panel(2, 1, 0.5, 3)
    total = dense(panel.sum_answers(panel.augmented))
    assert total[0, FLOWER] == 3.0
    assert total[1, OAK] == 3.0


def test_popularity_counts_descendants_by_weight() -> None:
    assert weight_panel(2, 1, 0.5, 3).popularity[[FLOWER, MONARDA, OAK]].tolist() == [3.0, 2.0, 3.0]


def test_selected_answers_keep_their_weights() -> None:
    selected = weight_panel(2, 1, 0.5, 3).select_answers(np.array([True, False, False, True]))
    assert selected.weight is not None
    assert selected.weight.tolist() == [2.0, 3.0]


def test_expected_answers_are_the_scores_unless_a_method_predicts_them() -> None:
    panel = panel_of(ROWS)
    score, expected = np.zeros((2, 9)), np.ones((2, 9))
    without_prediction = Consolidation(panel.taxonomy, panel.instances, score, score + 2, "some")
    assert without_prediction.predict_answers("closed") is without_prediction.score
    assert without_prediction.predict_answers("specific") is without_prediction.specific
    with_prediction = replace(without_prediction, expected_answers=(expected, expected + 1))
    assert dense(with_prediction.predict_answers("specific"))[0, 0] == 1.0
    assert dense(with_prediction.predict_answers("closed"))[0, 0] == 2.0
    assert without_prediction.threshold is None
    assert not without_prediction.one_truth


def test_an_answer_with_a_label_outside_the_scope_of_its_source_counts_for_that_label() -> None:
    rows: list[Row] = [("x", "ann", "oak"), ("x", "bob", "oak"), ("x", "cid", "finch")]
    labels = GARDEN.labels.positions
    # Nobody but ann could give oak in an earlier run; finch is in no scope.
    scope = np.zeros((3, len(GARDEN)))
    scope[0, [labels[name] for name in ("plant", "tree", "oak")]] = 1.0
    panel = replace(panel_of(rows), scope=sparse.csr_array(scope))
    mean = dense(panel.mean("augmented", "answers"))[0]
    assert mean[labels["oak"]] == 1.0
    assert mean[labels["finch"]] == 1.0
    assert panel.outside_scope is not None
    assert panel.outside_scope.nnz == 6
    assert panel_of(rows, scope="used").outside_scope is None
