"""``mhpc`` and ``python -m mhpc``."""

import os
import signal


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command line handles it, an interrupt ends the process without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from mhpc import cli
    except (MemoryError, SystemError, ImportError) as error:
        # Python raises any of them if memory runs out, and may have none left for a message.
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        os.write(2, b"mhpc: error: memory ran out at the start; raise the limit with ulimit\n")
        os._exit(1)
    cli.main()


if __name__ == "__main__":
    main()
