"""The page with any names, on any screen, in light and dark, by keyboard and in print."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.fixtures.report_facts import HOSTILE, bare_facts, sample_facts

GLUED = """
() => {
  const block = (element) => !/^(inline|contents|ruby)/.test(getComputedStyle(element).display)
    || getComputedStyle(element).display === "inline-block";
  const container = (node) => {
    let element = node.parentElement;
    while (!block(element)) element = element.parentElement;
    return element;
  };
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const glued = [];
  let before = null;
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (!text.data) continue;
    const inMark = text.parentElement.closest("mark") || before?.parentElement.closest("mark");
    if (before && !inMark && container(before) === container(text)
        && /[\\p{L}\\p{N}%)]$/u.test(before.data)
        && /^[\\p{L}\\p{N}\\p{S}\\p{Pf}(]/u.test(text.data))
      glued.push(before.data + "|" + text.data);
    before = text;
  }
  return glued;
}
"""
"""Texts that follow each other on a line without a space between them."""

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


def test_names_are_always_shown_as_text(show: Open) -> None:
    harmless, hostile = sample_facts(), sample_facts(hostile=True)
    count = "() => document.querySelectorAll('script, img, b, iframe').length"
    expected = show(harmless).evaluate(count)
    page = show(hostile)
    assert page.evaluate(count) == expected
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE[0])
    page.get_by_label("Search labels").fill("<img")
    expect(page.locator("[role=tree] mark")).to_have_text("<img")
    for name in HOSTILE[:5]:
        expect(page.locator("#sources tbody bdi", has_text=name).first).to_have_text(name)


def test_a_hostile_name_in_an_address_is_treated_as_text(show: Open) -> None:
    page = show(sample_facts(hostile=True), "#conflict=%3C%2Fscript%3E%3Cimg%20src%3Dx%20onerror")
    link = page.locator("#conflicts ol a").nth(1)
    link.click()
    expect(page.locator("#conflicts article h3")).to_have_text(HOSTILE[1])
    page.reload()
    expect(page.locator("#conflicts article h3")).to_have_text(HOSTILE[1])


@pytest.mark.parametrize("scored", [False, True])
def test_adjacent_texts_are_separated_by_a_space(show: Open, scored: bool) -> None:
    facts = sample_facts(sources=14)
    for conflict in facts["conflicts"] if scored else []:
        for answer in conflict["answers"]:
            answer["labels"] = [[label, 0.66] for label, _ in answer["labels"]]
    page = show(facts, "#label=F3")
    for name in page.locator("#sources .name").all():
        name.click()
    page.locator("#instances input").fill("case")
    assert page.evaluate(GLUED) == []


@pytest.mark.parametrize("hostile", [False, True])
def test_a_phone_does_not_scroll_sideways(show: Open, hostile: bool) -> None:
    page = show(sample_facts(hostile=hostile, sources=14), "#label=F3", **PHONE)
    page.locator("#sources .name").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    expect(page.get_by_label("Sort by")).to_be_visible()


def test_light_and_dark_mode_have_their_own_background(show: Open) -> None:
    colour = "() => getComputedStyle(document.body).backgroundColor"
    backgrounds = {
        scheme: show(sample_facts(), color_scheme=scheme).evaluate(colour)
        for scheme in ("light", "dark")
    }
    assert backgrounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 30)"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("bare", [False, True])
def test_axe_finds_no_accessibility_violation(show: Open, scheme: str, bare: bool) -> None:
    facts = sample_facts(labels=30, sources=5, instances=9, conflicts=2)
    page = show(bare_facts() if bare else facts, color_scheme=scheme)
    if not bare:
        page.locator("#sources .name").first.click()
        page.get_by_label("disagreement", exact=True).check()
    violations = Axe().run(page).response["violations"]
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in violations] == []


def test_the_keyboard_reaches_the_report_first(show: Open) -> None:
    page = show(sample_facts())
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the report")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the report")).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Overview")).to_be_focused()


def test_the_printed_page_has_the_main_sections(show: Open, tmp_path: Path) -> None:
    page = show(sample_facts(), color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#conflicts article")).to_have_count(5)
    expect(page.get_by_text("Least reliable on").first).to_be_visible()
    expect(page.get_by_role("navigation")).to_be_hidden()
    expect(page.get_by_label("Search labels")).to_be_hidden()
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_the_command_can_be_copied(show: Open) -> None:
    page = show(sample_facts(), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the command").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == sample_facts()["command"]


def test_data_in_another_format_version_are_refused(show: Open) -> None:
    page = show(sample_facts() | {"format": 1})
    expect(page.get_by_text("format 1, but this page reads format 3")).to_be_visible()
