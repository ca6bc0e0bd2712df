"""Real failures: full and read-only disks, vanishing files, killed processes.

python -m stress.failures [--only 'full disk']

After each failure the old output must be unchanged (or the new one complete, if the run recovers),
the message one line, the exit code as documented, and no folder or process left behind. Failures
that need a mount are skipped where mounting is not allowed.
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

MARK = "MHPC_STRESS_FAILURES"
"""The environment variable that marks our processes."""


@dataclass(frozen=True)
class RunEnd:
    """How a run ended: what was done to it, its exit code and its messages."""

    action: str
    code: int
    output_text: str


@dataclass(frozen=True)
class Workspace:
    """Where a failure happens: votes, an old output and a folder for temporary files."""

    folder: Path

    @property
    def out(self) -> Path:
        """The old output."""
        return self.folder / "there" / "OUT"

    @property
    def scratch(self) -> Path:
        """The folder for temporary files."""
        return self.folder / "scratch"

    @property
    def votes(self) -> Path:
        """The votes."""
        return self.folder / "votes.parquet"

    def command(self, *more: object, votes: object = None) -> list[str]:
        """Return the command that replaces the old output."""
        return [
            sys.executable, "-m", "mhpc", "--verbose", "consolidate", str(votes or self.votes),
            "--taxonomy", str(garden_folder() / "taxonomy.csv"), "--method", "cross-source", "-o",
            str(self.out), "--force", "--progress", "none", *map(str, more),
        ]  # fmt: skip

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """Start a run."""
        return subprocess.Popen(
            command, text=True, env=os.environ | {MARK: "1", "TMPDIR": str(self.scratch)},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def wait(self, action: str, run: "subprocess.Popen[str]", stdin: str | None = None) -> RunEnd:
        """Wait until a run ends."""
        try:
            _, output_text = run.communicate(stdin, timeout=90)
        except subprocess.TimeoutExpired:
            run.kill()
            return RunEnd(action, -1, "it hangs")
        return RunEnd(action, run.returncode, output_text)


def full_output(workspace: Workspace, *, free: int, engine: str = "local") -> RunEnd:
    """Leave `free` bytes on the disk of the output."""
    with mount_tmpfs(workspace.out.parent, "size=1m"):
        _restore_output(workspace)
        fill_disk(workspace.out.parent / "filled", free)
        action = f"{free // 1024} kB free where OUT/ is, {engine}"
        return workspace.wait(
            action, workspace.start(*workspace.command("--report", "--engine", engine))
        )


def full_temporary(workspace: Workspace) -> RunEnd:
    """Leave almost no space for temporary files, with votes from a pipe."""
    with mount_tmpfs(workspace.scratch, "size=16k"):
        votes = (garden_folder() / "votes.csv").read_text(encoding="utf-8")
        run = workspace.start(*workspace.command(votes="-"))
        return workspace.wait("16 kB for temporary files, votes from a pipe", run, votes)


def read_only_disk(workspace: Workspace) -> RunEnd:
    """Mount the output's disk read-only."""
    with mount_tmpfs(workspace.out.parent, "size=1m"):
        _restore_output(workspace)
        _mount("-o", "remount,ro", workspace.out.parent)
        return workspace.wait("OUT/ on a read-only disk", workspace.start(*workspace.command()))


def file_in_the_way(workspace: Workspace) -> RunEnd:
    """Give an output below a file."""
    command = workspace.command()
    command[command.index(str(workspace.out))] = str(workspace.out / "run.json" / "OUT")
    return workspace.wait("a file where a folder should be", workspace.start(*command))


def vanished_input(workspace: Workspace) -> RunEnd:
    """Remove the votes after the survey, before workers read them."""
    run = workspace.start(*workspace.command("--engine", "dask"))
    _wait_for_log(run, "reading: done")
    workspace.votes.unlink()
    return workspace.wait("votes removed before workers read them", run)


def changed_input(workspace: Workspace) -> RunEnd:
    """Modify the votes while they are read."""
    run = workspace.start(*workspace.command())
    _wait_for_log(run, "reading")
    os.utime(workspace.votes)
    return workspace.wait("votes written to while they are read", run)


