"""Runs killed at random moments: the output is the old one or the new one, never a mixture.

python -m stress.kills [--kills 100] [--seed 0] [--seconds 150] [--jobs 2]

Two methods take turns to replace one output. Each run is killed (SIGKILL): half of them at a
moment drawn from the time that a run takes, the others at one of the files and folders that it
opens, makes, moves or removes, which come thick where the output changes places. After every
kill all files must be those of one of the two, byte by byte but for run.json's timings.

A run is a fork of a process that has imported all it needs, so that no time goes to that.
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
"""What of run.json is the same each time."""

_TOUCHES = ("open", "os.", "shutil.", "tempfile.", "ctypes.")
"""How Python's audit events begin that tell of files and of what is called in the system."""

_LAST = 40
"""So many of the last files a run touches are drawn more often."""


def main(words: Sequence[str] | None = None) -> None:
    """Kill, look, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=150, help="the most it may take")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(words)
    end = time.time() + given.seconds
    shares = [len(range(at, given.kills, given.jobs)) for at in range(given.jobs)]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        seeds = [f"{given.seed}/{at}" for at in range(given.jobs)]
        found = sum(pool.map(killed, shares, seeds, [end] * given.jobs), Counter[str]())
    done = found["old"] + found["new"] + found["mixture"]
    print(
        f"{done} runs killed: {found['old']} left the old output, {found['new']} the new "
        f"one ({found['ended']} of them had ended before), {found['mixture']} a mixture or none"
    )
    if found["mixture"] or done < given.kills:
        raise SystemExit(1)


def killed(kills: int, seed: str, end: float) -> Counter[str]:
    """Replace an output over and over, killing each run; count what is there afterwards."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "OUT"
        seconds, touches, fingerprints = _measured(output)
        there = METHODS[-1]
        for number in range(kills):
            if time.time() > end:
                break
            (coming,) = set(METHODS) - {there}
            if number % 2:
                ended = _ended_after(_started(output, coming), rng.uniform(0.0, 1.1) * seconds)
            else:
                # Where files change places is among the last.
                least = touches - _LAST if rng.random() < 0.5 else 1
                at = rng.randint(max(least, 1), touches)
                ended = _ended_after(_started(output, coming, touch=at), None)
            found["ended"] += ended
            now = fingerprint(output)
            state = (
                "old"
                if now == fingerprints[there]
                else "new"
                if now == fingerprints[coming]
                else "mixture"
            )
            found[state] += 1
            there = coming if state == "new" else there
            for left in output.parent.glob(f".{output.name}-*"):
                shutil.rmtree(left)
    return found


def _measured(output: Path) -> tuple[float, int, dict[str, dict[str, str]]]:
    """Return how long a run takes, how many files it touches, and what each method leaves."""
    fingerprints, seconds = {}, 0.0
    count = output.parent / "count"
    for method in METHODS:
        began = time.perf_counter()
        os.waitpid(_started(output, method, count=count), 0)
        seconds = time.perf_counter() - began
        fingerprints[method] = fingerprint(output)
    return seconds, int(count.read_text(encoding="utf-8")), fingerprints


def _started(
    output: Path, method: str, *, touch: int | None = None, count: Path | None = None
) -> int:
    """Begin to replace the output; return the number of the process.

    It kills itself at the file it touches as number `touch`; how many it touched goes to `count`.
    """
    # Before the fork, so that no run takes the time.
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
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
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


def _ended_after(process: int, seconds: float | None) -> bool:
    """Kill a process after some time, or wait for its own end; tell whether that came first."""
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
    """Return what every file of an output holds."""
    if not output.is_dir():
        return {}
    found = {}
    for path in sorted(output.iterdir()):
        content = path.read_bytes()
        if path.name == "run.json":
            document = json.loads(content)
            content = json.dumps({name: document[name] for name in TIMELESS}).encode()
        found[path.name] = hashlib.sha256(content).hexdigest()
    return found


if __name__ == "__main__":
    main()
