"""What sources are worth: hand-worked examples, and slow twins."""

from dataclasses import replace

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import SinglePartition
from mhpc.data.profiles import SourceDependence
from mhpc.errors import DataError, ParameterError
from mhpc.explanation.contributions import Effort, measure_contributions
from mhpc.explanation.panel_costs import choose_panel, count_dropped, count_trials
from mhpc.explanation.source_groups import group_sources, link_sources
from mhpc.methods.source_weights import count_effective_sources
from mhpc.numerics.sparse import incidence

FLAT = ["ant", "bee", "wasp"]

VOTES = {
    "1": {"ann": "bee", "bob": "bee", "cid": "ant"},
    "2": {"ann": "ant", "bob": "ant", "cid": "ant"},
    "3": {"ann": "wasp", "bob": "bee", "cid": "wasp"},
    "4": {"ann": "ant"},
}
"""By majority: bee, ant, wasp, ant. A label needs at least half of the votes."""


def consolidate(votes: dict[str, dict[str, str]] = VOTES, **options: object) -> mhpc.Result:
    rule = mhpc.Threshold(threshold=0.6)
    return mhpc.consolidate(votes, FLAT, method="majority", rule=rule, **options)  # type: ignore[arg-type]


def test_changes_without_each_source_are_those_worked_out_by_hand() -> None:
    found = mhpc.source_contributions(consolidate())
    # Without ann: 1 is a tie and empty, 2 stays, 3 is a tie and empty, 4 has no answer.
    # Without bob: 1 is a tie and empty, 3 stays. Without cid: 1 stays, 3 is a tie and empty.
    assert {each.source: each.changed for each in found.sources} == {
        "ann": 0.75, "bob": 0.25, "cid": 0.25,
    }  # fmt: skip
    assert {each.source: each.agreement for each in found.sources} == {
        "ann": 0.25, "bob": 0.75, "cid": 0.75,
    }  # fmt: skip
    # Ann gave exactly the result four times, bob 2 of 3 times, cid 2 of 3 times.
    assert [each.alone for each in found.sources] == pytest.approx([1.0, 2 / 3, 2 / 3])


def test_the_curve_drops_the_source_that_loses_least_per_cost() -> None:
    found = mhpc.source_contributions(consolidate())
    # Bob and cid lose 0.25 each and save 3 answers: by name, bob goes first. Of ann and cid, ann
    # alone gives all four sets.
    assert [point.dropped for point in found.curve] == [(), ("bob",), ("cid",)]
    assert [point.cost for point in found.curve] == [10, 7, 4]
    assert [point.agreement for point in found.curve] == [1.0, 0.75, 1.0]
    assert found.kept == ("ann",)


def test_prices_decide_which_source_is_dropped() -> None:
    found = mhpc.source_contributions(consolidate(), costs={"ann": 1, "bob": 1, "cid": 2})
    assert [point.dropped for point in found.curve][1] == ("cid",)
    assert [point.cost for point in found.curve][:2] == [4 + 3 + 6, 7]
    assert found.has_prices


def test_accuracy_on_gold_is_measured_without_the_gold_labels_themselves() -> None:
    gold = {"1": "ant", "2": "ant", "3": "wasp"}
    for result in (consolidate(gold=gold), consolidate()):
        found = mhpc.source_contributions(result, gold=gold)
        # The sources give bee, ant, wasp.
        assert found.accuracy is not None
        assert found.accuracy.exact_match == pytest.approx(2 / 3)
        without = {each.source: each.accuracy.f for each in found.sources if each.accuracy}
        assert without == pytest.approx({"ann": 1 / 3, "bob": 2 / 3, "cid": 1 / 3})
        assert found.curve[0].quality.value == pytest.approx(2 / 3)
        assert found.gold == 3


def test_instances_with_gold_labels_do_not_count_as_changed() -> None:
    found = mhpc.source_contributions(consolidate(gold={"1": "bee", "3": "wasp"}))
    # Of 2 and 4, which are left, only 4 changes, without ann.
    assert {each.source: each.changed for each in found.sources} == {
        "ann": 0.5, "bob": 0.0, "cid": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("method", ["majority", "dawid-skene", None])
def test_changes_are_those_of_predicting_the_panel_without_the_source(method: str | None) -> None:
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy, method=method)
    found = mhpc.source_contributions(result)
    panel, rule = result.panel, result.rule
    assert rule is not None
    assert result.consolidation.fitted is not None
    fitted, before = result.consolidation.fitted(), list(result.labels.values())
    for each in found.sources[:4]:
        kept = panel.select_answers(panel.source != panel.sources.positions[each.source])
        scores = fitted.predict(kept)
        sets = rule.decide(scores.score, scores.specific, panel.taxonomy).toarray() > 0
        sets[kept.answers_per_instance == 0] = False
        labels = panel.taxonomy.labels
        pairs = [
            (set(was), {labels[k] for k in np.flatnonzero(row)})
            for was, row in zip(before, sets, strict=True)
        ]
        f = [2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0 for a, b in pairs]
        assert each.changed == pytest.approx(np.mean([a != b for a, b in pairs]))
        assert each.agreement == pytest.approx(np.mean(f))


