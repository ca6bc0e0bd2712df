"""Every reader under atheris, which looks for inputs that reach new lines of it.

python -m stress.fuzz_readers [--seconds 180] [--seed 0] [--jobs 2] [--only NAME…]

Every file is read, or refused by a message that names it. What breaks that, or takes seconds, is
kept in ``stress/findings/``, and the exit code is 1. Needs ``pip install
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

from stress.findings import keep_copy
from stress.fuzz_target import ValidInput, search

HANGING = 30.0
"""Seconds over its time after which a process counts as hanging."""


@dataclass(frozen=True)
class Figures:
    """How many inputs one reader read and refused, and what broke."""

    name: str
    read: int = 0
    refused: int = 0
    broken: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> None:
    """Fuzz every reader and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="readers at a time")
    parser.add_argument(
        "--only", nargs="*", default=[""], help="samples, by what is in their names"
    )
    options = parser.parse_args(arguments)
    results = fuzz(options.seconds, options.jobs, options.only, seed=options.seed)
    for result in results:
        print(f"  {result.name}: {result.read:,} read, {result.refused:,} refused")
        for problem in result.broken:
            print(f"    {problem}")
    n_read = sum(result.read for result in results)
    n_refused = sum(result.refused for result in results)
    broken = sum(len(result.broken) for result in results)
    print(
        f"{n_read + n_refused:,} inputs to {len(results)} readers: {n_read:,} read, "
        f"{n_refused:,} refused; {broken} broke a rule"
    )
    if broken:
        raise SystemExit(1)


def fuzz(seconds: float, jobs: int, only: Sequence[str], *, seed: int = 0) -> list[Figures]:
    """Fuzz all readers, each for its share of the time."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        pairs = [
            (sample, file_name)
            for sample in _samples(work / "samples")
            for file_name in _files_to_damage(sample)
            if any(word in f"{sample.name}/{file_name}" for word in only)
        ]
        share = (end - time.monotonic()) * jobs / len(pairs)
        results, waiting = [], [*enumerate(pairs)]
        running: dict[int, tuple[int, float]] = {}
        while waiting or running:
            while waiting and len(running) < jobs:
                number, (sample, file_name) = waiting.pop(0)
                process = _fork_search(sample, file_name, work / str(number), share, seed)
                running[process] = (number, time.monotonic())
            for process, number in _finished_processes(running, share):
                results.append(_figures(*pairs[number], work / str(number)))
                running.pop(process)
        return results


def _samples(folder: Path) -> list[ValidInput]:
    """Write the samples in another process: this one must have no threads before it forks."""
    folder.mkdir()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(_write_samples, folder).result()
    # Trusted: written by the process that this one started.
    made: list[ValidInput] = pickle.loads((folder / "samples").read_bytes())  # noqa: S301
    return made


def _write_samples(folder: Path) -> None:
    from tests.fixtures.valid_files import make_valid_inputs

    warnings.simplefilter("ignore")
    (folder / "samples").write_bytes(pickle.dumps(make_valid_inputs(folder / "made")))


def _files_to_damage(sample: ValidInput) -> list[str]:
    """Return the files of a sample that are worth damaging, one of each kind."""
    if sample.reader == "run":
        return [name for name in sample.files if name.startswith(sample.path)]
    return list(sample.files)[:1]


def _fork_search(
    sample: ValidInput, file_name: str, folder: Path, seconds: float, seed: int
) -> int:
    """Search in a fork, which has everything imported; return its process id."""
    for result in ("corpus", "work", "kept"):
        (folder / result).mkdir(parents=True)
    (folder / "corpus" / "whole").write_bytes(sample.files[file_name])
    process = os.fork()
    if process:
        return process
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    try:
        search(sample, file_name, folder, time.monotonic() + seconds, seed)
    finally:
        os._exit(1)


def _finished_processes(
    running: dict[int, tuple[int, float]], share: float
) -> Iterator[tuple[int, int]]:
    """Yield the processes that have ended; kill those that hang."""
    time.sleep(0.05)
    for process, (number, began) in list(running.items()):
        if time.monotonic() - began > share + HANGING:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            yield process, number
        elif os.waitpid(process, os.WNOHANG)[0]:
            yield process, number


def _figures(sample: ValidInput, file_name: str, folder: Path) -> Figures:
    """Return the figures of a process; without figures, it hung or died."""
    name = f"{sample.name}/{file_name}" if sample.reader == "run" else sample.name
    figures = folder / "kept" / "figures.json"
    if not figures.exists():
        place = keep_copy(folder, sample.name)
        return Figures(name, broken=(f"the process hung or died; see {place}",))
    written = json.loads(figures.read_text(encoding="utf-8"))
    broken = tuple(written["broken"])
    if broken:
        broken += (f"inputs: {keep_copy(folder / 'kept', sample.name)}",)
    return Figures(name, written["read"], written["refused"], broken)


if __name__ == "__main__":
    main()
