"""Where the time of one ``mhpc consolidate`` goes: by stage, and by function of the package.

python -m benchmarks.speed.profile --method cross-source --instances 100000
python -m benchmarks.speed.profile --method auto --votes votes.csv --taxonomy taxonomy.csv

The stacks of all threads are sampled, and the processor time that a thread took since the sample
before counts for the function that it is in now. A call that keeps Python's lock is seen when it
ends, and so counts for its caller or the next call. Threads of DuckDB have no Python stack: what
they take is printed as one number. Needs a system with clocks per thread, such as Linux.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import mhpc
from benchmarks.speed.generate import generate
from mhpc.run import run
from mhpc.settings import RunSettings

INSTANCES = 100_000
INTERVAL = 0.005
"""Seconds between two samples."""

LEAST = 0.01
"""Functions that take a smaller share of all processor time are not printed."""

PACKAGE = Path(mhpc.__file__).parent


@dataclass(eq=False)
class Node:
    """The processor seconds of a function, those that it calls included."""

    seconds: float = 0.0
    calls: dict[str, "Node"] = field(default_factory=dict)

    def add(self, stack: list[str], seconds: float) -> None:
        """Count seconds for a stack, the outermost function first."""
        self.seconds += seconds
        if stack:
            self.calls.setdefault(stack[0], Node()).add(stack[1:], seconds)

    def lines(self, least: float, depth: int = 0) -> Iterator[str]:
        """Yield one line per function that takes at least so many seconds, the longest first."""
        for name, node in sorted(self.calls.items(), key=lambda item: -item[1].seconds):
            if node.seconds >= least:
                yield f"{node.seconds:8.2f} {'  ' * depth}{name}"
                yield from node.lines(least, depth + 1)


@contextmanager
def sampled(interval: float) -> Iterator[Node]:
    """Sample all other threads within the block; the tree is complete afterwards."""
    root, done = Node(), threading.Event()
    before = processor_times()

    def sample() -> None:
        while not done.wait(interval):
            frames, now = sys._current_frames(), processor_times()
            for thread, seconds in now.items():
                if thread != threading.get_ident():
                    spent = seconds - before.get(thread, 0.0)
                    # The number of a thread that ended may be used again.
                    root.add(named_stack(frames[thread]), spent if spent >= 0 else seconds)
            before.update(now)

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        yield root
    finally:
        done.set()
        sampler.join()


def processor_times() -> dict[int, float]:
    """Return the processor seconds of every thread of Python."""
    clock = time.pthread_getcpuclockid
    return {thread: time.clock_gettime(clock(thread)) for thread in sys._current_frames()}


def named_stack(frame: FrameType | None) -> list[str]:
    """Return the functions of the package on a stack, and what the last of them calls."""
    stack: list[str] = []
    outside = ""
    while frame is not None:
        name, is_ours = function_name(frame.f_code)
        if is_ours:
            stack.append(name)
        elif not stack:
            outside = name
        frame = frame.f_back
    return [*reversed(stack), outside] if outside else stack[::-1]


@cache
def function_name(code: CodeType) -> tuple[str, bool]:
    """Return the name of a function with its module, and whether it is of the package."""
    path = Path(code.co_filename)
    is_ours = path.is_relative_to(PACKAGE)
    module = path.relative_to(PACKAGE) if is_ours else Path(path.parent.name, path.name)
    return f"{code.co_qualname} ({module.with_suffix('').as_posix()})", is_ours


def main() -> None:
    """Generate votes unless there are some, run, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", help="the default one if not given")
    parser.add_argument("--votes", help="a file of votes; generated if not given")
    parser.add_argument("--taxonomy", help="its taxonomy")
    parser.add_argument("--instances", type=int, default=INSTANCES, help="how many to generate")
    parser.add_argument("--interval", type=float, default=INTERVAL, help="seconds between samples")
    parser.add_argument("--least", type=float, default=LEAST, help="smallest share to print")
    options = parser.parse_args()
    if bool(options.votes) != bool(options.taxonomy):
        parser.error("give both --votes and --taxonomy, or neither")
    with tempfile.TemporaryDirectory(prefix="mhpc-") as name:
        folder = Path(name)
        if not options.votes:
            generate(folder, instances=options.instances)
        settings = RunSettings(
            votes=options.votes or str(folder / "votes.parquet"),
            taxonomy=options.taxonomy or str(folder / "taxonomy.csv"),
            method=options.method,
        )
        profile(settings, folder / "out", options.interval, options.least)


def profile(settings: RunSettings, output: Path, interval: float, least: float) -> None:
    """Run once and print the seconds of stages and functions."""
    wall, processor = time.perf_counter(), time.process_time()
    with sampled(interval) as root:
        summary = run(settings, output=output)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{wall:.1f} s, {processor:.1f} s of processors\n\nseconds by stage")
    for stage, seconds in summary.seconds.items():
        print(f"{seconds:8.2f} {stage}")
    print("\nseconds of processors by function, all threads of Python together")
    for line in root.lines(least * processor):
        print(line)
    print(f"{processor - root.seconds:8.2f} outside: threads of DuckDB, and the sampling itself")


if __name__ == "__main__":
    main()
