"""The protocol of the server and its defences, by real requests to a real process."""

import base64
import gzip
import json
import re
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mhpc.cli import main
from tests.fixtures.commands import shows_bug
from tests.fixtures.review_server import ReviewServer, make_answer

EVERYWHERE = "0.0.0.0"  # noqa: S104 - for a moment, in a test

PATHS = [("GET", "/answers"), ("GET", "/status"), ("GET", "/facts"), ("GET", "/changes"),
         ("POST", "/answers"), ("POST", "/consolidate"), ("GET", "/nothing")]  # fmt: skip


def test_the_page_holds_its_facts_and_may_connect_to_its_server_only(server: ReviewServer) -> None:
    page = server.request("GET", f"/?token={server.token}", token=None)
    text = page.body.decode()
    (packed,) = re.findall(r'<script id="facts" type="application/gzip\+base64">([^<]*)<', text)
    facts = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert page.status == 200
    assert facts["review"]["server"] is True
    assert facts == server.request("GET", "/facts").json
    assert "default-src 'none'; connect-src 'self';" in text


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=guess", "/?token=%C3%A9"])
def test_the_page_needs_the_token_in_its_address(server: ReviewServer, path: str) -> None:
    assert server.request("GET", path).status == 403


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize("token", [None, "", "guess", "{token}x"])
def test_all_else_needs_the_token_in_a_header(
    server: ReviewServer, method: str, path: str, token: str | None
) -> None:
    body: object = {} if method == "POST" else None
    address = f"{path}?token={server.token}"
    wrong = token and token.format(token=server.token)
    assert server.request(method, address, body, token=wrong).status == 403


@pytest.mark.parametrize(("method", "path"), [("GET", "/?token={token}"), *PATHS])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1",
                                  "localhost.evil.example:{port}", ""])  # fmt: skip
def test_another_host_is_refused(server: ReviewServer, method: str, path: str, host: str) -> None:
    path, host = path.format(token=server.token), host.format(port=server.port)
    body: object = {} if method == "POST" else None
    assert server.request(method, path, body, Host=host).status == 403


@pytest.mark.parametrize(("method", "path"), [("GET", "/?token={token}"), *PATHS])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}",
                                    "http://127.0.0.1:1", "http://localhost:{port}"])  # fmt: skip
def test_another_origin_is_refused(
    server: ReviewServer, method: str, path: str, origin: str
) -> None:
    path, origin = path.format(token=server.token), origin.format(port=server.port)
    body: object = {} if method == "POST" else None
    assert server.request(method, path, body, Origin=origin).status == 403


def test_both_names_of_this_machine_are_accepted(server: ReviewServer) -> None:
    for name in ("127.0.0.1", "localhost", "LocalHost"):
        host = f"{name}:{server.port}"
        response = server.request("GET", "/status", Host=host, Origin=f"http://{host}")
        assert response.status == 200


def test_a_body_must_be_json(server: ReviewServer) -> None:
    body = {"answers": [make_answer("photo-003", reviewer="form")]}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        response = server.request("POST", "/answers", body, Content_Type=kind)
        assert response.status == 415
    assert not [each for each in server.answers() if each["reviewer"] == "form"]
    kind = "application/json; charset=utf-8"
    assert server.request("POST", "/answers", {"answers": []}, Content_Type=kind).status == 200


def test_a_large_body_is_refused_unread(server: ReviewServer) -> None:
    with socket.create_connection((server.host, server.port), timeout=10) as connection:
        connection.sendall(
            f"POST /answers HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n"
            f"X-MHPC-Token: {server.token}\r\nContent-Type: application/json\r\n"
            "Content-Length: 4000001\r\n\r\n".encode()
        )
        assert b" 400 " in connection.recv(1000).partition(b"\r\n")[0]
        assert connection.recv(1000) == b""


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/reviews.csv", "/run.json",
     "/answers/..%2f..%2freviews.csv", "/favicon.ico"],
)  # fmt: skip
def test_no_file_is_served(server: ReviewServer, path: str) -> None:
    response = server.request("GET", path)
    assert (response.status, list(response.json)) == (404, ["error"])


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/?token={token}"), ("PUT", "/answers"), ("DELETE", "/answers"),
     ("GET", "/consolidate"), ("POST", "/status"), ("OPTIONS", "/answers"), ("HEAD", "/facts"),
     ("TRACE", "/answers")],
)  # fmt: skip
def test_other_methods_are_not_allowed(server: ReviewServer, method: str, path: str) -> None:
    assert server.request(method, path.format(token=server.token)).status == 405


@pytest.mark.parametrize("path", ["/?token={token}", "/facts", "/no", "/"])
def test_every_response_has_the_headers(server: ReviewServer, path: str) -> None:
    headers = server.request("GET", path.format(token=server.token)).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["content-security-policy"] == "frame-ancestors 'none'"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers


