"""Stress the package for ten minutes on two cores, and print the figures.

python -m stress [--only PART…] [--seed 0] [--seconds 600]

Every part also runs alone, for any length of time:
``python -m stress.faults --seconds 3600 --seed 7``.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TEN_MINUTES = 600.0


@dataclass(frozen=True)
class Part:
    """A part: its share of the time in seconds, or options for one that is over when it is done.

    Attributes
    ----------
    seconds : float
        How long it may take of ten minutes, passed as ``--seconds``; 0 if it has no such option.
    options : sequence of str
        More options.
    takes_seed : bool
        Whether it draws at random.
    """

    seconds: float = 0.0
    options: Sequence[str] = ()
    takes_seed: bool = True


PARTS = {
    "faults": Part(270),
    "kills": Part(80, ("--kills", "40")),
    "failures": Part(takes_seed=False),
    "fuzz_readers": Part(60),
    "fuzz_cli": Part(40),
    "numerics": Part(25),
    "threads": Part(options=("--instances", "800"), takes_seed=False),
    "review": Part(options=("--kills", "10")),
}
"""The parts, run one after the other on both cores."""


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
    parser.add_argument("--seed", type=int, default=0, help="passed to every part that draws")
    parser.add_argument(
        "--seconds", type=float, default=TEN_MINUTES, help="in all, about; parts get their share"
    )
    options = parser.parse_args(arguments)
    results = [
        _run(part, seed=options.seed, stretch=options.seconds / TEN_MINUTES)
        for part in options.only
    ]
    print(f"\nseed {options.seed}")
    for result in results:
        state = "ok" if result.code == 0 else "FAILED"
        print(f"{result.part:13} {state:7} {result.seconds:4.0f} s  {result.figures}")
    if any(result.code for result in results):
        raise SystemExit(1)


def _run(name: str, *, seed: int, stretch: float) -> PartResult:
    """Run one part in its own process and show its output."""
    part, began, last_line = PARTS[name], time.monotonic(), ""
    command = [sys.executable, "-m", f"stress.{name}", *part.options]
    if part.seconds:
        command += ["--seconds", f"{part.seconds * stretch:.0f}"]
    if part.takes_seed:
        command += ["--seed", str(seed)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        for line in process.stdout:
            print(f"{name}: {line}", end="", flush=True)
            last_line = line.strip() or last_line
    return PartResult(name, process.returncode, time.monotonic() - began, last_line)


if __name__ == "__main__":
    main()