def test_the_result_depends_most_on_the_only_expert() -> None:
    rng = np.random.default_rng(0)
    truth = {str(n): FLAT[rng.integers(3)] for n in range(90)}
    votes = {
        instance: {
            "expert": label,
            **{
                f"novice-{n}": label if rng.random() < 0.5 else FLAT[rng.integers(3)]
                for n in range(3)
            },
        }
        for instance, label in truth.items()
    }
    result = mhpc.consolidate(votes, FLAT, method="dawid-skene")
    found = mhpc.source_contributions(result, gold=truth)
    assert found.sources[0].source == "expert"
    accuracy = {each.source: each.accuracy.f for each in found.sources if each.accuracy}
    assert min(accuracy, key=lambda source: accuracy[source]) == "expert"
    assert found.kept == ("expert",)


def test_without_one_of_two_copies_nothing_changes() -> None:
    votes = {instance: {**answers, "dan": answers["ann"]} for instance, answers in VOTES.items()}
    votes = {name: {source: each for source, each in answers.items() if source in ("ann", "dan")}
             for name, answers in votes.items()}  # fmt: skip
    found = mhpc.source_contributions(consolidate(votes))
    assert [(each.changed, each.agreement) for each in found.sources] == [(0.0, 1.0)] * 2
    assert len(found.kept) == 1


def test_a_sample_of_the_instances_estimates_the_change() -> None:
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy, method="majority")
    full, sampled = (
        measure_contributions(
            result.predictor, result.panel, result.sources, effort=Effort(instances=n)
        )
        for n in (2000, 60)
    )
    assert all(each.instances <= 60 for each in sampled.sources)
    assert sampled.instances == 60
    first = full.sources[0]
    estimate = next(each for each in sampled.sources if each.source == first.source)
    assert estimate.changed == pytest.approx(first.changed, abs=0.15)


def test_too_much_work_is_skipped_where_that_is_allowed() -> None:
    effort = Effort(work=100, minimum=30, skip=True)
    assert effort.count_instances(1000, 10) == 0
    assert effort.count_instances(1000, 2) == 50
    assert effort.count_instances(20, 5) == 20
    assert replace(effort, skip=False).count_instances(1000, 10) == 30
    result = consolidate()
    found = measure_contributions(
        result.predictor, result.panel, result.sources, effort=replace(effort, work=1, minimum=2)
    )
    assert (found.curve, found.sources[0].changed) == ((), None)


def test_many_sources_are_dropped_a_tenth_at_a_time() -> None:
    assert [count_dropped(n) for n in (1000, 78, 33, 31, 30, 2)] == [100, 7, 3, 1, 1, 1]
    assert count_trials(4) == 4 + 3 + 2
    assert count_trials(32) == 32 + sum(range(2, 31))


def test_linked_sources_form_groups_and_a_tree() -> None:
    links = {(0, 2): 0.97, (2, 3): 0.96, (1, 4): 0.6}
    rows = [m for pair in links for m in pair]
    columns = [m for pair in links for m in reversed(pair)]
    values = np.repeat(list(links.values()), 2)
    matrix = incidence(np.array(rows), np.array(columns), shape=(5, 5), values=values)
    dependence = SourceDependence(np.full(5, 0.7), matrix)
    assert [group.tolist() for group in group_sources(dependence, 0.95)] == [[0, 2, 3]]
    assert [group.tolist() for group in group_sources(dependence, 0.5)] == [[0, 2, 3], [1, 4]]
    tree = link_sources(dependence, list("abcde"))
    assert [round(merge[2], 9) for merge in tree.merges] == [0.97, 0.96, 0.6, 0.0]
    assert {tree.sources[node] for node in tree.merges[0][:2]} == {"a", "c"}
    assert sorted(link_sources(dependence, list("abcde"), limit=3).sources) == ["a", "c", "d"]


def test_two_copies_are_one_independent_source_for_every_method() -> None:
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy, method="majority")
    effective, answers = count_effective_sources(SinglePartition(result.panel))
    assert answers == pytest.approx(len(result.panel.instance) / len(result.panel.instances))
    assert 1 < effective < answers
    assert mhpc.source_contributions(result).effective_sources == effective


def test_wrong_prices_are_refused() -> None:
    result = consolidate()
    for costs, message in (
        ({"anne": 1}, "'anne', which is no source of this run .nearest: 'ann'"),
        ({"ann": -1}, "the price of 'ann' is -1"),
        ({"ann": 1}, "these sources have no price: 'bob', 'cid'"),
    ):
        with pytest.raises(ParameterError, match=message):
            mhpc.source_contributions(result, costs=costs)
    with pytest.raises(ParameterError, match="keep = 2"):
        mhpc.source_contributions(result, keep=2)


def test_one_source_and_a_result_without_a_model_are_refused() -> None:
    with pytest.raises(DataError, match="only one source"):
        mhpc.source_contributions(consolidate({"1": {"ann": "bee"}}))
    with pytest.raises(DataError, match="has no model"):
        mhpc.source_contributions(replace(consolidate(), rule=None))


def test_the_cheapest_panel_that_is_good_enough_is_kept() -> None:
    curve = mhpc.source_contributions(consolidate()).curve
    assert choose_panel(curve, 0.95) == 2
    assert choose_panel(curve[:2], 0.95) == 0
    assert choose_panel(curve[:2], 0.75) == 1
