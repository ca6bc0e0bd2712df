"""Where the public data sets are."""

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
