import threading
import time

import pytest

from mhpc.system.parallel import parallel_map


def slow_at_first(item: int) -> int:
    time.sleep(0.02 * (item % 3 == 0))
    return item * item


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_outcomes_come_in_the_order_of_items(threads: int) -> None:
    assert list(parallel_map(slow_at_first, range(12), threads=threads)) == [
        n * n for n in range(12)
    ]


def test_no_more_is_begun_than_is_soon_needed() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        return item

    outcomes = parallel_map(work, range(100), threads=2)
    next(outcomes)
    time.sleep(0.05)
    assert len(begun) <= 4
    outcomes.close()  # type: ignore[attr-defined]


def test_work_is_done_in_threads() -> None:
    names = set(parallel_map(lambda _: threading.current_thread().name, range(4), threads=2))
    assert threading.current_thread().name not in names


def test_an_error_arrives_in_its_turn() -> None:
    def work(item: int) -> float:
        return 1 / (item - 2)

    outcomes = parallel_map(work, range(5), threads=2)
    assert next(outcomes) == -0.5
    assert next(outcomes) == -1.0
    with pytest.raises(ZeroDivisionError):
        next(outcomes)
