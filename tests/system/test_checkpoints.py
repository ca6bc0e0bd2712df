"""A resumed run does not repeat finished stages and gives the same result."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mhpc.errors import MhpcWarning, spell_options
from mhpc.methods.registry import METHODS, make_method
from mhpc.run import run
from mhpc.settings import RunSettings
from mhpc.system.checkpoints import (
    RESUME,
    RESUME_HINT,
    CheckpointStore,
    RunCheckpoints,
    checkpoint_folder,
    checkpoint_run,
    checkpointed,
    checkpointed_steps,
    use_checkpoints,
)
from tests.fixtures.clusters import write_votes

FILES = ("labels.csv", "scores.parquet", "sources.csv", "model.npz")


class FailedError(Exception):
    """The error that ends a run in these tests."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_votes(tmp_path, instances=60)
    return tmp_path


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that `auto` fitted, in order; the third fails."""
    names: list[str] = []

    def recorded(fit: Callable[..., Any]) -> Callable[..., Any]:
        def record(method: Any, *args: Any) -> Any:
            names.append(method.name)
            if len(names) == 3:
                raise FailedError
            return fit(method, *args)

        return record

    for name in ("dawid-skene", "majority", "mhpc-local", "channel", "one-truth"):
        method = type(make_method(name))
        monkeypatch.setattr(method, "fit", recorded(method.fit))
    return names


def consolidate(
    data: Path, *, resume: bool = False, checkpoint_after: float = 0.0, **settings: Any
) -> dict[str, bytes]:
    files = {name: str(data / f"{name}.csv") for name in ("votes", "taxonomy")}
    output = data / "OUT"
    run(
        RunSettings(**{**files, **settings}), output=output, force=True, resume=resume,
        checkpoint_after=checkpoint_after,
    )  # fmt: skip
    return {name: (output / name).read_bytes() for name in FILES if (output / name).exists()}


def make_checkpoints(folder: Path, key: dict[str, Any]) -> RunCheckpoints:
    return RunCheckpoints(CheckpointStore(folder), key, min_seconds=0.0)


def add_second_labels(data: Path) -> None:
    """Give every third answer a second label, so that more than one may be true."""
    votes = data / "votes.csv"
    header, *rows = votes.read_text().splitlines()
    deep = [row for row in rows[::3] if row[-1].isdigit() and not row.endswith("d/y/3")]
    second = [f"{row.rpartition(',')[0]},d/y/3" for row in deep]
    votes.write_text("\n".join([header, *rows, *second, ""]))


def notes(data: Path) -> list[str]:
    run_notes: list[str] = json.loads((data / "OUT" / "run.json").read_text())["notes"]
    return run_notes


def test_a_failed_run_is_resumed_where_it_stopped(data: Path, fitted: list[str]) -> None:
    with pytest.raises(FailedError) as ended:
        consolidate(data)
    assert ended.value.__notes__ == [RESUME_HINT]
    assert checkpoint_folder(data / "OUT").is_dir()
    resumed = consolidate(data, resume=True)
    assert notes(data)[-1] == "resumed: 2 stages taken from an earlier run"
    first_count = len(fitted)
    assert consolidate(data) == resumed
    # The resumed run repeated only the third, which had failed.
    assert len(fitted) - first_count == first_count - 1
    assert not checkpoint_folder(data / "OUT").exists()


@pytest.mark.parametrize("method", ["auto", "cross-source", "channel", "dawid-skene", "mlcm"])
def test_a_fitted_method_is_not_fitted_again(
    method: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_second_labels(data)
    expected = consolidate(data, method=method)
    with monkeypatch.context() as patched:
        patched.setattr("mhpc.output.write_sources", _fail)
        with pytest.raises(FailedError):
            consolidate(data, method=method)
    for name in {*METHODS} - {"auto"}:
        monkeypatch.setattr(type(make_method(name)), "fit", _fail)
    assert consolidate(data, method=method, resume=True) == expected
    assert "resumed" in notes(data)[-1]


def _fail(*_: Any, **__: Any) -> None:
    raise FailedError


def change_votes(data: Path) -> dict[str, Any]:
    (data / "votes.csv").write_text((data / "votes.csv").read_text() + "new,s1,a\n")
    return {}


@pytest.mark.parametrize(
    ("change", "named"),
    [(change_votes, "votes"), (lambda _: {"seed": 1}, "seed")],
    ids=["votes", "a setting"],
)
def test_other_votes_or_settings_start_from_scratch(
    change: Callable[[Path], dict[str, Any]], named: str, data: Path, fitted: list[str]
) -> None:
    with pytest.raises(FailedError):
        consolidate(data)
    settings = change(data)
    with pytest.warns(
        MhpcWarning, match=f"since the earlier run '{named}' changed; .* from scratch"
    ):
        consolidate(data, resume=True, **settings)
    assert notes(data) == []


def test_a_run_that_does_not_resume_starts_from_scratch(data: Path, fitted: list[str]) -> None:
    with pytest.raises(FailedError):
        consolidate(data)
    consolidate(data)
    assert notes(data) == []
    with pytest.warns(MhpcWarning, match="no finished stage of an earlier run is kept"):
        consolidate(data, resume=True)


def test_a_refused_run_leaves_the_checkpoints_of_an_earlier_one(
    data: Path, fitted: list[str]
) -> None:
    with pytest.raises(FailedError):
        consolidate(data)
    (data / "OUT").mkdir()
    (data / "OUT" / "mine.txt").write_text("not to be replaced")
    with pytest.raises(FileExistsError) as refused:
        consolidate(data)
    assert not hasattr(refused.value, "__notes__")
    assert checkpoint_folder(data / "OUT").is_dir()


def test_a_damaged_checkpoint_is_computed_again(tmp_path: Path) -> None:
    stages = make_checkpoints(tmp_path / "kept", {"votes": 1})
    stages.begin(resume=False)
    with checkpoint_run(stages), use_checkpoints(stages):
        assert checkpointed("one", lambda: (1, 2.5)) == (1, 2.5)
        (path,) = stages.store.folder.glob("*.npz")
        path.write_bytes(path.read_bytes()[:-30])
        assert checkpointed("one", lambda: (3, 4)) == (3, 4)
        assert checkpointed("one", lambda: (5, 6)) == (3, 4)
    assert not stages.store.folder.exists()


def test_steps_are_checkpointed_until_all_are_finished(tmp_path: Path) -> None:
    stages = make_checkpoints(tmp_path / "kept", {})
    stages.begin(resume=False)
    file_counts: list[int] = []

    def all_steps() -> tuple[int, ...]:
        for step in range(2):
            checkpointed(f"step {step}", lambda: (0,))
            file_counts.append(len(list(stages.store.folder.glob("*.npz"))))
        return (1,)

    with use_checkpoints(stages):
        assert checkpointed_steps("all", all_steps) == (1,)
    assert file_counts == [1, 2]
    assert len(list(stages.store.folder.glob("*.npz"))) == 1


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for folder, outcome in ((tmp_path / "file", (1,)), (tmp_path / "kept", object())):
        stages = make_checkpoints(folder, {})
        stages.begin(resume=False)
        with use_checkpoints(stages):
            assert checkpointed("one", partial(_return, outcome)) is outcome
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def _return(outcome: object) -> object:
    return outcome


def test_the_first_seconds_of_a_run_are_not_checkpointed(data: Path, fitted: list[str]) -> None:
    with pytest.raises(FailedError) as ended:
        consolidate(data, checkpoint_after=600.0)
    assert not hasattr(ended.value, "__notes__")
    assert sorted(path.name for path in data.iterdir()) == ["taxonomy.csv", "votes.csv"]


KILLED = """
import os, sys
from functools import partial
import mhpc.output, mhpc.run
from mhpc.cli import main

def kill(*args, **kwargs):
    os.kill(os.getpid(), {signal})
    import time
    time.sleep(60)

mhpc.run.run = partial(mhpc.run.run, checkpoint_after=0.0)
mhpc.output.write_sources = kill
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_process_that_is_killed_after_fitting_can_be_resumed(
    number: signal.Signals, code: int, data: Path
) -> None:
    command = ["consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--force"]
    command += ["--progress", "none"]
    expected = consolidate(data)
    (data / "work.py").write_text(KILLED.format(signal=int(number)))
    ended = subprocess.run(
        [sys.executable, "work.py", *command], cwd=data, capture_output=True, text=True,
        env=os.environ, check=False,
    )  # fmt: skip
    assert ended.returncode == code
    if number == signal.SIGINT:
        assert ended.stderr.strip() == f"mhpc: interrupted; {spell_options(RESUME)}"
    assert {name: (data / "OUT" / name).read_bytes() for name in expected} == expected
    assert consolidate(data, resume=True) == expected
    assert "resumed" in notes(data)[-1]
