"""Both engines give the same results, even if workers are killed."""

import asyncio
import csv
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pytest

import mhpc.datasets
from mhpc.data.panel import SinglePartition
from mhpc.engines import dask_cluster
from mhpc.engines.base import open_engine
from mhpc.engines.dask import DaskEngine
from mhpc.engines.dask_cluster import connect
from mhpc.errors import ParameterError, WorkerError
from mhpc.model import read_model
from mhpc.read.options import ReadOptions
from mhpc.run import run
from mhpc.settings import RunSettings
from mhpc.system.display import Progress, silent
from stress.faults.listeners import IMPOSTOR
from tests.fixtures.clusters import ClusterProcesses, start_cluster, write_votes
from tests.fixtures.commands import shows_bug

GARDEN = Path(mhpc.datasets.__file__).parent / "garden"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with start_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def votes_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("votes")
    write_votes(folder, instances=4000)
    return folder


def consolidate(
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


def to_floats(row: list[str]) -> list[float]:
    return [float(cell or "nan") for cell in row]


def assert_same(local_run: Path, dask_run: Path) -> None:
    local_names, dask_names = (
        sorted(path.name for path in folder.iterdir()) for folder in (local_run, dask_run)
    )
    assert local_names == dask_names
    local_labels, dask_labels = (table(folder / "labels.csv") for folder in (local_run, dask_run))
    assert [row[:2] for row in local_labels] == [row[:2] for row in dask_labels]
    np.testing.assert_allclose(
        [float(row[2]) for row in local_labels[1:]],
        [float(row[2]) for row in dask_labels[1:]],
        atol=1e-6,
    )
    assert_same_items(local_run, dask_run)
    (local_cells, local_scores), (dask_cells, dask_scores) = scores(local_run), scores(dask_run)
    assert local_cells == dask_cells
    np.testing.assert_allclose(local_scores, dask_scores, atol=1e-6)
    assert_same_sources(local_run, dask_run)
    assert_same_conflicts(local_run, dask_run)
    assert (local_run / "taxonomy.csv").read_bytes() == (dask_run / "taxonomy.csv").read_bytes()


def assert_same_items(local_run: Path, dask_run: Path) -> None:
    (header, *local_rows), (dask_header, *dask_rows) = (
        table(folder / "items.csv") for folder in (local_run, dask_run)
    )
    assert header == dask_header
    # Scores that are equal up to rounding errors may swap the labels of an instance.
    assert [(row[0], sorted(row[1].split("; ")), row[5:]) for row in local_rows] == [
        (row[0], sorted(row[1].split("; ")), row[5:]) for row in dask_rows
    ]
    local_numbers, dask_numbers = (
        [to_floats(row[3:5]) for row in rows] for rows in (local_rows, dask_rows)
    )
    np.testing.assert_allclose(local_numbers, dask_numbers, atol=1e-5)


def assert_same_sources(local_run: Path, dask_run: Path) -> None:
    (header, *local_rows), (dask_header, *dask_rows) = (
        table(folder / "sources.csv") for folder in (local_run, dask_run)
    )
    assert header == dask_header
    text_columns = [
        header.index(name) for name in ("source", "most_errors_under", "nearest_source", "relation")
    ]
    numeric_columns = [column for column in range(len(header)) if column not in text_columns]
    for local_row, dask_row in zip(local_rows, dask_rows, strict=True):
        assert [local_row[column] for column in text_columns] == [
            dask_row[column] for column in text_columns
        ]
        np.testing.assert_allclose(
            to_floats([local_row[column] for column in numeric_columns]),
            to_floats([dask_row[column] for column in numeric_columns]),
            atol=1e-9,
        )


def assert_same_conflicts(local_run: Path, dask_run: Path) -> None:
    local, distributed = (
        json.loads((folder / "run.json").read_text())["conflicts"]
        for folder in (local_run, dask_run)
    )
    assert local["disputed"] == distributed["disputed"]
    assert local["confusions"] == distributed["confusions"]
    # Scores agree up to rounding errors, which may swap instances with equal gains.
    local_gains, distributed_gains = (
        np.array([instance["gain"] for instance in conflicts["instances"]])
        for conflicts in (local, distributed)
    )
    np.testing.assert_allclose(local_gains, distributed_gains, atol=1e-5)


@pytest.mark.parametrize("method", ["majority", "cross-source", "dawid-skene", "mhpc", "auto"])
def test_both_engines_give_the_same_results_on_the_garden(
    method: str, cluster: ClusterProcesses, tmp_path: Path
) -> None:
    local_run = consolidate(GARDEN, tmp_path / "local", "local", method=method)
    dask_run = consolidate(GARDEN, tmp_path / "dask", cluster.engine, method=method)
    assert_same(local_run, dask_run)


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
        "majority with learned weights and scopes",
        "wa, few scores kept",
        "mhpc-local on landmarks",
        "channel on landmarks",
    ],
)
def test_both_engines_give_the_same_results_on_shuffled_votes(
    settings: dict[str, Any], cluster: ClusterProcesses, votes_folder: Path, tmp_path: Path
) -> None:
    local_run = consolidate(votes_folder, tmp_path / "local", "local", **settings)
    dask_run = consolidate(votes_folder, tmp_path / "dask", cluster.engine, **settings)
    assert_same(local_run, dask_run)


