"""XML is read in the encodings that expat knows, and refused by name in every other one."""

import encodings
import pkgutil
import zipfile
from pathlib import Path

import pytest

from mhpc.errors import MhpcError, UnreadableError
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes

LABEL_STUDIO = """<View><Text name="t"/><Taxonomy name="x" toName="t">
<Choice value="animal"><Choice value="{}"/></Choice></Taxonomy></View>"""
SKOS = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="http://x.org/a"><skos:prefLabel>animal</skos:prefLabel></skos:Concept>
<skos:Concept rdf:about="http://x.org/b"><skos:prefLabel>{}</skos:prefLabel>
<skos:broader rdf:resource="http://x.org/a"/></skos:Concept></rdf:RDF>"""
DOCUMENTS = [pytest.param(LABEL_STUDIO, id="Label Studio"), pytest.param(SKOS, id="SKOS")]
CODECS = sorted(module.name for module in pkgutil.iter_modules(encodings.__path__))


def write(path: Path, document: str, encoding: str, name: str = "bee") -> Path:
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    path.write_bytes((declaration + document.format(name)).encode("utf-8"))
    return path


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize(
    "encoding",
    ["utf-7", "shift_jis", "hex", "base64", "idna", "rot13", "no-such", "iso-8859-99", "gbk"],
)
def test_other_encodings_are_refused_by_name(tmp_path: Path, document: str, encoding: str) -> None:
    path = write(tmp_path / "taxonomy.xml", document, encoding)
    with pytest.raises(UnreadableError, match=f"encoding '{encoding}' is not read") as refusal:
        read_taxonomy(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF-8", "us-ascii", "ISO-8859-1", "iso-8859-15", "windows-1252"]
)
def test_common_encodings_are_read(tmp_path: Path, document: str, encoding: str) -> None:
    taxonomy = read_taxonomy(write(tmp_path / "taxonomy.xml", document, encoding))
    assert {"animal", "bee"} <= set(taxonomy.names)


def test_a_declared_encoding_is_that_of_the_names(tmp_path: Path) -> None:
    # The name is UTF-8 for the character 0xC3 0xA9, and so two characters in windows-1252.
    taxonomy = read_taxonomy(write(tmp_path / "t.xml", LABEL_STUDIO, "windows-1252", "\xe9"))
    assert "\xc3\xa9" in taxonomy.names


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_codec_of_python_escapes(tmp_path: Path, document: str) -> None:
    for encoding in [*CODECS, "utf-16", "utf-16le", "utf-16-be", "utf-32", "utf_8", "latin1"]:
        try:
            read_taxonomy(write(tmp_path / "taxonomy.xml", document, encoding))
        except MhpcError:
            continue


def test_a_workbook_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", '<?xml version="1.0" encoding="utf-7"?><workbook/>')
    with pytest.raises(UnreadableError, match="'utf-7'"):
        read_votes(path)


@pytest.mark.parametrize("encoding", ["utf16", "UTF16LE", "utf_16"])
def test_names_that_only_python_knows_are_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(UnreadableError, match="is not read"):
        read_taxonomy(write(tmp_path / "t.xml", LABEL_STUDIO, encoding))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_byte_order_mark_says_more_than_a_declaration(tmp_path: Path, document: str) -> None:
    path = write(tmp_path / "t.xml", document, "iso-8859-1", "caf\xe9")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert any("caf\xe9" in name for name in read_taxonomy(path).names)
