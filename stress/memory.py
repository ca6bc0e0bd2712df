"""Compare the memory estimates of the methods with what runs take.

python -m stress.memory [--methods sa mlcm …] [--sizes 5000x500 20000x500]

Votes are generated, and every run has its own process. An estimate is what the method takes beyond
the encoded votes; the measurement is the peak of the process less what it held at the time of the
estimate. The exit code is 1 if an estimate is a little too low or far too high.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.speed.generate import generate

METHODS = (
    "sa", "majority", "dawid-skene", "one-truth", "mlcm", "mpc-u", "cross-source", "channel",
    "auto",
)  # fmt: skip
SIZES = ("5000x500", "20000x500", "5000x2000")
TOO_LITTLE, TOO_MUCH = 0.85, 2.5
"""Limits of estimate / measurement."""

SMALL = 250e6
"""Bytes below which the ratio does not matter."""


def main() -> None:
    """Measure, print, and exit with 1 if an estimate is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for size_name in options.sizes:
            instances, labels = map(int, size_name.split("x"))
            data = Path(folder) / size_name
            generate(data, instances=instances, labels=labels)
            for method in options.methods:
                failures += not check_estimate(
                    data, method, f"{instances:,} instances, {labels:,} labels"
                )
    raise SystemExit(1 if failures else 0)


def check_estimate(data: Path, method: str, size: str) -> bool:
    """Print the estimate and the measurement; return whether they are close enough."""
    run = subprocess.Popen(
        [
            sys.executable, "-m", "mhpc", "--verbose", "consolidate", str(data / "votes.parquet"),
            "--taxonomy", str(data / "taxonomy.csv"), "--method", method, "-o",
            str(data / method), "--progress", "none",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stderr is not None  # noqa: S101 - it is a pipe
    logged = re.search(r"memory: (\d+) bytes \w+ beyond (\d+)", run.stderr.read())
    peak = os.wait4(run.pid, 0)[2].ru_maxrss * 1024
    if logged is None:
        raise SystemExit(f"{method} did not log its estimate")
    estimated, held = int(logged[1]), int(logged[2])
    times = estimated / max(peak - held, 1)
    is_close = TOO_LITTLE <= times <= TOO_MUCH or max(estimated, peak - held) < SMALL
    print(
        f"{method}, {size}: estimated {estimated / 1e6:,.0f} MB, "
        f"taken {(peak - held) / 1e6:,.0f} MB ({times:.2f} times) beyond "
        f"{held / 1e6:,.0f} MB; peak {peak / 1e6:,.0f} MB"
        f"{'' if is_close else '  WRONG'}",
        flush=True,
    )
    return is_close


if __name__ == "__main__":
    main()
