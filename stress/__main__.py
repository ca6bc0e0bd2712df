"""Stress the package for ten minutes on two cores, and print the figures.

python -m stress [--only PART…]

Every part also runs alone, for any length of time:
``python -m stress.fuzz_cli --seconds 3600``.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PARTS = {
    "kills": ("--kills", "100", "--seconds", "180"),
    "failures": (),
    "fuzz_readers": ("--seconds", "100"),
    "fuzz_cli": ("--seconds", "80"),
    "numerics": ("--seconds", "40"),
    "threads": ("--instances", "1500"),
    "review": ("--kills", "20"),
}
"""The parts, run one after the other on both cores, and their options."""


@dataclass(frozen=True)
class PartResult:
    """How a part ended; its last line holds the figures."""

    part: str
    code: int
    seconds: float
    figures: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts; the exit code is 1 if any of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(arguments)
    results = [_run(part) for part in options.only]
    print()
    for result in results:
        state = "ok" if result.code == 0 else "FAILED"
        print(f"{result.part:13} {state:7} {result.seconds:4.0f} s  {result.figures}")
    if any(result.code for result in results):
        raise SystemExit(1)


def _run(part: str) -> PartResult:
    """Run one part in its own process and show its output."""
    began, last_line = time.monotonic(), ""
    command = [sys.executable, "-m", f"stress.{part}", *PARTS[part]]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        for line in process.stdout:
            print(f"{part}: {line}", end="", flush=True)
            last_line = line.strip() or last_line
    return PartResult(part, process.returncode, time.monotonic() - began, last_line)


if __name__ == "__main__":
    main()
