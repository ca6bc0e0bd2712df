"""Both engines give the same results, whatever happens to the workers."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pytest

import mhpc.datasets
from mhpc.data.panel import SinglePartition
from mhpc.engines import dask_cluster as dask_cluster
from mhpc.engines.base import open_engine
from mhpc.engines.dask import DaskEngine
from mhpc.engines.dask_cluster import connect
from mhpc.errors import ParameterError, WorkerError
from mhpc.run import run
from mhpc.settings import RunSettings
from mhpc.system.display import Progress, silent
from tests.fixtures.clusters import Processes, processes, write_votes

GARDEN = Path(mhpc.datasets.__file__).parent / "garden"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with processes(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("votes")
    write_votes(folder, instances=4000)
    return folder


def consolidated(
    data: Path,
    out: Path,
    engine: str,
    *,
    progress: Progress = silent,
    limits: Mapping[str, Any] = {},
    **settings: Any,
) -> Path:
    files = {"votes": str(data / "votes.csv"), "taxonomy": str(data / "taxonomy.csv")}
    run(
        RunSettings(**{"engine": engine, **files, **settings}),
        output=out,
        progress=progress,
        open_engine=partial(open_engine, **limits),
    )
    return out


def table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def scores(folder: Path) -> tuple[list[tuple[str, str]], np.ndarray]:
    query = "FROM read_parquet(?)"
    rows = duckdb.execute(query, [str(folder / "scores.parquet")]).fetchall()
    return [row[:2] for row in rows], np.array([row[2:] for row in rows])


def numbers(row: list[str]) -> list[float]:
    return [float(cell or "nan") for cell in row]


def assert_same(one: Path, other: Path) -> None:
    assert sorted(p.name for p in one.iterdir()) == sorted(p.name for p in other.iterdir())
    labels, others = table(one / "labels.csv"), table(other / "labels.csv")
    assert [row[:2] for row in labels] == [row[:2] for row in others]
    np.testing.assert_allclose(
        [float(row[2]) for row in labels[1:]], [float(row[2]) for row in others[1:]], atol=1e-6
    )
    (cells, values), (other_cells, other_values) = scores(one), scores(other)
    assert cells == other_cells
    np.testing.assert_allclose(values, other_values, atol=1e-6)
    (header, *facts), (other_header, *other_facts) = (
        table(folder / "sources.csv") for folder in (one, other)
    )
    assert header == other_header
    texts = [
        header.index(name) for name in ("source", "most_errors_under", "nearest_source", "copy")
    ]
    for row, other_row in zip(facts, other_facts, strict=True):
        assert [row[at] for at in texts] == [other_row[at] for at in texts]
        rest = [at for at in range(len(header)) if at not in texts]
        np.testing.assert_allclose(
            numbers([row[at] for at in rest]), numbers([other_row[at] for at in rest]), atol=1e-9
        )
    assert_same_conflicts(one, other)
    assert (one / "taxonomy.csv").read_bytes() == (other / "taxonomy.csv").read_bytes()


def assert_same_conflicts(one: Path, other: Path) -> None:
    here, there = (
        json.loads((folder / "run.json").read_text())["conflicts"] for folder in (one, other)
    )
    assert here["disputed"] == there["disputed"]
    assert here["confusions"] == there["confusions"]
    # Scores are the same to rounding, by which equal instances may change places.
    gains, others = (
        np.array([each["gain"] for each in found["instances"]]) for found in (here, there)
    )
    np.testing.assert_allclose(gains, others, atol=1e-5)


@pytest.mark.parametrize("method", ["majority", "cross-source", "dawid-skene", "mhpc", "auto"])
def test_both_engines_give_the_same_on_the_garden(
    method: str, cluster: Processes, tmp_path: Path
) -> None:
    here = consolidated(GARDEN, tmp_path / "here", "local", method=method)
    there = consolidated(GARDEN, tmp_path / "there", cluster.engine, method=method)
    assert_same(here, there)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "cross-source"},
        {"method": "majority", "parameters": {"source_weights": "learned"}, "scope": "used"},
        {"method": "wa", "top": 3},
        {
            "method": "mhpc-local",
            "parameters": {"solver": "graph", "landmarks": 200, "n_neighbors": 5},
        },
        {"method": "channel", "parameters": {"landmarks": 200}},
    ],
    ids=[
        "cross-source",
        "majority by skill in scopes",
        "wa, few scores kept",
        "mhpc-local on landmarks",
        "channel on landmarks",
    ],
)
def test_both_engines_give_the_same_on_votes_in_no_order(
    settings: dict[str, Any], cluster: Processes, made_up: Path, tmp_path: Path
) -> None:
    here = consolidated(made_up, tmp_path / "here", "local", **settings)
    there = consolidated(made_up, tmp_path / "there", cluster.engine, **settings)
    assert_same(here, there)


def test_rules_are_fitted_to_the_same_sample(
    cluster: Processes, made_up: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"method": "cross-source", "limits": {"rule_sample": 500}}
    here = consolidated(made_up, tmp_path / "here", "local", **options)
    there = consolidated(made_up, tmp_path / "there", cluster.engine, **options)
    assert_same(here, there)


def test_gold_labels_are_kept_and_learned_from(
    cluster: Processes, made_up: Path, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("instance,label\ni7,a/x/1\ni9,b/y/2\ni11,\n")
    settings: dict[str, Any] = {"method": "cross-source", "gold": str(gold)}
    here = consolidated(made_up, tmp_path / "here", "local", **settings)
    there = consolidated(made_up, tmp_path / "there", cluster.engine, **settings)
    assert_same(here, there)
    assert ["i7", "a/x/1", "1.0"] in table(there / "labels.csv")


def test_a_run_of_either_engine_can_be_applied_by_both(
    cluster: Processes, made_up: Path, tmp_path: Path
) -> None:
    learnt = consolidated(made_up, tmp_path / "learnt", cluster.engine, method="cross-source")
    new = tmp_path / "new"
    new.mkdir()
    write_votes(new, instances=300, seed=1)
    here = consolidated(new, tmp_path / "here", "local", apply=str(learnt))
    there = consolidated(new, tmp_path / "there", cluster.engine, apply=str(learnt))
    assert_same(here, there)


def test_a_sample_is_that_of_a_panel_in_memory(
    cluster: Processes, made_up: Path, tmp_path: Path
) -> None:
    taxonomy = mhpc.read_taxonomy(made_up / "taxonomy.csv")
    whole = SinglePartition(mhpc.encode(mhpc.read_votes(made_up / "votes.csv"), taxonomy))
    with connect(cluster.address) as workers:
        engine = DaskEngine(workers, None)
        votes = engine.read(str(made_up / "votes.csv"), columns={}, scope="all", folder=tmp_path)
        held = engine.encode(
            votes, taxonomy, unknown="error", gold=None, earlier=None, progress=silent
        )
        for most in (1, 700, 10_000):
            some, expected = held.partitions.sample(most), whole.sample(most)
            assert some.instances.ids == expected.instances.ids
            assert some.instance.tolist() == expected.instance.tolist()
            assert some.source.tolist() == expected.source.tolist()
            assert (some.augmented != expected.augmented).nnz == 0


def test_a_truth_is_measured_afterwards(cluster: Processes, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="mhpc evaluate .*OUT --truth"):
        consolidated(
            GARDEN, tmp_path / "OUT", cluster.engine, method="wa", truth=str(GARDEN / "truth.csv")
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("nanny", [False, True], ids=["gone for good", "started again"])
def test_a_worker_that_is_killed_costs_time_and_no_result(
    nanny: bool, made_up: Path, tmp_path: Path
) -> None:
    here = consolidated(made_up, tmp_path / "here", "local", method="cross-source")
    with processes(tmp_path, nanny=nanny) as started:
        killed: list[int] = []

        def kill(stage: str, done: int, most: int) -> None:
            if stage == "regressing" and not killed:
                killed.append(started.workers[0])
                os.kill(started.workers[0], signal.SIGKILL)

        there = consolidated(
            made_up, tmp_path / "there", started.engine, method="cross-source", progress=kill
        )
    assert killed
    assert_same(here, there)


@pytest.mark.parametrize("scheduler", [False, True], ids=["all workers", "the scheduler"])
def test_a_cluster_that_is_gone_is_reported_and_nothing_is_left(
    scheduler: bool, made_up: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with processes(tmp_path) as started:
        gone = (started.scheduler.pid,) if scheduler else started.workers

        def kill(stage: str, done: int, most: int) -> None:
            if stage == "regressing" and done == 0:
                for pid in gone:
                    if psutil.pid_exists(pid):
                        os.kill(pid, signal.SIGKILL)

        with pytest.raises(WorkerError, match="is gone" if scheduler else "no worker is left"):
            consolidated(
                made_up, out / "OUT", started.engine, method="cross-source", progress=kill,
                limits={"patience": 2.0},
            )  # fmt: skip
    assert list(out.iterdir()) == []


def test_an_address_without_a_scheduler_is_reported(
    tmp_path: Path,
) -> None:
    with pytest.raises(WorkerError, match="no Dask scheduler answers at tcp://127.0.0.1:1 "):
        consolidated(
            GARDEN, tmp_path / "OUT", "dask=tcp://127.0.0.1:1", method="wa", limits={"timeout": 0.5}
        )


class SlowToEnd:
    """A cluster of a machine that is too busy to end it in time."""

    def close(self, *, timeout: float) -> None:
        raise TimeoutError(f"timed out after {timeout:.0f} s.")


def test_a_cluster_that_is_slow_to_end_does_not_hide_what_went_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import distributed

    monkeypatch.setattr(distributed, "LocalCluster", lambda **_: SlowToEnd())
    with pytest.raises(WorkerError, match="what went wrong"), dask_cluster._local_cluster():
        raise WorkerError("what went wrong")


def test_a_cluster_of_this_machine_ends_with_the_run_and_with_an_interrupt(
    made_up: Path, tmp_path: Path
) -> None:
    command: list[str | Path] = [
        sys.executable, "-m", "mhpc", "consolidate", made_up / "votes.csv", "--engine", "dask",
        "--taxonomy", made_up / "taxonomy.csv", "--method", "wa", "-o", tmp_path / "OUT",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "OUT" / "run.json").exists()
    command[-1] = tmp_path / "ANOTHER"
    running = subprocess.Popen(
        command, text=True, start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process, deadline = psutil.Process(running.pid), time.monotonic() + 60
    while len(children := process.children(recursive=True)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err
    _, alive = psutil.wait_procs(children, timeout=20)
    assert all(child.status() == psutil.STATUS_ZOMBIE for child in alive)
    assert [path.name for path in tmp_path.iterdir()] == ["OUT"]
