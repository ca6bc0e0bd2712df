"""The yeast data are found in a folder or downloaded, or the error says what to do."""

import gzip
import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pooch
import pytest

from mhpc.datasets.yeast import YEAST, largest_split, load_yeast, yeast_file
from mhpc.errors import MissingExtraError, ParameterError, UnreadableError
from mhpc.paper.published import published
from tests.fixtures.yeast import ARFF

SOURCE = json.loads((files("mhpc.datasets") / "yeast.json").read_text())


@pytest.fixture
def no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MHPC_DATA", raising=False)
    monkeypatch.setenv("MHPC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file on a local server that replaces the archive."""
    folder = tmp_path / "archive" / "church_FUN"
    folder.mkdir(parents=True)

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(folder.parent))

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        digest = hashlib.sha256(ARFF.encode()).hexdigest()
        source = {
            "url": f"http://127.0.0.1:{server.server_port}",
            "sha256": {"church_FUN.test.arff": digest},
        }
        monkeypatch.setattr("mhpc.datasets.yeast._read_source", lambda: source)
        yield folder / "church_FUN.test.arff"
        server.shutdown()


def test_the_splits_have_the_sizes_that_the_paper_prints(data_folder: Path) -> None:
    for name in YEAST:
        train, valid = published()["instances"][name]
        assert len(load_yeast(name, "valid", data=data_folder).truth.instances) == valid
        if name != "expr":
            genes = load_yeast(name, largest_split(name), data=data_folder)
            assert len(genes.truth.instances) == train


def test_the_files_have_the_recorded_hashes(data_folder: Path) -> None:
    for name in YEAST:
        path = yeast_file(name, "valid", data=data_folder)
        content = gzip.decompress(path.read_bytes())
        recorded = SOURCE["sha256"][f"{name}_FUN.valid.arff"]
        assert hashlib.sha256(content).hexdigest() == recorded


def test_a_folder_may_contain_plain_files(tmp_path: Path) -> None:
    (tmp_path / "yeast_funcat").mkdir()
    (tmp_path / "yeast_funcat" / "church_FUN.test.arff").write_text(ARFF)
    assert len(load_yeast("church", "test", data=tmp_path).truth.instances) > 1


def test_the_folder_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MHPC_DATA", str(tmp_path))
    with pytest.raises(UnreadableError, match="no such file, nor with .gz"):
        load_yeast("church", "test")


def test_a_misspelt_dataset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError, match="no yeast set 'cellcycel' .nearest: 'cellcycle'"):
        load_yeast("cellcycel")


def test_downloads_are_checked_and_cached(no_folder: Path, archive: Path) -> None:
    archive.write_text(ARFF)
    assert len(load_yeast("church", "test").truth.instances) == 3
    archive.unlink()
    assert len(load_yeast("church", "test").truth.instances) == 3
    assert (no_folder / "yeast_funcat" / "church_FUN.test.arff").read_text() == ARFF


def test_a_download_with_another_hash_is_refused(no_folder: Path, archive: Path) -> None:
    archive.write_text(f"{ARFF}0.3,01\n")
    with pytest.raises(UnreadableError, match="its SHA-256 differs"):
        load_yeast("church", "test")
    assert not list(no_folder.rglob("*.arff"))


def test_a_file_that_is_not_on_the_server_is_reported(no_folder: Path, archive: Path) -> None:
    with pytest.raises(UnreadableError, match="cannot be downloaded .HTTPError"):
        load_yeast("church", "test")


def test_without_network_the_message_says_what_to_do(
    no_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    with pytest.raises(UnreadableError) as error:
        load_yeast("church", "test")
    message = str(error.value)
    assert f"{SOURCE['url']}/church_FUN/church_FUN.test.arff cannot be downloaded" in message
    assert "DIR/yeast_funcat/" in message
    assert "mhpc reproduce --data DIR" in message
    assert str(no_folder) in message


def test_a_split_that_the_archive_lacks_is_named(no_folder: Path) -> None:
    with pytest.raises(UnreadableError, match=r"has no expr_FUN\.train\.arff"):
        load_yeast("expr", "train")


def test_the_missing_extra_is_named(no_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"mhpc\[report\]"):
        load_yeast("church", "test")
