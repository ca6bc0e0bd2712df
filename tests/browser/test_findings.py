"""The findings at the top of the page, its notes, and the tables that can be downloaded."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.fixtures.report_facts import HOSTILE, sample_facts

FACTS = sample_facts()


def save_table(page: Page, title: str, folder: Path) -> list[list[str]]:
    with page.expect_download() as saved:
        page.get_by_role("button", name=re.compile(f"^Download.* CSV of {title}$")).first.click()
    target = folder / saved.value.suggested_filename
    saved.value.save_as(target)
    with target.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_the_page_opens_with_what_is_asked_and_where_to_start(show: Open) -> None:
    page = show(FACTS)
    request = page.locator("main > section").first.locator(".request")
    expect(request).to_contain_text("review: start with case-00000, case-00001 and case-00002.")
    expect(request.get_by_role("link", name="Start the review")).to_have_attribute(
        "href", "#review"
    )
    request.get_by_role("link", name="case-00001").click()
    expect(page.locator("#conflicts article h3")).to_have_text("case-00001")


def test_every_finding_has_a_picture_with_a_caption(show: Open) -> None:
    findings = show(FACTS).locator("#overview article")
    titles = ["Settled", "To review", "Reliability of sources", "Confused labels"]
    expect(findings.locator("h3")).to_have_text(titles)
    assert all(findings.locator("figcaption").all_inner_texts())
    expect(findings.nth(1).get_by_role("img")).to_have_accessible_name(
        "Histogram of expected F from 0 to 1: 0.55 to 0.60: 1, 0.60 to 0.65: 2, 0.65 to 0.70: 3, "
        "0.70 to 0.75: 4, 0.75 to 0.80: 5, 0.80 to 0.85: 6, 0.85 to 0.90: 7, 0.90 to 0.95: 8, "
        "0.95 to 1.00: 9"
    )
    # Only what is certain enough is not to be reviewed.
    expect(findings.nth(1).locator("rect.certain")).to_have_count(2)


def test_a_part_of_the_taxonomy_lists_its_instances(show: Open) -> None:
    page = show(FACTS)
    page.locator("#overview").get_by_role("link", name="finding 1 ").click()
    below = {1, *(k for k, above in enumerate(FACTS["taxonomy"]["parents"]) if 1 in above)}
    below |= {k for k, above in enumerate(FACTS["taxonomy"]["parents"]) if below & set(above)}
    expected = [
        name
        for name, labels in zip(FACTS["instances"]["id"], FACTS["instances"]["labels"], strict=True)
        if below & set(labels)
    ]
    assert 0 < len(expected) < 25
    expect(page.locator("#instances tbody th")).to_have_text(expected)
    expect(page.locator("#instances")).to_contain_text("under finding 1")
    page.locator("#instances").get_by_role("button", name="Show all").click()
    expect(page.locator("#instances tbody th")).to_have_count(25)


def test_instances_are_filtered_by_their_state(show: Open) -> None:
    page = show(FACTS)
    page.get_by_label("State").select_option("to review")
    expect(page.locator("#instances [role=status]")).to_contain_text("20 instances of the 80")


def test_many_sources_are_shown_on_request(show: Open) -> None:
    page = show(sample_facts(sources=30))
    rows = page.locator("#overview article").nth(2).locator("li")
    expect(rows).to_have_count(20)
    page.get_by_role("button", name="Show all 30 sources").click()
    expect(rows).to_have_count(30)


@pytest.mark.parametrize(
    ("title", "rows", "first"),
    [
        ("Sources", 6, "reader-0"),
        ("Disagreements", 36, "case-00000"),
        ("Instances", 80, "case-00000"),
        ("Confused labels", 20, None),
        ("Taxonomy", 60, "F0"),
        ("Agreement between sources", 15, "reader-1"),
        ("Findings", 5, "settled"),
    ],
)
def test_tables_are_downloaded_in_full(
    show: Open, tmp_path: Path, title: str, rows: int, first: str | None
) -> None:
    header, *table = save_table(show(FACTS), title, tmp_path)
    assert (tmp_path / f"votes-{title.lower().replace(' ', '-')}.csv").exists()
    assert {len(row) for row in table} == {len(header)}
    assert len(table) == rows
    assert first is None or table[0][0] == first


def test_downloaded_names_are_exact(show: Open, tmp_path: Path) -> None:
    _, *table = save_table(show(sample_facts(hostile=True)), "Sources", tmp_path)
    assert [row[0] for row in table] == list(HOSTILE)


def test_a_table_is_downloaded_by_keyboard(show: Open) -> None:
    page = show(FACTS)
    page.get_by_role("button", name="Download CSV of Sources", exact=True).focus()
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "votes-sources.csv"


def test_technical_notes_are_folded(show: Open) -> None:
    page = show(FACTS)
    notes = page.get_by_role("complementary", name="Before you rely on this")
    expect(notes.get_by_role("listitem")).to_have_text(["One source was left out."])
    technical = page.get_by_text("Scores are calibrated.")
    expect(technical).to_be_hidden()
    page.get_by_text("Technical notes").click()
    expect(technical).to_be_visible()


def test_labels_that_exclude_each_other_are_a_finding_with_links(show: Open) -> None:
    facts = sample_facts()
    facts["findings"]["exclusive"] = "2 instances have labels that exclude each other"
    facts["exclusive"] = {
        "instances": 2, "first": ["case-00004", "case-00007"],
        "pairs": [{"first": 1, "second": 2, "count": 2}],
    }  # fmt: skip
    page = show(facts)
    finding = page.locator("#overview article").last
    expect(finding).to_contain_text("finding 1 and finding 2")
    finding.get_by_role("link", name="case-00007").click()
    expect(page.locator("#instances tbody th")).to_have_text(["case-00007"])


def make_explanation(label: int, score: float, stances: dict[int, str]) -> dict[str, Any]:
    return {
        "label": label, "score": score, "specific": 0.1, "chosen": True, "disputed": True,
        "vote_share": 0.5,
        "stances": [
            {"source": source, "stance": stance, "effect": 0.1}
            for source, stance in stances.items()
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        (make_explanation(0, 0.53, {0: "below", 1: "against"}), ["finding 0 > finding 3"]),
        # The second source stops at the parent, or scores differ.
        (make_explanation(0, 0.53, {0: "below", 1: "direct"}), ["finding 0", "finding 3"]),
        (make_explanation(0, 0.9, {0: "below", 1: "against"}), ["finding 0", "finding 3"]),
    ],
)
def test_an_ancestor_that_says_the_same_is_one_line_with_the_label(
    show: Open, above: dict[str, Any], lines: list[str]
) -> None:
    facts = sample_facts()
    label = make_explanation(3, 0.5, {0: "direct", 1: "against"})
    facts["conflicts"][0]["labels"] = [label, above]
    page = show(facts)
    assert sorted(page.locator("#conflicts summary strong").all_inner_texts()) == lines
    expect(page.locator("#conflicts ol a .about").first).to_contain_text(" > ".join(lines[:1]))
    if len(lines) == 1:
        expect(page.locator("#conflicts summary")).to_contain_text("0.50")
