"""``mhpc`` and ``python -m mhpc``."""

import errno
import os
import signal
import sys
from contextlib import suppress

LEAST_DATA = 24_000_000
"""The lowest limit of memory; with less, some modules of Python log tracebacks when they load."""


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command line handles it, an interrupt ends the process without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        _check_memory()
        from mhpc import cli
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        _end(error)
    cli.main()


def _check_memory() -> None:
    with suppress(ModuleNotFoundError):
        # Windows has no limits.
        import resource

        if 0 <= resource.getrlimit(resource.RLIMIT_DATA)[0] < LEAST_DATA:
            raise MemoryError


def _end(error: Exception) -> None:
    """End the process because the command line cannot be loaded, and say why in one line."""
    # Python raises any of these if memory runs out, and may have none left for a message.
    if (
        isinstance(error, MemoryError | SystemError)
        or getattr(error, "errno", None) == errno.ENOMEM
        or "failed to map segment" in str(error)
    ):
        os.write(2, b"mhpc: error: memory ran out at the start; raise the limit with ulimit\n")
        os._exit(1)
    if isinstance(error, ImportError):
        sys.exit(f"mhpc: error: {error}; mhpc is not completely installed, install it again")
    reason = " ".join(str(error).split())
    sys.exit(f"mhpc: error: mhpc cannot be loaded: {type(error).__name__}: {reason}")


if __name__ == "__main__":
    main()
