"""Time and memory against the number of instances: whole runs from Parquet to a result folder.

python -m benchmarks.speed.scale [--sizes 10000 100000 1000000] [--methods cross-source mhpc]

Every run is a process of its own, so that its peak memory is its own. What DuckDB takes to read
the same file and group it by instance and label is measured beside every run, before and after.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.environment import RESULTS, write_result
from benchmarks.speed.generate import generate

METHODS = (
    "sa", "wa", "majority", "inat", "dawid-skene", "cross-source", "channel", "mlcm", "mhpc",
    "auto",
)  # fmt: skip
SIZES = (10_000, 100_000)
GROUPED = """
import duckdb, sys
duckdb.execute("SET threads=2; SET enable_progress_bar=false")
duckdb.execute(
    f"SELECT instance, label, count({sys.argv[2]}) FROM read_parquet(?) GROUP BY instance, label",
    [sys.argv[1]],
).fetchnumpy()
"""
DISTINCT, PLAIN = "DISTINCT source", "*"
"""How many sources gave a label to an instance, which every consolidation begins with; and how many
rows there are, which is less work."""

LIMITS = {"cross-source": (12, 6e9), "mhpc": (80, 10e9)}
"""Times of DuckDB, and bytes, at a million instances."""


def main() -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--data", type=Path, help="keep generated votes here")
    parser.add_argument("--add", action="store_true", help="keep what was measured before")
    options = parser.parse_args()
    kept = earlier() if options.add else {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        for size in options.sizes:
            data = generated(folder, size)
            for method in options.methods:
                row = measured(data, size, method, Path(temporary))
                kept[method, size] = row
                rows = sorted(kept.values(), key=lambda row: row["instances"])
                write_result("speed_scale", {"rows": rows, "growth": growths(rows)})
    for line in growths(rows):
        print(
            f"{line['method']}: {line['from']:,} to {line['to']:,}: {line['times']:.1f} times, "
            f"of processors {line['times_cpu']:.1f}"
        )
    draw(rows, RESULTS / "speed_scale.png")


def earlier() -> dict[tuple[str, int], dict[str, Any]]:
    """Return what earlier calls measured."""
    path = RESULTS / "speed_scale.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    return {(row["method"], row["instances"]): row for row in rows}


def generated(folder: Path, size: int) -> Path:
    """Return a folder with so many instances, made unless it is there."""
    found = folder / f"{size}"
    if not (found / "votes.parquet").exists():
        found.mkdir(parents=True, exist_ok=True)
        generate(found, instances=size)
    return found


def measured(data: Path, size: int, method: str, temporary: Path) -> dict[str, Any]:
    """Run a method once, DuckDB before and after."""
    before = [grouped(data, count) for count in (DISTINCT, PLAIN)]
    out = temporary / f"{method}-{size}"
    seconds, cpu, peak = process(
        sys.executable, "-m", "mhpc", "consolidate", data / "votes.parquet", "-o", out,
        "--taxonomy", data / "taxonomy.csv", "--method", method, "--progress", "none",
    )  # fmt: skip
    shutil.rmtree(out)
    after = [grouped(data, count) for count in (DISTINCT, PLAIN)]
    both = [list(zip(*each, strict=True)) for each in zip(before, after, strict=True)]
    (distinct, distinct_cpu), (plain, _) = both
    row = {
        "method": method, "instances": size, "seconds": seconds, "cpu": cpu, "bytes": peak,
        "duckdb": distinct, "times": seconds / statistics.mean(distinct),
        "duckdb_cpu": distinct_cpu, "times_cpu": cpu / statistics.mean(distinct_cpu),
        "duckdb_plain": plain, "times_plain": seconds / statistics.mean(plain),
    }  # fmt: skip
    print(
        f"{method} at {size:,}: {seconds:.1f} s, {cpu:.1f} s of processors, {peak / 1e9:.2f} GB; "
        f"DuckDB counting distinct sources {min(distinct):.2f} to {max(distinct):.2f} s, "
        f"{row['times']:.1f} times, of processors {row['times_cpu']:.1f} times; counting rows "
        f"{min(plain):.2f} to {max(plain):.2f} s, {row['times_plain']:.1f} times{limit(row)}",
        flush=True,
    )
    return row


def limit(row: dict[str, Any]) -> str:
    """Say what a row should be at most."""
    if row["instances"] != 1_000_000 or row["method"] not in LIMITS:
        return ""
    times, most = LIMITS[row["method"]]
    return f"; at most {times} times and {most / 1e9:.0f} GB are wanted"


def grouped(data: Path, count: str) -> tuple[float, float]:
    """Return what DuckDB takes to read and group the votes, a new process included.

    Seconds, and those of processors, which a busy machine changes less.
    """
    return process(sys.executable, "-c", GROUPED, data / "votes.parquet", count)[:2]


def process(*command: Any) -> tuple[float, float, float]:
    """Return seconds, seconds of processors, and peak bytes of a process."""
    began = time.perf_counter()
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024.0


def growths(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many times as long each method takes from one size to the next."""
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = sorted(
            (row for row in rows if row["method"] == method), key=lambda row: row["instances"]
        )
        found += [
            {
                "method": method,
                "from": small["instances"],
                "to": large["instances"],
                "times": large["seconds"] / small["seconds"],
                "times_cpu": large["cpu"] / small["cpu"],
            }
            for small, large in pairwise(own)
        ]
    return found


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw seconds and memory against instances, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        sizes = [row["instances"] for row in own]
        left.plot(sizes, [row["seconds"] for row in own], marker="o", label=method)
        right.plot(sizes, [row["bytes"] / 1e9 for row in own], marker="o", label=method)
    base = {row["instances"]: statistics.mean(row["duckdb"]) for row in rows}
    left.plot(list(base), list(base.values()), "k--", label="DuckDB: read and group")
    for axes, what in ((left, "seconds"), (right, "peak memory, GB")):
        axes.set(xscale="log", yscale="log", xlabel="instances", ylabel=what)
        axes.grid(alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize=9)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
