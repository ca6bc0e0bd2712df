"""Commands read what a result in Python saved, as if they had written it."""

import json
from pathlib import Path
from typing import Any

import pytest

from mhpc.api import consolidate
from mhpc.rules.paths import TopPaths
from mhpc.rules.threshold import Threshold
from tests.fixtures.commands import Mhpc


@pytest.mark.parametrize(
    "rule", ["one-path", TopPaths(paths=2), Threshold(threshold=0.4, depth_bias=0.5), None]
)
def test_a_saved_result_is_read_applied_and_repeated(mhpc: Mhpc, rule: Any) -> None:
    result = consolidate(
        "votes.csv", "taxonomy.csv", method="majority", rule=rule, gold={"1": "fuchsia"}
    )
    result.save("OUT")
    assert mhpc("consolidate", "--config", "OUT/run.json", "-o", "again").returncode == 0
    for file in ("labels.csv", "scores.parquet", "sources.csv", "taxonomy.csv"):
        assert Path("again", file).read_bytes() == Path("OUT", file).read_bytes(), file
    decided = [
        json.loads(Path(name, "run.json").read_text())["decision"] for name in ("OUT", "again")
    ]
    # The bias has shifted a given threshold once, and not a second time.
    assert decided[0].get("threshold") == decided[1].get("threshold")
    assert decided[0]["rule"] == decided[1]["rule"]
    assert mhpc("report", "OUT").returncode == 0
    assert "fuchsia" in mhpc("explain", "OUT", "1").stdout
    assert mhpc("evaluate", "OUT", "--truth", "truth.csv").returncode == 0
    Path("votes.csv").rename("new.csv")
    assert mhpc("consolidate", "new.csv", "--apply", "OUT", "-o", "applied").returncode == 0
