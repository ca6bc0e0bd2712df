"""The command line with unusual tables and options: it works, or says what is wrong.

python -m stress.fuzz_cli [--seconds 120] [--seed 0]

Every round generates tables, consolidates them and runs every other command on the output; then
a file of the output is damaged, and the commands run again. A command must end with one of the
exit codes of the contract and without an internal error; an output must be complete or
absent. What breaks a rule is kept in ``stress/findings/`` with the command, and the exit code is 1.
"""

import argparse
import io
import os
import random
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from mhpc.cli import main as mhpc
from mhpc.methods.registry import METHODS
from mhpc.read.run_folder import read_labelled_scores
from mhpc.rules.registry import RULES
from mhpc.write.formats import WRITE_FORMATS
from stress.findings import keep_copy
from tests.fixtures.commands import shows_bug
from tests.fixtures.damaged_files import damage
from tests.fixtures.unusual_tables import Tables, unusual_options, unusual_tables

CODES = {0, 1, 2}
"""Done; the data are wrong; the usage is wrong."""

SLOW = 60.0
"""Seconds after which a command on tables this small is called a hang."""

OUTPUT = "OUT"


@dataclass
class Figures:
    """Exit codes and broken rules so far."""

    codes: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(self.codes + other.codes, self.broken + other.broken)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    seeds = [f"{options.seed}-{at}" for at in range(options.jobs)]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        figures = sum(pool.map(fuzz, [options.seconds] * options.jobs, seeds), Figures())
    for problem in figures.broken:
        print(f"  {problem}")
    summary = ", ".join(f"{count:,} with {code}" for code, count in sorted(figures.codes.items()))
    print(
        f"{sum(figures.codes.values()):,} commands: {summary}; {len(figures.broken)} broke a rule"
    )
    if figures.broken:
        raise SystemExit(1)


def fuzz(seconds: float, seed: str) -> Figures:
    """Run rounds until the time is up."""
    figures, end, number = Figures(), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        # A round depends on its number alone, so that it can be repeated.
        rng = random.Random(f"{seed}/{number}")
        with _working_in_new_folder() as folder:
            for problem in run_round(folder, rng, figures):
                name = keep_copy(folder, f"cli-{seed}-{number}")
                figures.broken.append(f"{name}: {problem}")
                break
        number += 1
    return figures


def run_round(folder: Path, rng: random.Random, figures: Figures) -> Iterator[str]:
    """Consolidate unusual tables and query the output; yield every broken rule."""
    tables = unusual_tables(rng)
    tables.write(folder)
    options = unusual_options(rng, list(METHODS), list(RULES))
    both = ["votes.csv", "--taxonomy", "taxonomy.csv"]
    yield from _run(["inspect", *both], figures)
    yield from _run(["consolidate", *both, "-o", OUTPUT, "--progress", "none", *options], figures)
    if rng.random() < 0.1:
        methods = ["--method", rng.choice(list(METHODS)), "--method", "majority"]
        yield from _run(["compare", *both, "--progress", "none", *methods], figures)
    if rng.random() < 0.2:
        yield from _run(["convert", "votes.csv", "made.jsonl", "--force"], figures)
    yield from find_leftovers(folder)
    if not (folder / OUTPUT).is_dir():
        return
    read_labelled_scores(folder / OUTPUT)
    yield from _query_output(tables, rng, figures)
    damaged = rng.choice(sorted((folder / OUTPUT).iterdir()))
    damaged.write_bytes(damage(damaged.read_bytes(), rng))
    yield from _query_output(tables, rng, figures)


def _query_output(tables: Tables, rng: random.Random, figures: Figures) -> Iterator[str]:
    """Run every command that takes an output on a complete or damaged one."""
    instance, label = rng.choice(tables.instances), rng.choice(tables.labels)
    for arguments in (
        ["evaluate", OUTPUT, "--truth", "truth.csv", "--unknown", rng.choice(("drop", "error"))],
        ["explain", OUTPUT, "--", instance, label],
        ["explain", OUTPUT, "--json", "--", instance],
        ["conflicts", OUTPUT],
        ["report", OUTPUT, "--progress", "none"],
        ["convert", OUTPUT, "converted", "--to", rng.choice(list(WRITE_FORMATS)), "--force"],
        ["consolidate", "votes.csv", "--apply", OUTPUT, "-o", "APPLIED", "--force",
         "--progress", "none"],
    ):  # fmt: skip
        if rng.random() < 0.5:
            yield from _run(arguments, figures)


def find_leftovers(folder: Path) -> Iterator[str]:
    """Yield hidden files that no command should leave."""
    hidden = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    if hidden:
        yield f"{hidden[0]} was left behind"


def _run(arguments: list[str], figures: Figures) -> Iterator[str]:
    """Run one command in this process; yield what is wrong with how it ended."""
    out, messages = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    began, code = time.monotonic(), -1
    try:
        with redirect_stdout(out), redirect_stderr(messages):
            mhpc(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else -1
    except BaseException as error:  # noqa: BLE001 - a user would see a traceback
        last = traceback.extract_tb(error.__traceback__)[-1]
        yield f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}, {arguments}"
    if shows_bug(messages.getvalue()):
        yield f"{messages.getvalue().strip()[-500:]}, {arguments}"
    figures.codes[code] += 1
    if code not in CODES and code != -1:
        yield f"exit code {code}, {arguments}"
    if (seconds := time.monotonic() - began) > SLOW:
        yield f"{seconds:.0f} seconds, {arguments}"


@contextmanager
def _working_in_new_folder() -> Iterator[Path]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        folder.mkdir()
        try:
            os.chdir(folder)
            yield folder
        finally:
            os.chdir(before)


if __name__ == "__main__":
    main()
