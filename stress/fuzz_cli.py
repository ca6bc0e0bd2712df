"""The command line with odd tables and odd options: it answers, or says what is wrong.

python -m stress.fuzz_cli [--seconds 120] [--seed 0]

Every round makes tables, consolidates them, and asks what came of it by every other command;
then a file of the output is damaged, and all are asked again. A command must end with one of the
exit codes of the contract and without a traceback; an output must be whole or not there. What
breaks that is left in ``stress/found/`` with the command, and the exit code is 1.
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
from mhpc.write.formats import FORMATS
from stress.found import kept
from tests.fixtures.damaged_files import mutated
from tests.fixtures.oddities import Tables, odd_options, odd_tables

CODES = {0, 1, 2}
"""Done; the data are wrong; the usage is wrong."""

SLOW = 60.0
"""Seconds after which a command on tables this small is called a hang."""

OUTPUT = "OUT"


@dataclass
class Figures:
    """What was seen so far."""

    codes: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(self.codes + other.codes, self.broken + other.broken)


def main(words: Sequence[str] | None = None) -> None:
    """Try, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(words)
    seeds = [f"{given.seed}-{at}" for at in range(given.jobs)]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        figures = sum(pool.map(tried, [given.seconds] * given.jobs, seeds), Figures())
    for each in figures.broken:
        print(f"  {each}")
    told = ", ".join(f"{count:,} with {code}" for code, count in sorted(figures.codes.items()))
    print(f"{sum(figures.codes.values()):,} commands: {told}; {len(figures.broken)} broke a rule")
    if figures.broken:
        raise SystemExit(1)


def tried(seconds: float, seed: str) -> Figures:
    """Go round after round until the time is over."""
    figures, end, number = Figures(), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        # A round is made of its own number, so that it can be had again alone.
        rng = random.Random(f"{seed}/{number}")
        with _working_in_new_folder() as folder:
            for problem in round_of(folder, rng, figures):
                name = kept(folder, f"cli-{seed}-{number}")
                figures.broken.append(f"{name}: {problem}")
                break
        number += 1
    return figures


def round_of(folder: Path, rng: random.Random, figures: Figures) -> Iterator[str]:
    """Consolidate odd tables and ask what came of it; give every rule that was broken."""
    tables = odd_tables(rng)
    tables.write(folder)
    options = odd_options(rng, list(METHODS), list(RULES))
    both = ["votes.csv", "--taxonomy", "taxonomy.csv"]
    yield from _run(["inspect", *both], figures)
    yield from _run(["consolidate", *both, "-o", OUTPUT, "--progress", "none", *options], figures)
    if rng.random() < 0.1:
        methods = ["--method", rng.choice(list(METHODS)), "--method", "majority"]
        yield from _run(["compare", *both, "--progress", "none", *methods], figures)
    if rng.random() < 0.2:
        yield from _run(["convert", "votes.csv", "made.jsonl", "--force"], figures)
    yield from left_behind(folder)
    if not (folder / OUTPUT).is_dir():
        return
    read_labelled_scores(folder / OUTPUT)
    yield from _asked(tables, rng, figures)
    damaged = rng.choice(sorted((folder / OUTPUT).iterdir()))
    damaged.write_bytes(mutated(damaged.read_bytes(), rng))
    yield from _asked(tables, rng, figures)


def _asked(tables: Tables, rng: random.Random, figures: Figures) -> Iterator[str]:
    """Ask an output, whole or damaged, by every command that takes one."""
    instance, label = rng.choice(tables.instances), rng.choice(tables.labels)
    for words in (
        ["evaluate", OUTPUT, "--truth", "truth.csv", "--unknown", rng.choice(("drop", "error"))],
        ["explain", OUTPUT, "--", instance, label],
        ["explain", OUTPUT, "--json", "--", instance],
        ["conflicts", OUTPUT],
        ["report", OUTPUT, "--progress", "none"],
        ["convert", OUTPUT, "converted", "--to", rng.choice(list(FORMATS)), "--force"],
        ["consolidate", "votes.csv", "--apply", OUTPUT, "-o", "APPLIED", "--force",
         "--progress", "none"],
    ):  # fmt: skip
        if rng.random() < 0.5:
            yield from _run(words, figures)


def left_behind(folder: Path) -> Iterator[str]:
    """Tell of anything that no command was asked to make."""
    hidden = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    if hidden:
        yield f"{hidden[0]} was left behind"


def _run(words: list[str], figures: Figures) -> Iterator[str]:
    """Run one command in this process; give what is wrong with how it ended."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    began, code = time.monotonic(), -1
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            mhpc(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else -1
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a traceback to the user
        last = traceback.extract_tb(error.__traceback__)[-1]
        yield f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}, {words}"
    figures.codes[code] += 1
    if code not in CODES and code != -1:
        yield f"exit code {code}, {words}"
    if (seconds := time.monotonic() - began) > SLOW:
        yield f"{seconds:.0f} seconds, {words}"


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
