"""The server of `mhpc review` in a real browser: its own page may use it, other pages may not."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.fixtures.review_server import ReviewServer, make_answer, make_garden_run

ATTACK = """
async ({url, token, answer}) => {
  const origin = new URL(url).origin, body = JSON.stringify({answers: [answer]});
  const json = {'Content-Type': 'application/json'};
  const secret = {'X-MHPC-Token': token};
  const read = async (path, options) => {
    try {
      const signal = AbortSignal.timeout(5000);
      const response = await fetch(origin + path, {...options, signal});
      return response.type === 'opaque' ? 'opaque' : await response.text();
    } catch (error) { return error.name === 'TimeoutError' ? 'no response' : 'refused'; }
  };
  const load = (element) => new Promise((done) => {
    element.onload = () => done('loaded');
    element.onerror = () => done('refused');
    setTimeout(() => done('no response'), 5000);
    element.src = url;
    document.body.append(element);
  });
  return {
    page: await read('/?token=' + token, {}),
    facts: await read('/facts', {}),
    facts_with_token: await read('/facts', {headers: secret}),
    blind_page: await read('/?token=' + token, {mode: 'no-cors'}),
    blind_facts: await read('/facts', {mode: 'no-cors', headers: secret}),
    answers: await read('/answers', {method: 'POST', body, headers: json}),
    answers_with_token: await read(
      '/answers', {method: 'POST', body, headers: {...json, ...secret}}),
    blind_answers: await read('/answers', {method: 'POST', body, mode: 'no-cors', headers: secret}),
    blind_consolidate: await read('/consolidate', {method: 'POST', mode: 'no-cors'}),
    image: await load(new Image()),
    script: await load(document.createElement('script')),
  };
}
"""
"""What a page can try, without the token and even with it; returns what it could read."""

FORM = """
({url, token, answer}) => {
  const form = document.createElement('form');
  form.method = 'POST'; form.enctype = 'text/plain'; form.target = 'sink';
  form.action = new URL(url).origin + '/answers?token=' + token;
  const input = document.createElement('input');
  input.name = JSON.stringify({answers: [answer]}).slice(0, -1) + ',"x":"';
  input.value = '"}';
  form.append(input);
  document.body.append(form);
  form.submit();
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewServer]:
    """A review of the bundled example."""
    folder = tmp_path_factory.mktemp("review") / "OUT"
    make_garden_run(folder)
    with ReviewServer(folder) as server:
        yield server


@pytest.fixture(scope="module")
def elsewhere(server: ReviewServer) -> Iterator[str]:
    """The address of a page of another origin, which frames the review."""
    content = f"<iframe id=frame src='{server.url}'></iframe><iframe name=sink></iframe>".encode()

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as foreign:
        thread = threading.Thread(target=foreign.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{foreign.server_port}/"
        foreign.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


def arguments(server: ReviewServer) -> dict[str, Any]:
    answer = make_answer("photo-001", "sage", reviewer="intruder")
    return {"url": server.url, "token": server.token, "answer": answer}


def test_a_page_of_another_origin_can_neither_read_nor_write(
    server: ReviewServer, elsewhere: str, page: Page
) -> None:
    page.goto(elsewhere)
    outcome = page.evaluate(ATTACK, arguments(server))
    # A request that is blind may be sent, but nothing of its response reaches the page.
    assert {name: text for name, text in outcome.items() if text not in ("refused", "opaque")} == {}
    assert outcome["blind_page"] == "refused"
    frame = page.frame_locator("#frame")
    assert frame.locator("#facts").count() == 0
    with page.expect_response("**/answers?*") as answered:
        page.evaluate(FORM, arguments(server))
    assert answered.value.status == 403
    assert server.answers() == []
    assert server.request("GET", "/status").json["state"] == "idle"


def test_the_page_of_the_server_can_use_it_and_nothing_else(
    server: ReviewServer, elsewhere: str, page: Page
) -> None:
    page.goto(server.url)
    page.wait_for_selector(".waiting", state="detached")
    use = """
    async ({token, answer, elsewhere}) => {
      const headers = {'X-MHPC-Token': token, 'Content-Type': 'application/json'};
      const body = JSON.stringify({answers: [answer]});
      const saved = await fetch('/answers', {method: 'POST', headers, body});
      const read = await fetch('/answers?after=0', {headers});
      const outside = await fetch(elsewhere, {mode: 'no-cors'}).then(() => 'sent', () => 'refused');
      return [saved.status, (await read.json()).answers.length, outside];
    }
    """
    answer = make_answer("photo-001", "sage", reviewer="ann")
    values = {"token": server.token, "answer": answer, "elsewhere": elsewhere}
    assert page.evaluate(use, values) == [200, 1, "refused"]
    assert [each["reviewer"] for each in server.answers()] == ["ann"]
