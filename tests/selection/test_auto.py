"""The judge and what it chooses, on generated votes whose truth is known."""

import warnings

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.votes import EncodedTruth
from mhpc.encoding.gold import encode_truth
from mhpc.methods.one_truth import fits
from mhpc.methods.registry import make_method
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.arrays import dense
from mhpc.selection.auto import Auto
from mhpc.selection.candidates import candidates_for
from mhpc.selection.cross_validation import cross_validate
from tests.fixtures.build import panel_of

PROFILES = [mhpc.Profile(specificity=0.8, accuracy=accuracy) for accuracy in (0.9, 0.6, 0.6, 0.3)]


@pytest.fixture(scope="module")
def garden() -> tuple[Panel, EncodedTruth]:
    """Four simulated sources on the photographs of the garden."""
    data = mhpc.load_garden()
    votes = mhpc.simulate(data.truth, data.taxonomy, PROFILES, seed=1)
    panel = mhpc.encode(votes, data.taxonomy)
    return panel, encode_truth(data.truth, panel.taxonomy, panel.instances)


def test_the_judge_orders_methods_as_the_truth_does(garden: tuple[Panel, EncodedTruth]) -> None:
    panel, truth = garden
    names = ("sa", "majority", "cross-source", "channel")
    methods = {name: make_method(name) for name in names}
    judged = {each.name: each.loss("closed") for each in cross_validate(panel, methods)}
    true = {
        name: ranking_loss(truth.closed, method.consolidate(panel).score[truth.rows])
        for name, method in methods.items()
    }
    assert min(judged, key=judged.__getitem__) in sorted(true, key=true.__getitem__)[:2]
    assert max(judged, key=judged.__getitem__) == max(true, key=true.__getitem__)


def test_what_is_chosen_is_better_than_plain_averaging(
    garden: tuple[Panel, EncodedTruth],
) -> None:
    panel, truth = garden
    found, plain = Auto().consolidate(panel), mhpc.SA().consolidate(panel)
    for view in ("specific", "closed"):
        ours = ranking_loss(truth.view(view), found.view(view)[truth.rows])
        assert ours < ranking_loss(truth.view(view), plain.view(view)[truth.rows])


def test_the_choice_tells_candidates_losses_and_what_was_taken(
    garden: tuple[Panel, EncodedTruth],
) -> None:
    choice = Auto().consolidate(garden[0]).selection
    assert choice is not None
    names = {each.name for each in choice.candidates}
    assert names == set(candidates_for(fits(garden[0])))
    assert set(choice.closed) | set(choice.specific) <= names
    finalists = [each for each in choice.candidates if len(each.closed) == choice.folds]
    assert finalists
    assert all(each.standard_error("closed") >= 0 for each in finalists)
    assert choice.seconds > 0


def test_a_parent_never_scores_below_its_child(garden: tuple[Panel, EncodedTruth]) -> None:
    found = Auto().consolidate(garden[0])
    score = dense(found.score)
    parents = garden[0].taxonomy.parents.tocoo()
    assert (score[:, parents.col] >= score[:, parents.row] - 1e-9).all()
    assert score.max() <= 1.0 + 1e-9


def test_scores_are_the_share_of_fresh_sources_that_affirm(
    garden: tuple[Panel, EncodedTruth],
) -> None:
    panel, _ = garden
    data = mhpc.load_garden()
    fresh = mhpc.simulate(data.truth, data.taxonomy, PROFILES * 5, seed=99)
    share = dense(mhpc.encode(fresh, data.taxonomy).mean("augmented", "answers"))
    score = dense(Auto().consolidate(panel).score)
    for low, high in ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8)):
        cells = (score >= low) & (score < high)
        assert share[cells].mean() == pytest.approx(score[cells].mean(), abs=0.12)


def test_answers_of_one_label_call_for_methods_that_know_one_truth() -> None:
    rows = [
        (f"i{i}", f"s{m}", "oak" if (i + m) % 4 else "finch") for i in range(8) for m in range(4)
    ]
    found = Auto().consolidate(panel_of(rows))
    assert found.one_truth
    assert found.selection is not None
    assert "one-truth" in {each.name for each in found.selection.candidates}


def test_one_source_is_not_judged_and_that_is_said() -> None:
    rows = [("x", "s", "oak"), ("x", "s", "finch"), ("y", "s", "monarda")]
    found = Auto().consolidate(panel_of(rows))
    assert found.selection is not None
    assert found.selection.candidates == ()
    assert "nothing was judged" in found.selection.reason


def test_another_seed_hides_other_answers_and_the_same_the_same(
    garden: tuple[Panel, EncodedTruth],
) -> None:
    methods = {"sa": make_method("sa")}
    first, second = (cross_validate(garden[0], methods, n_folds=2, seed=0)[0] for _ in range(2))
    other = cross_validate(garden[0], methods, n_folds=2, seed=5)[0]
    assert first.closed == second.closed
    assert first.closed != other.closed


def test_several_processes_judge_as_one_does(garden: tuple[Panel, EncodedTruth]) -> None:
    methods = {name: make_method(name) for name in ("sa", "majority")}
    one, two = (cross_validate(garden[0], methods, n_folds=2, jobs=jobs) for jobs in (1, 2))
    for here, there in zip(one, two, strict=True):
        assert here.closed == pytest.approx(there.closed, abs=1e-12)


def test_nothing_is_warned_of_while_judging(garden: tuple[Panel, EncodedTruth]) -> None:
    method = make_method("mhpc", {"max_iter": 1, "tol": 0.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate(garden[0], {"mhpc": method}, n_folds=2)


def test_copies_of_a_source_do_not_outvote_two_others() -> None:
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
    best = [panel.taxonomy.labels[k] for k in dense(Auto().consolidate(panel).specific).argmax(1)]
    right = np.mean([best[panel.instances.positions[f"i{i}"]] == labels[i % 3] for i in range(60)])
    assert right > 0.8


def test_where_instances_are_apart_only_those_are_candidates_that_learn() -> None:
    rows = [
        (f"x{i}", source, label)
        for i in range(12)
        for source, label in (("ann", "oak"), ("bob", "oak"), ("cid", "finch"))
    ]
    panel = panel_of(rows)
    apart = Auto().fit(SinglePartition(panel))
    assert apart.selection is not None
    assert "one-truth" not in {each.name for each in apart.selection.candidates}
    here = Auto().consolidate(panel)
    assert here.selection is not None
    assert "one-truth" in {each.name for each in here.selection.candidates}
    score = dense(apart.predict(panel).score)
    assert score[:, panel.taxonomy.labels.positions["oak"]].min() > 0.5
