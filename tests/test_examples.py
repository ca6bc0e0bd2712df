"""The examples run, and the notebook shows the results that it computes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest

from tools.run_notebook import run_cells

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOK = EXAMPLES / "review.ipynb"


def test_the_dataframe_example_beats_the_majority_vote() -> None:
    script = [sys.executable, "-W", "error", str(EXAMPLES / "dataframe.py")]
    run = subprocess.run(script, capture_output=True, text=True, check=True)
    (line,) = [line for line in run.stdout.splitlines() if line.startswith("hierarchical_f ")]
    _, consolidated, majority = line.split()
    assert float(consolidated) > float(majority) + 0.05


@pytest.mark.skipif(pandas.__version__ < "3", reason="pandas 2 prints tables differently")
def test_the_outputs_of_the_notebook_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    results = run_cells(notebook)
    for cell, outputs in results:
        stored, computed = texts(cell["outputs"]), texts(outputs)
        assert stored == computed, "run: python -m tools.run_notebook examples/review.ipynb"
    assert any("image/png" in output["data"] for _, outputs in results for output in outputs)


def test_the_notebook_is_small() -> None:
    assert NOTEBOOK.stat().st_size < 100_000


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """Return what a cell shows as text: pictures differ between versions of matplotlib."""
    return ["".join(output["data"]["text/plain"]) for output in outputs]
