"""Files and folders appear only when they are complete, and nothing is left after a failure."""

import gzip
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from mhpc.errors import OutputExistsError, UnwritableError
from mhpc.system import files
from mhpc.system.files import (
    atomic_file,
    atomic_folder,
    check_output,
    remove_all,
    resolve_path,
    temporary_folder,
)


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with atomic_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


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
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


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

    with pytest.raises(
        UnwritableError, match="cannot take more data: No space left.*free some space"
    ):
        fail()


def write_folder(target: Path, content: str, *, force: bool = False) -> None:
    with atomic_folder(target, force=force) as folder:
        (folder / "run.json").write_text(content)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208 - hidden ones count, and names are enough


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "OUT"
    with atomic_folder(target, force=False) as folder:
        (folder / "run.json").write_text("new")
        assert not target.exists()
        assert folder.parent == tmp_path
    assert names(tmp_path) == ["OUT"]
    assert (target / "run.json").read_text() == "new"


def test_missing_parent_folders_are_created(tmp_path: Path) -> None:
    write_folder(tmp_path / "a" / "b" / "OUT", "new")
    assert (tmp_path / "a" / "b" / "OUT" / "run.json").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
def test_an_error_leaves_no_folder(tmp_path: Path, error: type[BaseException]) -> None:
    def fail(folder: Path) -> None:
        (folder / "run.json").write_text("incomplete")
        raise error

    for target in (tmp_path / "OUT", tmp_path / "a" / "b" / "OUT"):
        with pytest.raises(error), atomic_folder(target, force=False) as folder:
            fail(folder)
    assert names(tmp_path) == []


def test_an_existing_folder_is_refused_without_force(tmp_path: Path) -> None:
    write_folder(tmp_path / "OUT", "old")
    with pytest.raises(OutputExistsError, match="OUT is there already; .*force=True"):
        write_folder(tmp_path / "OUT", "new")
    assert (tmp_path / "OUT" / "run.json").read_text() == "old"


def test_force_replaces_an_earlier_output_completely(tmp_path: Path) -> None:
    write_folder(tmp_path / "OUT", "old")
    (tmp_path / "OUT" / "report.html").write_text("of the old run")
    write_folder(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path) == ["OUT"]
    assert names(tmp_path / "OUT") == ["run.json"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "new"


def test_force_fills_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "OUT").mkdir()
    write_folder(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path / "OUT") == ["run.json"]


def test_force_leaves_other_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    (tmp_path / "file").write_text("precious")
    for name in ("thesis", "file"):
        with pytest.raises(OutputExistsError, match=f"{name} is not an output of mhpc"):
            write_folder(tmp_path / name, "new", force=True)
    assert names(tmp_path) == ["file", "thesis"]
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_old_output_survives_a_failing_run(tmp_path: Path, error: type[BaseException]) -> None:
    write_folder(tmp_path / "OUT", "old")
    with pytest.raises(error), atomic_folder(tmp_path / "OUT", force=True):
        raise error
    assert names(tmp_path) == ["OUT"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "old"


@pytest.mark.parametrize("move", [1, 2])
def test_an_old_output_survives_a_failing_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, move: int
) -> None:
    write_folder(tmp_path / "OUT", "old")
    moves, rename = 0, Path.rename

    def fail_at_move(self: Path, target: Any) -> Path:
        nonlocal moves
        moves += 1
        if moves == move:
            raise OSError("no more")
        return rename(self, target)

    # Without an atomic exchange, the old folder is moved aside before the new one is moved in.
    monkeypatch.setattr(files, "_exchange", lambda first, second: False)
    monkeypatch.setattr(Path, "rename", fail_at_move)
    with pytest.raises(OSError, match="no more"):
        write_folder(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path) == ["OUT"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "old"


def test_an_old_output_is_replaced_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "OUT", "old")

    def refuse(self: Path, target: Any) -> Path:
        raise AssertionError("there would be a moment without any output")

    monkeypatch.setattr(Path, "rename", refuse)
    write_folder(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path) == ["OUT"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "new"


def test_a_second_run_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "OUT", force=False) as folder:
        (folder / "run.json").write_text("first")
        with pytest.raises(OutputExistsError, match="another run is writing to .*OUT"):
            write_folder(tmp_path / "OUT", "second")
        write_folder(tmp_path / "OUTER", "not the same")
    assert (tmp_path / "OUT" / "run.json").read_text() == "first"


def test_an_output_that_appears_during_the_run_is_not_replaced(tmp_path: Path) -> None:
    def write_late() -> None:
        with atomic_folder(tmp_path / "OUT", force=False) as folder:
            (folder / "run.json").write_text("late")
            (tmp_path / "OUT").mkdir()

    with pytest.raises(OutputExistsError, match="there already"):
        write_late()
    assert names(tmp_path) == ["OUT"]


@pytest.mark.parametrize(("seconds", "remains"), [(3600, False), (0, True)])
def test_the_hidden_folder_of_a_killed_run_is_removed_unless_it_is_recent(
    tmp_path: Path, seconds: int, remains: bool
) -> None:
    (tmp_path / ".OUT-0123456789abcdef").mkdir()
    (tmp_path / ".OUT-precious").mkdir()
    modified = time.time() - seconds
    os.utime(tmp_path / ".OUT-0123456789abcdef", (modified, modified))
    write_folder(tmp_path / "OUT", "new")
    assert (".OUT-0123456789abcdef" in names(tmp_path)) is remains
    assert ".OUT-precious" in names(tmp_path)


