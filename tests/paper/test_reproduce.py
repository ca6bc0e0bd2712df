"""Experiments from data to pages, on small datasets."""

import csv
import re
import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pytest

from mhpc.errors import MissingExtraError, OutputExistsError, ParameterError
from mhpc.methods.registry import METHODS
from mhpc.paper import run
from mhpc.paper.cells import Cell, Measured, Record, Task, measure
from mhpc.paper.convergence import Convergence
from mhpc.paper.experiment import (
    COLUMNS,
    METRIC_ORDER,
    Experiment,
    format_published,
    format_value,
    select,
)
from mhpc.paper.medical import Medical
from mhpc.paper.methods import Methods
from mhpc.paper.render import style
from mhpc.paper.run import EXPERIMENTS, reproduce, select_experiments
from mhpc.paper.sensitivity import Sensitivity
from mhpc.paper.sources import Sources
from mhpc.paper.strength import Strength
from tests.fixtures.yeast import write_small_sets

SMALL: dict[str, Callable[[], Experiment]] = {
    "sources": lambda: Sources(counts=(1, 3, 10)),
    "convergence": lambda: Convergence(iterations=2),
    "lambda": lambda: Strength(lambdas=(1, 10, 15, 25), sigmas=(0.1, 0.3)),
    "sensitivity": lambda: Sensitivity(alphas=(0.4, 0.7, 1.0)),
    "methods": Methods,
    "medical": lambda: Medical(patients=40),
}
"""Every experiment, as small as it can be and still say something."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_sets(tmp_path_factory.mktemp("data"))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run tasks in this process: starting processes takes longer than the tasks."""

    def map_in_process(work: Callable[[Any], Any], items: Sequence[Any], *, jobs: int) -> Any:
        return ((position, work(item)) for position, item in enumerate(items))

    monkeypatch.setattr("mhpc.paper.cells.process_map", map_in_process)


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_experiment_has_a_small_version() -> None:
    assert list(SMALL) == list(EXPERIMENTS)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.usefixtures("in_this_process")
def test_an_experiment_writes_a_table_a_figure_and_a_page(
    name: str, data: Path, tmp_path: Path
) -> None:
    (done,) = reproduce([SMALL[name]()], tmp_path / "out", data=data, seeds=range(2))
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {*done.files, "cells", "index.html"}
    rows = read_table(out / f"{name}.csv")
    assert tuple(rows[0])[: len(COLUMNS)] == COLUMNS
    assert {row["metric"] for row in rows} == set(METRIC_ORDER)
    assert {row["view"] for row in rows} == {"specific", "closed"}
    assert all(float(row["value"]) >= 0 and float(row["sd"]) >= 0 for row in rows)
    assert len(
        {tuple(row[name] for name in row if name not in ("value", "sd")) for row in rows}
    ) == len(rows)
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (out / f"{name}.html").read_text()
    assert all(escape(finding) in page for finding in done.report.findings)
    # The page loads nothing from the network.
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", page)
    assert f'href="{name}.html"' in (out / "index.html").read_text()


@pytest.mark.usefixtures("in_this_process")
def test_published_figures_are_separate_from_measured_ones(data: Path, tmp_path: Path) -> None:
    reproduce([SMALL["sources"]()], tmp_path / "out", data=data, seeds=range(2))
    rows = read_table(tmp_path / "out" / "sources.csv")
    published = {
        (row["sources"], row["metric"]): float(row["published"]) for row in rows if row["published"]
    }
    assert published["3", "coverage_error"] == 102.949
    assert len(published) == 9
    assert all(
        (row["method"], row["view"]) == ("mhpc", "specific") for row in rows if row["published"]
    )
    # These thirteen labels cannot give the figures of five hundred.
    assert all(float(row["value"]) < 14 for row in rows)


@pytest.mark.usefixtures("in_this_process")
def test_finished_cells_are_reused_after_an_interrupt(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Task] = []
    limit = 4

    def measure_or_interrupt(task: Task) -> list[Record]:
        if len(done) == limit:
            raise KeyboardInterrupt
        done.append(task)
        return measure(task)

    monkeypatch.setattr("mhpc.paper.cells.measure", measure_or_interrupt)
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        reproduce([SMALL["sources"]()], out, data=data, seeds=range(2))
    assert [path.name for path in out.iterdir()] == ["cells"]
    assert len(list((out / "cells").iterdir())) == 4
    limit = 100
    reproduce([SMALL["sources"]()], out, data=data, seeds=range(2))
    assert len(done) == 6
    uninterrupted = tmp_path / "whole"
    reproduce([SMALL["sources"]()], uninterrupted, data=data, seeds=range(2))
    for name in ("sources.csv", "sources.svg", "sources.png", "sources.html"):
        assert (out / name).read_bytes() == (uninterrupted / name).read_bytes()


