"""What a reviewer needs: listed instances with their answers, and a random sample of them."""

from typing import Any

import numpy as np
import pytest

import mhpc
from mhpc.data.index import Index, draw_order
from mhpc.report.review_data import identify_votes, list_instances

TAXONOMY = {"plant": ["flower", "tree"], "animal": ["bee"]}
VOTES = {
    "1": {"ann": "flower", "bob": ["tree", "bee"]},
    "2": {"ann": [], "bob": "plant"},
    "3": {"ann": "bee"},
}


def listed(result: mhpc.Result, limit: int = 100) -> tuple[dict[str, Any], dict[str, Any]]:
    return list_instances(result.panel, result.consolidation, result.decision, limit=limit)


def answers_of(result: mhpc.Result) -> dict[str, dict[str, list[str]]]:
    columns, _ = listed(result)
    taxonomy, sources = result.panel.taxonomy, result.panel.sources
    return {
        instance: {
            sources[source]: sorted(taxonomy.labels[label] for label in labels)
            for source, labels, *_ in answers
        }
        for instance, answers in zip(columns["id"], columns["answers"], strict=True)
    }


def test_every_listed_instance_has_the_most_specific_labels_of_each_source() -> None:
    assert answers_of(mhpc.consolidate(VOTES, TAXONOMY, method="majority")) == {
        "1": {"ann": ["flower"], "bob": ["bee", "tree"]},
        "2": {"ann": [], "bob": ["plant"]},
        "3": {"ann": ["bee"]},
    }


def test_scores_are_given_where_they_are_not_all_one() -> None:
    votes = [("1", "ann", "bee", 0.7), ("1", "bob", "bee", 1.0)]
    columns, _ = listed(mhpc.consolidate(votes, TAXONOMY, method="majority"))
    (answers,) = columns["answers"]
    assert [answer[2:] for answer in answers] == [[[0.7]], []]


def test_gold_labels_are_no_answers_and_are_not_drawn() -> None:
    result = mhpc.consolidate(VOTES, TAXONOMY, method="majority", gold={"2": "tree"})
    columns, review = listed(result)
    assert answers_of(result)["2"] == {"ann": [], "bob": ["plant"]}
    assert [columns["id"][position] for position in columns["gold"]] == ["2"]
    assert {columns["id"][position] for position in review["random"]} == {"1", "3"}
    assert review["population"] == 2


def test_the_name_of_the_votes_depends_on_their_content_and_not_on_gold_labels() -> None:
    names = {
        identify_votes(mhpc.consolidate(VOTES, TAXONOMY, method="majority", gold=gold).panel)
        for gold in (None, {"2": "tree"}, {"1": "bee", "3": "tree"})
    }
    others = {**VOTES, "3": {"ann": "tree"}}
    names.add(identify_votes(mhpc.consolidate(others, TAXONOMY, method="majority").panel))
    assert len(names) == 2


def test_many_instances_are_listed_by_gain_with_a_random_sample_of_all() -> None:
    votes = {
        f"{n:03}": {"ann": "flower", "bob": "tree" if n % 3 == 0 else "flower"} for n in range(300)
    }
    columns, review = listed(mhpc.consolidate(votes, TAXONOMY, method="majority"), limit=60)
    assert len(columns["id"]) == 60
    assert columns["gain"] == sorted(columns["gain"], reverse=True)
    drawn = [columns["id"][position] for position in review["random"]]
    assert len(set(drawn)) == 30
    assert review["population"] == 300
    # Sources disagree on a third of all; of the drawn ones, about as many.
    assert 3 <= sum(int(instance) % 3 == 0 for instance in drawn) <= 18
    # All others are listed for their gain.
    others = set(columns["id"]) - set(drawn)
    assert all(int(instance) % 3 == 0 for instance in others)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_a_random_order_does_not_depend_on_other_instances(seed: int) -> None:
    ids = tuple(f"photo-{n:03}" for n in range(200))
    order = [ids[n] for n in draw_order(Index(ids), seed=seed)]
    some = ids[50:120]
    assert [some[n] for n in draw_order(Index(some), seed=seed)] == [
        instance for instance in order if instance in set(some)
    ]


def test_a_random_order_is_uniform() -> None:
    firsts = [draw_order(Index(tuple("abcde")), seed=seed)[0] for seed in range(2000)]
    counts = np.bincount(firsts, minlength=5)
    # 400 each, with a standard deviation of 18.
    assert counts.min() > 330
    assert counts.max() < 470
