"""Calls in several threads give what they give one after another, and warn each for itself."""

import logging
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import mhpc
from mhpc.errors import MhpcWarning, note_warnings, silence_warnings, warn
from mhpc.process import SharedSetting
from mhpc.read.taxonomy_formats.skos import _silent_rdflib
from mhpc.system.blas import single_threaded_blas
from mhpc.system.caching import cached_property
from mhpc.system.parallel import parallel_map
from tests.fixtures.calls import CALLS, TAXONOMY, VOTES, result
from tests.fixtures.process_state import find_differences, process_state

METHODS = ("majority", "wawa", "dawid-skene", "mhpc", "channel", "auto", "sa", "mlcm")


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def score_bytes(method: str, votes: Any, taxonomy: Any) -> bytes:
    scores = mhpc.consolidate(votes, taxonomy, method=method).scores["score"]
    return np.asarray(scores).tobytes()


@pytest.mark.parametrize("kind", ["frame", "votes"])
def test_eight_threads_that_share_their_inputs_get_the_scores_of_one(kind: str) -> None:
    frame = pd.DataFrame(VOTES, columns=["instance", "source", "label"])
    expected = {method: score_bytes(method, frame, TAXONOMY) for method in METHODS}
    before = process_state()
    # Nothing has been computed from these yet.
    taxonomy = mhpc.read_taxonomy(TAXONOMY)
    votes = frame if kind == "frame" else mhpc.read_votes(frame)
    with ThreadPoolExecutor(8) as pool:
        jobs = [*METHODS, *METHODS[:4] * 2, *reversed(METHODS)]
        found = list(pool.map(lambda method: score_bytes(method, votes, taxonomy), jobs))
    assert [found == expected[method] for method, found in zip(jobs, found, strict=True)] == [
        True
    ] * len(jobs)
    assert find_differences(before, process_state()) == {}


def test_threads_may_use_one_result_in_all_ways(tmp_path: Any) -> None:
    names = ("evaluate", "explain", "conflicts", "show", "apply", "source contributions")
    expected = {name: repr(CALLS[name](tmp_path)) for name in names}
    result.cache_clear()
    result()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: repr(CALLS[name](tmp_path)), names * 2))
    assert found == [expected[name] for name in names] * 2


def test_blas_has_its_threads_again_whichever_thread_leaves_last() -> None:
    order: list[list[int]] = []
    has_entered, may_leave = threading.Event(), threading.Event()

    def stay() -> None:
        with single_threaded_blas():
            has_entered.set()
            may_leave.wait(10)
            order.append(blas_threads())

    with threadpool_limits(2, user_api="blas"):
        before, thread = blas_threads(), threading.Thread(target=stay)
        with single_threaded_blas():
            thread.start()
            has_entered.wait(10)
        # This thread has set the limit and is alive, but the other still needs it.
        order.append(blas_threads())
        may_leave.set()
        thread.join()
        assert order == [[1] * len(before)] * 2
        assert blas_threads() == before


def test_a_thread_limits_blas_though_another_has_set_its_threads() -> None:
    limits = threadpool_limits(2, user_api="blas")
    try:
        with ThreadPoolExecutor(1) as pool, single_threaded_blas():
            assert set(pool.submit(blas_threads).result()) == {1}
        with ThreadPoolExecutor(1) as pool:
            assert set(pool.submit(limited_blas_threads).result()) == {1}
        assert set(blas_threads()) == {2}
    finally:
        limits.restore_original_limits()


def test_blas_has_its_threads_again_if_an_interrupt_comes_before_the_thread_that_limits_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go, begun = threading.Event(), []

    class LateThread(threading.Thread):
        def start(self) -> None:
            super().start()
            begun.append(self)
            raise KeyboardInterrupt

        def run(self) -> None:
            go.wait(10)
            super().run()

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with monkeypatch.context() as patch:
            patch.setattr(threading, "Thread", LateThread)
            # Python has no thread to join that has not said that it has begun.
            patch.setattr(LateThread, "join", lambda self: None)
            with pytest.raises(KeyboardInterrupt), single_threaded_blas():
                pass
        go.set()
        threading.Thread.join(begun[0])
        assert blas_threads() == before


def limited_blas_threads() -> list[int]:
    with single_threaded_blas():
        return blas_threads()


