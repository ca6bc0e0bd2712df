"""The review priority of every instance, and how many sources agree with its labels."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import mhpc
from mhpc.data.decision import Decision
from mhpc.data.items import Items
from mhpc.data.panel import Panel
from mhpc.explanation.items import find_items
from mhpc.run import run
from mhpc.settings import RunSettings
from tests.explanation.slow_twins import answers_about, labels_of_answer
from tests.fixtures.build import GARDEN, panel_of, small_panel


def items_of(panel: Panel, threshold: float) -> tuple[Items, Decision]:
    average = mhpc.SA(votes="augmented").consolidate(panel)
    decision = mhpc.Threshold(threshold=threshold).decide(average, labels_per_answer=1)
    return find_items(panel, average, decision), decision


def test_an_answer_agrees_if_all_its_labels_were_decided() -> None:
    rows = [
        ("p1", "ann", "monarda"),
        ("p1", "bob", "flower"),
        ("p1", "cid", "oak"),
        ("p1", "dee", "flower"),
        ("p1", "dee", "bird"),
        ("p2", "ann", None),
        ("p2", "bob", None),
        ("p2", "cid", "oak"),
        ("p3", "ann", "oak"),
        ("p3", "bob", "oak"),
        ("p3", "cid", None),
    ]
    items, decision = items_of(panel_of(rows), 0.5)
    assert decision.labels() == {
        "p1": ["plant", "flower"],
        "p2": [],
        "p3": ["plant", "tree", "oak"],
    }
    assert items.instance.tolist() == ["p1", "p2", "p3"]
    assert items.labels.tolist() == ["flower", "", "oak"]
    assert items.sources.tolist() == [4, 3, 3]
    # Only bob stops at the flower; two say "none of these" of p2, and one of p3.
    np.testing.assert_allclose(items.agreement, [1 / 4, 2 / 3, 2 / 3])
    np.testing.assert_allclose(items.probability, [0.75, np.nan, 2 / 3])


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_agreement_equals_that_of_the_slow_twin(seed: int, threshold: float) -> None:
    panel = small_panel(seed=seed)
    items, decision = items_of(panel, threshold)
    for row, instance in enumerate(panel.instances):
        decided = set(np.flatnonzero(decision.reason[[row]].toarray()[0]).tolist())
        answers = [labels_of_answer(panel, answer) for answer in answers_about(panel, row)]
        agreeing = sum(labels <= decided if labels else not decided for labels in answers)
        assert items.instance[row] == instance
        assert items.sources[row] == len(answers)
        expected = agreeing / len(answers) if answers else math.nan
        np.testing.assert_equal(items.agreement[row], expected)


def test_the_review_priority_is_the_gain_of_the_conflicts() -> None:
    votes = mhpc.load_garden().votes
    result = mhpc.consolidate(votes, mhpc.load_garden().taxonomy, method="majority")
    cases = mhpc.conflicts(result, top=len(votes.instances)).instances
    gain = {case.instance: case.gain for case in cases}
    priority = dict(zip(result.items["instance"], result.items["review_priority"], strict=True))
    assert any(gain.values())
    assert {instance: priority[instance] for instance in gain} == gain
    # The others are undisputed, and their labels are as good as certain.
    assert all(value < 0.3 for instance, value in priority.items() if instance not in gain)


def test_gold_labels_are_no_source_and_instances_may_have_no_answer() -> None:
    votes = mhpc.read_votes(
        {"instance": ["p", "p"], "source": ["ann", "bob"], "label": ["oak", "finch"]}
    )
    gold = {"instance": ["p"], "label": ["oak"]}
    result = mhpc.consolidate(votes, GARDEN, method="majority", gold=gold, instances=["q"])
    items = result.items
    assert list(items["sources"]) == [2, 0]
    assert items["labels"][0] == "oak"
    np.testing.assert_equal(items["agreement"], [0.5, np.nan])


def test_a_result_has_the_items_of_the_file(tmp_path: Path) -> None:
    garden = mhpc.load_garden()
    mhpc.write_votes(tmp_path / "votes.csv", garden.votes)
    mhpc.write_taxonomy(tmp_path / "taxonomy.csv", garden.taxonomy)
    settings = RunSettings(
        votes=str(tmp_path / "votes.csv"), taxonomy=str(tmp_path / "taxonomy.csv"), top=3
    )
    run(settings, output=tmp_path / "OUT")
    with (tmp_path / "OUT" / "items.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    items = mhpc.consolidate(garden.votes, garden.taxonomy).items
    assert header == list(items)
    cells = zip(*(list(column) for column in items.values()), strict=True)
    assert rows == [["" if cell != cell else str(cell) for cell in row] for row in cells]
