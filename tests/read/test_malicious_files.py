"""Malicious files are refused in one line, within stated limits, and leave nothing behind."""

import io
import os
import stat
import sys
import zipfile
from pathlib import Path

import duckdb
import pytest

from mhpc.errors import MissingColumnError, UnreadableError
from mhpc.read.archives import unpack_zip
from mhpc.read.files import local_file
from mhpc.read.json_xml import load_lines
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes
from mhpc.system.database import database

LINE = b'{"id": 1, "text": "x", "label": ["a"]}\n'


def write_zip(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["../ann.jsonl", "/etc/ann.jsonl", "a/../../b", "C:\\ann.jsonl"])
def test_a_zip_cannot_write_outside(tmp_path: Path, name: str) -> None:
    path = write_zip(tmp_path / "v.zip", **{name: LINE})
    with pytest.raises(UnreadableError, match="would be outside the folder"):
        read_votes(path)
    assert [path.name for path in tmp_path.iterdir()] == ["v.zip"]


def test_a_zip_bomb_is_stopped_while_it_decompresses(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "v.zip", ann=b" " * (64 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(UnreadableError, match="decompresses to more than 200 times the archive"):
        read_votes(path)


def test_the_declared_size_of_a_member_is_not_trusted(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "v.zip", ann=b" " * (64 << 20))
    # The size of the member, 64 MiB, stands in the directory of the archive: make it one byte.
    declared = (64 << 20).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(declared, (1).to_bytes(4, "little")))
    with pytest.raises(UnreadableError, match="v.zip"):
        read_votes(path)


def test_a_zip_of_too_many_files_is_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "v.zip", a=LINE, b=LINE, c=LINE)
    with unpack_zip(path, "v.zip", max_members=3) as files:
        assert [file.name for file in files] == ["v.zip/a", "v.zip/b", "v.zip/c"]
    with (
        pytest.raises(UnreadableError, match="has 3 files; the most is 2"),
        unpack_zip(path, "v.zip", max_members=2),
    ):
        pass


def test_a_zip_that_decompresses_to_too_many_bytes_is_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "v.zip", a=LINE, b=LINE)
    with (
        pytest.raises(UnreadableError, match="'b' decompresses to more than"),
        unpack_zip(path, "v.zip", max_bytes=2 * len(LINE) - 1),
    ):
        pass


def test_hidden_files_in_a_zip_are_not_read(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "v.zip", **{"ann.jsonl": LINE, "__MACOSX/._ann.jsonl": b"\x00"})
    assert read_votes(path).sources.ids == ("ann",)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "v.zip", ann=LINE)
    content = bytearray(path.read_bytes())
    # Bit 0 of the flags, in the local header and in the directory.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UnreadableError, match="is encrypted"):
        read_votes(path)


LAUGHS = (
    '<!DOCTYPE View [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'
    '<View><Taxonomy name="t" toName="x"><Choice value="&b;"/></Taxonomy></View>'
)
OUTSIDE = (
    '<!DOCTYPE View [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
    '<View><Taxonomy name="t" toName="x"><Choice value="x">&a;</Choice></Taxonomy></View>'
)
RDF = (
    '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY s "http://www.w3.org/2004/02/skos/core#">]>\n'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'
)


@pytest.mark.parametrize("content", [LAUGHS, OUTSIDE, RDF], ids=["laughs", "outside", "rdf"])
def test_xml_with_entities_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.xml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UnreadableError, match=r"t.xml, line \d: XML with entities"):
        read_taxonomy(path)


def test_deep_xml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xml"
    nested = "<Choice value='x'>" * 100_000
    path.write_text(f"<View><Taxonomy name='t'>{nested}", encoding="utf-8")
    with pytest.raises(UnreadableError, match="nested deeper than 200"):
        read_taxonomy(path)


@pytest.mark.parametrize(
    ("opening", "closing", "levels"),
    [('{"a":', "}", 201), ('{"a":', "}", 900), ('{"a":', "}", 100_000), ("[", "]", 100_000)],
)
def test_deep_json_is_refused(tmp_path: Path, opening: str, closing: str, levels: int) -> None:
    path = tmp_path / "t.json"
    path.write_text(f"{opening * levels}0{closing * levels}", encoding="utf-8")
    with pytest.raises(UnreadableError, match="t.json: nested deeper than 200"):
        read_taxonomy(path, format="nested")