def second_run(workspace: Workspace) -> RunEnd:
    """Start a run while another waits for its votes."""
    first = workspace.start(*workspace.command(votes="-"))
    _wait_for_log(first, "reading")
    end = workspace.wait("a second run into the same OUT/", workspace.start(*workspace.command()))
    first.kill()
    first.communicate()
    # The next run removes what a killed one leaves; here there is no next run.
    for leftover in workspace.out.parent.glob(".OUT-*"):
        shutil.rmtree(leftover)
    shutil.rmtree(workspace.scratch)
    return end


def worker_of_dask(workspace: Workspace) -> RunEnd:
    """Kill a worker of the cluster that a run started."""
    run = workspace.start(*workspace.command("--engine", "dask"))
    _wait_for_log(run, "encoding: done")
    _kill_busiest(run)
    return workspace.wait("a Dask worker killed", run)


def all_of_dask(workspace: Workspace) -> RunEnd:
    """Kill the only worker of a running cluster, which nobody starts again."""
    with _cluster(workspace.folder) as (address, worker):
        run = workspace.start(*workspace.command("--engine", f"dask={address}"))
        _wait_for_log(run, "reading: done")
        worker.kill()
        return workspace.wait("the last Dask worker killed", run)


def too_little_memory(workspace: Workspace) -> RunEnd:
    """Allow almost no memory."""
    run = workspace.start(*workspace.command("--method", "mlcm", "--memory", "10kB"))
    return workspace.wait("--memory 10kB", run)


@dataclass(frozen=True)
class Failure:
    """A failure, the exit code and message expected, and whether it needs a mount."""

    name: str
    cause: Callable[[Workspace], RunEnd]
    code: int
    message: str
    mounts: bool = False


FAILURES = (
    *(
        Failure("full disk", partial(full_output, free=free), 2, "more data", mounts=True)
        for free in (8 << 10, 40 << 10, 300 << 10)
    ),
    Failure("full disk, Dask", partial(full_output, free=40 << 10, engine="dask"), 2,
            "cannot take more data", mounts=True),
    Failure("full disk, temporary", full_temporary, 2, "set TMPDIR", mounts=True),
    Failure("read-only target", read_only_disk, 2, "Read-only", mounts=True),
    Failure("read-only target", file_in_the_way, 2, "is a file; choose another"),
    Failure("vanished input", vanished_input, 1, "votes.parquet"),
    Failure("changed input", changed_input, 1, "changed while it was read"),
    Failure("second run", second_run, 2, "another run is writing"),
    Failure("too little memory", too_little_memory, 1, "may be used"),
    Failure("dead worker", worker_of_dask, 0, ""),
    Failure("dead worker", all_of_dask, 1, "no worker is left"),
)  # fmt: skip


def main() -> None:
    """Cause every failure once and print how it ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="failures whose name begins with this")
    prefix, wrong = parser.parse_args().only, 0
    selected = [failure for failure in FAILURES if failure.name.startswith(prefix)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "votes.parquet"
        duckdb.execute(
            f"COPY (FROM read_csv('{garden_folder()}/votes.csv', all_varchar=true)) TO '{data}'"
        )
        first = Workspace(Path(folder))
        first.scratch.mkdir()
        subprocess.run(first.command(), check=True, capture_output=True)
        for number, failure in enumerate(selected):
            if failure.mounts and not _may_mount():
                print(f"{failure.name}: skipped, because this user may not mount a disk")
                continue
            wrong += not try_failure(failure, Path(folder) / str(number), first)
    print(f"{len(selected)} failures, {wrong} ended wrongly")
    raise SystemExit(1 if wrong else 0)


def try_failure(failure: Failure, folder: Path, first: Workspace) -> bool:
    """Cause one failure in its own folder, print how it ended, return whether all was well."""
    workspace, began = Workspace(folder), time.perf_counter()
    folder.mkdir()
    shutil.copy(first.votes, workspace.votes)
    shutil.copytree(first.out, workspace.out)
    workspace.scratch.mkdir()
    before = contents(workspace.out)
    end = failure.cause(workspace)
    messages = [
        line for line in end.output_text.splitlines() if re.match(r"mhpc: (error|warning): ", line)
    ]
    is_complete = (
        contents(workspace.out) == before
        if end.code
        else labels(workspace.out) == labels(first.out)
    )
    leftovers = [
        *workspace.out.parent.glob(".*"),
        *(workspace.scratch.iterdir() if workspace.scratch.is_dir() else ()),
    ]
    orphans = _orphans()
    print(
        f"{failure.name}: {end.action}: exit {end.code}; {' '.join(messages) or 'no message'}; "
        f"output complete: {'yes' if is_complete else 'NO'}; left behind: "
        f"{', '.join([*(path.name for path in leftovers), *orphans]) or 'nothing'} "
        f"({time.perf_counter() - began:.0f} s)",
        flush=True,
    )
    is_reported = len(messages) == (1 if failure.message else 0) and failure.message in "".join(
        messages
    )
    if (
        is_well := end.code == failure.code
        and is_reported
        and is_complete
        and not leftovers
        and not orphans
    ):
        shutil.rmtree(folder)
    else:
        print(end.output_text)
    return is_well


def contents(out: Path) -> dict[str, str]:
    """Return the hashes of an output's files."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}


