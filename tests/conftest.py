"""Where the public data sets are."""

import atexit
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Machines are busy at times: how long an example takes tells nothing.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The public data sets; tests that need them are skipped where they are not."""
    folder = os.environ.get("MHPC_DATA")
    if not folder:
        pytest.skip("MHPC_DATA does not say where the public data sets are")
    return Path(folder)


def pytest_configure(config: pytest.Config) -> None:
    """Let the workers of a parallel run end quietly, and programs under test hear interrupts.

    DuckDB's binding counts what is alive when Python ends; in a worker that is most of it, and it
    says so at length, among the results that people read. Whoever runs tests in the background has
    them ignore interrupts, which programs that they start would inherit.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))
