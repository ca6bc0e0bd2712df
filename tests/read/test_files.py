import gzip
from pathlib import Path

import pyarrow
import pytest

from mhpc.errors import UnreadableError
from mhpc.read.files import local_file

TABLE = b"instance,source,label\n1,ann,bee\n"


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
def test_the_content_tells_the_format(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "misleading.parquet.gz"
    path.write_bytes(content)
    with local_file(path) as file:
        assert (file.format, file.compression) == (expected, "none")


def test_the_content_tells_the_compression(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_bytes(gzip.compress(TABLE))
    with local_file(path) as file:
        assert (file.format, file.compression, file.head) == ("csv", "gzip", TABLE.decode())
    path.write_bytes(pyarrow.Codec("zstd").compress(TABLE, asbytes=True))
    with local_file(path) as file:
        assert (file.format, file.compression, file.head) == ("csv", "zstd", TABLE.decode())


def test_a_character_across_the_end_of_the_head_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    # The head is 65,536 bytes; the two bytes of é lie on either side of its end.
    path.write_bytes(b"label\n" + b"x" * (65_536 - 7) + "é\n".encode())
    with local_file(path) as file:
        assert file.head.endswith("x")


WRONG = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip cut": (gzip.compress(TABLE)[:-12], "does not unpack"),
    "gzip damaged": (gzip.compress(TABLE)[:10] + b"\xff" * 30, "does not unpack: Error -3"),
    "zstd cut": (pyarrow.Codec("zstd").compress(TABLE, asbytes=True)[:-1], "cut short"),
    "gzip of Parquet": (gzip.compress(b"PAR1"), "Parquet packed with gzip; unpack it"),
    "UTF-16": ("instance".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
    "binary": (b"\x01\x00\x02\x00", "binary data"),
    "latin-1": (b"instance\ncaf\xe9\n", "line 2: byte 0xe9 is not UTF-8"),
}


@pytest.mark.parametrize(("content", "says"), WRONG.values(), ids=WRONG)
def test_what_is_no_table_is_refused_by_name(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "votes"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=says) as error, local_file(path):
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
