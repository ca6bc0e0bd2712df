"""The list of disagreements: filters, details, links to sources and labels, addresses."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open
from tests.fixtures.report_facts import bare_facts, sample_facts

FACTS = sample_facts()
FIRST = FACTS["conflicts"][0]


def list_entries(page: Page) -> Locator:
    return page.locator("#conflicts ol a")


def open_disagreement(page: Page) -> Locator:
    return page.locator("#conflicts article")


def test_the_disagreement_with_the_largest_gain_is_open_at_first(show: Open) -> None:
    page = show(FACTS)
    expect(list_entries(page)).to_have_count(12)
    expect(open_disagreement(page).get_by_role("heading", name="case-00000")).to_be_visible()


def test_a_selected_disagreement_shows_the_answers_and_the_result(show: Open) -> None:
    page = show(FACTS)
    list_entries(page).nth(4).click()
    conflict = FACTS["conflicts"][4]
    expect(open_disagreement(page).get_by_role("heading").first).to_have_text(conflict["instance"])
    assert page.url.endswith("#conflict=case-00004")
    rows = open_disagreement(page).locator("table tbody tr")
    expect(rows).to_have_count(len(conflict["answers"]))
    for answer in conflict["answers"]:
        labels = ", ".join(f"finding {label}" for label, _ in answer["labels"]) or "none of these"
        row = rows.filter(has_text=f"reader-{answer['source']}")
        expect(row.locator("td").first).to_have_text(labels)
    for label_facts in conflict["labels"]:
        name = page.get_by_text(f"finding {label_facts['label']}", exact=True)
        summary = open_disagreement(page).locator("summary").filter(has=name)
        expect(summary).to_contain_text("chosen" if label_facts["chosen"] else "not chosen")
        expect(summary).to_contain_text(f"{label_facts['score']:.2f}")


def test_stances_are_shown_with_their_effects(show: Open) -> None:
    page = show(FACTS)
    label_facts = FIRST["labels"][0]
    label = (
        open_disagreement(page)
        .locator("details")
        .filter(has=page.locator("summary", has_text=f"finding {label_facts['label']}"))
    )
    words = {
        "direct": "gave the label", "below": "gave a descendant", "vague": "gave only an ancestor",
        "against": "contradicts it",
    }  # fmt: skip
    for stance in label_facts["stances"]:
        sources = label.locator("dt", has_text=words[stance["stance"]]).locator("+ dd")
        effect = f"{stance['effect']:+.2f}".replace("-", "\N{MINUS SIGN}")
        expect(sources).to_contain_text(f"reader-{stance['source']} {effect}")


def test_a_disagreement_links_to_a_source_and_back(show: Open) -> None:
    page = show(FACTS)
    list_entries(page).nth(2).click()
    source = FACTS["conflicts"][2]["answers"][0]["source"]
    open_disagreement(page).get_by_role("link", name=f"reader-{source}").first.click()
    row = page.locator("#sources tr.targeted")
    expect(row).to_contain_text(f"reader-{source}")
    expect(row).to_be_in_viewport()
    expect(page.locator(f"#source-{source}")).to_contain_text("Least reliable on")
    page.go_back()
    expect(open_disagreement(page).get_by_role("heading").first).to_be_in_viewport()
    expect(open_disagreement(page).get_by_role("heading").first).to_have_text("case-00002")


def test_a_disagreement_links_to_a_label_and_the_label_to_its_disagreements(show: Open) -> None:
    page = show(FACTS)
    label = FIRST["labels"][0]["label"]
    open_disagreement(page).locator("details").get_by_role(
        "link", name=f"finding {label}"
    ).first.click()
    facts = page.locator("#hierarchy article")
    expect(facts.get_by_role("heading").first).to_have_text(f"finding {label}")
    expect(page.locator("[role=treeitem][aria-selected=true]")).to_be_in_viewport()
    facts.get_by_role("link", name="about this label").click()
    instances = [
        conflict["instance"]
        for conflict in FACTS["conflicts"]
        if any(
            label_facts["label"] == label and label_facts["disputed"]
            for label_facts in conflict["labels"]
        )
    ]
    expect(list_entries(page).locator(".id")).to_have_text(instances)


def test_disagreements_are_filtered_by_text_label_and_source(show: Open) -> None:
    page = show(FACTS)
    page.locator("#conflicts").get_by_label("Instance").fill("0000")
    expect(list_entries(page)).to_have_count(10)
    page.get_by_label("Answered by").select_option("1")
    answered = [
        conflict["instance"]
        for conflict in FACTS["conflicts"][:10]
        if any(answer["source"] == 1 for answer in conflict["answers"])
    ]
    expect(list_entries(page).locator(".id")).to_have_text(answered)
    page.get_by_role("button", name="Show all").click()
    expect(list_entries(page)).to_have_count(12)
    page.get_by_label("Disputed label").select_option(str(FIRST["labels"][1]["label"]))
    expect(list_entries(page).locator(".id").first).to_have_text("case-00000")
    page.locator("#conflicts").get_by_label("Instance").fill("nothing like it")
    expect(page.get_by_text("No disagreement matches this filter.")).to_be_visible()


def test_an_address_opens_the_page_at_its_target(show: Open) -> None:
    page = show(FACTS, "#conflict=case-00007")
    expect(open_disagreement(page).get_by_role("heading").first).to_have_text("case-00007")
    expect(open_disagreement(page).get_by_role("heading").first).to_be_in_viewport()


def test_an_unknown_address_is_ignored(show: Open) -> None:
    page = show(FACTS, "#label=%E0%A4%A")
    for anchor in ("#conflict=no-such", "#source=", "#nothing", "#instance=no-such"):
        page.evaluate("anchor => { location.hash = anchor }", anchor)
    expect(page.get_by_text("No listed instance matches this filter.")).to_be_visible()
    expect(open_disagreement(page).get_by_role("heading").first).to_have_text("case-00000")


def test_an_instance_can_be_looked_up(show: Open) -> None:
    page = show(FACTS)
    section = page.locator("#instances")
    section.get_by_label("Instance").fill("case-00042")
    expect(section.locator("tbody tr")).to_have_count(1)
    expect(section.locator("tbody tr")).to_contain_text(
        f"finding {FACTS['instances']['labels'][42][0]}"
    )


def test_sources_can_be_sorted_by_a_column(show: Open) -> None:
    page = show(FACTS)
    for column, title in (("accurate", "Accurate"), ("wrong", "Wrong")):
        header = page.get_by_role("columnheader", name=title, exact=True)
        header.get_by_role("button").click()
        ranked = sorted(FACTS["sources"], key=lambda source: -source[column][0])
        names = page.locator("#sources tbody .name bdi")
        expect(names).to_have_text([source["source"] for source in ranked])
        expect(header).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_text("Correlated with reader-2")).to_be_visible()


def test_every_section_says_when_it_is_empty(show: Open) -> None:
    page = show(bare_facts())
    for text in (
        "No disagreements", "There is only one source", "No pair of labels was confused",
        "All scores are from one method", "does not iterate", "This report lists no instances",
    ):  # fmt: skip
        expect(page.get_by_text(text)).to_be_visible()
