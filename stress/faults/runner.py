"""Run attacks, repeatable from their class, seed and number, and count how they ended."""

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stress.faults.attack import TIME_LIMIT, Attack, End, Step
from stress.faults.judge import judge, take_snapshot
from stress.findings import keep_copy

ROOT = Path(__file__).parents[2]

EVERY = {"addresses": 2, "sequences": 3, "signals": 2, "taxonomies": 2}
"""Classes that take long, with one attack in so many rounds."""


@dataclass(frozen=True)
class Place:
    """Where attacks happen: samples to copy, a folder to work in, and the place of outputs."""

    samples: Path
    folder: Path

    def copy(self, *names: str) -> None:
        """Copy samples into the folder."""
        for name in names:
            source, target = self.samples / name, self.folder / name
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copyfile(source, target)

    def read(self, name: str) -> bytes:
        """Return a sample."""
        return (self.samples / name).read_bytes()


FaultClass = Callable[[Place, random.Random], Attack]


@dataclass
class Figures:
    """How many attacks of a class were refused, worked, or broke a rule."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(self.counts + other.counts, self.findings + other.findings)

    def __str__(self) -> str:
        return (
            f"{self.counts['refused']:,} refused, {self.counts['worked']:,} worked, "
            f"{self.counts['broken']:,} broke a rule"
        )


class Runner:
    """Runs commands by means of a server process.

    Parameters
    ----------
    samples : Path
        The folder of samples.
    timeout : float
        Seconds after which a command hangs.
    """

    def __init__(self, samples: Path, *, timeout: float = TIME_LIMIT) -> None:
        self.samples = samples
        self.timeout = timeout
        paths = [os.environ.get("PYTHONPATH"), str(ROOT)]
        self._server = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "stress.faults.server"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )  # fmt: skip

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def attack(
        self, kind: str, fault: FaultClass, *, seed: int, number: int, verbose: bool = False
    ) -> Figures:
        """Make one attack; what breaks a rule is copied to the findings."""
        rng = random.Random(f"{seed}/{kind}/{number}")
        with tempfile.TemporaryDirectory(prefix="mhpc-faults-") as name:
            place = Place(self.samples, Path(name) / "work")
            place.folder.mkdir()
            attack = fault(place, rng)
            # Commands change the folder, and what broke a rule should be repeatable.
            problems, codes = [], []
            for step in attack.steps:
                found, end = self.run(step, Path(name))
                codes.append(end.status)
                problems += found
                if verbose:
                    _show(step, end)
                if found:
                    break
            if not problems:
                worked = "refused" if {1, 2} & {*codes} else "worked"
                return Figures(Counter({worked: 1, "commands": len(codes)}))
            return _keep(attack, place, problems[0], f"{kind}-{seed}-{number}", len(codes))

    def run(self, step: Step, folder: Path) -> tuple[list[str], End]:
        """Run one command in the folder ``work`` and return the rules that it broke."""
        scratch, work = folder / "scratch", folder / "work"
        scratch.mkdir(exist_ok=True)
        before = take_snapshot(work, scratch)
        request = asdict(step) | {
            "folder": str(work), "timeout": step.timeout or self.timeout, "check": None,
            "environment": {"TMPDIR": str(scratch), "MHPC_PROGRESS": "none", **step.environment},
        }  # fmt: skip
        assert self._server.stdin is not None and self._server.stdout is not None  # noqa: S101, PT018
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = json.loads(self._server.stdout.readline())
        end = End(**answer)
        problems = list(judge(step, end, before, take_snapshot(work, scratch), work))
        return problems, end


def run_until(
    end: float,
    classes: Mapping[str, FaultClass],
    samples: Path,
    *,
    seed: int,
    part: int,
    parts: int,
) -> dict[str, Figures]:
    """Make attacks of all classes in turn, every `parts`-th number, until the time is up."""
    figures = {kind: Figures() for kind in classes}
    with Runner(samples) as runner:
        number = part
        while True:
            for kind, fault in classes.items():
                if time.time() > end:
                    return figures
                if number // parts % EVERY.get(kind, 1):
                    continue
                figures[kind] += runner.attack(kind, fault, seed=seed, number=number)
            number += parts


def _keep(attack: Attack, place: Place, problem: str, name: str, commands: int) -> Figures:
    command = shlex.join(["mhpc", *attack.steps[commands - 1].words])
    (place.folder / "FINDING.txt").write_text(
        f"{attack.fault}\n{problem}\n{command}\n", encoding="utf-8", errors="backslashreplace"
    )
    try:
        kept = keep_copy(place.folder, name)
    except (OSError, shutil.Error):
        kept = name
    finding = f"{kept}: {attack.fault}: {problem}; {command[:400]}"
    return Figures(Counter({"broken": 1, "commands": commands}), [finding])


def _show(step: Step, end: End) -> None:
    """Print one command and how it ended."""
    streams = {name: getattr(step, name) for name in ("stdin", "stdout", "stderr")}
    print(f"$ {shlex.join(['mhpc', *step.words])}\n  {streams}, limits {dict(step.limits)}")
    print(f"  exit {end.status}{', hung' if end.hung else ''}")
    for text in (end.stdout[:2000], end.stderr[:5000]):
        print("".join(f"  | {line}\n" for line in text.splitlines()), end="")
