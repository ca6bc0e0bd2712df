"""Servers that are not Dask schedulers: they are silent, hang up, or speak something else."""

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache


def _hang_up(connection: socket.socket) -> None:
    connection.close()


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _echo(connection: socket.socket) -> None:
    while data := connection.recv(1000):
        connection.sendall(data)


def _flood(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"\xff" * 65536)


def _drip(connection: socket.socket) -> None:
    for byte in struct.pack("<Q", 100) * 100:
        connection.sendall(bytes([byte]))
        time.sleep(0.2)


def _answer_http(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    connection.close()


def _send(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def _frame(content: bytes) -> bytes:
    """Return a message of Dask: its size, the number of frames, their sizes, and a frame."""
    return struct.pack("<QQQ", 16 + len(content), 1, len(content)) + content


_HANDSHAKE = b"\x83\xabcompression\xc0\xa6python\x93\x03\x0b\x00\xafpickle-protocol\x05"
IMPOSTOR = _frame(_HANDSHAKE) + _frame(b"\x81\xa4type\xa9Scheduler") * 3
"""What a server says that claims to be a scheduler, but does not register clients: a handshake, and
``{"type": "Scheduler"}`` to every question."""


LISTENERS: dict[str, Callable[[socket.socket], None]] = {
    "silent": _send(b""),
    "hangs up": _hang_up,
    "resets": _reset,
    "echoes": _echo,
    "floods": _flood,
    "drips": _drip,
    "HTTP": _answer_http,
    "SSH": _send(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "zeros": _send(bytes(1000)),
    "a message of 8 GB": _send(struct.pack("<QQQ", 8 << 30, 1, 8 << 30)),
    "a million frames": _send(struct.pack("<QQ", 8 << 20, 1 << 20)),
    "damaged frames": _send(struct.pack("<QQQ", 24, 1, 8) + b"\xc1" * 8),
    "an empty message": _send(_frame(b"\x80")),
    "claims to be a scheduler": _send(IMPOSTOR),
}
"""What a server does with a connection that it has accepted, by name."""


@cache
def listen(name: str) -> int:
    """Start a server as long as this process lives, and return its port."""
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_serve, args=(server, LISTENERS[name]), daemon=True).start()
    port: int = server.getsockname()[1]
    return port


def _serve(server: socket.socket, behave: Callable[[socket.socket], None]) -> None:
    connections = []
    while True:
        connections.append(server.accept()[0])
        threading.Thread(target=_handle, args=(connections[-1], behave), daemon=True).start()


def _handle(connection: socket.socket, behave: Callable[[socket.socket], None]) -> None:
    with suppress(OSError):
        behave(connection)
