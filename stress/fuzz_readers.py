"""Every reader under atheris, which looks for inputs that reach new lines of it.

python -m stress.fuzz_readers [--seconds 180] [--jobs 2] [--only NAME…]

Whatever a file holds, it is read, or refused by a message that names it. What breaks that, or
takes seconds, is left in ``stress/found/``, and the exit code is 1. Needs ``pip install
'mhpc[fuzz]'``.
"""

import argparse
import json
import os
import pickle
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from stress.found import kept
from stress.fuzz_target import Sample, search

HANGING = 30.0
"""Seconds beyond its time after which a process hangs."""


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
    parser.add_argument(
        "--only", nargs="*", default=[""], help="samples, by what is in their names"
    )
    given = parser.parse_args(words)
    found = tried(given.seconds, given.jobs, given.only)
    for each in found:
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


def tried(seconds: float, jobs: int, only: Sequence[str]) -> list[Figures]:
    """Give every reader its share of the time, some at once."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        pairs = [
            (sample, which)
            for sample in _samples(work / "samples")
            for which in _damaged(sample)
            if any(word in f"{sample.name}/{which}" for word in only)
        ]
        share = (end - time.monotonic()) * jobs / len(pairs)
        found, waiting = [], [*enumerate(pairs)]
        running: dict[int, tuple[int, float]] = {}
        while waiting or running:
            while waiting and len(running) < jobs:
                at, (sample, which) = waiting.pop(0)
                running[_forked(sample, which, work / str(at), share)] = at, time.monotonic()
            for process, at in _ended(running, share):
                found.append(_figures(*pairs[at], work / str(at)))
                running.pop(process)
        return found


def _samples(folder: Path) -> list[Sample]:
    """Make the samples in another process: this one must have no threads, to be forked."""
    folder.mkdir()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(_make, folder).result()
    # Written a moment ago by the process that this one started.
    made: list[Sample] = pickle.loads((folder / "samples").read_bytes())  # noqa: S301
    return made


def _make(folder: Path) -> None:
    from tests.fixtures.sampling import all_samples

    warnings.simplefilter("ignore")
    (folder / "samples").write_bytes(pickle.dumps(all_samples(folder / "made")))


def _damaged(sample: Sample) -> list[str]:
    """Return the files of a sample that are worth damaging: of twins, one."""
    if sample.reader == "run":
        return [name for name in sample.files if name.startswith(sample.given)]
    return list(sample.files)[:1]


def _forked(sample: Sample, which: str, folder: Path, seconds: float) -> int:
    """Begin to search in a fork, which has imported all it needs; return its number."""
    for each in ("corpus", "work", "kept"):
        (folder / each).mkdir(parents=True)
    (folder / "corpus" / "whole").write_bytes(sample.files[which])
    process = os.fork()
    if process:
        return process
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    try:
        search(sample, which, folder, time.monotonic() + seconds)
    finally:
        os._exit(1)


def _ended(running: dict[int, tuple[int, float]], share: float) -> Iterator[tuple[int, int]]:
    """Give the processes that have ended by now, after a moment; what hangs is ended."""
    time.sleep(0.05)
    for process, (at, began) in list(running.items()):
        if time.monotonic() - began > share + HANGING:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            yield process, at
        elif os.waitpid(process, os.WNOHANG)[0]:
            yield process, at


def _figures(sample: Sample, which: str, folder: Path) -> Figures:
    """Return what a process wrote down; if nothing, what it was at is what broke it."""
    name = f"{sample.name}/{which}" if sample.reader == "run" else sample.name
    figures = folder / "kept" / "figures.json"
    if not figures.exists():
        place = kept(folder, sample.name)
        return Figures(name, broken=(f"the process hung or died; see {place}",))
    told = json.loads(figures.read_text(encoding="utf-8"))
    broken = tuple(told["broken"])
    if broken:
        broken += (f"inputs: {kept(folder / 'kept', sample.name)}",)
    return Figures(name, told["read"], told["refused"], broken)


if __name__ == "__main__":
    main()
