import gzip
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow
import pytest

from mhpc.errors import UnreadableError
from mhpc.read.files import local_file, max_zstd_size, read_document
from mhpc.read.votes import read_votes

HEADER = b"instance,source,label\n"
TABLE = HEADER + b"1,ann,bee\n"


def zstd(content: bytes) -> bytes:
    return bytes(pyarrow.Codec("zstd").compress(content, asbytes=True))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TABLE, "csv"),
        (b'\n  {"instance": 1}\n', "jsonl"),
        (b'[{"instance": 1}]', "json"),
        (b'{\n "plant": {}\n}\n', "json"),
        (b'{"plant": {}}\n{"animal"\n', "jsonl"),
        (b'<?xml version="1.0"?><View/>', "xml"),
        (b"<rdf:RDF/>", "xml"),
        (b"<http://example.org/a> a <b> .", "csv"),
        (b"PK\x03\x04 and so on", "zip"),
        (b"PAR1 and so on", "parquet"),
        (b"ARROW1 and so on", "arrow"),
        (b"@RELATION yeast\n", "arff"),
        (b"% made by hand\n%\n@attribute a numeric\n", "arff"),
        (b"instance,source,label\n@data,ann,bee\n", "csv"),
        (b"instance,source,label\n@relation,ann,bee\n", "csv"),
    ],
)
def test_the_content_determines_the_format(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "misleading.parquet.gz"
    path.write_bytes(content)
    with local_file(path) as file:
        assert (file.format, file.compression) == (expected, "none")


def test_the_content_determines_the_compression(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_bytes(gzip.compress(TABLE))
    with local_file(path) as file:
        assert (file.format, file.compression, file.head) == ("csv", "gzip", TABLE.decode())
    path.write_bytes(zstd(TABLE))
    with local_file(path) as file:
        assert (file.format, file.compression, file.head) == ("csv", "zstd", TABLE.decode())


def test_a_character_across_the_end_of_the_head_is_not_an_error(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    # The head is 65,536 bytes; the two bytes of é lie on either side of its end.
    path.write_bytes(b"label\n" + b"x" * (65_536 - 7) + "é\n".encode())
    with local_file(path) as file:
        assert file.head.endswith("x")


WRONG = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip cut": (gzip.compress(TABLE)[:-12], "does not decompress"),
    "gzip damaged": (gzip.compress(TABLE)[:10] + b"\xff" * 30, "does not decompress: Error -3"),
    "zstd cut": (zstd(TABLE)[:-1], "truncated"),
    "gzip of Parquet": (gzip.compress(b"PAR1"), "Parquet compressed with gzip; decompress it"),
    "UTF-16": ("instance".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
    "binary": (b"\x01\x00\x02\x00", "binary data"),
    "latin-1": (b"instance\ncaf\xe9\n", "line 2: byte 0xe9 is not UTF-8"),
}


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
def test_a_file_that_is_not_a_table_is_refused_by_name(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "votes"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=message) as error, local_file(path):
        pass
    assert str(path) in str(error.value)


def test_a_missing_file_names_the_nearest_beside_it(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_bytes(TABLE)
    with (
        pytest.raises(UnreadableError, match=r"no such file \(nearest: 'votes.csv'\)"),
        local_file(tmp_path / "vote.csv"),
    ):
        pass


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UnreadableError, match="there is no folder '.*nowhere' either"),
        local_file(tmp_path / "nowhere" / "votes.csv"),
    ):
        pass


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="is a directory"), local_file(tmp_path):
        pass


def test_a_document_larger_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.json"
    path.write_text('{"plant": {"flower": {}}}', encoding="utf-8")
    with local_file(path) as file:
        assert read_document(file) == path.read_bytes()
        with pytest.raises(UnreadableError, match="taxonomy.json is larger than"):
            read_document(file, max_bytes=10)


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_a_file_that_decompresses_to_far_more_than_its_size_is_refused(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "votes.csv.compressed"
    path.write_bytes(compress(HEADER + b"1,ann,bee\n" * 800_000))
    with (
        pytest.raises(
            UnreadableError, match="votes.csv.compressed decompresses to more than 200 times"
        ),
        local_file(path, max_unpacked=1 << 20),
    ):
        pass


def test_a_large_gzip_member_behind_a_small_one_is_found(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv.gz"
    path.write_bytes(gzip.compress(HEADER) + gzip.compress(b"1,ann,bee\n" * 800_000))
    with (
        pytest.raises(UnreadableError, match="decompresses to more than"),
        local_file(path, max_unpacked=1 << 20),
    ):
        pass


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_a_small_table_may_compress_very_well(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "votes.csv.compressed"
    path.write_bytes(compress(HEADER + b"1,ann,bee\n" * 100_000))
    assert path.stat().st_size * 200 < 1_000_000
    with pytest.warns(UserWarning, match="99,999 rows repeated"):
        assert read_votes(path).instances.ids == ("1",)


@pytest.mark.parametrize(
    ("content", "size"), [(b"", 0), (b"x" * 1_000_000, 1_000_000), (bytes(range(256)), 256)]
)
def test_the_bound_of_a_zstd_file_is_at_most_one_block_too_large(
    tmp_path: Path, content: bytes, size: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(zstd(content))
    bound = max_zstd_size(path)
    assert bound is not None
    assert size <= bound <= size + (1 << 17)


SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"


@pytest.fixture
def zstd_of_duckdb(tmp_path: Path) -> bytes:
    """A file as DuckDB writes it: several blocks, and no size in the header."""
    path = tmp_path / "numbers.csv.zst"
    duckdb.execute(f"COPY (SELECT hash(range) FROM range(50_000)) TO '{path}' (COMPRESSION zstd)")
    return path.read_bytes()


def test_complete_zstd_files_have_a_size(tmp_path: Path, zstd_of_duckdb: bytes) -> None:
    path = tmp_path / "file"
    for content in (
        zstd_of_duckdb,
        zstd_of_duckdb + zstd_of_duckdb,
        SKIPPABLE_FRAME + zstd_of_duckdb,
        zstd(b""),
        zstd(b"x"),
        zstd(b"x" * 1_000_000),
    ):
        path.write_bytes(content)
        assert max_zstd_size(path) is not None


def test_truncated_zstd_files_have_none(tmp_path: Path, zstd_of_duckdb: bytes) -> None:
    path = tmp_path / "file"
    for length in (5, 6, 100, len(zstd_of_duckdb) // 2, len(zstd_of_duckdb) - 1):
        path.write_bytes(zstd_of_duckdb[:length])
        assert max_zstd_size(path) is None
    path.write_bytes(SKIPPABLE_FRAME[:-1])
    assert max_zstd_size(path) is None


def test_a_zstd_frame_must_be_followed_by_a_frame(tmp_path: Path, zstd_of_duckdb: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(zstd_of_duckdb + b"instance,source,label")
    assert max_zstd_size(path) is None


@pytest.mark.parametrize("name", ["loop", "loop/x", "n" * 300, "d/" * 3000, "nul\0x"])
def test_a_path_that_leads_nowhere_is_refused_as_input(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UnreadableError), local_file(tmp_path / name):
        pass


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full", "/dev/kmsg"])
def test_a_device_that_may_never_end_is_refused(device: str) -> None:
    if not Path(device).exists():
        pytest.skip("there is no such device")
    with (
        pytest.raises(UnreadableError, match=f"{device} is a device, which may never end"),
        local_file(device),
    ):
        pass


def test_an_empty_device_is_an_empty_file() -> None:
    with pytest.raises(UnreadableError, match="is empty"), local_file(os.devnull):
        pass
