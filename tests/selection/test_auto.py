"""What `auto` selects and how it combines it, on generated votes whose truth is known."""

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.panel import Panel, SinglePartition, WithScope
from mhpc.data.votes import EncodedTruth
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import dense
from mhpc.selection.auto import Auto
from mhpc.selection.candidates import has_one_truth, make_candidates
from tests.fixtures.build import panel_of
from tests.selection.conftest import PROFILES

SimulatedGarden = tuple[Panel, EncodedTruth]


def test_auto_ranks_labels_better_than_simple_averaging(simulated_garden: SimulatedGarden) -> None:
    panel, truth = simulated_garden
    auto, averaging = Auto().consolidate(panel), mhpc.SA().consolidate(panel)
    for view in ("specific", "closed"):
        loss = ranking_loss(truth.view(view), auto.view(view)[truth.rows])
        assert loss < ranking_loss(truth.view(view), averaging.view(view)[truth.rows])


def test_the_selection_lists_all_candidates_with_their_losses(
    simulated_garden: SimulatedGarden,
) -> None:
    panel, _ = simulated_garden
    selection = Auto().consolidate(panel).selection
    assert selection is not None
    names = {candidate.name for candidate in selection.candidates}
    assert names == set(make_candidates(one_truth=has_one_truth(SinglePartition(panel))))
    assert set(selection.closed) | set(selection.specific) <= names
    finalists = [
        candidate for candidate in selection.candidates if len(candidate.closed) == selection.folds
    ]
    assert finalists
    assert all(candidate.standard_error("closed") >= 0 for candidate in finalists)
    assert selection.seconds > 0


def test_a_parent_never_scores_below_its_child(simulated_garden: SimulatedGarden) -> None:
    panel, _ = simulated_garden
    score = dense(Auto().consolidate(panel).score)
    parents = panel.taxonomy.parents.tocoo()
    assert (score[:, parents.col] >= score[:, parents.row] - 1e-9).all()
    assert score.max() <= 1.0 + 1e-9


def test_scores_are_the_share_of_new_sources_that_give_the_label(
    simulated_garden: SimulatedGarden,
) -> None:
    panel, _ = simulated_garden
    data = mhpc.load_garden()
    new_votes = mhpc.simulate(data.truth, data.taxonomy, PROFILES * 5, seed=99)
    share = dense(mhpc.encode(new_votes, data.taxonomy).mean("augmented", "answers"))
    score = dense(Auto().consolidate(panel).score)
    for low, high in ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8)):
        cells = (score >= low) & (score < high)
        assert share[cells].mean() == pytest.approx(score[cells].mean(), abs=0.12)


def test_single_label_answers_call_for_candidates_that_assume_one_true_label() -> None:
    rows = [
        (f"i{i}", f"s{m}", "oak" if (i + m) % 4 else "finch") for i in range(8) for m in range(4)
    ]
    consolidation = Auto().consolidate(panel_of(rows))
    assert consolidation.one_truth
    assert consolidation.selection is not None
    assert "one-truth" in {candidate.name for candidate in consolidation.selection.candidates}


def test_with_one_source_a_default_is_used_and_nothing_is_compared() -> None:
    rows = [("x", "s", "oak"), ("x", "s", "finch"), ("y", "s", "monarda")]
    selection = Auto().consolidate(panel_of(rows)).selection
    assert selection is not None
    assert selection.candidates == ()
    assert selection.folds == 0
    assert selection.closed == selection.specific == ("channel",)


def test_copies_of_a_poor_source_do_not_outvote_two_good_ones() -> None:
    rng = np.random.default_rng(0)
    labels = ["oak", "finch", "monarda"]
    rows = []
    for i in range(60):
        true = labels[i % 3]
        rows += [
            (f"i{i}", name, true if rng.random() < 0.9 else labels[(i + 1) % 3])
            for name in ("ann", "bob")
        ]
        poor = true if rng.random() < 0.5 else labels[(i + 2) % 3]
        rows += [(f"i{i}", name, poor) for name in ("copy 1", "copy 2", "copy 3")]
    panel = panel_of(rows)
    best = dense(Auto().consolidate(panel).specific).argmax(axis=1)
    correct = [
        panel.taxonomy.labels[best[panel.instances.positions[f"i{i}"]]] == labels[i % 3]
        for i in range(60)
    ]
    assert np.mean(correct) > 0.8


@pytest.mark.parametrize("n_labels", [1, 2], ids=["one truth", "label sets"])
def test_the_fitted_model_gives_the_same_scores_on_the_same_answers(n_labels: int) -> None:
    rng = np.random.default_rng(3)
    labels = ["oak", "finch", "monarda", "fuchsia", "bird", "flower"]
    rows = [
        (f"i{i}", f"s{m}", label)
        for i in range(40)
        for m in range(4)
        for label in rng.choice(labels[i % 2 :], n_labels, replace=False)
    ]
    panel = panel_of(rows)
    consolidation = Auto().consolidate(panel)
    assert consolidation.fitted is not None
    predicted = consolidation.fitted().predict(panel)
    np.testing.assert_allclose(dense(predicted.score), dense(consolidation.score), atol=1e-9)
    np.testing.assert_allclose(dense(predicted.specific), dense(consolidation.specific), atol=1e-9)


def test_new_instances_are_scored_by_the_selected_methods(
    simulated_garden: SimulatedGarden,
) -> None:
    panel, truth = simulated_garden
    is_first_half = np.arange(len(panel.instances)) % 2 == 0
    train, test = (
        panel.select_instances(np.flatnonzero(mask)) for mask in (is_first_half, ~is_first_half)
    )
    predicted = Auto().fit(SinglePartition(train)).predict(test)
    position = {int(row): n for n, row in enumerate(np.flatnonzero(~is_first_half))}
    in_test = [n for n, row in enumerate(truth.rows) if int(row) in position]
    scores = dense(predicted.score)[[position[int(truth.rows[n])] for n in in_test]]
    assert ranking_loss(truth.closed[in_test], scores) < 0.05


def test_one_truth_is_a_candidate_for_partitions_too() -> None:
    rows = [
        (f"x{i}", source, label)
        for i in range(12)
        for source, label in (("ann", "oak"), ("bob", "oak"), ("cid", "finch"))
    ]
    panel = panel_of(rows)
    scope = sparse.csr_array(np.ones((3, len(panel.taxonomy))))
    fitted = Auto().fit(WithScope(SinglePartition(panel), scope))
    assert "one-truth" in {candidate.name for candidate in fitted.selection.candidates}
    best = dense(fitted.predict(panel).specific).argmax(axis=1)
    assert set(best.tolist()) == {panel.taxonomy.labels.positions["oak"]}


@pytest.mark.parametrize(("n_sources", "held_out"), [(3, "sources"), (13, "answers")])
def test_whole_sources_are_held_out_unless_there_are_many(n_sources: int, held_out: str) -> None:
    rows = [
        (f"i{i}", f"s{m}", "oak" if (i + m) % 5 else "finch")
        for i in range(8)
        for m in range(n_sources)
    ]
    selection = Auto().consolidate(panel_of(rows)).selection
    assert selection is not None
    assert selection.held_out == held_out
