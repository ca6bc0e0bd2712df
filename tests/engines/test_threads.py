"""The files of a run do not depend on the number of threads."""

from functools import partial
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from mhpc.data.panel import SinglePartition
from mhpc.run import run
from mhpc.settings import RunSettings
from mhpc.system.parallel import limit_threads
from tests.fixtures.clusters import write_votes

FILES = ("labels.csv", "scores.parquet", "sources.csv", "model.npz")


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("votes")
    write_votes(folder, instances=700)
    return folder


@pytest.mark.parametrize("method", ["cross-source", "mlcm", "mhpc-local"])
def test_one_thread_and_two_threads_write_the_same_bytes(
    method: str, votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"solver": "graph", "landmarks": 300} if method == "mhpc-local" else {}
    settings = RunSettings(
        votes=str(votes / "votes.csv"), taxonomy=str(votes / "taxonomy.csv"), method=method,
        parameters=parameters,
    )  # fmt: skip
    outputs = []
    # Blocks of a few instances, so that several threads have work.
    monkeypatch.setattr(
        "mhpc.methods.base.SinglePartition", partial(SinglePartition, max_instances=100)
    )
    for count in (1, 2):
        with limit_threads(count), threadpool_limits(count, user_api="blas"):
            run(settings, output=tmp_path / str(count))
        outputs.append({name: (tmp_path / str(count) / name).read_bytes() for name in FILES})
    assert outputs[0] == outputs[1]
