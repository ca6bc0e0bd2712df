"""Facts in sentences: numbers, plurals and names."""

import math
from dataclasses import replace

import pytest

from mhpc.data.combination import Combination, GoldCalibration
from mhpc.data.exclusive import ExclusiveConflicts
from mhpc.data.profiles import Proportion, SourceProfile, SourceRelation, Weakness
from mhpc.report.sentences import (
    describe_data,
    describe_decision,
    describe_dependence,
    describe_disagreement,
    describe_exclusive,
    describe_gold,
    describe_least_reliable,
    describe_left_out,
    describe_method,
    describe_panel,
    describe_similarity,
    describe_sufficient_sources,
    format_interval,
    format_percent,
)


def make_profile(
    source: str, *, wrong: Proportion, nearest: str = "", relation: SourceRelation | None = None
) -> SourceProfile:
    weaknesses = (Weakness("flower", 9, 5),) if wrong.value > 0.3 else ()
    return SourceProfile(
        source, 10, 1.0, 2.0, wrong, wrong, wrong, 1.0, nearest, 0.0, relation, weaknesses
    )


def make_combination(
    *, answers: float = 5.0, effective: float = 3.0, gold: GoldCalibration | None = None
) -> Combination:
    return Combination(("sa", "wa", "mlcm"), 0.5, 0.0, effective, answers, gold=gold)


def make_answering(
    source: str, same_set: float, *, answers: int = 100, coverage: float = 1.0
) -> SourceProfile:
    profile = make_profile(source, wrong=Proportion(0.0, 0.0, 0.1))
    return replace(profile, answers=answers, coverage=coverage, same_set=same_set)


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


def test_combined_methods_are_named() -> None:
    assert describe_method("auto", make_combination()).endswith("sa, wa and mlcm")
    assert describe_method("mhpc", None).endswith("mhpc")


@pytest.mark.parametrize(
    ("answers", "effective", "facts"),
    [
        (17.0, 3.84, ("17 sources", "3.8 independent")),
        (9.96, 9.99, ("10 sources", "independently")),
        (5.0, 1.0, ("5 sources", "1 independent one")),
        (2.5, 2.2, ("2.5 sources", "2.2 independent")),
        (1.04, 1.0, ("one source",)),
    ],
)
def test_the_number_of_sources_is_compared_with_that_of_independent_ones(
    answers: float, effective: float, facts: tuple[str, ...]
) -> None:
    (sentence,) = describe_panel(make_combination(answers=answers, effective=effective))
    for fact in facts:
        assert fact in sentence


def test_the_effect_of_gold_labels_is_given() -> None:
    (sentence,) = describe_gold(make_combination(gold=GoldCalibration(60, 0.0456, 0.031)))
    for fact in ("60 instances", "0.046", "0.031"):
        assert fact in sentence


def test_a_method_that_combines_nothing_has_no_findings_about_the_panel() -> None:
    assert [*describe_panel(None), *describe_gold(None), *describe_similarity(None)] == []
    assert list(describe_gold(make_combination())) == []


def test_a_source_that_does_as_well_as_all_together_is_named() -> None:
    others = [make_answering("ann", 0.5), make_answering("bob", 0.9699)]
    (sentence,) = describe_sufficient_sources([*others, make_answering("cid", 0.984)])
    assert "cid alone would give the same label sets on 98 % of its instances" in sentence
    assert "other source" not in sentence
    both = [make_answering("ann", 0.97), make_answering("bob", 0.999), *others]
    (sentence,) = describe_sufficient_sources(both)
    # Not 100 %, which would be all of them.
    assert "bob alone would give the same label sets on 99 %" in sentence
    assert "1 other source " in sentence


@pytest.mark.parametrize(
    "sources",
    [
        [make_answering("only", 1.0)],
        [make_answering("ann", 0.96), make_answering("bob", 0.5)],
        [make_answering("ann", 1.0, coverage=0.94), make_answering("bob", 0.5)],
        [make_answering("ann", 1.0, answers=19), make_answering("bob", 0.5)],
        [make_answering("ann", math.nan, answers=0, coverage=0.0), make_answering("bob", 0.5)],
    ],
    ids=["no other source", "other label sets", "few instances of many", "few instances", "none"],
)
def test_a_source_that_is_alone_or_differs_or_answers_little_is_not_named(
    sources: list[SourceProfile],
) -> None:
    assert list(describe_sufficient_sources(sources)) == []


@pytest.mark.parametrize(
    ("answers", "effective", "similar"),
    [(5.0, 1.49, True), (5.0, 1.5, False), (2.1, 1.1, True), (2.0, 1.1, False), (1.0, 1.0, False)],
)
def test_sources_that_are_worth_little_more_than_one_are_noted(
    answers: float, effective: float, similar: bool
) -> None:
    notes = list(describe_similarity(make_combination(answers=answers, effective=effective)))
    assert len(notes) == similar


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
    for fact in ("many", "40 %", "30 to 50 %"):
        assert fact in sentence
    assert list(describe_least_reliable([certain])) == []


@pytest.mark.parametrize(
    ("rejected", "share"),
    [(5, "all of"), (10, "half of"), (15, "a third of"), (8, "62 % of"), (16, None), (500, None)],
)
def test_a_subtree_is_named_if_it_has_a_third_of_the_errors(
    rejected: int, share: str | None
) -> None:
    # 5 of its rejected labels are under flower.
    worst = replace(make_profile("bob", wrong=Proportion(0.4, 0.3, 0.5)), rejected=rejected)
    (sentence,) = describe_least_reliable([worst, make_answering("ann", 1.0)])
    assert ("flower" in sentence) == (share is not None)
    assert share is None or f"; {share} its rejected labels are under flower" in sentence


def test_sources_that_were_left_out_are_named() -> None:
    (sentence,) = describe_left_out(replace(make_combination(), left_out=("bob",)))
    assert "'bob'" in sentence
    assert list(describe_left_out(make_combination())) == []


def test_instances_with_labels_that_exclude_each_other_are_counted_and_the_first_named() -> None:
    (sentence,) = describe_exclusive(ExclusiveConflicts(1_234, ("a", "b", "c", "d"), {(0, 1): 9}))
    assert "1,234 instances have" in sentence
    assert sentence.endswith("'a', 'b', 'c' and 1,231 more")
    assert list(describe_exclusive(ExclusiveConflicts())) == []


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
