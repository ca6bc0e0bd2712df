"""The section on methods: what was combined, and what was found out about the sources."""

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Open
from tests.fixtures.report_facts import bare_facts, sample_facts


def find_terms(section: Locator) -> list[str]:
    return section.locator("dl:not(.methods) > dt").all_inner_texts()


def test_combined_methods_and_their_findings_are_listed(show: Open) -> None:
    section = show(sample_facts()).locator("#methods")
    names = section.locator(".methods dt").all_inner_texts()
    assert names == sample_facts()["combination"]["members"]
    assert all(section.locator(".methods dd").all_inner_texts())
    assert find_terms(section) == ["Methods", "Sources", "One true label", "Scope", "Gold labels"]
    for fact in (
        "17 sources",
        "3.8 independent",
        "96\u00a0%",
        "35\u00a0%",
        "60 instances",
        "0.031",
    ):
        expect(section).to_contain_text(fact)


def test_what_had_no_effect_is_left_out(show: Open) -> None:
    facts = sample_facts()
    facts["combination"] |= {"one_truth_weight": 0.0, "gold": None, "scope": "all"}
    assert find_terms(show(facts).locator("#methods")) == ["Methods", "Sources", "Scope"]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({"answers_per_instance": 1.04, "effective_sources": 1.01}, "one source answered"),
        ({"answers_per_instance": 9.96, "effective_sources": 9.97}, "independently of each other"),
    ],
)
def test_independent_sources_are_not_said_to_be_worth_less(
    show: Open, numbers: dict[str, Any], text: str
) -> None:
    facts = sample_facts()
    facts["combination"] |= numbers
    section = show(facts).locator("#methods")
    expect(section).to_contain_text(text)
    expect(section).not_to_contain_text("worth")


@pytest.mark.parametrize("scope", ["declared", "inferred", "rejected", "all"])
def test_every_origin_of_the_scope_is_explained(show: Open, scope: str) -> None:
    facts = sample_facts()
    facts["combination"]["scope"] = scope
    section = show(facts).locator("#methods")
    assert section.locator("dt", has_text="Scope").locator("+ dd").inner_text()


def test_a_single_method_is_named(show: Open) -> None:
    facts = bare_facts()
    facts["overview"]["method"] = "majority"
    expect(show(facts).locator("#methods")).to_contain_text("one method, majority")