@pytest.mark.parametrize(
    "wrong",
    [
        make_answer("photo-999", "sage"),
        make_answer("Photo-001", "sage"),
        make_answer("photo-001", "Sage"),
        make_answer("photo-001", "sage", "mammoth"),
        make_answer("photo-001", "sage", reviewer=""),
        make_answer("photo-001", "sage", drawn="luck"),
        make_answer("photo-001", "sage", time="noon"),
        {"instance": "photo-001"},
        "photo-001",
    ],
)
def test_one_wrong_answer_and_none_is_saved(server: ReviewServer, wrong: Any) -> None:
    before = server.answers()
    response = server.save(make_answer("photo-002", "fuchsia", reviewer="wrong"), wrong)
    assert (response.status, list(response.json)) == (400, ["error"])
    assert server.answers() == before


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"answers": 1}'])
def test_a_damaged_body_is_refused(server: ReviewServer, body: bytes) -> None:
    assert server.request("POST", "/answers", body).status == 400


@pytest.mark.parametrize("after", ["-1", "x", "1.0", "9" * 30, "%F0%9D%9F%99"])
def test_a_version_is_a_number(server: ReviewServer, after: str) -> None:
    assert server.request("GET", f"/answers?after={after}").status == 400


def test_there_are_no_changes_before_a_consolidation(server: ReviewServer) -> None:
    assert server.request("GET", "/changes").status == 404
    status = {"state": "idle", "stage": "", "result": 0, "error": None}
    assert server.request("GET", "/status").json == status


def test_answers_are_saved_shared_and_withdrawn(garden_run: Path, tmp_path: Path) -> None:
    reviews = tmp_path / "reviews"
    with ReviewServer(garden_run, reviews=reviews) as server:
        ann, bob = (
            make_answer("photo-001", "sage"),
            make_answer("photo-001", "sage", reviewer="bob"),
        )
        assert server.save(ann).json == {"version": 1}
        assert server.save(bob, make_answer("photo-002", reviewer="bob")).json == {"version": 3}
        late = server.request("GET", "/answers?after=1").json
        assert late == {"version": 3, "answers": [bob, make_answer("photo-002", reviewer="bob")]}
        time = "2026-01-01T00:00:01.000Z"
        assert server.save({**bob, "labels": None, "time": time}).json == {"version": 4}
        assert server.answers()[-1] == {**bob, "labels": None, "time": time}
        gold = (reviews / "gold.csv").read_text()
        assert gold == (
            "instance,label,reviewer,drawn\nphoto-001,sage,ann,gain\nphoto-002,,bob,gain\n"
        )
        code, error = server.stop(signal.SIGTERM)
    assert code == 143
    assert "2 answers (2 settled instances) saved in" in error
    with ReviewServer(garden_run, reviews=reviews) as server:
        assert server.answers() == [ann, make_answer("photo-002", reviewer="bob")]
        code, error = server.stop(signal.SIGINT)
    assert code == 130
    assert "2 answers" in error
    assert not shows_bug(error)


Refused = Callable[..., str]


@pytest.fixture
def refused(garden_run: Path, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Call `mhpc review` in this process, and return the one line by which it refuses."""

    def review(*options: str, code: int) -> str:
        with pytest.raises(SystemExit) as exit_info:
            main(["review", str(garden_run), *options, "--progress", "none"])
        error = capsys.readouterr().err
        assert (exit_info.value.code, error.count("mhpc: error: ")) == (code, 1)
        return error

    return review


def test_a_second_server_on_the_same_answers_is_refused(
    server: ReviewServer, refused: Refused
) -> None:
    error = refused("--reviews", str(server.reviews), code=2)
    assert "another mhpc review saves answers in" in error


def test_a_port_that_is_taken_is_refused(
    server: ReviewServer, refused: Refused, tmp_path: Path
) -> None:
    error = refused("--reviews", str(tmp_path / "reviews"), "--port", str(server.port), code=2)
    assert f"port {server.port} of 127.0.0.1 cannot be opened" in error


def test_answers_on_another_run_are_not_mixed_in(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "reviews").mkdir()
    content = "instance,source,label,drawn,time\nscan-7,ann,sage,gain,2026-01-01T00:00:00Z\n"
    (tmp_path / "reviews" / "reviews.csv").write_text(content)
    error = refused("--reviews", str(tmp_path / "reviews"), code=1)
    assert "does not belong to" in error
    assert "'scan-7'" in error
    assert (tmp_path / "reviews" / "reviews.csv").read_text() == content


def test_a_server_for_others_warns_and_accepts_its_own_address_only(
    garden_run: Path, tmp_path: Path
) -> None:
    reviews = tmp_path / "reviews"
    with ReviewServer(garden_run, "--host", EVERYWHERE, reviews=reviews) as server:
        server.host = "127.0.0.1"
        for host, status in (("10.1.2.3", 200), ("localhost", 200), ("evil.example", 403)):
            response = server.request("GET", "/status", Host=f"{host}:{server.port}")
            assert response.status == status
        assert "others on the network can reach" in server.stop()[1]


def test_without_tornado_the_extra_is_named(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tornado.httpserver", None)
    monkeypatch.delitem(sys.modules, "mhpc.review.server", raising=False)
    assert "pip install 'mhpc[review]'" in refused(code=2)
