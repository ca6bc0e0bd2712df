"""A process that starts commands: forks of itself, or new interpreters.

It reads one request per line from its standard input and answers with one line each, both JSON. It
has imported everything that commands use, and has no threads, so that a fork of it is like a
command that has just been started, about a second later. A fork leaves the loop and ends like any
other program, so that errors at exit are seen too.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

SKIPPED = ("mhpc.engines.dask", "mhpc.engines.dask_cluster", "mhpc.adapters")
"""Modules that are imported by commands only: they start threads, or need other packages."""


def serve() -> dict[str, Any]:
    """Start commands until the input ends; return the request in the fork that must run it."""
    # Messages of forks must not reach the answers, and requests must not reach forks.
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    for line in iter(requests.readline, ""):
        request: dict[str, Any] = json.loads(line)
        pipes = [os.pipe(), os.pipe()]
        process = os.fork()
        if process == 0:
            requests.close()
            answers.close()
            _prepare(request, [writer for _, writer in pipes])
            return request
        for _, writer in pipes:
            os.close(writer)
        answers.write(json.dumps(_wait(process, request, [reader for reader, _ in pipes])) + "\n")
        answers.flush()
    os._exit(0)


def _prepare(request: dict[str, Any], pipes: list[int]) -> None:
    """Set up streams, limits and the environment of a command, in its process."""
    os.setsid()
    # As `mhpc.__main__` begins.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        _open_stream(number, request[name], pipes)
    # Nothing else of the server is open in a command.
    os.closerange(3, 100)
    for name, value in request["limits"].items():
        kind = getattr(resource, name)
        most = resource.getrlimit(kind)[1]
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (value, value))
    sys.argv = ["mhpc", *request["words"]]
    if request["fresh"]:
        os.execv(sys.executable, [sys.executable, "-m", "mhpc", *request["words"]])  # noqa: S606


def _open_stream(number: int, state: str, pipes: list[int]) -> None:
    """Give a stream its state: captured, null, closed, full, broken, a folder and so on."""
    if state == "closed":
        os.close(number)
        return
    if state == "broken":
        reader, opened = os.pipe()
        os.close(reader)
    elif state == "ended":
        opened, writer = os.pipe()
        os.close(writer)
    elif state == "captured":
        opened = os.dup(pipes[number - 1])
    elif state.startswith("file:"):
        opened = os.open(state.removeprefix("file:"), os.O_RDONLY)
    else:
        path, mode = {
            "null": ("/dev/null", os.O_RDWR),
            "full": ("/dev/full", os.O_RDWR),
            "zero": ("/dev/zero", os.O_RDONLY),
            "folder": (".", os.O_RDONLY),
            "reading": ("/dev/null", os.O_RDONLY),
            "writing": ("/dev/null", os.O_WRONLY),
        }[state]
        opened = os.open(path, mode)
    os.dup2(opened, number)
    if opened != number:
        os.close(opened)


def _wait(process: int, request: dict[str, Any], pipes: list[int]) -> dict[str, Any]:
    """Wait for a command; send it its signal, and kill it if it hangs."""
    began, sent, hung = time.monotonic(), False, False
    texts = dict.fromkeys(pipes, b"")
    while not (ended := os.waitpid(process, os.WNOHANG))[0]:
        seconds = time.monotonic() - began
        if request["signal"] and not sent and seconds > request["signal"][1]:
            os.kill(process, request["signal"][0])
            sent = True
        if seconds > request["timeout"]:
            hung = True
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
        _read(texts, 0.01)
    left = _end_session(process)
    while _read(texts, 0):
        pass
    for pipe in pipes:
        os.close(pipe)
    stdout, stderr = (text.decode("utf-8", "backslashreplace") for text in texts.values())
    return {
        "status": os.waitstatus_to_exitcode(ended[1]), "hung": hung, "left": left,
        "stdout": stdout, "stderr": stderr,
    }  # fmt: skip


def _read(texts: dict[int, bytes], seconds: float) -> int:
    """Read what a command has written, and return how much that was."""
    ready, _, _ = select.select(list(texts), [], [], seconds)
    count = 0
    for pipe in ready:
        data = os.read(pipe, 1 << 16)
        texts[pipe] += data
        count += len(data)
    if ready and not count:
        # Both streams have ended before the process.
        time.sleep(seconds)
    return count


def _end_session(session: int) -> list[int]:
    """Kill what a command left running, after a moment to end; return the process ids."""
    left = _members(session)
    deadline = time.monotonic() + 3
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = _members(session)
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return left


def _members(session: int) -> list[int]:
    members = []
    for path in Path("/proc").iterdir():
        with suppress(ValueError, OSError):
            if os.getsid(int(path.name)) == session and _is_running(path.name):
                members.append(int(path.name))
    return members


def _is_running(process: str) -> bool:
    state = Path("/proc", process, "stat").read_text(encoding="latin-1").rpartition(")")[2]
    return state.split()[0] != "Z"


def _import_commands() -> None:
    import mhpc

    for module in pkgutil.walk_packages(mhpc.__path__, "mhpc."):
        if not module.name.startswith(SKIPPED):
            with suppress(ImportError):
                importlib.import_module(module.name)


def _kill_at(move: int) -> None:
    """Refuse to exchange folders, and kill this process before one of its moves."""
    import mhpc.system.files

    seen = 0

    def hook(event: str, _: object) -> None:
        nonlocal seen
        if event == "os.rename":
            seen += 1
            if seen == move:
                os.kill(os.getpid(), signal.SIGKILL)

    mhpc.system.files._exchange = lambda first, second: False
    sys.addaudithook(hook)


if __name__ == "__main__":
    _import_commands()
    # The collector of a fork would touch, and so copy, every page of what was imported.
    gc.freeze()
    request = serve()
    # At exit, what was imported is released as in any other process.
    atexit.register(gc.unfreeze)
    if request["kill_at_move"] is not None:
        _kill_at(request["kill_at_move"])
    from mhpc.__main__ import main

    main()
