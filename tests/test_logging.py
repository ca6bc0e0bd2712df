"""Stages and selections are logged if logging is enabled, and only then."""

import logging
import subprocess
import sys

import pytest

import mhpc


def votes() -> mhpc.Votes:
    return mhpc.read_votes({"instance": [1, 2], "source": ["a", "a"], "label": ["oak", "fir"]})


TREE = mhpc.read_taxonomy({"label": ["tree", "oak", "fir"], "parent": [None, "tree", "tree"]})


def test_the_method_and_its_convergence_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="mhpc"):
        mhpc.consolidate(votes(), TREE, method="mhpc")
    messages = [record.getMessage() for record in caplog.records if record.name == "mhpc"]
    assert messages[0].endswith("by mhpc")
    assert "mhpc converged after" in messages[-1]


def test_the_combined_methods_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="mhpc"):
        mhpc.consolidate(votes(), TREE)
    assert any(record.getMessage().startswith("combined: ") for record in caplog.records)


def test_nothing_is_printed_by_default() -> None:
    script = (
        "import mhpc; votes = mhpc.read_votes({'instance': [1], 'source': [1], 'label': ['a']}); "
        "tree = mhpc.read_taxonomy({'label': ['a', 'b'], 'parent': [None, 'a']}); "
        "mhpc.consolidate(votes, tree, method='sa')"
    )
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert (completed.stdout, completed.stderr) == (b"", b"")