@pytest.mark.usefixtures("in_this_process")
def test_cells_of_other_data_are_not_reused(tmp_path: Path) -> None:
    small = write_small_sets(tmp_path / "first")
    large = write_small_sets(tmp_path / "second", genes=20)
    reproduce([SMALL["sources"]()], tmp_path / "out", data=small, seeds=range(1))
    cells = len(list((tmp_path / "out" / "cells").iterdir()))
    reproduce([SMALL["sources"]()], tmp_path / "out", data=large, seeds=range(1))
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 2 * cells


@pytest.mark.usefixtures("in_this_process")
def test_a_truncated_cell_is_computed_again(data: Path, tmp_path: Path) -> None:
    reproduce([SMALL["sources"]()], tmp_path / "out", data=data, seeds=range(1))
    before = (tmp_path / "out" / "sources.csv").read_bytes()
    cell = next((tmp_path / "out" / "cells").iterdir())
    cell.write_bytes(cell.read_bytes()[:20])
    reproduce([SMALL["sources"]()], tmp_path / "out", data=data, seeds=range(1))
    assert (tmp_path / "out" / "sources.csv").read_bytes() == before


def test_results_do_not_depend_on_the_number_of_processes(data: Path, tmp_path: Path) -> None:
    for jobs in (1, 2):
        reproduce([SMALL["sources"]()], tmp_path / str(jobs), data=data, seeds=[3], jobs=jobs)
    serial, parallel = (tmp_path / jobs / "sources.csv" for jobs in ("1", "2"))
    assert serial.read_bytes() == parallel.read_bytes()


def test_a_folder_with_other_files_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(OutputExistsError, match="not an output of reproduce"):
        reproduce([SMALL["medical"]()], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_missing_matplotlib_is_reported_before_any_computation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("the computation has started")

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(run, "measure_cells", fail)
    with pytest.raises(MissingExtraError, match=r"pip install 'mhpc\[report\]'"):
        run.reproduce(run.select_experiments(["sources"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_experiments_are_found_by_name() -> None:
    assert [experiment.name for experiment in select_experiments(["lambda", "sources"])] == [
        "lambda",
        "sources",
    ]
    assert [experiment.name for experiment in select_experiments([])] == list(EXPERIMENTS)
    assert [experiment.name for experiment in select_experiments(["all"])] == list(EXPERIMENTS)
    with pytest.raises(ParameterError, match="no experiment 'source' .nearest: 'sources'"):
        select_experiments(["source"])


def test_few_sources_give_the_published_figures(data_folder: Path, tmp_path: Path) -> None:
    experiment = Sources(counts=(1, 3, 4, 5))
    cells = [
        Cell(cell.votes, tuple(v for v in cell.variants if v.label == "mhpc"))
        for cell in experiment.cells([0])
    ]
    rows = experiment.rows([Measured(cell, measure(Task(cell, data_folder))) for cell in cells])
    published = [row for row in rows if row.published is not None]
    assert len(published) == 12
    for row in published:
        assert row.value == pytest.approx(row.published, rel=0.15), row


def test_the_docs_page_shows_the_measured_figures(data_folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    experiment = Sources(counts=(5,))
    cells = [
        Cell(cell.votes, tuple(v for v in cell.variants if v.label == "mhpc"))
        for cell in experiment.cells(range(5))
    ]
    rows = experiment.rows([Measured(cell, measure(Task(cell, data_folder))) for cell in cells])
    row = [
        text
        for metric in METRIC_ORDER
        for measured in select(rows, view="specific", metric=metric)
        for text in (format_published(measured.published), format_value(metric, measured.value))
    ]
    assert f"| 5 | {' | '.join(row)} |" in page


def test_no_two_methods_look_alike_in_a_figure() -> None:
    looks = {(style(name)["color"], style(name)["marker"]) for name in METHODS}
    assert len(looks) == len(METHODS)
