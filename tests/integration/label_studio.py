"""A real Label Studio server on this machine, and the requests that tests send to it."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

START_SECONDS = 180
"""How long the server may take to create its database and to answer."""

NOWHERE = "http://127.0.0.1:9"
"""A proxy that is not there, so that no request leaves the machine."""

USER = "reviewer@example.org"

_OPENER = build_opener(ProxyHandler({}))


@dataclass(frozen=True)
class Server:
    """The address of a server, and the token of its user."""

    address: str
    token: str

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        """Send a request; an error shows what the server answered."""
        request = Request(  # noqa: S310 - the address is ours
            f"{self.address}/api/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Token {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with _OPENER.open(request, timeout=60) as response:
                return bytes(response.read())
        except HTTPError as error:
            text = error.read().decode(errors="replace")
            raise AssertionError(f"{method} {path}: {error.code} {text[:2000]}") from None

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return the JSON of the answer."""
        return json.loads(self.request(method, path, body))

    def create_project(self, title: str, config: Path) -> "Project":
        """Create a project with a labeling config."""
        body = {"title": title, "label_config": config.read_text(encoding="utf-8")}
        return Project(self, int(self.call("POST", "projects", body)["id"]))


@dataclass(frozen=True)
class Project:
    """A project on a server."""

    server: Server
    id: int

    def import_file(self, path: Path, *, predictions: bool = False) -> dict[str, Any]:
        """Import tasks, or predictions for existing tasks."""
        target = "import/predictions" if predictions else "import"
        body = json.loads(path.read_text(encoding="utf-8"))
        answer: dict[str, Any] = self.server.call("POST", f"projects/{self.id}/{target}", body)
        return answer

    def tasks(self) -> list[dict[str, Any]]:
        """Return all tasks in the order of the data manager, with predictions and annotations."""
        query = f"tasks?project={self.id}&page_size=10000&fields=all"
        tasks: list[dict[str, Any]] = self.server.call("GET", query)["tasks"]
        return tasks

    def next_task(self) -> dict[str, Any]:
        """Return the task that an annotator gets who clicks on "Label All Tasks"."""
        task: dict[str, Any] = self.server.call("GET", f"projects/{self.id}/next")
        return task

    def annotate(self, task: int, paths: Sequence[Sequence[str]], **fields: Any) -> dict[str, Any]:
        """Submit labels for a task, as the page does when an annotator submits them."""
        result = {
            "id": secrets.token_hex(5), "from_name": "taxonomy", "to_name": "text",
            "type": "taxonomy", "origin": "manual", "value": {"taxonomy": paths},
        }  # fmt: skip
        body = {"result": [result] if paths else [], "lead_time": 3.5, **fields}
        answer: dict[str, Any] = self.server.call("POST", f"tasks/{task}/annotations/", body)
        return answer

    def export(self, path: Path, kind: str, *, all_tasks: bool = False) -> Path:
        """Export the annotated tasks, or all, to a file."""
        query = f"exportType={kind}&download_all_tasks={str(all_tasks).lower()}"
        path.write_bytes(self.server.request("GET", f"projects/{self.id}/export?{query}"))
        return path


@contextmanager
def run_server(folder: Path) -> Iterator[Server]:
    """Start a server whose database is in a folder, and stop it at the end."""
    port, token = _free_port(), secrets.token_hex(20)
    server = Server(f"http://127.0.0.1:{port}", token)
    # Beside the interpreter, whose environment may not be active; a missing one is an error.
    program = str(Path(sys.executable).parent / "label-studio")
    options = [
        "start", "--no-browser", "--data-dir", str(folder), "--internal-host", "127.0.0.1",
        "--port", str(port), "--username", USER, "--password", secrets.token_urlsafe(),
        "--user-token", token, "--enable-legacy-api-token", "--log-level", "ERROR",
    ]  # fmt: skip
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_environment(folder),
        )
    try:
        _wait_until_ready(server, process, log)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment in which the server asks and reports nothing to anybody."""
    ours = {name: value for name, value in os.environ.items() if "LABEL_STUDIO" not in name}
    return ours | {
        "HOME": str(folder),
        "COLLECT_ANALYTICS": "False",
        "LATEST_VERSION_CHECK": "False",
        "FEATURE_FLAGS_OFFLINE": "True",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "DJANGO_DB": "sqlite",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost"),
    }


def _wait_until_ready(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            server.call("GET", "projects")
        except URLError:
            time.sleep(0.25)
        else:
            return
    text = log.read_text(encoding="utf-8", errors="replace")
    raise RuntimeError(f"Label Studio does not answer at {server.address}:\n{text[-4000:]}")