def test_both_engines_fit_rules_to_the_same_sample(
    cluster: ClusterProcesses, votes_folder: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"method": "cross-source", "limits": {"rule_sample": 500}}
    local_run = consolidate(votes_folder, tmp_path / "local", "local", **options)
    dask_run = consolidate(votes_folder, tmp_path / "dask", cluster.engine, **options)
    assert_same(local_run, dask_run)


def test_gold_labels_are_kept_and_learned_from(
    cluster: ClusterProcesses, votes_folder: Path, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("instance,label\ni7,a/x/1\ni9,b/y/2\ni11,\n")
    settings: dict[str, Any] = {"method": "cross-source", "gold": str(gold)}
    local_run = consolidate(votes_folder, tmp_path / "local", "local", **settings)
    dask_run = consolidate(votes_folder, tmp_path / "dask", cluster.engine, **settings)
    assert_same(local_run, dask_run)
    assert ["i7", "a/x/1", "1.0"] in table(dask_run / "labels.csv")


def test_a_run_of_either_engine_can_be_applied_by_both(
    cluster: ClusterProcesses, votes_folder: Path, tmp_path: Path
) -> None:
    fitted_run = consolidate(
        votes_folder, tmp_path / "fitted", cluster.engine, method="cross-source"
    )
    new = tmp_path / "new"
    new.mkdir()
    write_votes(new, instances=300, seed=1)
    local_run = consolidate(new, tmp_path / "local", "local", apply=str(fitted_run))
    dask_run = consolidate(new, tmp_path / "dask", cluster.engine, apply=str(fitted_run))
    assert_same(local_run, dask_run)


def test_negative_votes_count_the_same_on_both_engines(
    cluster: ClusterProcesses, votes_folder: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_votes(data, instances=400, denied=0.3)
    local_run = consolidate(data, tmp_path / "local", "local", method="majority")
    dask_run = consolidate(data, tmp_path / "dask", cluster.engine, method="majority")
    assert_same(local_run, dask_run)
    assert read_model(dask_run).denial_weights is not None
    # A run without negative votes does not know how much they count.
    earlier = consolidate(votes_folder, tmp_path / "earlier", "local", method="majority")
    assert read_model(earlier).denial_weights is None
    local_run = consolidate(data, tmp_path / "local again", "local", apply=str(earlier))
    dask_run = consolidate(data, tmp_path / "dask again", cluster.engine, apply=str(earlier))
    assert_same(local_run, dask_run)


@pytest.mark.filterwarnings("ignore::mhpc.errors.MhpcWarning")
@pytest.mark.parametrize("new_sources", ["ignore", "prior"])
def test_new_sources_and_labels_are_treated_alike_by_both_engines(
    cluster: ClusterProcesses, votes_folder: Path, tmp_path: Path, new_sources: str
) -> None:
    fitted_run = consolidate(votes_folder, tmp_path / "fitted", "local", method="dawid-skene")
    new = tmp_path / "new"
    new.mkdir()
    write_votes(new, instances=300, seed=1)
    with (new / "votes.csv").open("a") as file:
        file.write("i5,stranger,a/x/1\ni6,stranger,stone\n")
    settings: dict[str, Any] = {
        "apply": str(fitted_run), "new_sources": new_sources, "unknown": "graft",
    }  # fmt: skip
    local_run = consolidate(new, tmp_path / "local", "local", **settings)
    dask_run = consolidate(new, tmp_path / "dask", cluster.engine, **settings)
    assert_same(local_run, dask_run)


def test_a_sample_is_the_same_as_that_of_a_panel_in_memory(
    cluster: ClusterProcesses, votes_folder: Path, tmp_path: Path
) -> None:
    taxonomy = mhpc.read_taxonomy(votes_folder / "taxonomy.csv")
    local = SinglePartition(mhpc.encode(mhpc.read_votes(votes_folder / "votes.csv"), taxonomy))
    with connect(cluster.address) as workers:
        engine = DaskEngine(workers, None)
        votes = engine.read(
            str(votes_folder / "votes.csv"), ReadOptions(), scope="all", folder=tmp_path
        )
        encoded = engine.encode(
            votes, taxonomy, unknown="error", gold=None, earlier=None, progress=silent
        )
        for size in (1, 700, 10_000):
            sample, expected = encoded.partitions.sample(size), local.sample(size)
            assert sample.instances.ids == expected.instances.ids
            assert sample.instance.tolist() == expected.instance.tolist()
            assert sample.source.tolist() == expected.source.tolist()
            assert (sample.augmented != expected.augmented).nnz == 0


def test_a_truth_is_refused_with_the_command_that_measures_the_result(
    cluster: ClusterProcesses, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match="measure afterwards with mhpc evaluate .*OUT"):
        consolidate(
            GARDEN, tmp_path / "OUT", cluster.engine, method="wa", truth=str(GARDEN / "truth.csv")
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("nanny", [False, True], ids=["not restarted", "restarted"])
def test_a_killed_worker_does_not_change_the_result(
    nanny: bool, votes_folder: Path, tmp_path: Path
) -> None:
    local_run = consolidate(votes_folder, tmp_path / "local", "local", method="cross-source")
    with start_cluster(tmp_path, nanny=nanny) as started:
        killed: list[int] = []

        def kill(stage: str, done: int, total: int) -> None:
            if stage == "regressing" and not killed:
                killed.append(started.workers[0])
                os.kill(started.workers[0], signal.SIGKILL)

        dask_run = consolidate(
            votes_folder, tmp_path / "dask", started.engine, method="cross-source", progress=kill
        )
    assert killed
    assert_same(local_run, dask_run)


class LosesAResult:
    """A client that loses a connection while it fetches a result, and is slow the second time."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.fetched = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    async def gather(self, future: Any, *, asynchronous: bool) -> Any:
        self.fetched += 1
        if self.fetched == 1:
            raise asyncio.CancelledError
        await asyncio.sleep(1.2)
        return await self.client.gather(future, asynchronous=asynchronous)


def test_a_result_that_is_lost_on_its_way_is_fetched_again(cluster: ClusterProcesses) -> None:
    with connect(cluster.address) as workers:
        client = LosesAResult(workers.client)
        workers = replace(workers, client=client)
        assert workers.result(workers.submit(sum, (1, 2))) == 3
    # One that arrives slowly is waited for.
    assert client.fetched == 2


@pytest.mark.parametrize("scheduler", [False, True], ids=["all workers", "the scheduler"])
def test_a_lost_cluster_is_reported_and_leaves_no_files(
    scheduler: bool, votes_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with start_cluster(tmp_path) as started:
        pids = (started.scheduler.pid,) if scheduler else started.workers

        def kill(stage: str, done: int, total: int) -> None:
            if stage == "regressing" and done == 0:
                for pid in pids:
                    if psutil.pid_exists(pid):
                        os.kill(pid, signal.SIGKILL)

        with pytest.raises(WorkerError, match="is gone" if scheduler else "no worker is left"):
            consolidate(
                votes_folder, out / "OUT", started.engine, method="cross-source", progress=kill,
                limits={"patience": 2.0},
            )  # fmt: skip
    assert list(out.iterdir()) == []


def test_an_address_without_a_scheduler_is_reported(
    tmp_path: Path,
) -> None:
    with pytest.raises(WorkerError, match="no Dask scheduler answers at tcp://127.0.0.1:1 "):
        consolidate(
            GARDEN, tmp_path / "OUT", "dask=tcp://127.0.0.1:1", method="wa", limits={"timeout": 0.5}
        )


@contextmanager
def listen(answer: bytes | None) -> Iterator[int]:
    """Listen on a free port; without an answer, accept connections and say nothing."""
    server, accepted = socket.create_server(("127.0.0.1", 0)), list[socket.socket]()

    def serve() -> None:
        with suppress(OSError):
            while True:
                accepted.append(server.accept()[0])
                if answer is not None:
                    accepted[-1].sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        # To close it would not wake the thread that waits for a connection.
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in (server, *accepted):
            connection.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "no answer in 0.5 seconds"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "another program listens there"),
        # A message of 24 bytes that has one frame of 8.
        (struct.pack("<QQQ", 24, 1, 8) + b"\xc1" * 8, "another program listens there"),
        (IMPOSTOR, "another program listens there"),
    ],
    ids=["silent", "of another protocol", "damaged", "claims to be a scheduler"],
)
def test_a_server_that_is_not_a_scheduler_is_reported(
    answer: bytes | None, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with listen(answer) as port:
        address = f"tcp://127.0.0.1:{port}"
        with pytest.raises(WorkerError, match=f"answers at {address} .{reason}"):
            connect(address, timeout=0.5).__enter__()
    assert capfd.readouterr() == ("", "")


def test_a_worker_is_not_a_scheduler(cluster: ClusterProcesses) -> None:
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        worker = next(iter(client.nthreads()))
    with pytest.raises(WorkerError, match="a Worker of Dask listens there"):
        connect(worker).__enter__()


def test_an_encrypted_address_needs_a_certificate() -> None:
    with (
        listen(None) as port,
        pytest.raises(ParameterError, match="needs a certificate; set distributed.comm.tls"),
    ):
        connect(f"tls://127.0.0.1:{port}").__enter__()


def test_a_failed_connection_prints_one_line_and_nothing_later(tmp_path: Path) -> None:
    with listen(None) as port:
        done = subprocess.run(
            [
                sys.executable, "-m", "mhpc", "consolidate", GARDEN / "votes.csv",
                "--taxonomy", GARDEN / "taxonomy.csv", "--method", "wa", "-o", tmp_path / "OUT",
                "--engine", f"dask=127.0.0.1:{port}",
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "no Dask scheduler answers" in done.stderr
    assert list(tmp_path.iterdir()) == []


class SlowToClose:
    """A cluster on a machine that is too busy to close it in time."""

    def close(self, *, timeout: float) -> None:
        raise TimeoutError(f"timed out after {timeout:.0f} s.")


def test_a_cluster_that_is_slow_to_close_does_not_hide_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import distributed

    monkeypatch.setattr(distributed, "LocalCluster", lambda **_: SlowToClose())
    with pytest.raises(WorkerError, match="the error"), dask_cluster._local_cluster():
        raise WorkerError("the error")


def is_worker(process: psutil.Process) -> bool:
    """Return whether a process is one of `multiprocessing` that works."""
    return "spawn_main" in " ".join(process.cmdline())


@contextmanager
def kill_children(most: int) -> Iterator[None]:
    """Kill the first processes that this one starts as workers."""
    over = threading.Event()

    def kill() -> None:
        seen = set[int]()
        while not over.wait(0.01) and len(seen) < most:
            for child in psutil.Process().children():
                with suppress(psutil.Error):
                    if child.pid not in seen and is_worker(child):
                        seen.add(child.pid)
                        child.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def test_a_worker_that_dies_before_it_is_ready_is_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dask_cluster, "core_count", lambda: 1)
    with kill_children(1), connect(None) as cluster:
        assert cluster.result(cluster.submit(sum, (1, 2))) == 3
    with kill_children(100), pytest.raises(WorkerError, match="die before they are ready"):
        connect(None).__enter__()
    assert not [child for child in psutil.Process().children() if is_worker(child)]


def test_a_local_cluster_ends_with_the_run_and_with_an_interrupt(
    votes_folder: Path, tmp_path: Path
) -> None:
    command: list[str | Path] = [
        sys.executable, "-m", "mhpc", "consolidate", votes_folder / "votes.csv", "--engine", "dask",
        "--taxonomy", votes_folder / "taxonomy.csv", "--method", "wa", "-o", tmp_path / "OUT",
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
    assert not shows_bug(err)
    _, alive = psutil.wait_procs(children, timeout=20)
    assert all(child.status() == psutil.STATUS_ZOMBIE for child in alive)
    assert [path.name for path in tmp_path.iterdir()] == ["OUT"]
