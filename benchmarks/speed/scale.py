"""Time and memory against the number of instances: whole runs from Parquet to a result folder.

python -m benchmarks.speed.scale [--sizes 10000 100000 1000000] [--methods cross-source mhpc]

Every run is a process of its own, so that its peak memory is its own. What DuckDB takes to read
the same file and group it by instance and label is measured in turn with the runs: before the
first, between every two, and after the last. Times are medians of the repeats.
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

from benchmarks.environment import RESULTS, met_or_missed, write_result
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

LIMITS = {"cross-source": (10, 4e9), "auto": (20, 4e9), "mhpc": (80, 10e9)}
"""Times of DuckDB, by wall time and by processor time, and bytes, at a million instances."""

LARGE, REPEATS = 1_000_000, 3
"""From so many instances on, a method runs once by default; below, so many times."""


def main() -> None:
    """Measure, print, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--data", type=Path, help="keep generated votes here")
    parser.add_argument(
        "--repeats", type=int, help=f"runs of a method; default: {REPEATS}, 1 from {LARGE:,} on"
    )
    parser.add_argument("--add", action="store_true", help="keep what was measured before")
    options = parser.parse_args()
    kept = earlier() if options.add else {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        for size in options.sizes:
            data = generated(folder, size)
            for method in options.methods:
                repeats = options.repeats or (REPEATS if size < LARGE else 1)
                row = measured(data, size, method, Path(temporary), repeats)
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


def measured(data: Path, size: int, method: str, temporary: Path, repeats: int) -> dict[str, Any]:
    """Run a method and DuckDB in turn, DuckDB first and last."""
    runs, distinct, plain = [], [grouped(data, DISTINCT)], [grouped(data, PLAIN)]
    for _ in range(repeats):
        runs.append(consolidated(data, method, temporary / f"{method}-{size}"))
        distinct.append(grouped(data, DISTINCT))
        plain.append(grouped(data, PLAIN))
    seconds, cpu, peak = (list(each) for each in zip(*runs, strict=True))
    duckdb, duckdb_cpu = (list(each) for each in zip(*distinct, strict=True))
    plain_seconds = [each for each, _ in plain]
    row = {
        "method": method, "instances": size, "seconds": statistics.median(seconds),
        "cpu": statistics.median(cpu), "bytes": max(peak), "duckdb": duckdb,
        "times": beside(seconds, duckdb), "duckdb_cpu": duckdb_cpu,
        "times_cpu": beside(cpu, duckdb_cpu), "duckdb_plain": plain_seconds,
        "times_plain": beside(seconds, plain_seconds), "repeats": repeats,
    }  # fmt: skip
    print(
        f"{method} at {size:,}, median of {repeats}: {row['seconds']:.1f} s, {row['cpu']:.1f} s of "
        f"processors, {max(peak) / 1e9:.2f} GB; DuckDB counting distinct sources "
        f"{statistics.median(duckdb):.2f} s ({min(duckdb):.2f} to {max(duckdb):.2f}), "
        f"{statistics.median(duckdb_cpu):.2f} s of processors: {row['times']:.1f} times, of "
        f"processors {row['times_cpu']:.1f} times; counting rows "
        f"{statistics.median(plain_seconds):.2f} s, {row['times_plain']:.1f} times{limit(row)}",
        flush=True,
    )
    return row


def consolidated(data: Path, method: str, out: Path) -> tuple[float, float, float]:
    """Run a method once, and return its seconds, those of processors, and its peak bytes."""
    measures = process(
        sys.executable, "-m", "mhpc", "consolidate", data / "votes.parquet", "-o", out,
        "--taxonomy", data / "taxonomy.csv", "--method", method, "--progress", "none",
    )  # fmt: skip
    shutil.rmtree(out)
    return measures


def beside(runs: list[float], references: list[float]) -> float:
    """Return the median of how many times as long each run took as its two neighbours."""
    return statistics.median(
        run / statistics.mean(around)
        for run, around in zip(runs, pairwise(references), strict=True)
    )


def limit(row: dict[str, Any]) -> str:
    """Say what a row should be at most, and whether it is."""
    if row["instances"] != LARGE or row["method"] not in LIMITS:
        return ""
    times, most = LIMITS[row["method"]]
    met = max(row["times"], row["times_cpu"]) <= times and row["bytes"] <= most
    return f"; at most {times} times and {most / 1e9:.0f} GB: {met_or_missed(met)}"


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
    base = {row["instances"]: statistics.median(row["duckdb"]) for row in rows}
    left.plot(list(base), list(base.values()), "k--", label="DuckDB: read and group")
    for axes, what in ((left, "seconds"), (right, "peak memory, GB")):
        axes.set(xscale="log", yscale="log", xlabel="instances", ylabel=what)
        axes.grid(alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize=9)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
