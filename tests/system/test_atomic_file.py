import gzip
from pathlib import Path

import pytest

from mhpc.errors import OutputExistsError, UnwritableError
from mhpc.system.files import atomic_file


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with atomic_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")

    def fail() -> None:
        with atomic_file(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_an_existing_file_is_refused_without_force(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(OutputExistsError, match="a.csv is there already"):
        atomic_file(path, force=False).__enter__()


def test_equal_data_are_compressed_to_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        with atomic_file(tmp_path / name) as file:
            file.write(b"x" * 1000)
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"x" * 1000
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_file(tmp_path / "a.csv"):
            raise OSError(28, "No space left on device")

    with pytest.raises(UnwritableError, match="takes no more: No space left.*free some space"):
        fail()
