"""Addresses of servers: parsed strictly, and tried before a library waits for them."""

import ipaddress
import re
import socket
import threading
from dataclasses import dataclass

from mhpc.errors import ParameterError, quote_list

SCHEMES = ("tcp", "tls")
"""The protocols by which a server can be reached."""

MAX_PORT = 65535

_ADDRESS = re.compile(r"(?:(?P<scheme>.*?)://)?(?P<host>.*?)(?::(?P<port>[^:\]]*))?", re.DOTALL)
_PORT = re.compile(r"[0-9]{1,5}")
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*(?P<last>[a-z0-9_-]{1,63})\.?")
_MAX_NAME = 253


@dataclass(frozen=True)
class Address:
    """Where a server listens.

    Attributes
    ----------
    scheme : str
        One of `SCHEMES`.
    host : str
        A name or an IP address.
    port : int
        From 1 to `MAX_PORT`.
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_address(text: str) -> Address:
    """Return the parts of ``[SCHEME://]HOST:PORT``; without a scheme it is tcp.

    Raises
    ------
    ParameterError
        What is wrong with the address, without the address itself.

    Examples
    --------
    >>> parse_address("localhost:8786")
    Address(scheme='tcp', host='localhost', port=8786)
    >>> print(parse_address("TLS://[::1]:8786"))
    tls://[::1]:8786
    """
    match = _ADDRESS.fullmatch(text)
    scheme, host, port = match.groups() if match else (None, text, None)
    scheme = "tcp" if scheme is None else scheme.lower()
    if scheme not in SCHEMES:
        raise ParameterError(f"it begins with {quote_list([scheme])}, not with {_schemes()}")
    if not host:
        raise ParameterError("it has no host")
    if port is None:
        raise ParameterError("it has no port")
    if not (_PORT.fullmatch(port) and 1 <= int(port) <= MAX_PORT):
        raise ParameterError(f"its port {quote_list([port])} is not one of 1 to {MAX_PORT}")
    if host.startswith("[") and host.endswith("]") and _is_ip(host[1:-1], version=6):
        return Address(scheme, host[1:-1], int(port))
    if _is_ip(host, version=6):
        raise ParameterError(f"its host {quote_list([host])} needs brackets, as in [::1]:{port}")
    if not _is_host(host.lower()):
        raise ParameterError(f"{quote_list([host])} is not the name or IP address of a host")
    return Address(scheme, host, int(port))


def check_reachable(address: Address, *, timeout: float) -> None:
    """Connect to a server and hang up.

    Looking up a name can take long, and cannot be stopped, so another thread does it.

    Raises
    ------
    OSError
        If nobody listens, or all this takes longer than `timeout` seconds.
    """
    errors: list[OSError | None] = []

    def try_connection() -> None:
        try:
            socket.create_connection((address.host, address.port), timeout=timeout).close()
            errors.append(None)
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=try_connection, daemon=True)
    thread.start()
    thread.join(timeout)
    error = errors[0] if errors else TimeoutError(f"no connection in {timeout:g} seconds")
    if error is not None:
        raise error


def _schemes() -> str:
    return " or ".join(f"{scheme}://" for scheme in SCHEMES)


def _is_host(host: str) -> bool:
    match = _NAME.fullmatch(host)
    if match is None or len(host) > _MAX_NAME:
        return False
    # A name that ends like an IP address is one, and no name server knows it.
    return not match["last"].isdigit() or _is_ip(host, version=4)


def _is_ip(host: str, *, version: int) -> bool:
    try:
        return ipaddress.ip_address(host).version == version
    except ValueError:
        return False
