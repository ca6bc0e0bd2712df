"""Run experiments and write their tables, figures and pages to a folder."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from mhpc.errors import OutputExistsError, ParameterError, suggest
from mhpc.paper.cells import Measured, measure_cells
from mhpc.paper.convergence import Convergence
from mhpc.paper.experiment import Experiment, to_csv
from mhpc.paper.medical import Medical
from mhpc.paper.methods import Methods
from mhpc.paper.published import published
from mhpc.paper.render import (
    ExperimentReport,
    check_matplotlib,
    drawing,
    render_index,
    render_page,
    to_png,
    to_svg,
)
from mhpc.paper.sensitivity import Sensitivity
from mhpc.paper.sources import Sources
from mhpc.paper.strength import Strength
from mhpc.system.checkpoints import CheckpointStore
from mhpc.system.display import Progress, silent
from mhpc.system.files import check_writable, temporary_folder

EXPERIMENTS: dict[str, type[Experiment]] = {
    experiment.name: experiment
    for experiment in (Sources, Convergence, Strength, Sensitivity, Methods, Medical)
}

CELLS = "cells"
"""The subfolder of finished cells, which also identifies a folder as an output."""


@dataclass(frozen=True)
class Reproduced:
    """An experiment that was run, its report and its files."""

    name: str
    title: str
    report: ExperimentReport
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
    """Run experiments and write tables, figures and pages.

    Parameters
    ----------
    experiments : sequence of Experiment
        What to run, in this order.
    output : path
        The folder for tables, figures and pages. Finished cells are kept in it, so that the
        same call resumes an interrupted one.
    data : path, optional
        Where the public data sets are; see `mhpc.datasets.yeast.load_yeast`.
    seeds : sequence of int
        One run of each cell per seed.
    jobs : int
        Processes; the figures do not depend on it.
    progress : callable
        Called with the stage and how much of it is done.
    """
    check_own_folder(output)
    check_matplotlib()
    cache = CheckpointStore(output / CELLS)
    done = []
    for experiment in experiments:
        measured = measure_cells(
            experiment.cells(seeds), cache,
            data=data, jobs=jobs, stage=experiment.name, progress=progress,
        )  # fmt: skip
        progress(f"{experiment.name}: writing", 0, 0)
        done.append(_write_experiment(experiment, measured, output, len(seeds)))
    _write_files(output, {"index.html": render_index(_entries(output, done))})
    return done


def select_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return experiments by name; no name, or ``all``, selects all of them."""
    for name in names:
        if name != "all" and name not in EXPERIMENTS:
            raise ParameterError(
                f"no experiment {name!r}{suggest(name, EXPERIMENTS)}; there are "
                f"{', '.join(EXPERIMENTS)} and all"
            )
    chosen = EXPERIMENTS if not names or "all" in names else dict.fromkeys(names)
    return [EXPERIMENTS[name]() for name in chosen]


def check_own_folder(output: Path) -> None:
    """Raise if the folder exists and is not an earlier output, before any work is done."""
    if output.is_dir() and (not any(output.iterdir()) or (output / CELLS).is_dir()):
        return
    if output.exists():
        raise OutputExistsError(
            f"{output} exists and is not an output of reproduce (it has no folder {CELLS!r}); "
            "choose another folder"
        )
    check_writable(output)


def _write_experiment(
    experiment: Experiment, measured: Sequence[Measured], output: Path, seeds: int
) -> Reproduced:
    name, rows = experiment.name, experiment.rows(measured)
    report = experiment.report(rows, measured)
    with drawing():
        figure = experiment.draw(rows)
    svg = to_svg(figure)
    page = render_page(
        title=experiment.title, report=report, svg=svg, figure_text=experiment.figure_text,
        made_by=_made_by(name, seeds),
    )  # fmt: skip
    contents: dict[str, str | bytes] = {
        f"{name}.csv": to_csv(rows),
        f"{name}.svg": svg,
        f"{name}.png": to_png(figure),
        f"{name}.html": page,
    }
    _write_files(output, contents)
    return Reproduced(name, experiment.title, report, list(contents))


def _write_files(output: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write each file atomically."""
    with temporary_folder(".writing-", inside=output) as folder:
        for name, content in contents.items():
            bits = content.encode() if isinstance(content, str) else content
            (folder / name).write_bytes(bits)
        for name in contents:
            (folder / name).replace(output / name)


def _entries(output: Path, done: Sequence[Reproduced]) -> list[tuple[str, str, str]]:
    """Return the name, title and first finding of every experiment with a page."""
    first_finding = {result.name: result.report.findings[0] for result in done}
    return [
        (name, experiment.title, first_finding.get(name, ""))
        for name, experiment in EXPERIMENTS.items()
        if (output / f"{name}.html").exists()
    ]


def _made_by(name: str, seeds: int) -> str:
    packages = ", ".join(f"{package} {version(package)}" for package in ("mhpc", "numpy", "scipy"))
    return (
        f"Made by: mhpc reproduce {name} --seeds {seeds} ({packages}, Python "
        f"{platform.python_version()}). Published figures: {published()['reference']}."
    )
