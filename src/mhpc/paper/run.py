"""Run experiments into a folder: tables, figures, pages."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from mhpc.errors import OutputExistsError, ParameterError, suggest
from mhpc.paper.convergence import Convergence
from mhpc.paper.harness import Experiment, Measured, ResultCache, as_csv, measured_cells
from mhpc.paper.medical import Medical
from mhpc.paper.methods import Methods
from mhpc.paper.published import published
from mhpc.paper.render import (
    Account,
    as_png,
    as_svg,
    check_matplotlib,
    drawing,
    render_index,
    render_page,
)
from mhpc.paper.sensitivity import Sensitivity
from mhpc.paper.sources import Sources
from mhpc.paper.strength import Strength
from mhpc.system.display import Progress, silent
from mhpc.system.files import check_writable, temporary_folder

EXPERIMENTS: dict[str, type[Experiment]] = {
    experiment.name: experiment
    for experiment in (Sources, Convergence, Strength, Sensitivity, Methods, Medical)
}

CELLS = "cells"
"""The folder in an output that keeps finished cells, and by which an output is known."""


@dataclass(frozen=True)
class Reproduced:
    """An experiment that was run, and what it says."""

    name: str
    title: str
    account: Account
    files: Sequence[str]


def reproduce(
    experiments: Sequence[Experiment],
    output: Path,
    *,
    data: Path | None = None,
    seeds: Sequence[int] = range(5),
    jobs: int = 1,
    progress: Progress = silent,
) -> list[Reproduced]:
    """Run experiments and write what comes of them.

    Parameters
    ----------
    experiments : sequence of Experiment
        What to run, in this order.
    output : path
        A folder for tables, figures and pages. Finished cells are kept in it: the same call
        goes on where an interrupted one was.
    data : path, optional
        Where the public data sets are; see `mhpc.datasets.yeast.load_yeast`.
    seeds : sequence of int
        One run of each cell a seed.
    jobs : int
        Processes; the figures do not depend on it.
    progress : callable
        Told how far the work is.
    """
    check_own_folder(output)
    check_matplotlib()
    kept = ResultCache(output / CELLS)
    done = []
    for experiment in experiments:
        measured = measured_cells(
            experiment.cells(seeds), kept,
            data=data, jobs=jobs, stage=experiment.name, progress=progress,
        )  # fmt: skip
        progress(f"{experiment.name}: writing", 0, 0)
        done.append(_written(experiment, measured, output, len(seeds)))
    _put(output, {"index.html": render_index(_entries(output, done))})
    return done


def experiments_named(names: Sequence[str]) -> list[Experiment]:
    """Return experiments by name; no name, or ``all``, is all of them."""
    for name in names:
        if name != "all" and name not in EXPERIMENTS:
            raise ParameterError(
                f"no experiment {name!r}{suggest(name, EXPERIMENTS)}; there are "
                f"{', '.join(EXPERIMENTS)} and all"
            )
    chosen = EXPERIMENTS if not names or "all" in names else dict.fromkeys(names)
    return [EXPERIMENTS[name]() for name in chosen]


def check_own_folder(output: Path) -> None:
    """Refuse a folder that is not an earlier output of this, before any work is done for it."""
    if output.is_dir() and (not any(output.iterdir()) or (output / CELLS).is_dir()):
        return
    if output.exists():
        raise OutputExistsError(
            f"{output} is there already and is not an output of reproduce (it has no folder "
            f"{CELLS!r}); choose another"
        )
    check_writable(output)


def _written(
    experiment: Experiment, measured: Sequence[Measured], output: Path, seeds: int
) -> Reproduced:
    name, rows = experiment.name, experiment.rows(measured)
    account = experiment.tell(rows, measured)
    with drawing():
        figure = experiment.draw(rows)
    svg = as_svg(figure)
    page = render_page(
        title=experiment.title, account=account, svg=svg, figure_text=experiment.figure_text,
        made_by=_made_by(name, seeds),
    )  # fmt: skip
    contents: dict[str, str | bytes] = {
        f"{name}.csv": as_csv(rows),
        f"{name}.svg": svg,
        f"{name}.png": as_png(figure),
        f"{name}.html": page,
    }
    _put(output, contents)
    return Reproduced(name, experiment.title, account, list(contents))


def _put(output: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files that appear whole or not at all."""
    with temporary_folder(".writing-", inside=output) as beside:
        for name, content in contents.items():
            bits = content.encode() if isinstance(content, str) else content
            (beside / name).write_bytes(bits)
        for name in contents:
            (beside / name).replace(output / name)


def _entries(output: Path, done: Sequence[Reproduced]) -> list[tuple[str, str, str]]:
    """Return name, title and first finding of whatever has a page in the folder."""
    said = {each.name: each.account.findings[0] for each in done}
    return [
        (name, experiment.title, said.get(name, ""))
        for name, experiment in EXPERIMENTS.items()
        if (output / f"{name}.html").exists()
    ]


def _made_by(name: str, seeds: int) -> str:
    packages = ", ".join(f"{package} {version(package)}" for package in ("mhpc", "numpy", "scipy"))
    return (
        f"Made by: mhpc reproduce {name} --seeds {seeds} ({packages}, Python "
        f"{platform.python_version()}). Published figures: {published()['reference']}."
    )
