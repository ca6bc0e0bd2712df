"""The distributed engine with two local workers beside the local engine, on the same two cores.

python -m benchmarks.speed.cluster [--method auto]
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from distributed import LocalCluster

from benchmarks.environment import interleave, met_or_missed, ratio, write_result
from benchmarks.speed.generate import generate
from mhpc.run import run
from mhpc.settings import RunSettings

INSTANCES, WORKERS, REPEATS = 200_000, 2, 3
METHOD = "auto"

LOCAL, RUNNING, STARTED = "local", "dask, a running cluster", "dask, started for the run"

TIMES_LOCAL = 1.4
"""At most so many times the local engine's time, the start of the cluster left out."""


def main() -> None:
    """Generate, time, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--method", default=METHOD)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="mhpc-") as name,
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        folder = Path(name)
        generate(folder, instances=options.instances)
        stages: dict[str, dict[str, float]] = {}
        seconds = interleave(
            {
                LOCAL: timed(folder, options.method, "local", stages),
                RUNNING: timed(folder, options.method, f"dask={cluster.scheduler_address}", stages),
                STARTED: timed(folder, options.method, "dask", stages),
            },
            repeats=options.repeats,
        )
    ratios = {name: ratio(seconds[name], seconds[LOCAL]) for name in (RUNNING, STARTED)}
    print(f"{options.method}, {options.instances:,} instances, {WORKERS} workers\n")
    for engine, each in seconds.items():
        print(f"{engine:28} {statistics.median(each):7.1f} s ({min(each):.1f} .. {max(each):.1f})")
    for engine, found in ratios.items():
        print(f"{engine} / {LOCAL}: {found}")
    met = ratios[RUNNING].median <= TIMES_LOCAL
    print(f"at most {TIMES_LOCAL} times, start left out: {met_or_missed(met)}")
    for engine, each_stage in stages.items():
        print(engine, {stage: round(value, 2) for stage, value in each_stage.items()})
    write_result(
        "speed_cluster",
        {
            "instances": options.instances,
            "workers": WORKERS,
            "method": options.method,
            "seconds": seconds,
            "stages of the last round": stages,
            "ratios": {name: asdict(found) for name, found in ratios.items()},
            "targets": {"running / local": TIMES_LOCAL},
        },
    )


def timed(
    folder: Path, method: str, engine: str, stages: dict[str, dict[str, float]]
) -> Callable[[], None]:
    """Return a run on an engine, which notes how long its stages took."""
    settings = RunSettings(
        votes=str(folder / "votes.parquet"),
        taxonomy=str(folder / "taxonomy.csv"),
        method=method,
        engine=engine,
    )

    def once() -> None:
        summary = run(settings, output=folder / "out", force=True)
        stages[engine.partition("=")[0] + ("=" if "=" in engine else "")] = dict(summary.seconds)

    return once


if __name__ == "__main__":
    main()
