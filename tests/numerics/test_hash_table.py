import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.numerics.hash_table import NOT_FOUND, build_hash_table

HASHES = st.integers(0, 40) | st.integers(0, 2**64 - 1)


@given(st.lists(HASHES, unique=True), st.lists(HASHES), st.integers(1, 5), st.integers(1, 9))
def test_positions_are_those_of_a_dictionary(
    hashes: list[int], others: list[int], slots_per_hash: int, block: int
) -> None:
    array = np.array(hashes, dtype=np.uint64)
    table = build_hash_table(array, slots_per_hash=slots_per_hash, block=block)
    position = {hash_: n for n, hash_ in enumerate(hashes)}
    wanted = [*hashes, *others, *hashes[:3]]
    expected = [position.get(hash_, NOT_FOUND) for hash_ in wanted]
    assert table.locate(np.array(wanted, dtype=np.uint64), block=block).tolist() == expected
    assert not table.has_duplicates


@given(st.lists(st.integers(0, 100), min_size=1))
def test_equal_hashes_are_found(numbers: list[int]) -> None:
    # Hashes with the same low bits share a slot.
    hashes = np.array(numbers, dtype=np.uint64) << np.uint64(40)
    table = build_hash_table(hashes)
    assert table.has_duplicates == (len(set(numbers)) < len(numbers))


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_a_table_of_any_size_finds_nothing_else(n: int) -> None:
    table = build_hash_table(np.arange(n, dtype=np.uint64))
    assert table.locate(np.array([5000, 2**63], dtype=np.uint64)).tolist() == [NOT_FOUND] * 2
