"""Dask clusters of real processes, and votes to give them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, eq=False)
class Processes:
    """A scheduler and its workers."""

    address: str
    scheduler: "subprocess.Popen[bytes]"
    workers: tuple[int, ...]
    """Ids of the processes that do the work, not of those that look after them."""

    @property
    def engine(self) -> str:
        return f"dask={self.address}"


@contextmanager
def processes(folder: Path, *, workers: int = 2, nanny: bool = False) -> Iterator[Processes]:
    """Start a scheduler and workers; with a nanny, one that dies is started again."""
    from distributed import Client

    found = folder / "scheduler.json"
    with ExitStack() as stack:
        scheduler = stack.enter_context(
            _running("scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", found)
        )
        _wait_for(found)
        address = json.loads(found.read_text())["address"]
        for _ in range(workers):
            look_after = "--nanny" if nanny else "--no-nanny"
            stack.enter_context(_running("worker", address, "--nthreads", "1", look_after))
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            pids = tuple(client.run(os.getpid).values())
        yield Processes(address, scheduler, pids)


@contextmanager
def _running(kind: str, *args: object) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard"]
    process = subprocess.Popen(
        [*command, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().endswith("}")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def write_votes(folder: Path, *, instances: int, seed: int = 0) -> None:
    """Write votes.csv, in no order, and taxonomy.csv: 12 sources, 40 labels in three levels."""
    rng = np.random.default_rng(seed)
    leaves = [f"{a}/{b}/{c}" for a in "abcd" for b in "xy" for c in "123"]
    labels = sorted({"/".join(leaf.split("/")[:n]) for leaf in leaves for n in (1, 2, 3)})
    rows = ["label,parent"]
    rows += [f"{label},{label.rpartition('/')[0]}" for label in labels]
    (folder / "taxonomy.csv").write_text("\n".join(rows) + "\n")
    votes = []
    for instance in range(instances):
        truth = leaves[rng.integers(len(leaves))]
        for source in rng.choice(12, size=4, replace=False):
            said = leaves[rng.integers(len(leaves))] if rng.random() < 0.2 else truth
            said = "/".join(said.split("/")[: rng.integers(1, 4)])
            votes.append(f"i{instance},s{source},{'' if rng.random() < 0.05 else said}")
    order = rng.permutation(len(votes))
    text = "\n".join(votes[at] for at in order)
    (folder / "votes.csv").write_text(f"instance,source,label\n{text}\n")
