"""Packed files that unpack to far more than they are."""

import gzip
from pathlib import Path

import pyarrow
import pytest

from mhpc.errors import UnreadableError
from mhpc.read import files as bombs
from mhpc.read.files import most_unpacked
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes

HEADER = b"instance,source,label\n"


def zstd(content: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(content, asbytes=True))


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit from which the ratio counts, a megabyte instead of a thousand."""
    monkeypatch.setattr(bombs, "MAX_UNPACKED", 1 << 20)


@pytest.mark.usefixtures("low")
@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "votes.csv.packed"
    path.write_bytes(pack(HEADER + b"1,ann,bee\n" * 800_000))
    for read in (read_votes, read_taxonomy):
        with pytest.raises(
            UnreadableError, match="votes.csv.packed unpacks to more than 200 times"
        ):
            read(path)


@pytest.mark.usefixtures("low")
def test_a_bomb_behind_something_harmless_is_found(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv.gz"
    path.write_bytes(gzip.compress(HEADER) + gzip.compress(b"1,ann,bee\n" * 800_000))
    with pytest.raises(UnreadableError, match="unpacks to more than"):
        read_votes(path)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_small_table_may_pack_as_well_as_it_likes(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "votes.csv.packed"
    path.write_bytes(pack(HEADER + b"1,ann,bee\n" * 100_000))
    assert path.stat().st_size * 200 < 1_000_000
    with pytest.warns(UserWarning, match="99,999 rows repeated"):
        assert read_votes(path).instances.ids == ("1",)


@pytest.mark.parametrize(
    ("content", "least"), [(b"", 0), (b"x" * 1_000_000, 1_000_000), (bytes(range(256)), 256)]
)
def test_zstd_never_unpacks_to_more_than_its_blocks_allow(
    tmp_path: Path, content: bytes, least: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(zstd(content))
    most = most_unpacked(path)
    assert most is not None
    assert least <= most <= least + (1 << 17)
