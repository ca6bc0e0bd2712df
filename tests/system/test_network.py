"""Addresses of servers."""

import socket
import threading

import pytest

from mhpc.errors import ParameterError
from mhpc.system.network import Address, check_reachable, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tcp://127.0.0.1:8786", Address("tcp", "127.0.0.1", 8786)),
        ("host0:1", Address("tcp", "host0", 1)),
        ("TLS://my-host.example.org.:65535", Address("tls", "my-host.example.org.", 65535)),
        ("tcp://[::1]:8786", Address("tcp", "::1", 8786)),
        ("[fe80::1%eth0]:8786", Address("tcp", "fe80::1%eth0", 8786)),
        ("NAME_scheduler:08786", Address("tcp", "NAME_scheduler", 8786)),
    ],
)
def test_addresses_are_parsed(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *[(f"{scheme}://host:8786", "it begins with") for scheme in
          ("http", "https", "ws", "inproc", "unix", "ucx", "file", "", " tcp", "tcp tcp", "é")],
        *[(text, "it has no host") for text in ("tcp://:8786", ":8786", "", "tcp://")],
        *[(text, "it has no port") for text in
          ("garbage", "tcp://host", "/run/socket", "C.json", "[::1]", "tcp://[::1]", "é", "a b")],
        *[(f"host:{port}", "is not one of 1 to 65535") for port in
          ("", "0", "65536", "-1", "+1", "x", "1 ", " 1", "1/", "1/x", "1e3", "1_0", "9" * 5000,
           "\u0669", "1?x", "1\n")],
        *[(f"{host}:8786", "is not the name or IP address of a host") for host in
          ("a b", "é", "*", "a..b", ".a", "-a.b", "a/b", "user@host", "256.1.1.1", "1.2.3", "[x]",
           "[]", "[::1", "::1]", "[127.0.0.1]", "a" * 64, "a." * 200 + "a", "a\nb", "\0", "host:1",
           "tcp:host", "x" * 100_000)],
        *[(f"{host}:8786", "needs brackets") for host in ("::1", "::", "fe80::1")],
    ],
)  # fmt: skip
def test_what_is_not_an_address_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(ParameterError, match=problem) as refused:
        parse_address(text)
    assert len(str(refused.value)) < 200


def test_a_server_that_listens_is_reachable_and_a_closed_port_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address("tcp", "127.0.0.1", server.getsockname()[1])
        check_reachable(address, timeout=5)
    with pytest.raises(ConnectionRefusedError):
        check_reachable(address, timeout=5)


def test_a_name_that_is_looked_up_for_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def look_up(*_: object, **__: object) -> None:
        answered.wait(60)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "create_connection", look_up)
    with pytest.raises(TimeoutError, match="no connection in 0.05 seconds"):
        check_reachable(Address("tcp", "host", 1), timeout=0.05)
    answered.set()
