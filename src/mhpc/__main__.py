"""``mhpc`` and ``python -m mhpc``."""

import signal


def main() -> None:
    """Load the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command line handles it, an interrupt ends the process without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from mhpc import cli

    cli.main()


if __name__ == "__main__":
    main()
