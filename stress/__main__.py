"""All that is hard on the package, within ten minutes on two cores; the figures at the end.

python -m stress [--only PART…]

Every part also runs alone, for as long as it is given:
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
}
"""What is run, one after the other, each on both cores, and how long it may take."""


@dataclass(frozen=True)
class Outcome:
    """How a part ended, and what it said last: its figures."""

    part: str
    code: int
    seconds: float
    figures: str


def main(words: Sequence[str] | None = None) -> None:
    """Run the parts; the exit code is 1 if any of them found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    given = parser.parse_args(words)
    outcomes = [_run(part) for part in given.only]
    print()
    for each in outcomes:
        state = "ok" if each.code == 0 else "FAILED"
        print(f"{each.part:13} {state:7} {each.seconds:4.0f} s  {each.figures}")
    if any(each.code for each in outcomes):
        raise SystemExit(1)


def _run(part: str) -> Outcome:
    """Run one part in a process of its own, showing what it says."""
    began, said = time.monotonic(), ""
    command = [sys.executable, "-m", f"stress.{part}", *PARTS[part]]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        for line in process.stdout:
            print(f"{part}: {line}", end="", flush=True)
            said = line.strip() or said
    return Outcome(part, process.returncode, time.monotonic() - began, said)


if __name__ == "__main__":
    main()
