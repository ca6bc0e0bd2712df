"""Threads and processes: results in order, errors passed on, and no process left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mhpc.errors import MhpcWarning, WorkerError
from mhpc.numerics.cholesky import solve_positive_definite
from mhpc.system.blas import single_threaded_blas
from mhpc.system.memory import memory_budget, use_memory_budget
from mhpc.system.parallel import (
    core_count,
    limit_threads,
    parallel_map,
    process_map,
    thread_count,
    thread_map,
)


def square_slowly(item: int) -> int:
    time.sleep(0.02 * (item % 3 == 0))
    return item * item


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    assert list(parallel_map(square_slowly, range(12), threads=threads)) == [
        n * n for n in range(12)
    ]


def test_only_a_few_items_are_started_ahead() -> None:
    started: list[int] = []

    def work(item: int) -> int:
        started.append(item)
        return item

    results = parallel_map(work, range(100), threads=2)
    next(results)
    time.sleep(0.05)
    assert len(started) <= 4
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_yield_every_position_with_its_result(threads: int) -> None:
    results = dict(thread_map(square_slowly, range(12), threads=threads))
    assert results == {n: n * n for n in range(12)}


def test_what_is_finished_first_comes_first() -> None:
    is_over = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            is_over.wait(10)
        return item

    results = thread_map(work, range(3), threads=2)
    assert {next(results)[0], next(results)[0]} == {1, 2}
    is_over.set()
    assert next(results) == (0, 0)


def test_threads_do_not_start_threads_and_see_the_memory_budget() -> None:
    with use_memory_budget(12345), limit_threads(3):
        found = dict(thread_map(lambda _: (thread_count(), memory_budget()), range(3)))
        assert thread_count() == 3
    assert set(found.values()) == {(1, 12345)}


def test_the_function_runs_in_other_threads() -> None:
    names = set(parallel_map(lambda _: threading.current_thread().name, range(4), threads=2))
    assert threading.current_thread().name not in names


def test_an_error_is_raised_after_the_results_before_it() -> None:
    def work(item: int) -> float:
        return 1 / (item - 2)

    results = parallel_map(work, range(5), threads=2)
    assert next(results) == -0.5
    assert next(results) == -1.0
    with pytest.raises(ZeroDivisionError):
        next(results)


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_uses_one_thread_inside_the_block_only() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_threaded_blas():
            assert blas_threads() == {1}
            with single_threaded_blas():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_a_solution_does_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    X, B = rng.random((700, 300)), rng.random((700, 40))
    solutions = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"), single_threaded_blas():
            solutions.append(solve_positive_definite(X @ X.T + np.eye(700), X @ (X.T @ B)))
    assert np.array_equal(solutions[0], solutions[1])


def double(number: int) -> int:
    return 2 * number


def thread_setting(_: int) -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def fail(number: int) -> int:
    raise ValueError(f"no {number}")


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_every_result_comes_with_the_position_of_its_item() -> None:
    assert sorted(process_map(double, [5, 6, 7], jobs=2)) == [(0, 10), (1, 12), (2, 14)]


def test_no_items_need_no_process() -> None:
    assert list(process_map(double, [], jobs=2)) == []


def test_a_worker_has_one_thread_and_the_environment_is_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert list(process_map(thread_setting, [0], jobs=1)) == [(0, "1")]
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_an_error_in_a_worker_is_raised_unchanged() -> None:
    with pytest.raises(ValueError, match="no 3"):
        list(process_map(fail, [3], jobs=1))


def die_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return mark


def test_a_worker_that_keeps_dying_is_reported() -> None:
    with pytest.raises(WorkerError, match="a worker process died though it worked alone"):
        list(process_map(die, [0], jobs=1))


def test_items_of_a_dead_worker_are_repeated(tmp_path: Path) -> None:
    marks = [str(tmp_path / name) for name in "abc"]
    for mark in marks[1:]:
        Path(mark).touch()
    with pytest.warns(MhpcWarning, match="a worker process died.*continuing with 1"):
        assert sorted(process_map(die_once, marks, jobs=2)) == list(enumerate(marks))


def test_no_process_outlives_the_iteration() -> None:
    before = set(multiprocessing.active_children())
    work = process_map(time.sleep, [0.0, 600.0], jobs=2)
    assert next(work) == (0, None)
    work.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 20
    while set(multiprocessing.active_children()) - before:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_at_least_one_core_is_counted() -> None:
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
    # Workers share its output: once that is closed, none is left.
    _, err = running.communicate(timeout=20)
    assert err.count("Traceback") == 1


def test_each_item_of_a_parallel_map_has_one_thread() -> None:
    assert list(parallel_map(lambda _: thread_count(), range(4), threads=2)) == [1] * 4


def test_a_parallel_map_sees_the_context_of_its_caller() -> None:
    with use_memory_budget(123):
        assert list(parallel_map(lambda _: memory_budget(), range(3), threads=2)) == [123] * 3
