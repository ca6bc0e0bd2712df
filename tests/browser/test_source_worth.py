"""The section on what each source is worth: bars, the curve, and the tree of sources."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect

import mhpc
from mhpc.result import page_data
from tests.browser.conftest import Open
from tests.fixtures.report_facts import bare_facts, sample_facts


def bar_widths(section: Locator) -> list[float]:
    bars = section.locator("rect.value").all()
    return [float((bar.get_attribute("width") or "").rstrip("%")) for bar in bars]


def test_the_source_whose_absence_changes_most_comes_first(show: Open) -> None:
    section = show(sample_facts(), "#worth").locator("#worth")
    names = section.locator("tbody th").all_inner_texts()
    assert names == [f"reader-{m}" for m in (2, 3, 4, 5, 0, 1)]
    widths = bar_widths(section)
    assert widths[0] == 100
    assert widths[-2:] == [0, 0]
    assert widths == sorted(widths, reverse=True)


def test_the_tree_joins_copies_beyond_the_dashed_line(show: Open) -> None:
    section = show(sample_facts(), "#worth").locator("#worth")
    lines = section.locator("line.threshold")
    near, correlated = (float(lines.nth(n).get_attribute("x1") or 0) for n in (0, 1))
    joined = [
        float(re.findall(r"H([\d.]+)V", path.get_attribute("d") or "")[0])
        for path in section.locator(".picture path").all()
    ]
    assert joined[0] < near < joined[1] < correlated < joined[2]
    expect(section.locator(".picture path.duplicate")).to_have_count(1)
    expect(section.locator(".picture path.g0")).to_have_count(2)
    expect(section.locator(".groups").first).to_contain_text("reader-0, reader-1")
    expect(section.locator(".groups").nth(1)).to_contain_text("3 sources")


def test_the_curve_marks_the_panel_to_keep(show: Open) -> None:
    section = show(sample_facts(), "#worth").locator("#worth")
    expect(section.locator("circle.kept")).to_have_count(1)
    expect(section.locator("text.kept")).to_have_text("keep 3 sources")
    label = section.locator("figure svg").get_attribute("aria-label") or ""
    assert "1 source: quality 0.700" in label
    assert "6 sources: quality 1.000" in label


def test_what_was_not_measured_is_said(show: Open) -> None:
    expect(show(bare_facts(), "#worth").locator("#worth")).to_contain_text("not measured")
    facts = sample_facts()
    facts["contributions"] |= {"curve": [], "kept": [], "changed": [None] * 6}
    section = show(facts, "#worth").locator("#worth")
    expect(section).to_contain_text("mhpc sources OUT/")
    expect(section.locator("tbody")).to_have_count(0)


def test_independent_sources_have_no_tree(show: Open) -> None:
    facts = sample_facts()
    worth = facts["contributions"]
    worth |= {"groups": [], "correlated": []}
    worth["tree"]["merges"] = [[a, b, 0.0] for a, b, _ in worth["tree"]["merges"]]
    section = show(facts, "#worth").locator("#worth")
    expect(section.locator(".picture")).to_have_count(0)
    expect(section).to_contain_text("None of them depends on another")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_section_is_accessible(show: Open, scheme: str) -> None:
    page = show(sample_facts(sources=60), "#worth", color_scheme=scheme)
    results = Axe().run(page, context="#worth")
    assert results.violations_count == 0, results.generate_report()


def test_a_real_result_fits_on_a_phone(show: Open) -> None:
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy, method="majority")
    phone = {"viewport": {"width": 390, "height": 800}}
    page = show(page_data(result), "#worth", **phone)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.locator("#worth tbody tr")).to_have_count(12)
