"""Same seed, same bits: files do not depend on how many threads there are."""

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
def test_a_run_gives_the_same_bytes_in_one_thread_and_in_two(
    method: str, votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"solver": "graph", "landmarks": 300} if method == "mhpc-local" else {}
    settings = RunSettings(
        votes=str(votes / "votes.csv"), taxonomy=str(votes / "taxonomy.csv"), method=method,
        parameters=parameters,
    )  # fmt: skip
    found = []
    # Parts of a few instances each, so that threads have something to share.
    monkeypatch.setattr(
        "mhpc.methods.base.SinglePartition", partial(SinglePartition, max_instances=100)
    )
    for count in (1, 2):
        with limit_threads(count), threadpool_limits(count, user_api="blas"):
            run(settings, output=tmp_path / str(count))
        found.append({name: (tmp_path / str(count) / name).read_bytes() for name in FILES})
    assert found[0] == found[1]
