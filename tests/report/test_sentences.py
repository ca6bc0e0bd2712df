"""Facts in sentences: numbers, plurals and names."""

import math

import pytest

from mhpc.data.comparison import CandidateScore, Selection
from mhpc.data.disagreement import ConfusedPair
from mhpc.data.profiles import Proportion, SourceProfile, SourceRelation, Weakness
from mhpc.report.sentences import (
    describe_confused_pair,
    describe_data,
    describe_decision,
    describe_dependence,
    describe_disagreement,
    describe_least_reliable,
    describe_method,
    format_interval,
    format_percent,
)
from tests.fixtures.build import GARDEN


def make_profile(
    source: str, *, wrong: Proportion, nearest: str = "", relation: SourceRelation | None = None
) -> SourceProfile:
    weaknesses = (Weakness("flower", 9, 5),) if wrong.value > 0.3 else ()
    return SourceProfile(
        source, 10, 1.0, 2.0, wrong, wrong, wrong, 1.0, nearest, 0.0, relation, weaknesses
    )


def make_selection(
    *, candidates: int, specific: tuple[str, ...] = ("m0",), closed: tuple[str, ...] = ("m0",)
) -> Selection:
    """Candidates m0, m1, … with increasing loss; the last one was dropped after one fold."""
    losses: list[tuple[float, ...]] = [(0.1 + n / 10,) * 2 for n in range(candidates)]
    losses[-1:] = [(0.0,)] if candidates > 1 else []
    scores = tuple(
        CandidateScore(f"m{n}", "sa", {}, loss, loss, 1.0) for n, loss in enumerate(losses)
    )
    return Selection(scores, specific, closed, 4, "nothing could be held out", 1.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.382, "38 %"), (1.0, "100 %"), (0.0, "0 %"), (0.004, "0.4 %"), (math.nan, "-")],
)
def test_percentages_are_rounded(value: float, text: str) -> None:
    assert format_percent(value) == text


def test_an_interval_has_one_percent_sign() -> None:
    assert format_interval(0.32, 0.45) == "32 to 45 %"


def test_counts_are_plural_unless_they_are_one() -> None:
    counts = {"sources": 1, "answers": 2_000, "instances": 1, "labels": 9, "levels": 3}
    sentence = describe_data(counts)
    for count in ("1 source ", "2,000 answers", "1 instance.", "9 labels", "3 levels"):
        assert count in sentence
    assert "1 instance " in describe_disagreement(1, 10)


def test_a_selected_method_is_named_with_the_number_of_candidates() -> None:
    sentence = describe_method("auto", make_selection(candidates=7))
    for fact in ("m0, the best of 7", "4-fold"):
        assert fact in sentence
    of_two_views = describe_method(
        "auto", make_selection(candidates=7, specific=("sa", "wa, alpha=1"))
    )
    assert "m0" in of_two_views
    assert "sa + wa (alpha=1)" in of_two_views


def test_a_method_that_ties_with_the_best_is_not_called_the_best() -> None:
    sentence = describe_method("auto", make_selection(candidates=7, closed=("m1",)))
    assert "standard error of the best of 7" in sentence


def test_without_cross_validation_the_reason_is_given() -> None:
    selection = make_selection(candidates=0)
    assert selection.reason in describe_method("auto", selection)
    assert describe_method("mhpc", None).endswith("mhpc")


@pytest.mark.parametrize(
    ("parameters", "facts"),
    [
        ({"rule": "one-path"}, ("one-path",)),
        (
            {"rule": "expected-f", "threshold": 0.4163, "threshold_from": "expected-f",
             "expected_f": 0.796},
            ("0.416", "F 0.80"),
        ),
        ({"rule": "threshold", "threshold": 0.5, "threshold_from": "given"}, ("0.5",)),
    ],
)  # fmt: skip
def test_a_decision_has_its_size_rule_and_threshold(
    parameters: dict[str, object], facts: tuple[str, ...]
) -> None:
    sizes = {"labels_per_instance": 6.51, "instances_without_label": 1}
    sentence = describe_decision({**parameters, **sizes})
    for fact in ("6.5 labels", "1 instance got no label", *facts):
        assert fact in sentence


def test_the_least_reliable_source_has_the_highest_lower_bound() -> None:
    uncertain = make_profile("few", wrong=Proportion(0.5, 0.1, 0.9))
    certain = make_profile("many", wrong=Proportion(0.4, 0.3, 0.5))
    (sentence,) = describe_least_reliable([uncertain, certain])
    for fact in ("many", "40 %", "30 to 50 %", "flower"):
        assert fact in sentence
    assert list(describe_least_reliable([certain])) == []


def test_dependent_sources_are_named_with_the_source_they_depend_on() -> None:
    none = Proportion(math.nan, math.nan, math.nan)
    profiles = [
        make_profile(f"s{n}", wrong=none, nearest="bob", relation="near-duplicate")
        for n in range(5)
    ]
    profiles.append(make_profile("eve", wrong=none, nearest="dan", relation="correlated"))
    duplicates, correlated = describe_dependence(profiles)
    assert "s0 (of bob)" in duplicates
    assert "2 more" in duplicates
    assert "eve (with dan)" in correlated


def test_a_confused_pair_is_named_with_its_count_and_common_ancestor() -> None:
    sentence = describe_confused_pair(ConfusedPair("monarda", "fuchsia", 1, "flower"), GARDEN)
    for fact in ("'monarda'", "'fuchsia'", "1 time", "'flower'"):
        assert fact in sentence
