import os
import stat
from pathlib import Path

import pytest

from mhpc.errors import UnwritableError
from mhpc.system.files import remove_all, temporary_folder


def test_a_folder_is_there_for_its_block_and_private(tmp_path: Path) -> None:
    with temporary_folder("mine-", inside=tmp_path) as folder:
        (folder / "file").write_text("aside")
        assert folder.name.startswith("mine-")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not any(tmp_path.iterdir())


def test_it_is_removed_whatever_happens(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), temporary_folder("mine-", inside=tmp_path) as folder:
        fail(folder)
    assert not any(tmp_path.iterdir())


def test_folders_above_it_go_unless_something_else_is_in_them(tmp_path: Path) -> None:
    with temporary_folder("mine-", inside=tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert not any(tmp_path.iterdir())
    with temporary_folder("mine-", inside=tmp_path / "a" / "b"):
        (tmp_path / "a" / "kept").write_text("somebody's")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["kept"]


def test_all_that_are_open_can_be_removed_at_once(tmp_path: Path) -> None:
    with (
        temporary_folder("one-", inside=tmp_path / "new") as one,
        temporary_folder("two-", inside=tmp_path) as two,
    ):
        (one / "file").write_text("half")
        remove_all()
        assert not one.exists()
        assert not two.exists()
        assert not any(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="too long"),
        temporary_folder("x" * 250, inside=tmp_path / "a"),
    ):
        pass
    assert not any(tmp_path.iterdir())


def test_without_a_place_it_is_where_temporary_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    with temporary_folder("mine-") as folder:
        assert folder.parent == tmp_path


def full(name: Path | None) -> None:
    raise OSError(28, "No space left on device", *(() if name is None else (str(name),)))


def test_the_error_of_a_full_disk_names_the_folder_on_it(tmp_path: Path) -> None:
    with (
        pytest.raises(UnwritableError, match=f"{tmp_path}/one takes no more: No space left"),
        temporary_folder("one-", inside=tmp_path / "one") as one,
        temporary_folder("two-", inside=tmp_path / "two"),
    ):
        full(one / "file")


def test_of_folders_in_each_other_the_outermost_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UnwritableError, match=f"{tmp_path} takes no more: No space left"),
        temporary_folder("one-", inside=tmp_path) as one,
        temporary_folder("two-", inside=one) as two,
    ):
        full(two / "file")


def test_a_folder_for_other_processes_leaves_it_to_the_next(tmp_path: Path) -> None:
    with (
        pytest.raises(UnwritableError, match=f"{tmp_path}/one takes no more"),
        temporary_folder("one-", inside=tmp_path / "one"),
        temporary_folder("two-", inside=tmp_path / "two", for_others=True),
    ):
        full(None)


def test_a_full_disk_elsewhere_is_not_the_folders(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left") as propagate_up,
        temporary_folder("one-", inside=tmp_path),
    ):
        full(tmp_path / "file")
    assert not isinstance(propagate_up.value, UnwritableError)
