"""The local server of ``mhpc review``: the page, its facts, and the answers of reviewers.

Any page that a browser shows can send requests to this machine. So every request must carry a
random token, name this server as its host (DNS rebinding) and, if it names an origin, this one.
"""

import asyncio
import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from mhpc.errors import (
    DataError,
    MissingExtraError,
    UnwritableError,
    describe_bug,
    option,
    spell_options,
    warn,
)
from mhpc.review.answers import parse_answers, to_json
from mhpc.review.session import Session

try:
    from tornado.httpserver import HTTPServer
    from tornado.web import Application, HTTPError, RequestHandler, stream_request_body
except ImportError:
    raise MissingExtraError(
        "mhpc review needs Tornado, which is not installed; pip install 'mhpc[review]'"
    ) from None

LOOPBACK = "127.0.0.1"

MAX_BODY = 4_000_000
"""The largest request, in bytes."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Address:
    """Where the server listens, and the secret that requests must carry.

    Attributes
    ----------
    host : str
        The name or number of an interface of this machine.
    port : int
        The port.
    token : str
        The secret.
    """

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def url(self) -> str:
        """What a reviewer opens."""
        host = socket.gethostname() if self.is_wildcard else self.host
        return f"http://{_bracket(host)}:{self.port}/?token={self.token}"

    @property
    def is_wildcard(self) -> bool:
        """Whether it listens on all interfaces."""
        return self.host in ("0.0.0.0", "::", "")  # noqa: S104 - recognized, not chosen

    def accepts_host(self, header: str) -> bool:
        """Return whether a Host header names this server.

        On all interfaces, any number does: only a name can be made to lead here by others.
        """
        name, colon, port = header.lower().rpartition(":")
        if not colon or port != str(self.port):
            name, port = header.lower(), "80"
        if port != str(self.port):
            return False
        if self.is_wildcard:
            own = name in ("localhost", socket.gethostname().lower())
            return own or _is_number(name.strip("[]"))
        names = {_bracket(self.host.lower())}
        return name in (names | {LOOPBACK, "localhost"} if is_loopback(self.host) else names)

    def accepts_token(self, token: str) -> bool:
        """Return whether a request knows the secret, in constant time."""
        return hmac.compare_digest(token.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    if host == "localhost":
        return True
    return _is_number(host) and ipaddress.ip_address(host).is_loopback


def _is_number(host: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@stream_request_body
class GuardedHandler(RequestHandler):
    """Refuses what does not come from the page of this server, before its body is read."""

    def initialize(self, session: Session, address: Address) -> None:
        """Take what the application holds."""
        self.session, self.address, self.body = session, address, b""

    def data_received(self, chunk: bytes) -> None:
        """Collect the body, which nothing but our own parser reads."""
        self.body += chunk

    def set_default_headers(self) -> None:
        """Send the same headers with every response, errors included."""
        self.clear_header("Server")
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Check host, origin, token and content type, in this order."""
        headers = self.request.headers
        host, origin = headers.get("Host", ""), headers.get("Origin")
        if not self.address.accepts_host(host):
            raise HTTPError(403, reason="Forbidden", log_message="another host")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            raise HTTPError(403, log_message="another origin")
        if not self.address.accepts_token(self.find_token()):
            raise HTTPError(403, log_message="no token, or another one")
        has_body = headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in headers
        kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if has_body and kind != "application/json":
            raise HTTPError(415, log_message="send application/json")

    def find_token(self) -> str:
        """Return the token of the request; a form or a link cannot set a header."""
        return str(self.request.headers.get("X-MHPC-Token", ""))

    def send_json(self, content: Any, status: int = 200) -> None:
        """Answer with JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(content if isinstance(content, bytes) else json.dumps(content))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer ``{"error": …}``."""
        error = kwargs.get("exc_info", (None, None))[1]
        message = error.log_message if isinstance(error, HTTPError) else None
        self.send_json({"error": message or self._reason}, status_code)

    def log_exception(self, *error: Any) -> None:
        """Report what is our fault only; addresses, which hold the token, are never logged."""
        if not isinstance(error[1], HTTPError):
            warn(describe_bug(error[1]))

    def compute_etag(self) -> None:
        """Nothing is cached."""