class Setting:
    """A setting that counts how often it is applied and undone."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.shared = SharedSetting(
            lambda: self.events.append("apply"), lambda: self.events.append("undo")
        )


def test_a_shared_setting_holds_until_the_last_block_ends() -> None:
    setting = Setting()
    with setting.shared.in_force():
        with setting.shared.in_force():
            pass
        assert setting.events == ["apply"]
    assert setting.events == ["apply", "undo"]


def test_a_shared_setting_is_undone_when_a_suspended_block_is_ended_by_another_thread() -> None:
    setting = Setting()

    def suspend() -> Iterator[int]:
        with setting.shared.in_force():
            yield 1

    block = suspend()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(next, block).result()
        with setting.shared.in_force():
            pass
        assert setting.events == ["apply"]
    block.close()  # type: ignore[attr-defined]
    assert setting.events == ["apply", "undo"]


def test_a_shared_setting_is_undone_after_an_error_and_after_it_could_not_be_applied() -> None:
    setting = Setting()
    with pytest.raises(KeyboardInterrupt), setting.shared.in_force():
        raise KeyboardInterrupt
    assert setting.events == ["apply", "undo"]

    undone: list[int] = []
    broken = SharedSetting(lambda: 1 / 0, lambda: undone.append(1))  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError), broken.in_force():
        pass
    assert undone
    assert not broken.is_in_force


def test_an_interrupted_end_of_a_shared_setting_is_repeated() -> None:
    events: list[str] = []

    def undo() -> None:
        events.append("undo")
        if len(events) == 1:
            raise KeyboardInterrupt

    setting = SharedSetting(lambda: None, undo)
    with pytest.raises(KeyboardInterrupt), setting.in_force():
        pass
    assert events == ["undo"] * 2
    with setting.in_force():
        pass
    assert events == ["undo"] * 3


def test_threads_that_read_a_property_at_the_same_time_get_the_same_object() -> None:
    barrier = threading.Barrier(4)

    class Owner:
        @cached_property
        def value(self) -> object:
            barrier.wait(10)
            return object()

    owner = Owner()
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda _: owner.value, range(4)))
    assert len(set(map(id, values))) == 1
    assert owner.value is values[0]


def test_a_property_of_one_object_does_not_wait_for_that_of_another() -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    class Owner:
        waits = False

        @cached_property
        def value(self) -> int:
            if self.waits:
                has_begun.set()
                assert may_end.wait(10)
            return 1

    slow = Owner()
    slow.waits = True
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: slow.value)
        assert has_begun.wait(10)
        assert Owner().value == 1
        may_end.set()
        assert waiting.result() == 1


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the warnings of all threads, whose filters are those of the process."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        messages: list[str] = []
        yield messages
        messages += [str(each.message) for each in caught]


def test_every_thread_warns_and_silences_for_itself() -> None:
    twice = [*VOTES, VOTES[0]]

    def read(number: int) -> None:
        if number % 2:
            mhpc.read_votes(twice)
        else:
            with silence_warnings():
                mhpc.read_votes(twice)

    with collect_warnings() as messages, ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(16)))
    assert len(messages) == 8
    assert len(set(messages)) == 1


def test_a_note_is_taken_of_what_worker_threads_say_in_this_block_and_in_outer_ones() -> None:
    with collect_warnings(), note_warnings() as outer:
        warn("before")
        with note_warnings() as inner:
            list(parallel_map(lambda number: warn(f"item {number}"), range(4), threads=2))
    assert sorted(map(str, inner)) == [f"item {number}" for number in range(4)]
    assert sorted(map(str, outer)) == ["before", *sorted(map(str, inner))]
    with collect_warnings():
        warn("after", MhpcWarning)
    assert len(outer) == 5


def test_only_what_rdflib_logs_for_this_package_is_dropped() -> None:
    logger, records = logging.getLogger("rdflib.term"), []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    handler = Collector()
    logger.addHandler(handler)
    try:
        with _silent_rdflib(), ThreadPoolExecutor(1) as pool:
            logger.warning("ours")
            pool.submit(logger.warning, "another's").result()
        logger.warning("later")
    finally:
        logger.removeHandler(handler)
    assert records == ["another's", "later"]


@pytest.mark.parametrize("end", ["close", "error"])
def test_no_thread_works_on_after_an_iteration_that_is_not_finished(end: str) -> None:
    before = set(threading.enumerate())

    def iterate() -> None:
        results = parallel_map(lambda number: number, range(100), threads=2)
        next(results)
        if end == "error":
            raise ValueError
        results.close()  # type: ignore[attr-defined]

    with suppress(ValueError):
        iterate()
    assert set(threading.enumerate()) == before
