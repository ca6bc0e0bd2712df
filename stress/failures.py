"""Failures that are real: full disks, read-only ones, files that vanish, processes that are killed.

python -m stress.failures [--only 'full disk']

After each the old output must be as it was (or the new one whole, where the run goes on), the
message one line, the exit code as promised, and nothing left behind: no folder, no process. What
needs a mount is skipped where that is not allowed.
"""

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import psutil

from mhpc.datasets.garden import garden_folder

MARK = "MHPC_HARD_FAILURES"
"""The variable by which processes of ours are known."""


@dataclass(frozen=True)
class Ended:
    """How a run ended: what was done to it, its code, and what it said."""

    done: str
    code: int
    said: str


@dataclass(frozen=True)
class Place:
    """Where a failure happens: votes to read, an old output, and a folder for temporary files."""

    folder: Path

    @property
    def out(self) -> Path:
        """The old output."""
        return self.folder / "there" / "OUT"

    @property
    def scratch(self) -> Path:
        """Where temporary files go."""
        return self.folder / "scratch"

    @property
    def votes(self) -> Path:
        """What is read."""
        return self.folder / "votes.parquet"

    def command(self, *more: object, votes: object = None) -> list[str]:
        """Return the command that replaces the old output."""
        return [
            sys.executable, "-m", "mhpc", "--verbose", "consolidate", str(votes or self.votes),
            "--taxonomy", str(garden_folder() / "taxonomy.csv"), "--method", "cross-source", "-o",
            str(self.out), "--force", "--progress", "none", *map(str, more),
        ]  # fmt: skip

    def started(self, *command: str) -> "subprocess.Popen[str]":
        """Begin a run."""
        return subprocess.Popen(
            command, text=True, env=os.environ | {MARK: "1", "TMPDIR": str(self.scratch)},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def ended(self, done: str, run: "subprocess.Popen[str]", given: str | None = None) -> Ended:
        """Wait for the end of a run."""
        try:
            _, said = run.communicate(given, timeout=90)
        except subprocess.TimeoutExpired:
            run.kill()
            return Ended(done, -1, "it hangs")
        return Ended(done, run.returncode, said)


def full_output(place: Place, *, free: int, engine: str = "local") -> Ended:
    """Leave so many bytes on the disk of the output."""
    with mounted(place.out.parent, "size=1m"):
        _restored(place)
        filled(place.out.parent / "filled", free)
        done = f"{free // 1024} kB free where OUT/ is, {engine}"
        return place.ended(done, place.started(*place.command("--report", "--engine", engine)))


def full_temporary(place: Place) -> Ended:
    """Leave next to nothing where temporary files go, for votes from a pipe."""
    with mounted(place.scratch, "size=16k"):
        votes = (garden_folder() / "votes.csv").read_text(encoding="utf-8")
        run = place.started(*place.command(votes="-"))
        return place.ended("16 kB for temporary files, votes from a pipe", run, votes)


def read_only(place: Place) -> Ended:
    """Mount the output's disk read-only."""
    with mounted(place.out.parent, "size=1m"):
        _restored(place)
        _mount("-o", "remount,ro", place.out.parent)
        return place.ended("OUT/ on a read-only disk", place.started(*place.command()))


def file_in_the_way(place: Place) -> Ended:
    """Give an output below a file."""
    command = place.command()
    command[command.index(str(place.out))] = str(place.out / "run.json" / "OUT")
    return place.ended("a file where a folder should be", place.started(*command))


def vanished(place: Place) -> Ended:
    """Remove the votes when they were looked through, before workers read them."""
    run = place.started(*place.command("--engine", "dask"))
    _heard(run, "reading: done")
    place.votes.unlink()
    return place.ended("votes removed before workers read them", run)


def changed(place: Place) -> Ended:
    """Let the votes grow while they are read."""
    run = place.started(*place.command())
    _heard(run, "reading")
    os.utime(place.votes)
    return place.ended("votes written to while they are read", run)


def second_run(place: Place) -> Ended:
    """Begin a run while another waits for its votes."""
    first = place.started(*place.command(votes="-"))
    _heard(first, "reading")
    ended = place.ended("a second run into the same OUT/", place.started(*place.command()))
    first.kill()
    first.communicate()
    # What a killed run leaves is the next one's to remove; here there is none.
    for left in place.out.parent.glob(".OUT-*"):
        shutil.rmtree(left)
    shutil.rmtree(place.scratch)
    return ended


def worker_of_the_judge(place: Place) -> Ended:
    """Kill a process of the judge's pool."""
    run = place.started(
        sys.executable, "-m", "mhpc", "compare", str(place.votes), "--jobs", "2", "--taxonomy",
        str(garden_folder() / "taxonomy.csv"), "--method", "mhpc", "--method", "channel",
    )  # fmt: skip
    _killed_one(run)
    return place.ended("a process of the judge killed", run)


def worker_of_dask(place: Place) -> Ended:
    """Kill a worker of the cluster that a run started."""
    run = place.started(*place.command("--engine", "dask"))
    _heard(run, "encoding: done")
    _killed_one(run)
    return place.ended("a Dask worker killed", run)


def all_of_dask(place: Place) -> Ended:
    """Kill the only worker of a running cluster, which nobody starts again."""
    with _cluster(place.folder) as (address, worker):
        run = place.started(*place.command("--engine", f"dask={address}"))
        _heard(run, "reading: done")
        worker.kill()
        return place.ended("the last Dask worker killed", run)


def too_little_memory(place: Place) -> Ended:
    """Allow next to no memory."""
    run = place.started(*place.command("--method", "mlcm", "--memory", "10kB"))
    return place.ended("--memory 10kB", run)


@dataclass(frozen=True)
class Kind:
    """A failure, what it is to end with, and what it needs."""

    name: str
    make: Callable[[Place], Ended]
    code: int
    says: str
    mounts: bool = False


KINDS = (
    *(
        Kind("full disk", partial(full_output, free=free), 2, "takes no more", mounts=True)
        for free in (8 << 10, 40 << 10, 300 << 10)
    ),
    Kind("full disk, Dask", partial(full_output, free=40 << 10, engine="dask"), 2, "takes no more",
         mounts=True),
    Kind("full disk, temporary", full_temporary, 2, "set TMPDIR", mounts=True),
    Kind("read-only target", read_only, 2, "Read-only", mounts=True),
    Kind("read-only target", file_in_the_way, 2, "is a file; choose another"),
    Kind("vanished input", vanished, 1, "votes.parquet"),
    Kind("changed input", changed, 1, "changed while it was read"),
    Kind("second run", second_run, 2, "another run is writing"),
    Kind("too little memory", too_little_memory, 1, "may be used"),
    Kind("dead worker", worker_of_the_judge, 0, "a worker process died"),
    Kind("dead worker", worker_of_dask, 0, ""),
    Kind("dead worker", all_of_dask, 1, "no worker is left"),
)  # fmt: skip


def main() -> None:
    """Let everything fail once, and print how it ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="kinds whose name begins so")
    only, amiss = parser.parse_args().only, 0
    relate_labels = [kind for kind in KINDS if kind.name.startswith(only)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "votes.parquet"
        duckdb.execute(
            f"COPY (FROM read_csv('{garden_folder()}/votes.csv', all_varchar=true)) TO '{data}'"
        )
        first = Place(Path(folder))
        first.scratch.mkdir()
        subprocess.run(first.command(), check=True, capture_output=True)
        for at, kind in enumerate(relate_labels):
            if kind.mounts and not _may_mount():
                print(f"{kind.name}: skipped, since this user may not mount a disk")
                continue
            amiss += not tried(kind, Path(folder) / str(at), first)
    print(f"{len(relate_labels)} failures, {amiss} of them amiss")
    raise SystemExit(1 if amiss else 0)


def tried(kind: Kind, folder: Path, first: Place) -> bool:
    """Let something fail in a folder of its own, print how it ended, and say if all was well."""
    place, began = Place(folder), time.perf_counter()
    folder.mkdir()
    shutil.copy(first.votes, place.votes)
    shutil.copytree(first.out, place.out)
    place.scratch.mkdir()
    before = contents(place.out)
    ended = kind.make(place)
    said = [line for line in ended.said.splitlines() if re.match(r"mhpc: (error|warning): ", line)]
    whole = contents(place.out) == before if ended.code else labels(place.out) == labels(first.out)
    left = [
        *place.out.parent.glob(".*"),
        *(place.scratch.iterdir() if place.scratch.is_dir() else ()),
    ]
    orphans = _orphans()
    print(
        f"{kind.name}: {ended.done}: exit {ended.code}; {' '.join(said) or 'nothing said'}; output "
        f"whole: {'yes' if whole else 'NO'}; left behind: "
        f"{', '.join([*(path.name for path in left), *orphans]) or 'nothing'} "
        f"({time.perf_counter() - began:.0f} s)",
        flush=True,
    )
    told = len(said) == (1 if kind.says else 0) and kind.says in "".join(said)
    if well := ended.code == kind.code and told and whole and not left and not orphans:
        shutil.rmtree(folder)
    else:
        print(ended.said)
    return well


def contents(out: Path) -> dict[str, str]:
    """Return the hashes of an output's files."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}


def labels(out: Path) -> list[str]:
    """Return which labels an output gives to which instances; engines round scores differently."""
    rows = (out / "labels.csv").read_text(encoding="utf-8").splitlines()
    return sorted(path.name for path in out.iterdir()) + [row.rpartition(",")[0] for row in rows]


def filled(path: Path, free: int) -> None:
    """Fill a disk but for so many bytes."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    os.truncate(path, path.stat().st_size - free)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a disk of its own in a folder; what is in the output meanwhile is put back after."""
    _mount("-t", "tmpfs", "-o", options, "tmpfs", folder)
    try:
        yield
    finally:
        kept = Path(tempfile.mkdtemp()) / "kept"
        shutil.copytree(folder, kept)
        subprocess.run(["umount", str(folder)], check=True)
        shutil.rmtree(folder)
        (kept / "filled").unlink(missing_ok=True)
        shutil.copytree(kept, folder)
        shutil.rmtree(kept.parent)


def _restored(place: Place) -> None:
    """Put the old output on a disk that was mounted over it."""
    shutil.copytree(place.folder.parent / "there" / "OUT", place.out)


def _mount(*args: object) -> None:
    subprocess.run(["mount", *map(str, args)], check=True, capture_output=True)


def _may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            _mount("-t", "tmpfs", "tmpfs", folder)
        except (OSError, subprocess.CalledProcessError):
            return False
        subprocess.run(["umount", folder], check=True)
    return True


def _heard(run: "subprocess.Popen[str]", what: str) -> None:
    """Wait until a run logs something."""
    assert run.stderr is not None  # noqa: S101 - it is a pipe
    for line in run.stderr:
        if line.rstrip().split("mhpc: ")[-1].startswith(what):
            return


def _killed_one(run: "subprocess.Popen[str]") -> None:
    """Kill the process of a run that has worked most so far."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            others = psutil.Process(run.pid).children(recursive=True)
            busy = [each for each in others if each.cpu_times().user > 0.5]
            if busy:
                busy[0].send_signal(signal.SIGKILL)
                return
        time.sleep(0.05)


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Give a scheduler's address and its only worker."""
    with ExitStack() as stack:
        known = folder / "scheduler.json"
        for kind, *args in (
            ("scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(known)),
            ("worker", "--scheduler-file", str(known), "--nthreads", "1", "--no-nanny"),
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *args],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(process.kill)
            while not (known.exists() and known.read_text().rstrip().endswith("}")):
                time.sleep(0.05)
        address = re.search(r'"address": "([^"]+)"', known.read_text())
        yield (address[1] if address else ""), process


def _orphans() -> list[str]:
    """Return the processes of ours that are still there a while after a run."""
    deadline = time.monotonic() + 5
    while True:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if MARK in process.environ() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"process {process.pid}")
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


if __name__ == "__main__":
    main()
