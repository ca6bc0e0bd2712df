"""From a result and a few random reviews to the accuracy of the rest."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mhpc
from mhpc.accuracy import decide_held_out, predict_sets
from mhpc.data.index import Index, draw_order
from mhpc.data.votes import Truth
from mhpc.errors import DataError, ParameterError
from mhpc.explanation.queries import draw_instances, mix_orders
from mhpc.result import Result


@pytest.fixture(scope="module")
def result() -> Result:
    data = mhpc.load_garden()
    return mhpc.consolidate(data.votes, data.taxonomy, method="majority")


def known_labels(instances: list[str], drawn: dict[str, str] | None = None) -> dict[str, list[str]]:
    """Return the rows of a truth of some photographs of the garden, as columns."""
    truth = mhpc.load_garden().truth
    rows = [
        (truth.instances[i], truth.labels[k] if k >= 0 else "")
        for i, k in zip(truth.instance, truth.label, strict=True)
        if truth.instances[i] in set(instances)
    ]
    table = {"instance": [row[0] for row in rows], "label": [row[1] for row in rows]}
    if drawn is not None:
        table["drawn"] = [drawn[row[0]] for row in rows]
    return table


def sample(result: Result, size: int, seed: int = 0) -> list[str]:
    found = mhpc.conflicts(result, top=size, strategy="random", seed=seed)
    return [case.instance for case in found.instances]


def test_the_estimate_is_near_the_exact_match_of_the_others(result: Result) -> None:
    instances = sample(result, 100)
    estimate = mhpc.estimate_accuracy(result, known_labels(instances))
    others = [i for i in result.panel.instances if i not in instances]
    true = mhpc.evaluate(result, known_labels(others))["exact_match"]
    assert estimate.low < true < estimate.high
    assert estimate.high - estimate.low < 0.25
    assert (estimate.measured, estimate.others, estimate.is_assumed) == (100, 195, True)
    assert estimate.curve[-1].value == estimate.value
    assert estimate.curve[0].measured == 1
    assert [each.level for each in estimate.levels] == [1, 2, 3, 4]


def test_only_instances_drawn_at_random_count(result: Result) -> None:
    instances = sample(result, 60)
    by_chance = {i: "random" if n < 40 else "gain" for n, i in enumerate(instances)}
    estimate = mhpc.estimate_accuracy(result, known_labels(instances, by_chance))
    assert (estimate.measured, estimate.left_out, estimate.others) == (40, 20, 235)
    assert not estimate.is_assumed
    nothing = mhpc.estimate_accuracy(result, known_labels(instances, dict.fromkeys(instances, "")))
    assert (nothing.measured, nothing.left_out, nothing.levels) == (0, 60, ())
    assert "nothing can be estimated" in nothing.sentences()[0]


def test_a_truth_of_all_instances_leaves_nothing_to_estimate(result: Result) -> None:
    estimate = mhpc.estimate_accuracy(result, mhpc.load_garden().truth)
    assert (estimate.others, estimate.needed, estimate.levels) == (0, 0, ())
    assert "nothing to estimate" in str(estimate)


def test_a_run_without_gold_labels_needs_some(result: Result) -> None:
    with pytest.raises(DataError, match="no gold labels"):
        mhpc.estimate_accuracy(result)


@pytest.fixture(scope="module")
def with_gold() -> Result:
    data = mhpc.load_garden()
    plain = mhpc.consolidate(data.votes, data.taxonomy, method="majority")
    gold = known_labels(instances := sample(plain, 60), dict.fromkeys(instances, "random"))
    return mhpc.consolidate(data.votes, data.taxonomy, method="majority", gold=gold)


def test_gold_instances_are_decided_without_their_own_labels(
    result: Result, with_gold: Result
) -> None:
    gold = with_gold.panel.gold
    assert gold is not None
    decided = predict_sets(with_gold.consolidation, with_gold.decision.reason)
    assert decided.predicted[gold.rows] == pytest.approx(1, abs=1e-4)
    held_out = decide_held_out(
        with_gold.panel, with_gold.consolidation, decided, with_gold.rule, folds=4
    )
    # Majority learns nothing from gold labels, so that held-out sets are those of a run without.
    without = predict_sets(result.consolidation, result.decision.reason)
    assert (held_out.chosen[gold.rows] != without.chosen[gold.rows]).nnz == 0
    assert held_out.predicted[gold.rows] == pytest.approx(without.predicted[gold.rows])
    others = np.setdiff1d(np.arange(len(decided.predicted)), gold.rows)
    assert (held_out.chosen[others] != decided.chosen[others]).nnz == 0


def test_the_gold_labels_of_a_run_say_the_same_as_a_truth_after_it(
    result: Result, with_gold: Result
) -> None:
    by_gold = mhpc.estimate_accuracy(with_gold)
    by_truth = mhpc.estimate_accuracy(result, known_labels(sample(result, 60)))
    assert (by_gold.value, by_gold.low) == pytest.approx((by_truth.value, by_truth.low), abs=0.02)
    assert not by_gold.is_assumed
    assert by_gold.value < 0.99


def test_one_gold_label_can_be_held_out() -> None:
    votes = {str(n): {"ann": "rose", "bob": "oak" if n % 2 else "rose"} for n in range(9)}
    run = mhpc.consolidate(votes, ["rose", "oak"], method="majority", gold={"1": "rose"})
    assert mhpc.estimate_accuracy(run).measured == 1


def test_a_saved_result_remembers_what_was_drawn_at_random(
    with_gold: Result, tmp_path: Path
) -> None:
    with_gold.save(tmp_path / "OUT")
    loaded = mhpc.load_run(tmp_path / "OUT")
    saved, before = mhpc.estimate_accuracy(loaded), mhpc.estimate_accuracy(with_gold)
    assert (saved.measured, saved.is_assumed) == (before.measured, False)
    # Scores have been rounded.
    assert saved.value == pytest.approx(before.value, abs=1e-6)


def test_random_instances_have_no_gold_labels_and_depend_on_ids_alone(with_gold: Result) -> None:
    panel = with_gold.panel
    assert panel.gold is not None
    order = draw_instances(panel)
    assert sorted(order) == np.setdiff1d(np.arange(295), panel.gold.rows).tolist()
    ids = [panel.instances[row] for row in order[:50]]
    backwards = Index(tuple(reversed(ids)))
    assert [backwards[i] for i in draw_order(backwards)] == ids
    assert draw_instances(panel, 1).tolist() != order.tolist()


@pytest.mark.parametrize("step", [2, 5, 10])
def test_samples_of_numbered_instances_vary_as_those_of_chance(step: int) -> None:
    ids = Index(tuple(f"photo-{number}" for number in range(400)))
    marked = np.arange(400) % step == 0
    shares = [marked[draw_order(ids, seed=seed)[:40]].mean() for seed in range(300)]
    share = marked.mean()
    expected = np.sqrt(share * (1 - share) / 40 * 360 / 399)
    assert np.std(shares) == pytest.approx(expected, rel=0.15)


def test_a_mixed_order_takes_turns_and_the_gain_counts_first() -> None:
    mixed = mix_orders(np.array([7, 3, 5, 1]), np.array([3, 8, 2, 9]), 5)
    assert mixed == {7: "gain", 3: "gain", 8: "random", 5: "gain", 2: "random"}
    assert list(mix_orders(np.array([4]), np.array([3, 8, 2]), 4)) == [4, 3, 8, 2]


def test_random_instances_on_which_sources_agree_are_listed(result: Result) -> None:
    found = mhpc.conflicts(result, top=295, strategy="random")
    assert len(found.instances) == 295
    assert {case.drawn for case in found.instances} == {"random"}
    agreed = [case for case in found.instances if not case.disputed]
    assert agreed
    assert all(case.answers for case in agreed)
    by_gain = {case.instance: case for case in mhpc.conflicts(result, top=295).instances}
    drawn = {case.instance: replace(case, drawn="gain") for case in found.instances}
    assert {i: drawn[i] for i in by_gain} == by_gain


def test_an_unknown_strategy_is_refused(result: Result) -> None:
    with pytest.raises(ParameterError, match="gain | random | mixed"):
        mhpc.conflicts(result, strategy="best")  # type: ignore[arg-type]


def test_truths_of_several_files_keep_what_was_drawn_at_random() -> None:
    from mhpc.data.votes import _join_truths

    first = mhpc.read_truth({"instance": ["1"], "label": ["oak"], "drawn": ["Random "]})
    second = mhpc.read_truth({"2": "oak"})
    joined = _join_truths([first, second])
    assert isinstance(joined, Truth)
    assert joined.is_random is not None
    assert joined.is_random.tolist() == [True, False]


def test_labels_that_were_dropped_do_not_shift_what_was_drawn(result: Result) -> None:
    table = {
        "instance": ["photo-003", "nobody", "photo-001"], "label": ["oak", "oak", "maple"],
        "drawn": ["random", "random", "gain"],
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = mhpc.estimate_accuracy(result, table, unknown="nearest")
    assert (estimate.measured, estimate.left_out) == (1, 1)