def test_the_permissions_of_an_output_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_folder(tmp_path / "OUT", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "OUT").stat().st_mode) == 0o750


def test_a_folder_inside_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(UnwritableError, match="file is a file; choose another"):
        check_output(tmp_path / "file" / "OUT", force=False)


def test_a_folder_without_write_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # os.access is replaced because root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(
        UnwritableError, match=f"OUT cannot be created: {tmp_path} may not be written"
    ):
        check_output(tmp_path / "new" / "OUT", force=False)


def test_a_folder_that_cannot_be_created_is_reported_with_the_reason(tmp_path: Path) -> None:
    with (
        pytest.raises(UnwritableError, match="cannot be created: File name too long"),
        atomic_folder(tmp_path / ("x" * 250), force=False),
    ):
        pass


def test_force_never_deletes_files_that_no_run_wrote(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    for name in ("run.json", "my votes.csv"):
        (target / name).write_text("mine")
    with pytest.raises(OutputExistsError, match="'my votes.csv', which no run wrote"):
        check_output(target, force=True)
    (target / "my votes.csv").unlink()
    check_output(target, force=True)


def test_a_temporary_folder_is_private_and_exists_for_its_block_only(tmp_path: Path) -> None:
    with temporary_folder("mine-", inside=tmp_path) as folder:
        (folder / "file").write_text("aside")
        assert folder.name.startswith("mine-")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not any(tmp_path.iterdir())


def test_a_temporary_folder_is_removed_after_an_interrupt(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_text("incomplete")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), temporary_folder("mine-", inside=tmp_path) as folder:
        fail(folder)
    assert not any(tmp_path.iterdir())


def test_created_parent_folders_are_removed_unless_they_hold_other_files(tmp_path: Path) -> None:
    with temporary_folder("mine-", inside=tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert not any(tmp_path.iterdir())
    with temporary_folder("mine-", inside=tmp_path / "a" / "b"):
        (tmp_path / "a" / "other").write_text("of another program")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["other"]


def test_remove_all_removes_every_open_temporary_folder(tmp_path: Path) -> None:
    with (
        temporary_folder("first-", inside=tmp_path / "new") as first,
        temporary_folder("second-", inside=tmp_path) as second,
    ):
        (first / "file").write_text("incomplete")
        remove_all()
        assert not first.exists()
        assert not second.exists()
        assert not any(tmp_path.iterdir())


def test_a_temporary_folder_that_cannot_be_created_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="too long"),
        temporary_folder("x" * 250, inside=tmp_path / "a"),
    ):
        pass
    assert not any(tmp_path.iterdir())


def test_a_temporary_folder_is_in_the_temporary_folder_of_the_system_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    with temporary_folder("mine-") as folder:
        assert folder.parent == tmp_path


def fill_disk(name: Path | None) -> None:
    raise OSError(28, "No space left on device", *(() if name is None else (str(name),)))


def test_the_error_of_a_full_disk_names_the_folder_on_it(tmp_path: Path) -> None:
    with (
        pytest.raises(
            UnwritableError, match=f"{tmp_path}/first cannot take more data: No space left"
        ),
        temporary_folder("first-", inside=tmp_path / "first") as first,
        temporary_folder("second-", inside=tmp_path / "second"),
    ):
        fill_disk(first / "file")


def test_the_error_of_a_full_disk_names_the_outermost_of_nested_folders(tmp_path: Path) -> None:
    with (
        pytest.raises(UnwritableError, match=f"{tmp_path} cannot take more data: No space left"),
        temporary_folder("first-", inside=tmp_path) as first,
        temporary_folder("second-", inside=first) as second,
    ):
        fill_disk(second / "file")


def test_the_error_of_a_full_disk_does_not_name_a_folder_for_other_processes(
    tmp_path: Path,
) -> None:
    with (
        pytest.raises(UnwritableError, match=f"{tmp_path}/first cannot take more data"),
        temporary_folder("first-", inside=tmp_path / "first"),
        temporary_folder("second-", inside=tmp_path / "second", for_others=True),
    ):
        fill_disk(None)


def test_a_full_disk_outside_the_folder_is_raised_unchanged(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left") as error,
        temporary_folder("first-", inside=tmp_path),
    ):
        fill_disk(tmp_path / "file")
    assert not isinstance(error.value, UnwritableError)


@pytest.mark.parametrize(
    "name", ["loop", "a", "loop/x", "n" * 300, "d/" * 3000, "nul\0x", "nul\0/x"]
)
def test_a_path_that_leads_nowhere_is_refused_as_output(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UnwritableError), atomic_folder(tmp_path / name, force=True):
        pass
    with pytest.raises(UnwritableError), atomic_file(tmp_path / name):
        pass
    with pytest.raises(UnwritableError):
        check_output(tmp_path / name, force=False)
    assert {path.name for path in tmp_path.iterdir()} == {"loop", "a", "b"}


def test_a_loop_of_links_is_an_error_of_this_package(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    try:
        assert resolve_path(tmp_path / "loop")
    except UnwritableError as error:
        assert "Too many levels of symbolic links" in str(error)  # noqa: PT017 - not since 3.13


def test_a_folder_cannot_go_to_standard_output() -> None:
    with pytest.raises(UnwritableError, match="an output is a folder"):
        check_output(Path("-"), force=True)
