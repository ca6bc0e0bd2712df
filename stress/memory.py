"""How much memory is foreseen, beside what runs really take.

python -m stress.memory [--methods sa mlcm …] [--sizes 5000x500 20000x500]

Votes are generated, every run is a process of its own. What is foreseen is what the method takes
beyond the encoded votes; what is measured is the process's peak less what it held when that was
foreseen. Exits with 1 where more than a little too little was foreseen, or far too much.
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
"""How many times what is measured may be foreseen."""

SMALL = 250e6
"""Bytes below which it does not matter."""


def main() -> None:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    given = parser.parse_args()
    amiss = 0
    with tempfile.TemporaryDirectory() as folder:
        for size in given.sizes:
            instances, labels = map(int, size.split("x"))
            data = Path(folder) / size
            generate(data, instances=instances, labels=labels)
            for method in given.methods:
                amiss += not measured(data, method, f"{instances:,} instances, {labels:,} labels")
    raise SystemExit(1 if amiss else 0)


def measured(data: Path, method: str, what: str) -> bool:
    """Print what is foreseen and what is taken, and say if the two are near enough."""
    run = subprocess.Popen(
        [
            sys.executable, "-m", "mhpc", "--verbose", "consolidate", str(data / "votes.parquet"),
            "--taxonomy", str(data / "taxonomy.csv"), "--method", method, "-o",
            str(data / method), "--progress", "none",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stderr is not None  # noqa: S101 - it is a pipe
    told = re.search(r"memory: (\d+) bytes foreseen beyond (\d+) held", run.stderr.read())
    peak = os.wait4(run.pid, 0)[2].ru_maxrss * 1024
    if told is None:
        raise SystemExit(f"{method} did not say what is foreseen")
    estimated, held = int(told[1]), int(told[2])
    times = estimated / max(peak - held, 1)
    well = TOO_LITTLE <= times <= TOO_MUCH or max(estimated, peak - held) < SMALL
    print(
        f"{method}, {what}: foreseen {estimated / 1e6:,.0f} MB, taken {(peak - held) / 1e6:,.0f} MB "
        f"({times:.2f} times) beyond {held / 1e6:,.0f} MB; peak {peak / 1e6:,.0f} MB"
        f"{'' if well else '  AMISS'}",
        flush=True,
    )
    return well


if __name__ == "__main__":
    main()
