"""A run of the bundled example, and a server of its review that several tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.review_server import ReviewServer, make_garden_run


@pytest.fixture(scope="session")
def garden_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run, which no test changes."""
    folder = tmp_path_factory.mktemp("garden") / "OUT"
    make_garden_run(folder)
    return folder


@pytest.fixture(scope="session")
def server(garden_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewServer]:
    """A server for tests that save nothing, or look only at what they saved."""
    reviews = tmp_path_factory.mktemp("shared") / "OUT-review"
    with ReviewServer(garden_run, reviews=reviews) as server:
        yield server
