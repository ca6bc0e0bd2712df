"""Signals that end the process within two seconds, whatever it is computing.

Python handles a signal when the main thread returns from the call that it is in, and a product of
large matrices may take minutes. A second thread is notified at once; if the process has not ended
by itself after a grace period, that thread cleans up and ends it.
"""

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

from mhpc.errors import spell_options
from mhpc.system.checkpoints import RESUME, RESUME_HINT
from mhpc.system.files import remove_all, stable_path

GRACE = 1.5
"""Seconds for the process to end by itself, which leaves everything in better order."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_received: list[int] = []
"""The signals that were received; the first one counts."""


def exit_on_signal() -> None:
    """From now on, exit with 130 after SIGINT and with 143 after SIGTERM."""
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)
    for number in _SIGNALS:
        # nohup, and & in a shell, start processes that ignore a signal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    threading.Thread(target=_watch, args=(receiver,), daemon=True).start()


def was_signalled() -> bool:
    """Return whether a signal was received, after which the process ends."""
    return bool(_received)


def exit_if_signalled(error: BaseException) -> None:
    """Exit, with everything cleaned up, if a signal was received.

    Libraries turn the exception of an interrupt into other ones, so call this for any error.
    """
    if not _received:
        return
    _report(_received[0], resume=_can_resume(error))
    if "multiprocessing.synchronize" in sys.modules:
        # Semaphores shared with worker processes are released when Python shuts down.
        raise SystemExit(128 + _received[0])
    # Otherwise skip the shutdown, in which a second signal would change the exit code.
    os._exit(128 + _received[0])


def _can_resume(error: BaseException | None) -> bool:
    """Return whether the error, or its cause, says that the run can be resumed."""
    return error is not None and (
        RESUME_HINT in getattr(error, "__notes__", ()) or _can_resume(error.__cause__)
    )


def _handle(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if len(_received) > 1:
        # A second signal must not disturb the cleaning up after the first.
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _watch(receiver: socket.socket) -> None:
    while (number := receiver.recv(1)[0]) not in _SIGNALS:
        pass
    time.sleep(GRACE)
    _end(number)


def _end(number: int) -> None:
    """End this process and those it started, without half-written files."""
    # The lock is kept, so that no other thread creates files any more.
    stable_path.acquire(timeout=0.3)
    if "multiprocessing" in sys.modules:
        for worker in sys.modules["multiprocessing"].active_children():
            worker.kill()
    remove_all()
    if sys.__stderr__ is not None and sys.__stderr__.isatty():
        # A progress bar hides the cursor.
        with suppress(OSError):
            os.write(2, b"\r\x1b[2K\x1b[?25h")
    checkpoints = sys.modules.get("mhpc.system.checkpoints")
    _report(number, resume=checkpoints is not None and checkpoints.can_resume())
    os._exit(128 + number)


def _report(number: int, *, resume: bool) -> None:
    # Bypass Python's buffers, whose locks another thread may hold; stderr may be closed.
    if number == signal.SIGINT:
        with suppress(OSError):
            hint = f"; {spell_options(RESUME)}" if resume else ""
            os.write(2, f"mhpc: interrupted{hint}\n".encode())
