"""Every reader under atheris, which looks for inputs that reach new lines of it.

python -m hard.fuzz_readers [--seconds 180] [--jobs 2] [--only NAME…]

Whatever a file holds, it is read, or refused by a message that names it. What breaks that, or
takes seconds, is left in ``hard/found/``, and the exit code is 1. Needs ``pip install
'mhpc[fuzz]'``.
"""

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hard.found import kept
from tests.samples import Sample, all_samples

STARTING = 60.0
"""Seconds that a process may take beyond its time before it is called a hang."""


@dataclass(frozen=True)
class Figures:
    """What one reader did with its inputs."""

    name: str
    read: int = 0
    refused: int = 0
    broken: tuple[str, ...] = ()


def main(words: Sequence[str] | None = None) -> None:
    """Try, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180, help="in all")
    parser.add_argument("--jobs", type=int, default=2, help="readers at a time")
    parser.add_argument("--only", nargs="*", default=[], help="samples, by the end of their names")
    given = parser.parse_args(words)
    found = tried(given.seconds, given.jobs, given.only)
    for each in found:
        if given.only or each.broken:
            print(f"  {each.name}: {each.read:,} read, {each.refused:,} refused")
        for problem in each.broken:
            print(f"    {problem}")
    broken = sum(len(each.broken) for each in found)
    print(
        f"{sum(each.read + each.refused for each in found):,} inputs to {len(found)} readers: "
        f"{sum(each.read for each in found):,} read, "
        f"{sum(each.refused for each in found):,} refused; {broken} broke a rule"
    )
    if broken:
        raise SystemExit(1)


def tried(seconds: float, jobs: int, only: Sequence[str] = ()) -> list[Figures]:
    """Give every file of every sample its share of the time."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work = Path(name)
        pairs = [
            (sample, which)
            for sample in all_samples(work / "samples")
            for which in _damaged(sample)
            if not only or sample.name.endswith(tuple(only))
        ]
        share = seconds * jobs / len(pairs)
        with ThreadPoolExecutor(jobs) as pool:
            return list(
                pool.map(lambda at: _one(*pairs[at], work / str(at), share), range(len(pairs)))
            )


def _damaged(sample: Sample) -> list[str]:
    """Return the files of a sample that are worth damaging: of twins, one."""
    if sample.reader == "run":
        return [name for name in sample.files if name.startswith(sample.given)]
    return list(sample.files)[:1]


def _one(sample: Sample, which: str, folder: Path, seconds: float) -> Figures:
    """Run one reader in a process of its own."""
    name = f"{sample.name}/{which}" if sample.reader == "run" else sample.name
    for each in ("corpus", "work", "kept"):
        (folder / each).mkdir(parents=True)
    (folder / "sample").write_bytes(pickle.dumps(sample))
    (folder / "corpus" / "whole").write_bytes(sample.files[which])
    figures = folder / "kept" / "figures.json"
    command = [
        sys.executable, "-m", "hard.fuzz_target", str(folder / "sample"), which,
        "--folder", str(folder / "work"), "--corpus", str(folder / "corpus"),
        "--figures", str(figures), "--seconds", str(seconds),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds + STARTING, check=False)
        said = done.stderr.decode(errors="replace")[-500:]
        problem = "" if figures.exists() else f"the process died ({done.returncode}): {said}"
    except subprocess.TimeoutExpired:
        problem = "the process hung"
    if problem:
        return Figures(name, broken=(f"{problem}; {kept(folder / 'work', sample.name)}",))
    told = json.loads(figures.read_text(encoding="utf-8"))
    broken = tuple(told["broken"])
    if broken:
        broken += (f"inputs: {kept(folder / 'kept', sample.name)}",)
    return Figures(name, told["read"], told["refused"], broken)


if __name__ == "__main__":
    main()
