"""Same seed, same bits: every method on one core and on all cores.

python -m stress.threads [--instances 4000] [--methods sa mhpc …]

Each method consolidates the bundled example and a generated set twice: on one core with one thread
for linear algebra, and on all cores. Files must be identical byte by byte, run.json except for its
timings.
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
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        print("there is only one core, so nothing can be compared")
        return
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "generated", instances=options.instances, labels=LABELS)
        data = {
            "example": garden_folder() / "votes.csv",
            "generated": Path(folder) / "generated" / "votes.parquet",
        }
        differing = [
            line
            for method in options.methods
            for name, votes in data.items()
            for line in compare_cores(method, name, votes, Path(folder))
        ]
    runs = f"{len(options.methods)} methods on {len(data)} sets, on one core and on all"
    print(f"{runs}: {len(differing)} files differ")
    if differing:
        raise SystemExit(1)


def compare_cores(method: str, name: str, votes: Path, folder: Path) -> Iterator[str]:
    """Run a method on one core and on all, print the outcome, yield the files that differ."""
    cores, began = sorted(os.sched_getaffinity(0)), time.perf_counter()
    core_sets = {1: cores[:1], len(cores): cores}
    outs = [
        consolidate(votes, folder / f"{method}-{name}-{count}", method, core_set)
        for count, core_set in core_sets.items()
    ]
    first, second = map(hash_files, outs)
    differing = [file for file in first if first[file] != second.get(file)]
    outcome = f"DIFFERS in {', '.join(differing)}" if differing else "the same"
    seconds = time.perf_counter() - began
    print(
        f"{method}, {name}: {outcome} on 1 and {len(cores)} cores ({seconds:.0f} s)",
        flush=True,
    )
    yield from differing


def consolidate(votes: Path, out: Path, method: str, cores: list[int]) -> Path:
    """Consolidate on some cores."""
    count = str(len(cores))
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    subprocess.run(
        [
            sys.executable, "-m", "mhpc", "consolidate", str(votes), "-o", str(out), "--force",
            "--taxonomy", str(votes.parent / "taxonomy.csv"), "--method", method, "--progress",
            "none",
        ],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | dict.fromkeys(names, count),
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    return out


def hash_files(out: Path) -> dict[str, str]:
    """Return the hash of every file, without timings."""
    hashes = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest()
        for name in FILES
        if (out / name).exists()
    }
    document = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return hashes | {"run.json": json.dumps(without_timings(document))}


def without_timings(value: Any) -> Any:
    """Return a document without its timings."""
    if isinstance(value, dict):
        return {name: without_timings(item) for name, item in value.items() if name != "seconds"}
    if isinstance(value, list):
        return [without_timings(item) for item in value]
    return value


if __name__ == "__main__":
    main()
