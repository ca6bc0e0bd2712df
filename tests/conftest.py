"""Where the public data sets are."""

import atexit
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The public data sets; tests that need them are skipped where they are not."""
    folder = os.environ.get("MHPC_DATA")
    if not folder:
        pytest.skip("MHPC_DATA does not say where the public data sets are")
    return Path(folder)


def pytest_configure(config: pytest.Config) -> None:
    """Let the workers of a parallel run end quietly.

    DuckDB's binding counts what is alive when Python ends; in a worker that is most of it, and it
    says so at length, among the results that people read.
    """
    if hasattr(config, "workerinput"):
        atexit.register(lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 2))
