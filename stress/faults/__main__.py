"""Attack the command line with faults of every class, and print how many broke a rule.

python -m stress.faults [--seconds 300] [--seed 0] [--only CLASS…]
python -m stress.faults --only streams --seed 7 --number 123

Every attack can be repeated from its class, the seed and its number. What breaks a rule is copied
to ``stress/findings/`` with its command, and the exit code is 1.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stress.faults import files, machine, usage
from stress.faults.runner import FaultClass, Figures, Runner, run_until
from stress.faults.samples import make_samples

CLASSES: dict[str, FaultClass] = {
    "streams": machine.streams,
    "limits": machine.limits,
    "paths": machine.paths,
    "moves": machine.moves,
    "addresses": machine.addresses,
    "signals": machine.signals,
    "binary": files.binary,
    "encodings": files.encodings_declared,
    "run-folders": files.run_folders,
    "documents": files.documents,
    "labels": files.labels,
    "taxonomies": usage.taxonomies,
    "parameters": usage.parameters,
    "options": usage.options,
    "sequences": usage.sequences,
}
"""The classes of faults by name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack until the time is up, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--number", type=int, help="make this attack only, and show its commands")
    options = parser.parse_args(arguments)
    classes = {kind: CLASSES[kind] for kind in options.only}
    end = time.time() + options.seconds
    with tempfile.TemporaryDirectory(prefix="mhpc-faults-") as name:
        samples = Path(name) / "samples"
        make_samples(samples)
        if options.number is not None:
            figures = _repeat(classes, samples, seed=options.seed, number=options.number)
        else:
            figures = _attack(classes, samples, end, seed=options.seed, jobs=options.jobs)
    print_figures(figures, seed=options.seed)
    if any(each.findings for each in figures.values()):
        raise SystemExit(1)


def _attack(
    classes: dict[str, FaultClass], samples: Path, end: float, *, seed: int, jobs: int
) -> dict[str, Figures]:
    with ThreadPoolExecutor(jobs) as pool:
        parts = [
            pool.submit(run_until, end, classes, samples, seed=seed, part=part, parts=jobs)
            for part in range(jobs)
        ]
        results = [part.result() for part in parts]
    return {kind: sum((each[kind] for each in results), Figures()) for kind in classes}


def _repeat(
    classes: dict[str, FaultClass], samples: Path, *, seed: int, number: int
) -> dict[str, Figures]:
    with Runner(samples) as runner:
        return {
            kind: runner.attack(kind, fault, seed=seed, number=number, verbose=True)
            for kind, fault in classes.items()
        }


def print_figures(figures: dict[str, Figures], *, seed: int) -> None:
    """Print the figures of every class, what broke a rule, and the sum."""
    for kind, each in figures.items():
        print(f"{kind:12} {each}")
        for finding in each.findings:
            print(f"  {finding}")
    total = sum(figures.values(), Figures())
    attacks = sum(total.counts[state] for state in ("refused", "worked", "broken"))
    print(
        f"{attacks:,} attacks in {len(figures)} classes ({total.counts['commands']:,} commands, "
        f"seed {seed}): {total}"
    )


if __name__ == "__main__":
    main()