class PageHandler(GuardedHandler):
    """``GET /``: the page with its facts."""

    def find_token(self) -> str:
        """Return the token in the address, since a browser opens the page by it."""
        return str(self.get_query_argument("token", ""))

    def get(self) -> None:
        """Send the page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(self.session.result.page)


class AnswersHandler(GuardedHandler):
    """``GET`` and ``POST /answers``."""

    def get(self) -> None:
        """Send the answers above a version."""
        after, reviews = self.get_query_argument("after", "0"), self.session.reviews
        if not (after.isascii() and after.isdigit() and len(after) < 20):
            raise HTTPError(400, log_message="after is not a version, such as 0")
        answers = [to_json(answer) for answer in reviews.after(int(after))]
        self.send_json({"version": reviews.version, "answers": answers})

    def post(self) -> None:
        """Save answers, and confirm them once they are on the disk."""
        try:
            version = self.session.save(parse_answers(self.body))
        except DataError as error:
            self.send_json({"error": spell_options(error)}, 400)
        except UnwritableError as error:
            self.send_json({"error": spell_options(error)}, 500)
        else:
            self.send_json({"version": version})


class ConsolidateHandler(GuardedHandler):
    """``POST /consolidate``."""

    def post(self) -> None:
        """Start a consolidation, if none is running."""
        loop = asyncio.get_running_loop()

        def call_in_server(function: Callable[..., None], *arguments: Any) -> None:
            # The server may have stopped by then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(function, *arguments)

        started = self.session.consolidate(call_in_server)
        self.send_json({"state": "running"}, 202 if started else 409)


class StatusHandler(GuardedHandler):
    """``GET /status``."""

    def get(self) -> None:
        """Send how far the consolidation is."""
        status = self.session.status
        names = ("state", "stage", "result", "error")
        self.send_json({name: getattr(status, name) for name in names})


class FactsHandler(GuardedHandler):
    """``GET /facts``."""

    def get(self) -> None:
        """Send the facts of the newest result."""
        self.send_json(self.session.result.facts)


class ChangesHandler(GuardedHandler):
    """``GET /changes``."""

    def get(self) -> None:
        """Send what the newest consolidation changed."""
        if self.session.result.changes is None:
            raise HTTPError(404, log_message="nothing has been consolidated again yet")
        self.send_json(self.session.result.changes)


class UnknownHandler(GuardedHandler):
    """Any other path."""

    def prepare(self) -> None:
        """Say that there is nothing, to those who know the token."""
        super().prepare()
        raise HTTPError(404)


HANDLERS = {
    "/": PageHandler,
    "/answers": AnswersHandler,
    "/consolidate": ConsolidateHandler,
    "/status": StatusHandler,
    "/facts": FactsHandler,
    "/changes": ChangesHandler,
}
"""The paths of the server."""


def serve(
    session: Session, *, host: str = LOOPBACK, port: int = 0, ready: Callable[[Address], None]
) -> None:
    """Serve a review until the process is interrupted.

    Parameters
    ----------
    session : Session
        What is served.
    host, port
        Where to listen; port 0 is a free one.
    ready : callable
        Called with the address once requests are answered.
    """
    try:
        listener = socket.create_server((host, port), family=_family(host))
    except OSError as error:
        raise UnwritableError(
            f"port {port} of {host} cannot be opened: {error.strerror or error}; choose another "
            f"with {option('port', 'PORT', command='review')}"
        ) from None
    with listener:
        listener.setblocking(False)
        address = Address(host, listener.getsockname()[1])
        asyncio.run(_listen(session, address, listener, ready))


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


async def _listen(
    session: Session,
    address: Address,
    listener: socket.socket,
    ready: Callable[[Address], None],
) -> None:
    server = HTTPServer(make_application(session, address), max_body_size=MAX_BODY)
    server.add_socket(listener)
    ready(address)
    await asyncio.Event().wait()


def make_application(session: Session, address: Address) -> Application:
    """Return the application, whose handlers share a session and an address."""
    shared = {"session": session, "address": address}
    return Application(
        [(path, handler, shared) for path, handler in HANDLERS.items()],
        default_handler_class=UnknownHandler,
        default_handler_args=shared,
        # Addresses hold the token.
        log_function=lambda handler: None,
    )
