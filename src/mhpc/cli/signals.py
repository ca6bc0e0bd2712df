"""Interrupts that end a process soon, whatever it is doing.

Python hears a signal when the main thread is back from the call it is in, which a product of
large matrices keeps for minutes. A second thread hears it at once and, if the process has not
ended by itself, cleans up and ends it.
"""

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

from mhpc.system.checkpoints import RESUME_HINT
from mhpc.system.files import remove_all, stable_path

GRACE = 1.5
"""Seconds for a process to end by itself: it does so in a better order than we can."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_came: list[int] = []
"""The signals that came, the first of which is obeyed."""


def exit_on_signal() -> None:
    """From now on end with 130 after an interrupt and with 143 after a polite kill."""
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    signal.set_wakeup_fd(mouth.detach(), warn_on_full_buffer=False)
    for number in _SIGNALS:
        # Whoever started us may have had us ignore it, as nohup and a shell's & do.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _obey)
    threading.Thread(target=_listen, args=(ear,), daemon=True).start()


def exit_if_signalled(error: BaseException) -> None:
    """End the process, with everything cleaned up, if an error comes from a signal.

    Libraries turn the exception of an interrupt into others, so that this is to be called
    whatever error arrives.
    """
    if not _came:
        return
    _say(_came[0], resume=_noted(error))
    workers = sys.modules.get("mhpc.system.parallel")
    if workers is not None and workers.begun:
        # What workers shared is given back as Python is wound up.
        raise SystemExit(128 + _came[0])
    # Else it is not wound up: a second signal meanwhile would change the exit code.
    os._exit(128 + _came[0])


def _noted(error: BaseException | None) -> bool:
    """Tell whether an error, or the one that click made it of, leaves something to go on from."""
    return error is not None and (
        RESUME_HINT in getattr(error, "__notes__", ()) or _noted(error.__cause__)
    )


def _obey(number: int, frame: FrameType | None) -> None:
    _came.append(number)
    if len(_came) > 1:
        # What cleans up after the first is not to be disturbed by a second.
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _listen(ear: socket.socket) -> None:
    while (number := ear.recv(1)[0]) not in _SIGNALS:
        pass
    time.sleep(GRACE)
    _end(number)


def _end(number: int) -> None:
    """End this process and those it started, leaving nothing half-written."""
    # The lock is kept, so that whoever still works makes nothing new.
    stable_path.acquire(timeout=0.3)
    if "multiprocessing" in sys.modules:
        for worker in sys.modules["multiprocessing"].active_children():
            worker.kill()
    remove_all()
    if sys.__stderr__ is not None and sys.__stderr__.isatty():
        # A bar hides the cursor.
        with suppress(OSError):
            os.write(2, b"\r\x1b[2K\x1b[?25h")
    kept = sys.modules.get("mhpc.system.checkpoints")
    _say(number, resume=kept is not None and kept.can_resume())
    os._exit(128 + number)


def _say(number: int, *, resume: bool) -> None:
    # Past Python's own buffers, whose locks another thread may hold; nobody may be listening.
    if number == signal.SIGINT:
        with suppress(OSError):
            os.write(2, f"mhpc: interrupted{f'; {RESUME_HINT}' if resume else ''}\n".encode())
