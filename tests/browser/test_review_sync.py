"""The page served by ``mhpc review``: answers go to the server and come from it."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from mhpc.report.html import render_page
from tests.fixtures.review_facts import photo_facts

ORIGIN = "http://127.0.0.1:9"
POLICY = "default-src 'none'"


@dataclass
class StandIn:
    """Answers the requests of the page as the server does, without one."""

    facts: dict[str, Any]
    answers: list[dict[str, Any]] = field(default_factory=list)
    offline: bool = False
    running: int = 0
    result: int = 0
    refused: str = ""

    def reply(self, route: Route) -> None:
        request, address = route.request, urlsplit(route.request.url)
        if address.path == "/":
            page = render_page(self.facts).replace(POLICY, f"{POLICY}; connect-src 'self'")
            return route.fulfill(body=page, content_type="text/html")
        if self.offline:
            return route.abort()
        if request.headers.get("x-mhpc-token") != "secret":
            return route.fulfill(status=403, json={"error": "wrong token"})
        if request.method == "POST":
            return self._post(route, address.path, request.post_data or "")
        if address.path == "/answers":
            after = int(parse_qs(address.query)["after"][0])
            return route.fulfill(
                json={"version": len(self.answers), "answers": self.answers[after:]}
            )
        if address.path == "/status":
            state = "running" if self.running else "done"
            self.result += self.running
            self.running = 0
            status = {"state": state, "stage": "fit", "result": self.result, "error": None}
            return route.fulfill(json=status)
        return route.fulfill(json=new_facts() if address.path == "/facts" else CHANGES)

    def _post(self, route: Route, path: str, body: str) -> None:
        if path == "/consolidate":
            self.running = 1
            return route.fulfill(status=202, json={"state": "running"})
        answers = json.loads(body)["answers"]
        if any(answer["instance"] == self.refused for answer in answers):
            return route.fulfill(status=400, json={"error": "unknown instance"})
        self.answers += answers
        return route.fulfill(json={"version": len(self.answers)})


def new_facts() -> dict[str, Any]:
    """Return the facts after photo-1 was settled: photo-4 is now the one to ask."""
    facts = photo_facts()
    facts["title"] = "second result"
    facts["instances"]["gain"] = [0, 0.1, 0.2, 0.9, 0]
    facts["instances"]["gold"] = [0]
    return facts


CHANGES = {
    "instances": [
        {"instance": "photo-3", "before": ["bird"], "after": ["finch"], "score_before": 0.5,
         "score_after": 0.75}
    ],
    "changed": 1, "unchanged": 3, "settled": 1, "left": 3, "gain_before": 2.5, "gain_after": 1.25,
    "sources": [
        {"source": "ann", "wrong_before": 0.2, "wrong_after": 0.1, "accurate_before": 0.7,
         "accurate_after": 0.8},
        {"source": "ben", "wrong_before": 0.2, "wrong_after": 0.2, "accurate_before": 0.7,
         "accurate_after": 0.7},
    ],
}  # fmt: skip


@pytest.fixture
def server() -> StandIn:
    return StandIn(photo_facts(server=True))


def visit(browser: Browser, server: StandIn) -> Page:
    page = browser.new_context(reduced_motion="reduce").new_page()
    page.set_default_timeout(10_000)
    page.route(f"{ORIGIN}/**", server.reply)
    page.goto(f"{ORIGIN}/?token=secret")
    page.get_by_role("button", name="reviewing").click()
    # A key that is pressed before the dialog has the focus goes nowhere.
    expect(page.locator("dialog h2")).to_be_focused()
    return page


def state(page: Page) -> Any:
    return page.locator("dialog .progress")


def test_answers_are_saved_as_they_are_given(browser: Browser, server: StandIn) -> None:
    page = visit(browser, server)
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("All answers are saved.")
    page.keyboard.press("z")
    expect(state(page)).to_contain_text("All answers are saved.")
    page.wait_for_function("() => document.querySelector('#review-instance')")
    assert [(answer["instance"], answer["labels"]) for answer in server.answers] == [
        ("photo-1", ["bee"]), ("photo-1", None),
    ]  # fmt: skip
    assert set(server.answers[0]) == {"instance", "labels", "reviewer", "drawn", "time"}


def test_unsent_answers_survive_a_reload_and_are_sent_again(
    browser: Browser, server: StandIn
) -> None:
    page = visit(browser, server)
    server.offline = True
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("2 answers not saved yet. The server does not answer.")
    page.reload()
    expect(state(page)).to_contain_text("2 answers not saved yet.")
    server.offline = False
    expect(state(page)).to_contain_text("All answers are saved.")
    assert [answer["instance"] for answer in server.answers] == ["photo-1", "photo-2"]


def test_a_refused_answer_does_not_hold_up_the_others(browser: Browser, server: StandIn) -> None:
    page = visit(browser, server)
    server.offline = True
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    server.offline, server.refused = False, "photo-1"
    expect(state(page)).to_contain_text("The server refused an answer. photo-1")
    assert [answer["instance"] for answer in server.answers] == ["photo-2"]


def test_answers_of_others_arrive(browser: Browser, server: StandIn) -> None:
    page = visit(browser, server)
    server.answers.append(
        {"instance": "photo-1", "labels": ["wasp"], "reviewer": "carla", "drawn": "gain",
         "time": "2026-01-01T00:00:00.000Z"}
    )  # fmt: skip
    expect(state(page)).to_contain_text("1 reviewed")
    expect(page.locator("dialog")).to_contain_text("Settled by carla: wasp.")


def test_consolidating_again_replaces_the_report_and_the_order(
    browser: Browser, server: StandIn
) -> None:
    page = visit(browser, server)
    page.keyboard.press("Enter")
    page.locator("dialog").get_by_role("button", name="Consolidate again").click()
    expect(page.locator("dialog")).to_contain_text("Running: fit…")
    changes = page.locator("dialog .changes")
    expect(changes).to_contain_text("1 other instance changed labels and 3 did not.")
    expect(changes.locator("tbody tr")).to_contain_text("finch")
    expect(changes.locator("tbody tr")).to_be_in_viewport()
    expect(changes.locator("li")).to_have_text(["ann: accurate 70 % → 80 %, wrong 20 % → 10 %"])
    expect(page.locator("h1")).to_have_text("second result")
    page.locator("dialog h2").focus()
    expect(page.locator("#review-instance")).to_have_text("photo-2")  # it was on screen
    page.keyboard.press("Enter")
    expect(page.locator("#review-instance")).to_have_text("photo-4")  # the new order
    expect(state(page)).to_contain_text("2 reviewed, 2 left")


def test_a_wrong_token_is_explained(browser: Browser, server: StandIn) -> None:
    page = visit(browser, server)
    page.goto(f"{ORIGIN}/?token=wrong")
    page.get_by_role("button", name="reviewing").click()
    expect(state(page)).to_contain_text("Open the address that mhpc review printed.")
