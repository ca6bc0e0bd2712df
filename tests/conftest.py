"""Settings and fixtures that all tests share."""

import atexit
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# On a busy machine, the time that an example takes means nothing.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the public data sets; tests that need them are skipped without it."""
    folder = os.environ.get("MHPC_DATA")
    if not folder:
        pytest.skip("MHPC_DATA does not say where the public data sets are")
    return Path(folder)


def pytest_configure(config: pytest.Config) -> None:
    """Make programs under test quiet and interruptible, and workers of a parallel run silent.

    DuckDB's binding prints the objects that are still alive when Python exits, which in a worker
    are most of them, in the middle of the test results. A shell starts background jobs with
    interrupts ignored, and the programs that tests start would inherit that. On a busy machine,
    lines of progress would appear in what commands print.
    """
    os.environ["MHPC_PROGRESS"] = "none"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))
