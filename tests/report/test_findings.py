"""The findings with which the report page opens."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.disagreement import ConfusedPair
from mhpc.data.exclusive import ExclusiveConflicts
from mhpc.data.index import Index
from mhpc.data.profiles import Proportion, SourceProfile
from mhpc.explanation.disagreement import MIN_GAIN
from mhpc.numerics.arrays import Sparse
from mhpc.report.findings import (
    CONTESTED,
    SETTLED,
    TO_REVIEW,
    FindingsInput,
    classify_instances,
    describe_request,
    find_unreliable,
    format_exclusive,
    make_findings,
    make_histogram,
    rank_reviews,
    split_by_subtree,
)
from tests.fixtures.build import GARDEN


def make_sets(*label_sets: tuple[str, ...]) -> Sparse:
    """Return label sets with the ancestors of their labels."""
    rows = np.zeros((len(label_sets), len(GARDEN)))
    for row, labels in enumerate(label_sets):
        rows[row, GARDEN.with_ancestors(GARDEN.locate(labels))] = 1
    return sparse.csr_array(rows)


def make_profile(source: str, wrong: Proportion, answers: int = 100) -> SourceProfile:
    rest = Proportion(1 - wrong.value, 0.0, 1.0)
    return SourceProfile(source, answers, 1.0, 2.0, rest, rest, wrong, 1.0, "", 0.0)


def test_an_instance_is_settled_contested_or_to_review() -> None:
    gain = np.array([0.0, 0.099, 0.1, 0.9])
    undisputed = classify_instances(gain, np.zeros(4, dtype=bool), limit=0.1)
    assert undisputed.tolist() == [SETTLED, SETTLED, TO_REVIEW, TO_REVIEW]
    disputed = classify_instances(gain, np.ones(4, dtype=bool), limit=0.1)
    assert disputed.tolist() == [CONTESTED, CONTESTED, TO_REVIEW, TO_REVIEW]


def test_reviews_are_ranked_by_gain_and_then_by_position() -> None:
    gain = np.array([0.2, 0.05, 0.7, 0.2])
    assert rank_reviews(gain, limit=0.1).tolist() == [2, 0, 3]


def test_the_histogram_counts_instances_to_review_below_the_limit() -> None:
    gain = np.array([0.0, MIN_GAIN - 0.05, MIN_GAIN - 1e-12, MIN_GAIN, 0.55, 1.0])
    counts = make_histogram(gain)
    assert sum(counts) == 6
    below = round(20 * (1 - MIN_GAIN))
    # What is within rounding of the limit is at the limit.
    assert sum(counts[:below]) == 4
    assert (counts[0], counts[-1]) == (1, 1)


@pytest.mark.parametrize(
    ("gain", "request_", "effort"),
    [
        ([0.0] * 4, "No instance needs", None),
        ([0.0, 0.5], "1 of 2 instances needs a person's review", None),
        # 0.9 + 0.9 of 2.6 is the first half.
        ([0.9, 0.9] + [0.1] * 8 + [0.0] * 20, "10 of 30 instances need", "first 2 hold"),
        ([0.9, 0.9] + [0.1] * 8, "2 of 10 instances hold half of the errors", "10 of 10"),
    ],
)
def test_the_request_is_for_what_a_person_can_do(
    gain: list[float], request_: str, effort: str | None
) -> None:
    sentence, more = describe_request(np.array(gain), limit=0.1)
    assert sentence.startswith(request_)
    assert (more is None) == (effort is None)
    assert effort is None or effort in str(more)


def test_instances_are_split_by_the_first_level_with_enough_labels() -> None:
    label_sets = make_sets(("monarda",), ("oak", "finch"), ("plant",), ())
    states = np.array([SETTLED, CONTESTED, TO_REVIEW, TO_REVIEW])
    groups = split_by_subtree(label_sets, states, GARDEN)
    counts = {group["name"]: group["counts"] for group in groups}
    # There are three labels on the second level: flower, tree and bird.
    assert counts == {
        "flower": [1, 0, 0], "tree": [0, 1, 0], "bird": [0, 1, 0],
        "less specific labels": [0, 0, 1], "no label": [0, 0, 1],
    }  # fmt: skip
    assert [group["label"] is None for group in groups] == [False] * 3 + [True] * 2


def test_the_smallest_of_many_groups_are_put_together() -> None:
    label_sets = make_sets(("monarda",), ("monarda",), ("oak",), ("finch",), ("oak", "finch"))
    groups = split_by_subtree(label_sets, np.zeros(5, dtype=np.int64), GARDEN, most=2)
    assert [group["name"] for group in groups] == ["flower", "2 other labels"]
    # The instance with both is counted once.
    assert groups[1]["counts"] == [3, 0, 0]


def test_sources_are_unreliable_if_their_interval_is_above_the_mean() -> None:
    sources = [
        make_profile("good", Proportion(0.1, 0.05, 0.15)),
        make_profile("bad", Proportion(0.5, 0.4, 0.6)),
        make_profile("few", Proportion(0.5, 0.1, 0.9), answers=1),
        make_profile("silent", Proportion(np.nan, np.nan, np.nan), answers=9),
    ]
    finding = find_unreliable(sources, GARDEN)
    assert (finding["order"], finding["unreliable"]) == ([1, 2, 0], 1)
    assert finding["mean"] == pytest.approx((10 + 50 + 0.5) / 201, abs=1e-4)
    assert "1 of 4 sources is clearly less reliable than the average: bad" in finding["sentence"]
    alike = find_unreliable([sources[0], sources[0]], GARDEN)
    assert alike["sentence"].startswith("No source is clearly less reliable")
    assert "only one source" in find_unreliable(sources[:1], GARDEN)["sentence"]


def test_findings_count_all_instances_and_give_the_state_of_those_listed() -> None:
    data = FindingsInput(
        instances=Index(("a", "b", "c")), gain=np.array([0.0, 0.5, 0.05]),
        disputed=np.array([False, False, True]),
        label_sets=make_sets(("monarda",), ("oak",), ("finch",)), taxonomy=GARDEN, sources=(),
        confusions=(ConfusedPair("monarda", "fuchsia", 1, "flower"),),
        exclusive=ExclusiveConflicts(),
    )  # fmt: skip
    findings = make_findings(data, np.array([1, 0]), limit=0.1)
    assert findings["states"] == [TO_REVIEW, SETTLED]
    assert findings["request"]["start"] == ["b"]
    assert (findings["settled"]["count"], findings["settled"]["contested"]) == (1, 1)
    assert findings["review"]["count"] == 1
    # No source contradicts another on b.
    assert "On 1 of these" in findings["review"]["sentence"]
    for fact in ("monarda and fuchsia", "1 time", "flower"):
        assert fact in findings["confusions"]["sentence"]
    assert findings["exclusive"] is None


def test_pairs_that_exclude_each_other_are_listed_the_most_frequent_first() -> None:
    conflicts = ExclusiveConflicts(3, ("a", "b"), {(0, 1): 1, (4, 5): 2})
    assert format_exclusive(conflicts) == {
        "instances": 3, "first": ["a", "b"],
        "pairs": [{"first": 4, "second": 5, "count": 2}, {"first": 0, "second": 1, "count": 1}],
    }  # fmt: skip
    assert format_exclusive(ExclusiveConflicts()) is None
