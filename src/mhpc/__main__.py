"""``mhpc`` and ``python -m mhpc``."""

import os
import signal
import sys


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command line handles it, an interrupt ends the process without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from mhpc import cli
    except (MemoryError, SystemError, ImportError) as error:
        # Python raises any of them if memory runs out, and may have none left for a message.
        if not isinstance(error, ImportError) or "failed to map segment" in str(error):
            os.write(2, b"mhpc: error: memory ran out at the start; raise the limit with ulimit\n")
            os._exit(1)
        sys.exit(f"mhpc: error: {error}; mhpc is not completely installed, install it again")
    cli.main()


if __name__ == "__main__":
    main()
