"""Kill runs at random moments: the output is the old or the new one, never a mixture.

python -m stress.kills [--kills 100] [--seed 0] [--seconds 150] [--jobs 2]

Two methods take turns replacing one output. Each run is killed (SIGKILL): half of them at a
random moment, the others at one of the files and folders that it opens, creates, moves or removes,
most of which are close to where the output is exchanged. After every kill all files must be those
of one of the two methods, byte by byte except for the timings in run.json.

A run is a fork of a process with everything imported, which saves time.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from mhpc.datasets.garden import garden_folder

METHODS = ("sa", "majority")
TIMELESS = ("method", "parameters", "decision", "settings")
"""The parts of run.json that are the same in every run."""

_TOUCHES = ("open", "os.", "shutil.", "tempfile.", "ctypes.")
"""Prefixes of Python's audit events about files and system calls."""

_LAST = 40
"""How many of the last file operations of a run are drawn more often."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Kill runs, check the output, print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=150, help="the most it may take")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    end = time.time() + options.seconds
    shares = [len(range(at, options.kills, options.jobs)) for at in range(options.jobs)]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        seeds = [f"{options.seed}/{at}" for at in range(options.jobs)]
        counts = sum(pool.map(kill_runs, shares, seeds, [end] * options.jobs), Counter[str]())
    done = counts["old"] + counts["new"] + counts["mixture"]
    print(
        f"{done} runs killed: {counts['old']} left the old output, {counts['new']} the new "
        f"one ({counts['ended']} of them had ended before), {counts['mixture']} a mixture or none"
    )
    if counts["mixture"] or done < options.kills:
        raise SystemExit(1)


def kill_runs(kills: int, seed: str, end: float) -> Counter[str]:
    """Replace an output again and again, killing each run; count what is left."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "OUT"
        seconds, n_touches, fingerprints = _measure_runs(output)
        current = METHODS[-1]
        for number in range(kills):
            if time.time() > end:
                break
            (following,) = set(METHODS) - {current}
            if number % 2:
                ended = _kill_after(_start_run(output, following), rng.uniform(0.0, 1.1) * seconds)
            else:
                # The output is exchanged among the last operations.
                least = n_touches - _LAST if rng.random() < 0.5 else 1
                at = rng.randint(max(least, 1), n_touches)
                ended = _kill_after(_start_run(output, following, touch=at), None)
            counts["ended"] += ended
            files = fingerprint(output)
            state = (
                "old"
                if files == fingerprints[current]
                else "new"
                if files == fingerprints[following]
                else "mixture"
            )
            counts[state] += 1
            current = following if state == "new" else current
            for leftover in output.parent.glob(f".{output.name}-*"):
                shutil.rmtree(leftover)
    return counts


def _measure_runs(output: Path) -> tuple[float, int, dict[str, dict[str, str]]]:
    """Return the duration and file operations of a run, and the output of each method."""
    fingerprints, seconds = {}, 0.0
    count = output.parent / "count"
    for method in METHODS:
        began = time.perf_counter()
        os.waitpid(_start_run(output, method, count=count), 0)
        seconds = time.perf_counter() - began
        fingerprints[method] = fingerprint(output)
    return seconds, int(count.read_text(encoding="utf-8")), fingerprints


def _start_run(
    output: Path, method: str, *, touch: int | None = None, count: Path | None = None
) -> int:
    """Start replacing the output; return the process id.

    The process kills itself at file operation number `touch`, and writes how many there were to
    `count`.
    """
    # Imported before the fork, so that no run spends time on it.
    import mhpc.cli.consolidate
    import mhpc.report.run_summary
    import mhpc.run  # noqa: F401
    from mhpc.cli import main as command

    process = os.fork()
    if process:
        return process
    seen = 0

    def hook(event: str, _: object) -> None:
        nonlocal seen
        if event.startswith(_TOUCHES):
            seen += 1
            if seen == touch:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    data = garden_folder()
    try:
        command([
            "consolidate", str(data / "votes.csv"), "--taxonomy", str(data / "taxonomy.csv"),
            "--method", method, "-o", str(output), "--force", "--progress", "none",
        ])  # fmt: skip
    finally:
        if count:
            count.write_text(str(seen), encoding="utf-8")
        os._exit(0)


def _kill_after(process: int, seconds: float | None) -> bool:
    """Kill a process after some time; return whether it ended by itself before."""
    if seconds is None:
        _, status = os.waitpid(process, 0)
        return not os.WIFSIGNALED(status)
    time.sleep(seconds)
    done, _ = os.waitpid(process, os.WNOHANG)
    if not done:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return bool(done)


def fingerprint(output: Path) -> dict[str, str]:
    """Return the hash of every file of an output."""
    if not output.is_dir():
        return {}
    counts = {}
    for path in sorted(output.iterdir()):
        content = path.read_bytes()
        if path.name == "run.json":
            document = json.loads(content)
            content = json.dumps({name: document[name] for name in TIMELESS}).encode()
        counts[path.name] = hashlib.sha256(content).hexdigest()
    return counts


if __name__ == "__main__":
    main()