def labels(out: Path) -> list[str]:
    """Return the label sets of an output, without scores, which engines round differently."""
    rows = (out / "labels.csv").read_text(encoding="utf-8").splitlines()
    return sorted(path.name for path in out.iterdir()) + [row.rpartition(",")[0] for row in rows]


def fill_disk(path: Path, free: int) -> None:
    """Fill a disk except for `free` bytes."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    os.truncate(path, path.stat().st_size - free)


@contextmanager
def mount_tmpfs(folder: Path, options: str) -> Iterator[None]:
    """Mount a tmpfs on a folder, and copy its content back to the folder afterwards."""
    _mount("-t", "tmpfs", "-o", options, "tmpfs", folder)
    try:
        yield
    finally:
        saved = Path(tempfile.mkdtemp()) / "kept"
        shutil.copytree(folder, saved)
        subprocess.run(["umount", str(folder)], check=True)
        shutil.rmtree(folder)
        (saved / "filled").unlink(missing_ok=True)
        shutil.copytree(saved, folder)
        shutil.rmtree(saved.parent)


def _restore_output(workspace: Workspace) -> None:
    """Copy the old output to a disk that was mounted over it."""
    shutil.copytree(workspace.folder.parent / "there" / "OUT", workspace.out)


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


def _wait_for_log(run: "subprocess.Popen[str]", what: str) -> None:
    """Wait until a run logs this line."""
    assert run.stderr is not None  # noqa: S101 - it is a pipe
    for line in run.stderr:
        if line.rstrip().split("mhpc: ")[-1].startswith(what):
            return


def _kill_busiest(run: "subprocess.Popen[str]") -> None:
    """Kill a process of a run that is busy."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            others = psutil.Process(run.pid).children(recursive=True)
            busy = [process for process in others if process.cpu_times().user > 0.5]
            if busy:
                busy[0].send_signal(signal.SIGKILL)
                return
        time.sleep(0.05)


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Start a scheduler and one worker; yield the address and the worker."""
    with ExitStack() as stack:
        scheduler_file = folder / "scheduler.json"
        for failure, *args in (
            (
                "scheduler",
                "--port",
                "0",
                "--host",
                "127.0.0.1",
                "--scheduler-file",
                str(scheduler_file),
            ),
            ("worker", "--scheduler-file", str(scheduler_file), "--nthreads", "1", "--no-nanny"),
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{failure}", "--no-dashboard", *args],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(process.kill)
            while not (
                scheduler_file.exists() and scheduler_file.read_text().rstrip().endswith("}")
            ):
                time.sleep(0.05)
        address = re.search(r'"address": "([^"]+)"', scheduler_file.read_text())
        yield (address[1] if address else ""), process


def _orphans() -> list[str]:
    """Return our processes that still run a while after a run has ended."""
    deadline = time.monotonic() + 5
    while True:
        orphans = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if MARK in process.environ() and process.status() != psutil.STATUS_ZOMBIE:
                    orphans.append(f"process {process.pid}")
        if not orphans or time.monotonic() > deadline:
            return orphans
        time.sleep(0.1)


if __name__ == "__main__":
    main()