def test_deep_json_in_votes_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    deep = "[" * 1_000_000 + "]" * 1_000_000
    path.write_text(f'{{"item": 1, "judge": "a", "label": "x", "more": {deep}}}\n', "utf-8")
    votes = read_votes(path, format="long")
    assert (votes.instances.ids, votes.labels.ids) == (("1",), ("x",))


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "votes.pkl"
    path.write_bytes(b"\x80\x04\x95\x00\x00c__main__\nboom\n.")
    with pytest.raises(UnreadableError, match="binary data|not UTF-8"):
        read_votes(path)


def test_an_archive_in_an_archive_is_not_extracted(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("ann.jsonl", LINE)
    path = write_zip(tmp_path / "v.zip", **{"inner.zip": inner.getvalue()})
    with pytest.raises(UnreadableError, match="v.zip/inner.zip is a zip archive, not a table"):
        read_votes(path)


def test_a_link_in_a_zip_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("instance,source,label\n1,ann,secret\n")
    link = zipfile.ZipInfo("votes.csv")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, str(tmp_path / "secret"))
    # The extracted file contains only the target of the link.
    with pytest.raises(MissingColumnError, match="v.zip/votes.csv: no column"):
        read_votes(path, format="long")


def test_one_endless_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(f"instance,source,label\n1,ann,{'x' * 3_000_000}\n")
    with pytest.raises(UnreadableError, match="votes.csv.*longer than can be read"):
        read_votes(path)


def test_a_json_object_longer_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    text = "x" * 3_000_000
    path.write_text(f'{{"item": 1, "judge": "a", "label": "x", "more": "{text}"}}\n')
    with (
        local_file(path) as file,
        database() as connection,
        pytest.raises(duckdb.Error, match="Maximum line size"),
    ):
        load_lines(connection, file, max_record=1 << 16)
    assert len(read_votes(path, format="long")) == 1


HALF = {
    "nested": '{"plant": {"\\ud800": {}}}',
    "peerannot": '{"1": {"ann": "\\ud800"}, "2": {"ann": "x"}}',
}


@pytest.mark.parametrize("format_", HALF)
def test_half_a_character_is_refused(tmp_path: Path, format_: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(HALF[format_])
    read = read_taxonomy if format_ == "nested" else read_votes
    with pytest.raises(UnreadableError, match="file.json: a text in it has half a character"):
        read(path, format=format_)


def test_both_halves_of_a_character_are_one(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"plant": {"\\ud83e\\udd8b": {}}}')
    assert read_taxonomy(path).labels.ids == ("plant", "🦋")


@pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="Windows and macOS take no such name for a file"
)
def test_a_file_whose_name_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"votes\xff.csv")
    path.write_text("instance,source,label\n1,ann,bee\n")
    with pytest.raises(UnreadableError, match="the name is not UTF-8"):
        read_votes(path)


def test_the_content_of_rdf_is_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.ttl"
    path.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        "<urn:a b> a skos:Concept .\n<urn:c> a skos:Concept ; skos:broader <urn:a b> .\n"
    )
    assert read_taxonomy(path).labels.ids == ("urn:a b", "urn:c")
    assert not caplog.records


@pytest.mark.parametrize("word", ["NaN", "nan", "-Infinity", "inf"])
@pytest.mark.parametrize("row", ['"item": {}', '"item": 2, "tags": [1,\t{}]'])
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_numbers_that_json_does_not_have_are_refused(
    tmp_path: Path, word: str, row: str, ending: str
) -> None:
    path = tmp_path / f"votes.{ending}"
    lines = [
        '{"item": 1, "source": "ann", "label": "bee"}',
        f'{{"source": "ann", "label": "bee", {row.format(word)}}}',
    ]
    path.write_text("\n".join(lines) if ending == "jsonl" else f"[{', '.join(lines)}]")
    with pytest.raises(UnreadableError, match=f" 2: {word} is not a number in JSON"):
        read_votes(path)


def test_texts_in_json_may_look_like_such_numbers(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text(r'{"item": "1, NaN", "source": "a \" : inf", "label": "[nan"}')
    votes = read_votes(path)
    assert (votes.instances.ids, votes.labels.ids) == (("1, NaN",), ("[nan",))
