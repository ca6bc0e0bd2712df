"""Review in the page: settle instances, keep the answers, share them as files."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.conftest import Open
from tests.fixtures.report_facts import HOSTILE, sample_facts
from tests.fixtures.review_facts import add_review, hostile_facts, photo_facts

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
CARLA = "instance,label,reviewer,drawn\r\nphoto-1,wasp,carla,gain\r\n"


def start(page: Page) -> Locator:
    page.get_by_role("button", name="Start reviewing").click()
    return page.get_by_role("dialog")


def heading(page: Page) -> Locator:
    return page.locator("#review-instance")


def chips(page: Page) -> Locator:
    return page.locator("dialog li[data-label] .label > bdi")


def message(page: Page) -> Locator:
    return page.locator("dialog footer [role=status]")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def load(page: Page, *contents: str | bytes) -> None:
    files: list[FilePayload] = [
        {
            "name": f"other-{place}.csv",
            "mimeType": "text/csv",
            "buffer": content if isinstance(content, bytes) else content.encode(),
        }
        for place, content in enumerate(contents)
    ]
    page.locator("dialog input[type=file]").set_input_files(files)
    # Files are read in the background; the page says when it has them.
    expect(page.locator("dialog div[role=status] p").first).to_be_visible()


def download(page: Page, name: str) -> list[dict[str, str]]:
    with page.expect_download() as found:
        page.locator("dialog").get_by_role("button", name=f"Download {name}").click()
    assert found.value.suggested_filename == name
    text = Path(found.value.path()).read_bytes().decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def gold(page: Page) -> list[tuple[str, str]]:
    return [(row["instance"], row["label"]) for row in download(page, "gold.csv")]


def test_twenty_instances_are_settled_by_keyboard_alone_across_a_reload(show: Open) -> None:
    facts = add_review(sample_facts(conflicts=0))
    facts["instances"]["gain"] = [(1 + 37 * n % 80) / 100 for n in range(80)]
    by_gain = sorted(range(80), key=lambda n: -facts["instances"]["gain"][n])
    ids = [facts["instances"]["id"][n] for n in by_gain]
    page = show(facts)
    page.get_by_role("button", name="Start reviewing").focus()
    press(page, "Enter")
    for rank in range(10):
        expect(heading(page)).to_have_text(ids[rank])
        press(page, "Enter")
    page.reload()
    expect(heading(page)).to_have_text(ids[10])
    for _ in range(10):
        press(page, "Enter")
    expect(message(page)).to_contain_text("20 reviewed, 60 left.")
    labels = facts["instances"]["labels"]
    expected = [(facts["instances"]["id"][n], f"F{labels[n][0]}") for n in by_gain[:20]]
    assert gold(page) == expected


def test_nothing_is_asked_where_there_is_nothing_to_gain_or_gold(show: Open) -> None:
    facts = photo_facts()
    facts["instances"]["gold"] = [1]
    page = show(facts)
    start(page)
    for instance in ("photo-1", "photo-3", "photo-4"):
        expect(heading(page)).to_have_text(instance)
        press(page, "Enter")
    expect(page.get_by_role("heading", name="Nothing left to review")).to_be_visible()


def test_labels_are_added_removed_raised_and_undone_by_keys(show: Open) -> None:
    page = show(photo_facts())
    start(page)
    expect(chips(page)).to_have_text(["bee"])
    press(page, "1")  # wasp; insect is implied by bee and not offered
    expect(chips(page)).to_have_text(["bee", "wasp"])
    press(page, "u")  # wasp becomes insect, which bee implies
    expect(chips(page)).to_have_text(["bee"])
    press(page, "u")
    expect(chips(page)).to_have_text(["insect"])
    press(page, "Backspace")
    expect(chips(page)).to_have_count(0)
    press(page, "1", "Enter", "n")
    expect(heading(page)).to_have_text("photo-3")
    assert gold(page) == [("photo-1", "wasp"), ("photo-2", "")]
    press(page, "z")
    expect(heading(page)).to_have_text("photo-2")
    expect(message(page)).to_contain_text("photo-2 is open again. 1 reviewed, 3 left.")
    press(page, "Control+z")
    expect(heading(page)).to_have_text("photo-1")
    expect(page.locator("dialog").get_by_role("button", name="Download gold.csv")).to_be_disabled()


def test_a_chip_and_its_ancestor_never_stand_side_by_side(show: Open) -> None:
    page = show(photo_facts())
    start(page)
    press(page, "/")
    page.keyboard.type("insect")
    press(page, "Enter")
    expect(message(page)).to_contain_text("insect was not added")
    expect(chips(page)).to_have_text(["bee"])
    press(page, "a")
    page.keyboard.type("HONEY")
    press(page, "Enter")
    expect(message(page)).to_have_text("honey bee added, in place of bee.")
    expect(chips(page)).to_have_text(["honey bee"])


def test_the_type_ahead_ignores_accents_and_ranks_beginnings_first(show: Open) -> None:
    facts = photo_facts()
    names = facts["taxonomy"]["name"]
    names[2:5] = ["Biène", "Wildbiene", "eine Biene"]
    facts["taxonomy"]["id"][7] = "bie-7"
    page = show(facts)
    start(page)
    press(page, "/")
    box = page.get_by_role("combobox", name="Add any label")
    expect(box).to_be_focused()
    page.keyboard.type("bie")
    options = page.get_by_role("listbox").locator("[role=option] .label > bdi")
    expect(options).to_have_text(["Biène", "robin", "eine Biene", "Wildbiene"])
    press(page, "ArrowDown", "ArrowUp", "ArrowUp")
    active = box.get_attribute("aria-activedescendant")
    expect(page.locator(f"[id='{active}']")).to_contain_text("Wildbiene")
    expect(page.locator(f"[id='{active}']")).to_have_attribute("aria-selected", "true")
    press(page, "Escape")
    expect(box).to_have_attribute("aria-expanded", "false")
    expect(heading(page)).to_be_focused()
    press(page, "/")
    page.keyboard.type("nothing of the kind")
    expect(page.get_by_text("No label name or id contains")).to_be_visible()
    expect(heading(page)).to_have_text("photo-1")  # n and s were typed, not obeyed


def test_the_taxonomy_is_browsed_from_a_label(show: Open) -> None:
    page = show(photo_facts())
    start(page)
    page.get_by_role("button", name="Children of bee").click()
    page.get_by_role("button", name="insect", exact=True).click()
    page.get_by_role("button", name="Add wasp").click()
    expect(chips(page)).to_have_text(["bee", "wasp"])
    page.get_by_role("button", name="Top", exact=True).click()
    page.get_by_role("button", name="Open the 1 children of plant").click()
    page.get_by_role("button", name="Add flower").click()
    expect(chips(page)).to_have_text(["bee", "wasp", "flower"])


def test_skipped_instances_come_back_and_previous_ones_can_be_changed(show: Open) -> None:
    page = show(photo_facts())
    start(page)
    press(page, "s")
    expect(heading(page)).to_have_text("photo-2")
    press(page, "Enter", "Enter", "Enter")
    expect(heading(page)).to_have_text("photo-1")
    press(page, "ArrowLeft")
    expect(heading(page)).to_have_text("photo-4")
    press(page, "Backspace", "Enter")
    assert gold(page) == [("photo-2", "monarda"), ("photo-3", "bird"), ("photo-4", "bee")]


def test_answers_of_sources_are_grouped(show: Open) -> None:
    facts = photo_facts()
    facts["instances"]["answers"][2] = [[0, [6, 7], [0.25, 0.5]], [1, []], [2, []]]
    page = show(facts)
    start(page)
    rows = page.locator("dialog section[aria-label='About the instance'] li")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("bee animal \u203a insect")
    expect(rows.first).to_contain_text("2 sources: ann, ben")
    press(page, "s", "s")
    expect(rows.first).to_contain_text("none of these")
    expect(rows.first).to_contain_text("2 sources: ben, model")
    expect(rows.nth(1)).to_contain_text(
        "robin animal \u203a bird (0.50), finch animal \u203a bird (0.25)"
    )


def test_the_random_order_and_the_mixed_order_mark_their_answers(show: Open) -> None:
    facts = photo_facts()
    facts["review"]["random"] = [2, 4, 0, 3, 1]
    page = show(facts)
    start(page)
    press(page, "Enter")  # photo-1, by gain
    order = page.locator("dialog").get_by_label("Order")
    order.select_option("random")
    page.locator("dialog h2").focus()
    press(page, "Enter", "Enter", "Enter")  # photo-3, photo-5, photo-4; photo-1 is settled
    drawn = {row["instance"]: row["drawn"] for row in download(page, "gold.csv")}
    assert drawn == {
        "photo-1": "gain",
        "photo-3": "random",
        "photo-5": "random",
        "photo-4": "random",
    }


def test_the_mixed_order_alternates(show: Open) -> None:
    facts = photo_facts()
    facts["review"]["random"] = [2, 4, 0, 3, 1]
    page = show(facts)
    page.locator("#review").get_by_label("Order").select_option("mixed")
    start(page)
    for instance in ("photo-1", "photo-3", "photo-2", "photo-5"):
        expect(heading(page)).to_have_text(instance)
        press(page, "Enter")
    drawn = {row["instance"]: row["drawn"] for row in download(page, "gold.csv")}
    assert [drawn[f"photo-{n}"] for n in (1, 2, 3, 5)] == ["gain", "gain", "random", "random"]
    page.locator("dialog h2").focus()
    press(page, "Enter")  # photo-4, by gain: its order has passed photo-3 now
    drawn = {row["instance"]: row["drawn"] for row in download(page, "gold.csv")}
    assert [drawn[f"photo-{n}"] for n in (3, 4, 5)] == ["gain", "gain", "random"]


def test_files_of_other_reviewers_are_merged_and_what_is_unknown_is_reported(show: Open) -> None:
    page = show(photo_facts())
    dialog = start(page)
    press(page, "Enter", "Enter")
    load(
        page,
        '\ufeffinstance,label,reviewer,drawn\r\n"photo-1","bee",carla,random\r\n'
        "photo-3,finch,carla + dan,gain\r\nphoto-99,bee,carla,gain\r\nphoto-4,rose,carla,gain\r\n",
        'instance,source,label,drawn,time\n"photo-4",eve,"",gain,2026-01-02T03:04:05Z\n',
        "this,is,not\nthe,right,file\n",
    )
    for text in (
        "1 instance that this report does not list: photo-99.",
        "1 label that the taxonomy does not have: rose.",
        "2 answers left out.",
        "other-2.csv has no columns instance and label",
    ):
        expect(dialog.get_by_text(text)).to_be_visible()
    rows = {row["instance"]: row for row in download(page, "gold.csv")}
    assert {name: (row["label"], row["reviewer"], row["drawn"]) for name, row in rows.items()} == {
        "photo-1": ("bee", "reviewer + carla", "gain"),
        "photo-2": ("monarda", "reviewer", "gain"),
        "photo-3": ("finch", "carla + dan", "gain"),
        "photo-4": ("", "eve", "gain"),
    }
    reviews = download(page, "reviews.csv")
    assert {(row["instance"], row["source"], row["label"]) for row in reviews} == {
        ("photo-1", "reviewer", "bee"), ("photo-1", "carla", "bee"),
        ("photo-2", "reviewer", "monarda"), ("photo-3", "carla", "finch"),
        ("photo-3", "dan", "finch"), ("photo-4", "eve", ""),
    }  # fmt: skip
    assert next(row["time"] for row in reviews if row["source"] == "eve").startswith("2026-01-02")


def test_instances_on_which_reviewers_differ_come_first_and_are_no_gold(show: Open) -> None:
    page = show(photo_facts())
    dialog = start(page)
    press(page, "Enter", "Enter")
    load(page, CARLA)
    expect(dialog.get_by_text("without the 1 instance on which reviewers disagree")).to_be_visible()
    assert gold(page) == [("photo-2", "monarda")]
    page.locator("dialog h2").focus()
    press(page, "s")
    expect(heading(page)).to_have_text("photo-1")
    expect(dialog.get_by_role("heading", name="Reviewers disagree", exact=True)).to_be_visible()
    page.get_by_role("button", name="Use the labels of carla").click()
    expect(chips(page)).to_have_text(["wasp"])
    page.locator("dialog h2").focus()
    press(page, "Enter")
    assert sorted(gold(page)) == [("photo-1", "wasp"), ("photo-2", "monarda")]


def test_one_reviewer_can_decide_for_all_and_undo_it(show: Open) -> None:
    page = show(photo_facts())
    dialog = start(page)
    load(page, CARLA)
    press(page, "Enter")
    expect(message(page)).to_contain_text("photo-1 answered, but reviewers differ: bee.")
    dialog.get_by_role("link", name="photo-1").click()
    dialog.get_by_role("button", name="Decide for all reviewers").click()
    assert gold(page) == [("photo-1", "bee")]
    press(page, "z")
    expect(dialog.get_by_role("heading", name="Reviewers disagree", exact=True)).to_be_visible()


def test_two_tabs_do_not_overwrite_each_other(show: Open) -> None:
    page = show(photo_facts())
    start(page)
    other = page.context.new_page()
    other.goto(page.url.split("#")[0] + "#review=photo-4")
    expect(heading(other)).to_have_text("photo-4")
    press(page, "Enter")
    expect(other.locator("dialog .progress").first).to_contain_text("1 reviewed")
    press(other, "Enter")
    expect(page.locator("dialog .progress").first).to_contain_text("2 reviewed")
    page.reload()
    expect(page.locator("dialog .progress").first).to_contain_text("2 reviewed, 2 left")


def test_storage_that_fails_is_announced_and_breaks_nothing(show: Open) -> None:
    page = show(photo_facts())
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('no room') } }")
    start(page)
    press(page, "Enter")
    expect(page.locator("dialog [role=alert]")).to_contain_text("no room")
    expect(heading(page)).to_have_text("photo-2")
    assert gold(page) == [("photo-1", "bee")]


@pytest.mark.parametrize(
    "text", ["{", "null", '{"answers":[{"instance":1},null]}', '{"answers":7}']
)
def test_damaged_storage_is_ignored(show: Open, text: str) -> None:
    facts = photo_facts()
    page = show(facts)
    page.evaluate("([key, text]) => localStorage.setItem(key, text)",
                  [f"mhpc-review-{facts['run']}", text])  # fmt: skip
    page.reload()
    start(page)
    expect(heading(page)).to_have_text("photo-1")


def test_an_address_opens_an_instance_and_escape_leaves(show: Open) -> None:
    page = show(photo_facts(), "#review=photo-3")
    expect(heading(page)).to_have_text("photo-3")
    press(page, "Enter")
    assert page.url.endswith("#review=photo-1")
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.endswith("#review")
    expect(page.locator("#review")).to_contain_text("1 reviewed")
    page.evaluate("location.hash = '#review=no-such'")
    expect(message(page)).to_have_text("This report has no instance no-such.")


def test_the_command_to_run_next_is_shown(show: Open) -> None:
    page = show(
        photo_facts() | {"command": "mhpc consolidate 'my votes.csv' --gold 'g g.csv' -o OUT/"}
    )
    dialog = start(page)
    press(page, "Enter")
    command = "mhpc consolidate 'my votes.csv' --gold gold.csv -o OUT2/"
    expect(dialog.locator("pre")).to_have_text(command)


def test_content_of_the_instances_is_shown_and_never_loaded(show: Open) -> None:
    shown = {
        "text": ["two\nlines"] + [None] * 4,
        "url": ["https://example.org/1"] + [None] * 4,
        "image": [PIXEL] + [None] * 4,
        "camera": ["Nikon"] + [None] * 4,
    }
    page = show(photo_facts(show=shown))
    dialog = start(page)
    expect(dialog.locator(".text")).to_have_css("white-space", "pre-wrap")
    link = dialog.get_by_role("link", name="https://example.org/1")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(link).to_have_attribute("target", "_blank")
    expect(dialog.get_by_role("img", name="Picture of photo-1")).to_have_attribute("src", PIXEL)
    expect(dialog.get_by_role("definition").filter(has_text="Nikon")).to_be_visible()


def test_hostile_names_texts_and_addresses_are_inert(show: Open) -> None:
    facts = hostile_facts()
    page = show(facts, viewport={"width": 390, "height": 844})
    dialog = start(page)
    for instance in facts["instances"]["id"][:9]:
        expect(heading(page)).to_have_text(instance.strip())
        assert dialog.locator("img, script, iframe").count() == 0
        assert dialog.locator("a[href^='javascript'], a[href^='data']").count() == 0
        expect(dialog.locator(".text")).to_contain_text(HOSTILE[1])
        width = "d => [d.scrollWidth, document.documentElement.scrollWidth]"
        assert dialog.evaluate(width) == [390, 390]
        press(page, "Enter")
    rows = download(page, "gold.csv")
    assert [row["instance"] for row in rows] == facts["instances"]["id"][:9]
    assert [row["label"] for row in rows][3] == "__proto__"
    page.reload()
    expect(page.locator("dialog .progress").first).to_contain_text("9 reviewed")


def test_texts_with_quotes_and_line_breaks_survive_the_files(show: Open) -> None:
    facts = photo_facts()
    facts["instances"]["id"][:3] = ['a "quoted", id', "two\nlines", " spaces "]
    facts["taxonomy"]["id"][2] = '=1+1,"x"'
    page = show(facts)
    start(page)
    press(page, "Enter", "Enter", "Enter")
    assert gold(page) == [
        ('a "quoted", id', '=1+1,"x"'), ("two\nlines", "monarda"), (" spaces ", "bird"),
    ]  # fmt: skip
    with page.expect_download() as found:
        page.locator("dialog").get_by_role("button", name="Download reviews.csv").click()
    content = Path(found.value.path()).read_bytes()
    page.evaluate("localStorage.clear()")
    page.reload()
    load(page, content)
    expect(page.locator("dialog .progress").first).to_contain_text("3 reviewed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1300])
def test_axe_finds_nothing_and_nothing_overflows(show: Open, scheme: str, width: int) -> None:
    shown = {"text": ["words " * 90] * 5, "url": ["https://example.org"] * 5}
    page = show(
        photo_facts(show=shown), color_scheme=scheme, viewport={"width": width, "height": 844}
    )
    dialog = start(page)
    load(page, CARLA)
    press(page, "Enter")
    dialog.get_by_role("link", name="photo-1").click()
    press(page, "?", "1", "b", "/")
    page.keyboard.type("e")
    expect(page.get_by_role("listbox")).to_be_visible()
    assert dialog.evaluate("dialog => dialog.scrollWidth") == width
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == []


def test_keys_with_modifiers_are_left_to_the_browser(show: Open) -> None:
    page = show(photo_facts())
    start(page)
    press(page, "Control+s", "Alt+n", "Control+Enter")
    expect(heading(page)).to_have_text("photo-1")
    button = page.get_by_role("button", name="Remove bee")
    button.focus()
    press(page, "Enter")  # the focused button, not accept
    expect(heading(page)).to_have_text("photo-1")
    expect(chips(page)).to_have_count(0)
    expect(heading(page)).to_be_focused()


def test_answers_are_stored_under_the_run(show: Open) -> None:
    facts = photo_facts()
    page = show(facts)
    page.locator("#review").get_by_label("Your name").fill("Ada")
    start(page)
    press(page, "Enter")
    text = page.evaluate("key => localStorage.getItem(key)", f"mhpc-review-{facts['run']}")
    [answer] = json.loads(text)["answers"]
    assert answer.pop("time").endswith("Z")
    assert answer == {"instance": "photo-1", "labels": ["bee"], "reviewer": "Ada", "drawn": "gain"}
