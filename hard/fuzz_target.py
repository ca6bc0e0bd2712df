"""One reader under atheris, until its time is over: what `hard.fuzz_readers` starts for each.

python -m hard.fuzz_target SAMPLE FILE --folder FOLDER --corpus FOLDER --seconds N --figures FILE

The reader's own code is instrumented, so that inputs which reach new lines of it are kept and
varied further. What an input does wrong is written down, and the search goes on.
"""

import argparse
import contextlib
import json
import os
import pickle
import random
import sys
import time
import traceback
import warnings
from pathlib import Path

import atheris
import duckdb

with atheris.instrument_imports(include=["mhpc.read"], enable_loader_override=False):
    from tests.samples import Sample, complaints, outcome_of
from tests.mutations import MAX_LENGTH, mutated

SLOW = 5.0
"""Seconds after which the reading of a small file is called a hang."""


class Target:
    """Reads one input after the other, and keeps count."""

    def __init__(self, sample: Sample, which: str, given: argparse.Namespace) -> None:
        self.sample, self.which = sample, which
        self.folder, self.figures_file = given.folder, given.figures
        self.end = time.monotonic() + given.seconds
        self.counts = {"read": 0, "refused": 0}
        self.broken: dict[str, str] = {}
        self.given = sample.write(self.folder)

    def __call__(self, content: bytes) -> None:
        """Read one input; end the process when the time is over."""
        if time.monotonic() > self.end:
            self.tell()
            # libFuzzer knows no end from within; what was asked of it is done.
            os._exit(0)
        (self.folder / self.which).write_bytes(content)
        began = time.monotonic()
        insist = len(content) % 2 == 0
        try:
            message = outcome_of(self.sample, self.given, insist=insist)
        except Exception as error:  # noqa: BLE001 - any error but ours is what is looked for
            last = traceback.extract_tb(error.__traceback__)[-1]
            self.keep(
                f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}", content
            )
            return
        self.counts["refused" if message else "read"] += 1
        for complaint in complaints(message, self.given) if message else ():
            self.keep(f"a message {complaint}: {message[:200]}", content, under=complaint)
        if time.monotonic() - began > SLOW:
            self.keep(f"{time.monotonic() - began:.0f} seconds", content, under="slow")

    def keep(self, problem: str, content: bytes, *, under: str | None = None) -> None:
        """Keep the shortest input of each problem."""
        name = under or problem
        if name not in self.broken:
            self.broken[name] = problem
        path = self.figures_file.parent / f"{self.sample.name}-{len(self.broken)}.input"
        if not path.exists():
            path.write_bytes(content)

    def tell(self) -> None:
        """Write the figures down."""
        self.figures_file.write_text(
            json.dumps({**self.counts, "broken": list(self.broken.values())}), encoding="utf-8"
        )


def main() -> None:
    """Search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample", type=Path)
    parser.add_argument("which")
    for name in ("--folder", "--corpus", "--figures"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args()
    # Written a moment ago by the process that started this one.
    sample: Sample = pickle.loads(given.sample.read_bytes())  # noqa: S301
    warnings.simplefilter("ignore")
    base = duckdb.connect(config={"threads": 1})
    duckdb.connect = lambda *_, **__: base.cursor()  # type: ignore[assignment]
    target = Target(sample, given.which, given)
    pieces = list(sample.files.values())

    def vary(content: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return mutated(content, rng, others=pieces)[:most]
        return atheris.Mutate(content, most)

    with contextlib.suppress(KeyboardInterrupt):
        atheris.Setup(
            [sys.argv[0], str(given.corpus), f"-max_len={MAX_LENGTH}", "-verbosity=0"],
            target,
            custom_mutator=vary,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
