"""What `auto` combines and how, on generated votes whose truth is known."""

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel, SinglePartition, TransformedPartitions
from mhpc.data.votes import EncodedTruth
from mhpc.methods.base import predict_scores
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import dense
from mhpc.selection.auto import Auto, _optional_members
from tests.fixtures.build import Row, panel_of

SimulatedGarden = tuple[Panel, EncodedTruth]


def test_auto_ranks_labels_better_than_simple_averaging(simulated_garden: SimulatedGarden) -> None:
    panel, truth = simulated_garden
    auto, averaging = Auto().consolidate(panel), mhpc.SA().consolidate(panel)
    for view in ("specific", "closed"):
        loss = ranking_loss(truth.view(view), auto.view(view)[truth.rows])
        assert loss < ranking_loss(truth.view(view), averaging.view(view)[truth.rows])


def test_a_parent_never_scores_below_its_child(simulated_garden: SimulatedGarden) -> None:
    panel, _ = simulated_garden
    score = dense(Auto().consolidate(panel).score)
    parents = panel.taxonomy.parents.tocoo()
    assert (score[:, parents.col] >= score[:, parents.row] - 1e-9).all()
    assert score.max() <= 1.0 + 1e-9


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


def test_the_combination_names_its_members_and_counts_sources(
    simulated_garden: SimulatedGarden,
) -> None:
    panel, _ = simulated_garden
    combination = Auto().consolidate(panel).combination
    assert combination is not None
    assert combination.members == ("dawid-skene", "mhpc-local", "channel")
    assert combination.answers_per_instance == pytest.approx(4.0, abs=0.1)
    assert 0 < combination.effective_sources <= combination.answers_per_instance


def test_the_higher_the_score_the_more_labels_are_true(simulated_garden: SimulatedGarden) -> None:
    panel, truth = simulated_garden
    score = dense(Auto().consolidate(panel).score)[truth.rows]
    is_true = dense(truth.closed) > 0
    borders = (0.0, 0.05, 0.3, 0.6, 0.9)
    shares = [
        is_true[(score > low) & (score <= high)].mean()
        for low, high in zip(borders, (*borders[1:], 1.0), strict=True)
    ]
    assert (np.diff(shares) >= 0).all()
    assert shares[0] < 0.1
    assert shares[-1] > 0.9


def single_label_rows(n_sets: int) -> list[Row]:
    """Return answers of one label each, but for some of two."""
    rows: list[Row] = [
        (f"i{i}", f"s{m}", "oak" if (i + m) % 4 else "finch") for i in range(40) for m in range(4)
    ]
    return rows + [(f"i{i}", "s0", "monarda") for i in range(n_sets)]


def test_a_few_answers_with_two_labels_lower_the_weight_of_one_truth_by_degree() -> None:
    weights = []
    for n_sets in (0, 3, 10, 40):
        combination = Auto().consolidate(panel_of(single_label_rows(n_sets))).combination
        assert combination is not None
        weights.append(combination.one_truth_weight)
    assert weights[0] == pytest.approx(0.8)
    assert weights[0] > weights[1] > weights[2] > weights[3]
    assert weights[1] > 0.5
    assert weights[3] == 0.0


def test_with_one_source_every_instance_gets_its_labels() -> None:
    rows = [("x", "s", "oak"), ("x", "s", "finch"), ("y", "s", "monarda")]
    panel = panel_of(rows)
    consolidation = Auto().consolidate(panel)
    given = dense(panel.augmented) > 0
    score = dense(consolidation.score)
    assert score[given].min() > score[~given].max()


def test_partitions_that_are_transformed_later_give_the_same_scores() -> None:
    panel = panel_of(single_label_rows(0))
    at_once = Auto().fit(SinglePartition(panel)).predict(panel)
    later = Auto().fit(TransformedPartitions(SinglePartition(panel), _same)).predict(panel)
    np.testing.assert_allclose(dense(later.score), dense(at_once.score), atol=1e-9)


def _same(panel: Panel) -> Panel:
    return panel


def test_labels_that_nobody_gave_are_ranked_by_what_similar_instances_have(
    simulated_garden: SimulatedGarden,
) -> None:
    panel, _ = simulated_garden
    score = dense(Auto().consolidate(panel).score)
    given = dense(panel.sum_answers(panel.augmented)) > 0
    answered = panel.answers_per_instance > 0
    distinct = [len(np.unique(score[i, ~given[i]])) for i in np.flatnonzero(answered)]
    assert np.mean(distinct) > 5
    assert score[~given].max() < 0.5


@pytest.mark.parametrize("missing", [("channel",), ("mhpc-local",), ("channel", "mhpc-local")])
def test_without_some_methods_blocks_of_instances_are_still_joined(
    missing: tuple[str, ...], simulated_garden: SimulatedGarden, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel, _ = simulated_garden
    members = {name: each for name, each in _optional_members().items() if name not in missing}
    monkeypatch.setattr("mhpc.selection.auto._optional_members", members.copy)
    fitted = Auto().fit(SinglePartition(panel))
    whole = fitted.predict(panel)
    joined = predict_scores(Auto(), fitted, panel, max_instances=50)
    np.testing.assert_allclose(dense(joined.score), dense(whole.score), atol=1e-9)
    np.testing.assert_allclose(dense(joined.specific), dense(whole.specific), atol=1e-9)
    assert fitted.combination.members[1] == (
        "majority" if "mhpc-local" in missing else "mhpc-local"
    )


def test_a_label_that_was_given_is_not_likelier_as_the_most_specific_one_than_at_all(
    simulated_garden: SimulatedGarden,
) -> None:
    panel, _ = simulated_garden
    consolidation = Auto().consolidate(panel)
    given = dense(panel.sum_answers(panel.augmented)) > 0
    assert (dense(consolidation.specific)[given] <= dense(consolidation.score)[given]).all()
