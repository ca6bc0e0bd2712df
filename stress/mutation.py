"""Small faults are put into the numerics, one at a time, to see whether the tests notice.

python -m stress.mutation [--sample 300 | all] [--seed 0]

mutmut makes the mutants (a plus becomes a minus, an argument None, a condition its opposite) of
graph/, encode/, consolidate/ and decide/, and runs for each the tests that reach it. There are
about ten thousand, which takes a night; unless told otherwise a sample is drawn, whose share of
killed ones is printed with its standard error. Survivors are printed with what was changed and,
where ``survivors.json`` has one, the reason why no test can or need notice.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MUTANTS = Path("mutants")
REASONS = Path(__file__).with_name("survivors.json")
WANTED = 0.85

FIRST = "mhpc.rules.base.*"
"""A few mutants to begin with: mutmut makes all of them before it runs any."""

KILLED: dict[int | None, str] = {
    1: "killed",
    3: "killed",
    36: "timed out",
    24: "timed out",
    -24: "timed out",
}
KILLED |= {152: "timed out", 255: "timed out", -11: "crashed", -9: "crashed"}
SURVIVED: dict[int | None, str] = {0: "survived", 5: "reached by no test", 33: "reached by no test"}
"""What mutmut's codes mean; a mutant that never ends or takes the process down is noticed."""


def main() -> None:
    """Make mutants, run a sample of them, print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", default="300")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--children", default="2", help="tests that run at once")
    given = parser.parse_args()
    # What an earlier run left is of an earlier source.
    shutil.rmtree(MUTANTS, ignore_errors=True)
    mutmut("run", "--max-children", given.children, FIRST)
    names = sorted(results())
    if given.sample != "all":
        names = sorted(random.Random(given.seed).sample(names, int(given.sample)))
    mutmut("run", "--max-children", given.children, *names)
    ends = {name: end for name, end in results().items() if name in set(names)}
    raise SystemExit(told(ends, json.loads(REASONS.read_text())))


def mutmut(*arguments: str) -> None:
    """Call mutmut; what it says goes to the terminal."""
    subprocess.run([sys.executable, "-m", "mutmut", *arguments], check=True)


def results() -> dict[str, int | None]:
    """Return how each mutant ended, None where it has not been run."""
    found: dict[str, int | None] = {}
    for path in MUTANTS.glob("src/mhpc/*/*.meta"):
        found |= json.loads(path.read_text())["exit_code_by_key"]
    return found


def told(ends: Mapping[str, int | None], reasons: Sequence[Mapping[str, Any]]) -> int:
    """Print the figures and the survivors; return 1 if too many live."""
    counts = Counter((KILLED | SURVIVED).get(end, "not run") for end in ends.values())
    tried = sum(counts.values()) - counts["not run"]
    share = sum(counts[how] for how in set(KILLED.values())) / tried
    for room, part in rooms(ends).items():
        print(f"{room}: {part}")
    for name in sorted(name for name, end in ends.items() if end in SURVIVED):
        change = changed(name)
        print(f"\n{function(name)}\n  {change}\n  {why(name, change, reasons)}")
    error = (share * (1 - share) / tried) ** 0.5
    print(f"\n{tried} mutants: {dict(counts)}")
    print(f"killed {share:.1%} (standard error {error:.1%}), wanted {WANTED:.0%}")
    return int(share < WANTED)


def why(name: str, change: str, reasons: Sequence[Mapping[str, Any]]) -> str:
    """Return why no test notices a change: the first reason whose place and change are in it."""
    fitting: Iterator[str] = (
        each["reason"]
        for each in reasons
        if each["where"] in function(name) and all(part in change for part in each["change"])
    )
    return next(fitting, "NO REASON KNOWN")


def rooms(ends: Mapping[str, int | None]) -> dict[str, str]:
    """Return how many were killed in each folder."""
    found: dict[str, list[bool]] = {}
    for name, end in ends.items():
        if end is not None:
            found.setdefault(name.split(".")[1], []).append(end in KILLED)
    return {room: f"{sum(each)} of {len(each)} killed" for room, each in sorted(found.items())}


def function(name: str) -> str:
    """Return the function that a mutant is of, by its module."""
    return name.rpartition("__mutmut_")[0].replace("xǁ", "").replace("ǁ", ".").replace(".x_", ".")


def changed(name: str) -> str:
    """Return what a mutant removes and adds, in one line."""
    shown = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", name], capture_output=True, text=True, check=True
    ).stdout
    return " -> ".join([*_lines(shown.splitlines(), "-"), *_lines(shown.splitlines(), "+")])


def _lines(diff: Sequence[str], sign: str) -> Iterable[str]:
    return [
        line[1:].strip() for line in diff if line.startswith(sign) and not line.startswith(sign * 3)
    ]


if __name__ == "__main__":
    main()
