from pathlib import Path

import duckdb
import pyarrow
import pytest

from mhpc.read.files import is_whole

SKIPPABLE = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"


def packed(data: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(data, asbytes=True))


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """What DuckDB writes: several blocks, and no size in the header."""
    path = tmp_path / "numbers.csv.zst"
    duckdb.execute(f"COPY (SELECT hash(range) FROM range(50_000)) TO '{path}' (COMPRESSION zstd)")
    return path.read_bytes()


def test_whole_files_are_whole(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "file"
    for content in (
        whole, whole + whole, SKIPPABLE + whole, packed(b""), packed(b"x"), packed(b"x" * 1_000_000)
    ):  # fmt: skip
        path.write_bytes(content)
        assert is_whole(path)


def test_files_cut_anywhere_are_not(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "file"
    for length in (5, 6, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert not is_whole(path)
    path.write_bytes(SKIPPABLE[:-1])
    assert not is_whole(path)


def test_what_follows_a_frame_must_be_a_frame(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(whole + b"instance,source,label")
    assert not is_whole(path)
