"""Same seed, same bits: every method on one core and on all of them.

python -m stress.threads [--instances 4000] [--methods sa mhpc …]

Each method consolidates the bundled example and a generated set twice: held to one core with one
thread for linear algebra, and free to use all. Files must be the same byte by byte, and
run.json but for its timings.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.speed.generate import generate
from mhpc.datasets.garden import garden_folder
from mhpc.methods.registry import METHODS

FILES = ("labels.csv", "scores.parquet", "sources.csv", "taxonomy.csv", "model.npz")
LABELS = 200


def main() -> None:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=4000)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    given = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        print("there is one core only, so that nothing can be compared")
        return
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "generated", instances=given.instances, labels=LABELS)
        data = {
            "example": garden_folder() / "votes.csv",
            "generated": Path(folder) / "generated" / "votes.parquet",
        }
        differing = [
            line
            for method in given.methods
            for name, votes in data.items()
            for line in compared(method, name, votes, Path(folder))
        ]
    runs = f"{len(given.methods)} methods on {len(data)} sets, on one core and on all"
    print(f"{runs}: {len(differing)} files differ")
    if differing:
        raise SystemExit(1)


def compared(method: str, name: str, votes: Path, folder: Path) -> Iterator[str]:
    """Print how a method did on some votes, and give the files that differ."""
    core_count, began = sorted(os.sched_getaffinity(0)), time.perf_counter()
    ways = {1: core_count[:1], len(core_count): core_count}
    outs = [
        consolidated(votes, folder / f"{method}-{name}-{count}", method, used)
        for count, used in ways.items()
    ]
    one, other = map(contents, outs)
    differing = [file for file in one if one[file] != other.get(file)]
    summarize = f"DIFFERS in {', '.join(differing)}" if differing else "the same"
    seconds = time.perf_counter() - began
    print(
        f"{method}, {name}: {summarize} on 1 and {len(core_count)} cores ({seconds:.0f} s)",
        flush=True,
    )
    yield from differing


def consolidated(votes: Path, out: Path, method: str, core_count: list[int]) -> Path:
    """Consolidate on some cores."""
    count = str(len(core_count))
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    subprocess.run(
        [
            sys.executable, "-m", "mhpc", "consolidate", str(votes), "-o", str(out), "--force",
            "--taxonomy", str(votes.parent / "taxonomy.csv"), "--method", method, "--progress",
            "none",
        ],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | dict.fromkeys(names, count),
        preexec_fn=lambda: os.sched_setaffinity(0, core_count),
    )  # fmt: skip
    return out


def contents(out: Path) -> dict[str, str]:
    """Return what every file holds, as far as it does not tell the time."""
    found = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest()
        for name in FILES
        if (out / name).exists()
    }
    document = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return found | {"run.json": json.dumps(timeless(document))}


def timeless(value: Any) -> Any:
    """Return a document without what it says of seconds."""
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if name != "seconds"}
    if isinstance(value, list):
        return [timeless(each) for each in value]
    return value


if __name__ == "__main__":
    main()
