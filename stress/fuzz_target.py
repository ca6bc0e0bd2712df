"""Fuzz one reader with atheris until its time is up; `stress.fuzz_readers` forks one per reader.

The reader's own code is instrumented, so that inputs which reach new lines of it are kept and
varied further. What an input does wrong is written down, and the search goes on.
"""

import contextlib
import io
import json
import os
import random
import time
import traceback
import warnings
from pathlib import Path

import atheris
import duckdb

with (
    contextlib.redirect_stderr(io.StringIO()),
    atheris.instrument_imports(include=["mhpc.read"], enable_loader_override=False),
):
    from tests.fixtures.valid_files import ValidInput, find_faults, read_or_refuse
from tests.fixtures.damaged_files import MAX_LENGTH, damage

__all__ = ["ValidInput", "search"]

SLOW = 5.0
"""Seconds of processor time after which reading a small file counts as hanging."""


class Target:
    """Read one input after the other in a folder and count the results."""

    def __init__(self, sample: ValidInput, file_name: str, folder: Path, end: float) -> None:
        self.sample, self.file_name, self.folder, self.end = sample, file_name, folder, end
        self.counts = {"read": 0, "refused": 0}
        self.broken: dict[str, str] = {}
        self.source = sample.write(folder / "work")

    def __call__(self, content: bytes) -> None:
        """Read one input; end the process when the time is up."""
        if time.monotonic() > self.end:
            figures = {**self.counts, "broken": list(self.broken.values())}
            (self.folder / "kept" / "figures.json").write_text(
                json.dumps(figures), encoding="utf-8"
            )
            # libFuzzer cannot be stopped from within.
            os._exit(0)
        (self.folder / "work" / self.file_name).write_bytes(content)
        began = time.process_time()
        try:
            message = read_or_refuse(self.sample, self.source, name_format=len(content) % 2 == 0)
        except Exception as error:  # noqa: BLE001 - any error but ours is a finding
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            self._keep(f"{type(error).__name__} at {where}", content)
            return
        self.counts["refused" if message else "read"] += 1
        for complaint in find_faults(message, self.source) if message else ():
            self._keep(complaint, content, f"a message {complaint}: {message[:200]}")
        if time.process_time() - began > SLOW:
            self._keep("slow", content, f"{time.process_time() - began:.0f} seconds")

    def _keep(self, problem: str, content: bytes, message: str = "") -> None:
        """Keep the first input of each problem."""
        if problem not in self.broken:
            self.broken[problem] = message or problem
            (self.folder / "kept" / f"{len(self.broken)}.input").write_bytes(content)


def search(sample: ValidInput, file_name: str, folder: Path, end: float, seed: int = 0) -> None:
    """Search for inputs until the time is up, which ends the process."""
    warnings.simplefilter("ignore")
    # One shared database: creating a new one takes longer than everything else.
    base = duckdb.connect(config={"threads": 1})
    duckdb.connect = lambda *_, **__: base.cursor()
    pieces = list(sample.files.values())

    def vary(content: bytes, max_length: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return damage(content, rng, donors=pieces)[:max_length]
        varied: bytes = atheris.Mutate(content, max_length)
        return varied

    options = [f"-max_len={MAX_LENGTH}", "-verbosity=0", "-timeout=3600", "-rss_limit_mb=0"]
    # libFuzzer takes 0 for a random seed.
    options += [f"-artifact_prefix={folder}/", f"-seed={seed + 1}"]
    target = Target(sample, file_name, folder, end)
    atheris.Setup(["fuzz", str(folder / "corpus"), *options], target, custom_mutator=vary)
    atheris.Fuzz()
