"""Every method gives the recorded results on five data sets."""

import json
from pathlib import Path

import pytest

from tests.golden.runs import EXAMPLE, FILE, RUNS, Fingerprint, run

GOLDEN: dict[str, Fingerprint] = json.loads(FILE.read_text(encoding="utf-8"))

NUMBERS = ("score", "specific", "sources")

TOLERANCE = 1e-8
"""Other processors and versions of BLAS differ in the last bits, and in nothing more."""

ROUGH = {("dog", "auto", "score"): 1e-2}
"""Where last bits matter: `auto` calibrates in bins whose borders are scores, and where instances
have one true label, many scores are equal but for their last bits. On one machine this is exact
too: ``python -m tests.golden.record`` leaves the file as it is."""


def test_every_run_is_recorded() -> None:
    assert list(GOLDEN) == [f"{name}/{method}" for name, method in RUNS]


@pytest.mark.parametrize(("name", "method"), RUNS)
def test_results_equal_the_recorded_ones(
    name: str, method: str, request: pytest.FixtureRequest
) -> None:
    folder: Path | None = None if name == EXAMPLE else request.getfixturevalue("data_folder")
    actual, golden = run(name, method, folder), GOLDEN[f"{name}/{method}"]
    assert actual.keys() == golden.keys()
    for quantity in NUMBERS:
        allowed = ROUGH.get((name, method, quantity), TOLERANCE)
        assert actual[quantity] == pytest.approx(golden[quantity], rel=allowed, abs=allowed), (
            quantity
        )
    assert actual["decided labels"] == golden["decided labels"]
    assert actual["decided"] == golden["decided"]
