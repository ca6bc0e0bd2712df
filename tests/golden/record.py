"""Rewrite fingerprints.json: ``python -m tests.golden.record``, with MHPC_DATA set.

Allowed only when a change of results is intended and the changelog says so. A change that only
moves, renames or speeds up code must leave the file as it is: a golden test that fails then shows a
fault in that change, which recording would hide.
"""

import json
import os
from pathlib import Path

from tests.golden.runs import FILE, RUNS, run


def record(folder: Path) -> None:
    """Run every method on every set, and write the fingerprints, one line per run."""
    lines = [
        f"{json.dumps(f'{name}/{method}')}: {json.dumps(run(name, method, folder))}"
        for name, method in RUNS
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if not os.environ.get("MHPC_DATA"):
        raise SystemExit("MHPC_DATA does not say where the public data sets are")
    record(Path(os.environ["MHPC_DATA"]))
