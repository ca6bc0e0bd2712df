"""Where a figure comes from and how it is taken: machine, interleaved repeats, JSON."""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy

RESULTS = Path(__file__).parent / "results"


def environment() -> dict[str, Any]:
    """Return what a time depends on, and nothing that identifies the machine."""
    return {
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("mhpc", "numpy", "scipy", "scikit-learn")},
        # Wheels of numpy and scipy bring a BLAS each, and the two need not be the same.
        "numpy_blas": _blas(np.show_config(mode="dicts")),
        "scipy_blas": _blas(scipy.show_config(mode="dicts")),
    }


def write_result(name: str, result: Mapping[str, Any]) -> None:
    """Write a result beside its environment, since a figure without one cannot be compared."""
    RESULTS.mkdir(exist_ok=True)
    document = {"environment": environment(), **result}
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"\nWritten: benchmarks/results/{name}.json")


def interleave(
    runs: Mapping[str, Callable[[], object]], *, repeats: int, pause: float = 0.0
) -> dict[str, list[float]]:
    """Return the seconds of every run, calling each run once per round.

    A busy machine is slow for minutes: runs of one round meet the same minute, so that ratios
    within rounds can be trusted where the seconds cannot. A round before the first warms up.

    Threads of BLAS keep a core busy for a tenth of a second after their last work. A pause before
    every run lets those of the previous one fall asleep.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(repeats + 1):
        for name, run in runs.items():
            time.sleep(pause)
            began = time.perf_counter()
            run()
            if round_ > 0:
                seconds[name].append(time.perf_counter() - began)
    return seconds


@dataclass(frozen=True)
class Ratio:
    """How often one time holds another: the median of the rounds, and the extremes."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} .. {self.high:.2f})"


def ratio(long: Sequence[float], short: Sequence[float]) -> Ratio:
    """Divide round by round."""
    rounds = [a / b for a, b in zip(long, short, strict=True)]
    return Ratio(statistics.median(rounds), min(rounds), max(rounds))


def met_or_missed(met: bool) -> str:
    """Return ``met`` or ``MISSED``, to print beside a target."""
    return "met" if met else "MISSED"


def _blas(config: Mapping[str, Any] | None) -> str:
    blas = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
