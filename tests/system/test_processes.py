"""Work in other processes: all of it, in any order, and nothing left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mhpc.errors import MhpcWarning, WorkerError
from mhpc.system.parallel import core_count, process_map


def doubled(number: int) -> int:
    return 2 * number


def threads_of_blas(_: int) -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def fails(number: int) -> int:
    raise ValueError(f"no {number}")


def dies(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_every_item_comes_back_with_its_position() -> None:
    assert sorted(process_map(doubled, [5, 6, 7], jobs=2)) == [(0, 10), (1, 12), (2, 14)]


def test_no_items_need_no_process() -> None:
    assert list(process_map(doubled, [], jobs=2)) == []


def test_a_worker_has_one_thread_and_this_process_keeps_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert list(process_map(threads_of_blas, [0], jobs=1)) == [(0, "1")]
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_an_error_of_the_work_arrives_as_it_is() -> None:
    with pytest.raises(ValueError, match="no 3"):
        list(process_map(fails, [3], jobs=1))


def dies_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark


def test_a_worker_that_keeps_dying_is_reported() -> None:
    with pytest.raises(WorkerError, match="a worker process died though it worked alone"):
        list(process_map(dies, [0], jobs=1))


def test_the_work_of_a_worker_that_dies_is_done_again(tmp_path: Path) -> None:
    marks = [str(tmp_path / name) for name in "abc"]
    for mark in marks[1:]:
        Path(mark).touch()
    with pytest.warns(MhpcWarning, match="a worker process died.*continuing with 1"):
        assert sorted(process_map(dies_once, marks, jobs=2)) == list(enumerate(marks))


def test_no_process_outlives_the_iteration() -> None:
    before = set(multiprocessing.active_children())
    work = process_map(time.sleep, [0.0, 600.0], jobs=2)
    assert next(work) == (0, None)
    work.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 20
    while set(multiprocessing.active_children()) - before:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_there_is_a_core_to_work_on() -> None:
    assert core_count() >= 1


def test_an_interrupt_ends_the_workers_quietly(tmp_path: Path) -> None:
    script = (
        "import time\n"
        "from mhpc.system.parallel import process_map\n"
        "if __name__ == '__main__':\n"
        "    for _ in process_map(time.sleep, [0.0, 600.0], jobs=2):\n"
        "        print('started', flush=True)\n"
    )
    (tmp_path / "work.py").write_text(script)
    running = subprocess.Popen(
        [sys.executable, tmp_path / "work.py"], text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == "started\n"
    os.killpg(running.pid, signal.SIGINT)
    # Workers write where it writes: an end of that means that none is left.
    _, err = running.communicate(timeout=20)
    assert err.count("Traceback") == 1
