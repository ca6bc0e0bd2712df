"""Mutation testing: put small faults into the numerics and see whether the tests notice.

python -m stress.mutation [--sample 300 | all] [--seed 0]

mutmut creates the mutants (a plus becomes a minus, an argument None, a condition its opposite) of
numerics/, encoding/, methods/ and rules/, and runs the tests that reach each of them. All ten
thousand take a night, so by default a sample is drawn, and the share of killed mutants is printed
with its standard error. Survivors are printed with their change and, where ``survivors.json`` has
one, the reason why no test can or need notice.
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
"""A few mutants to start with: mutmut creates all of them before it runs any."""

KILLED: dict[int | None, str] = {
    1: "killed",
    3: "killed",
    36: "timed out",
    24: "timed out",
    -24: "timed out",
}
KILLED |= {152: "timed out", 255: "timed out", -11: "crashed", -9: "crashed"}
SURVIVED: dict[int | None, str] = {0: "survived", 5: "reached by no test", 33: "reached by no test"}
"""The meaning of mutmut's exit codes; a mutant that hangs or crashes counts as noticed."""


def main() -> None:
    """Create mutants, run a sample of them and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", default="300")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--children", default="2", help="tests that run at once")
    options = parser.parse_args()
    # Mutants of an earlier run belong to an earlier source.
    shutil.rmtree(MUTANTS, ignore_errors=True)
    mutmut("run", "--max-children", options.children, FIRST)
    names = sorted(results())
    if options.sample != "all":
        names = sorted(random.Random(options.seed).sample(names, int(options.sample)))
    mutmut("run", "--max-children", options.children, *names)
    exit_codes = {name: code for name, code in results().items() if name in set(names)}
    raise SystemExit(report(exit_codes, json.loads(REASONS.read_text())))


def mutmut(*arguments: str) -> None:
    """Call mutmut; its output goes to the terminal."""
    subprocess.run([sys.executable, "-m", "mutmut", *arguments], check=True)


def results() -> dict[str, int | None]:
    """Return the exit code of each mutant, None if it has not run."""
    codes: dict[str, int | None] = {}
    for path in MUTANTS.glob("src/mhpc/**/*.meta"):
        codes |= json.loads(path.read_text())["exit_code_by_key"]
    return codes


def report(exit_codes: Mapping[str, int | None], reasons: Sequence[Mapping[str, Any]]) -> int:
    """Print the figures and the survivors; return 1 if too many survive."""
    counts = Counter((KILLED | SURVIVED).get(code, "not run") for code in exit_codes.values())
    n_run = sum(counts.values()) - counts["not run"]
    share = sum(counts[how] for how in set(KILLED.values())) / n_run
    for package, counts_text in killed_per_package(exit_codes).items():
        print(f"{package}: {counts_text}")
    for name in sorted(name for name, code in exit_codes.items() if code in SURVIVED):
        change = describe_change(name)
        print(f"\n{mutated_function(name)}\n  {change}\n  {find_reason(name, change, reasons)}")
    error = (share * (1 - share) / n_run) ** 0.5
    print(f"\n{n_run} mutants: {dict(counts)}")
    print(f"killed {share:.1%} (standard error {error:.1%}), wanted {WANTED:.0%}")
    return int(share < WANTED)


def find_reason(name: str, change: str, reasons: Sequence[Mapping[str, Any]]) -> str:
    """Return why no test notices a change: the first reason that fits its place and change."""
    reasons_found: Iterator[str] = (
        entry["reason"]
        for entry in reasons
        if entry["where"] in mutated_function(name)
        and all(counts_text in change for counts_text in entry["change"])
    )
    return next(reasons_found, "NO REASON KNOWN")


def killed_per_package(exit_codes: Mapping[str, int | None]) -> dict[str, str]:
    """Return how many mutants were killed in each package."""
    codes: dict[str, list[bool]] = {}
    for name, code in exit_codes.items():
        if code is not None:
            codes.setdefault(name.split(".")[1], []).append(code in KILLED)
    return {
        package: f"{sum(entry)} of {len(entry)} killed" for package, entry in sorted(codes.items())
    }


def mutated_function(name: str) -> str:
    """Return the qualified name of the function that a mutant changes."""
    return name.rpartition("__mutmut_")[0].replace("xǁ", "").replace("ǁ", ".").replace(".x_", ".")


def describe_change(name: str) -> str:
    """Return the removed and added code of a mutant in one line."""
    diff = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", name], capture_output=True, text=True, check=True
    ).stdout
    return " -> ".join([*_lines(diff.splitlines(), "-"), *_lines(diff.splitlines(), "+")])


def _lines(diff: Sequence[str], sign: str) -> Iterable[str]:
    return [
        line[1:].strip() for line in diff if line.startswith(sign) and not line.startswith(sign * 3)
    ]


if __name__ == "__main__":
    main()
