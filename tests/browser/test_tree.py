"""The hierarchy on the page: opening, searching, colours, keyboard."""

import re
import time

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.fixtures.report_facts import sample_facts


def tree(page: Page) -> Locator:
    return page.get_by_role("tree")


def row(page: Page, name: str) -> Locator:
    named = page.get_by_title(name, exact=True)
    return tree(page).get_by_role("treeitem").filter(has=named).first


def class_name(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}\b")


def active_name(page: Page) -> str:
    key = tree(page).get_attribute("aria-activedescendant")
    return page.locator(f"[id='{key}'] .name").inner_text()


def test_a_branch_opens_and_closes(show: Open) -> None:
    page = show(sample_facts())
    assert row(page, "finding 0").get_attribute("aria-expanded") == "true"
    assert row(page, "finding 3").get_attribute("aria-expanded") == "false"
    expect(row(page, "finding 27")).to_have_count(0)
    row(page, "finding 3").locator(".arrow").click()
    expect(row(page, "finding 27")).to_have_attribute("aria-level", "3")
    row(page, "finding 3").locator(".arrow").click()
    expect(row(page, "finding 27")).to_have_count(0)


def test_a_search_shows_the_matches_and_their_ancestors(show: Open) -> None:
    page = show(sample_facts())
    page.get_by_label("Search labels").fill("FINDING 27")
    names = tree(page).locator(".name")
    expect(names).to_have_text(["finding 0", "finding 3", "finding 27"])
    expect(tree(page).locator("mark")).to_have_text("finding 27")
    page.get_by_label("Search labels").fill("no such label")
    expect(page.get_by_text("No label name or id contains “no such label”.")).to_be_visible()
    page.get_by_label("Search labels").fill("")
    expect(row(page, "finding 4")).to_be_visible()


def test_enter_in_the_search_moves_to_the_first_match(show: Open) -> None:
    page = show(sample_facts())
    page.get_by_label("Search labels").fill("finding 27")
    page.keyboard.press("Enter")
    expect(tree(page)).to_be_focused()
    assert active_name(page) == "finding 27"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="finding 27")).to_be_visible()


def test_the_tree_can_be_navigated_by_keyboard(show: Open) -> None:
    page = show(sample_facts())
    tree(page).focus()
    visited = []
    for key in ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft"]:
        page.keyboard.press(key)
        visited.append(active_name(page))
    assert visited == [
        "finding 3",
        "finding 3",
        "finding 27",
        "finding 3",
        "finding 3",
        "finding 0",
    ]
    page.keyboard.press("End")
    last = active_name(page)
    page.keyboard.press("Home")
    assert (active_name(page), last) == ("finding 0", "finding 26")
    page.keyboard.press("Enter")
    expect(row(page, "finding 0")).to_have_attribute("aria-selected", "true")
    assert page.url.endswith("#label=F0")


def test_a_label_with_two_parents_appears_under_both(show: Open) -> None:
    facts = sample_facts(labels=80)
    (parents,) = [above for above in facts["taxonomy"]["parents"] if len(above) > 1][:1]
    assert parents == [8, 9]
    page = show(facts, "#label=F77")
    paths = page.locator("article", has=page.get_by_role("heading", name="finding 77")).locator("p")
    expect(paths.filter(has_text="in finding")).to_have_count(2)


def test_colour_shows_support_or_disagreement(show: Open) -> None:
    page = show(sample_facts())
    heat = row(page, "finding 0").locator(".heat")
    assert heat.nth(0).get_attribute("class") != heat.nth(2).get_attribute("class")
    expect(heat.nth(0)).to_have_class(class_name("s4"))
    page.get_by_label("disagreement", exact=True).check()
    expect(heat.nth(0)).not_to_have_class(class_name("s4"))
    expect(heat.nth(2)).to_have_class(class_name("c4"))
    expect(page.get_by_text("Disputed share of the instances")).to_be_visible()


@pytest.mark.parametrize("labels", [500, 5_000])
def test_a_large_tree_opens_and_is_searched_quickly(show: Open, labels: int) -> None:
    start = time.monotonic()
    page = show(sample_facts(labels=labels, instances=10_000, conflicts=200, sources=40))
    assert time.monotonic() - start < 10
    start = time.monotonic()
    page.get_by_role("button", name="Expand all").click()
    tree(page).focus()
    page.keyboard.press("End")
    last = tree(page).get_by_role("treeitem").last
    expect(last).to_have_id(str(tree(page).get_attribute("aria-activedescendant")))
    expect(last).to_be_in_viewport()
    # Rows out of sight are not in the page.
    assert tree(page).get_by_role("treeitem").count() < 60
    page.get_by_label("Search labels").fill(f"finding {labels - 1}")
    expect(tree(page).locator("mark").last).to_be_visible()
    assert time.monotonic() - start < 5
