import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from mhpc.errors import OutputExistsError, UnwritableError
from mhpc.system import files as folders
from mhpc.system.files import atomic_folder, check_output


def write(target: Path, content: str, *, force: bool = False) -> None:
    with atomic_folder(target, force=force) as folder:
        (folder / "run.json").write_text(content)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208 - hidden ones count, and names are enough


def test_the_folder_appears_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "OUT"
    with atomic_folder(target, force=False) as folder:
        (folder / "run.json").write_text("new")
        assert not target.exists()
        assert folder.parent == tmp_path
    assert names(tmp_path) == ["OUT"]
    assert (target / "run.json").read_text() == "new"


def test_folders_above_it_are_made(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "OUT", "new")
    assert (tmp_path / "a" / "b" / "OUT" / "run.json").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
def test_an_error_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fail(folder: Path) -> None:
        (folder / "run.json").write_text("half")
        raise error

    for target in (tmp_path / "OUT", tmp_path / "a" / "b" / "OUT"):
        with pytest.raises(error), atomic_folder(target, force=False) as folder:
            fail(folder)
    assert names(tmp_path) == []


def test_an_existing_folder_is_refused_without_force(tmp_path: Path) -> None:
    write(tmp_path / "OUT", "old")
    with pytest.raises(OutputExistsError, match="OUT is there already; .*--force"):
        write(tmp_path / "OUT", "new")
    assert (tmp_path / "OUT" / "run.json").read_text() == "old"


def test_force_replaces_an_earlier_output_completely(tmp_path: Path) -> None:
    write(tmp_path / "OUT", "old")
    (tmp_path / "OUT" / "report.html").write_text("of the old run")
    write(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path) == ["OUT"]
    assert names(tmp_path / "OUT") == ["run.json"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "new"


def test_force_fills_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "OUT").mkdir()
    write(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path / "OUT") == ["run.json"]


def test_force_leaves_other_folders_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    (tmp_path / "file").write_text("precious")
    for name in ("thesis", "file"):
        with pytest.raises(OutputExistsError, match=f"{name} is not an output of mhpc"):
            write(tmp_path / name, "new", force=True)
    assert names(tmp_path) == ["file", "thesis"]
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years of work"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_old_output_survives_a_failing_run(tmp_path: Path, error: type[BaseException]) -> None:
    write(tmp_path / "OUT", "old")
    with pytest.raises(error), atomic_folder(tmp_path / "OUT", force=True):
        raise error
    assert names(tmp_path) == ["OUT"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "old"


@pytest.mark.parametrize("move", [1, 2])
def test_an_old_output_survives_a_failing_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, move: int
) -> None:
    write(tmp_path / "OUT", "old")
    moves, rename = 0, Path.rename

    def failing(self: Path, target: Any) -> Path:
        nonlocal moves
        moves += 1
        if moves == move:
            raise OSError("no more")
        return rename(self, target)

    # The old one is moved aside first, then the new one into its place.
    monkeypatch.setattr(folders, "_exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="no more"):
        write(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path) == ["OUT"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "old"


def test_an_old_output_is_replaced_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "OUT", "old")

    def moved(self: Path, target: Any) -> Path:
        raise AssertionError("there would be a moment without any output")

    monkeypatch.setattr(Path, "rename", moved)
    write(tmp_path / "OUT", "new", force=True)
    assert names(tmp_path) == ["OUT"]
    assert (tmp_path / "OUT" / "run.json").read_text() == "new"


def test_a_second_run_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "OUT", force=False) as folder:
        (folder / "run.json").write_text("first")
        with pytest.raises(OutputExistsError, match="another run is writing to .*OUT"):
            write(tmp_path / "OUT", "second")
        write(tmp_path / "OUTER", "not the same")
    assert (tmp_path / "OUT" / "run.json").read_text() == "first"


def test_an_output_that_appears_during_the_run_is_not_replaced(tmp_path: Path) -> None:
    def write_late() -> None:
        with atomic_folder(tmp_path / "OUT", force=False) as folder:
            (folder / "run.json").write_text("late")
            (tmp_path / "OUT").mkdir()

    with pytest.raises(OutputExistsError, match="there already"):
        write_late()
    assert names(tmp_path) == ["OUT"]


@pytest.mark.parametrize(("seconds", "left"), [(3600, False), (0, True)])
def test_the_hidden_folder_of_a_killed_run_is_removed_unless_it_is_new(
    tmp_path: Path, seconds: int, left: bool
) -> None:
    (tmp_path / ".OUT-0123456789abcdef").mkdir()
    (tmp_path / ".OUT-precious").mkdir()
    then = time.time() - seconds
    os.utime(tmp_path / ".OUT-0123456789abcdef", (then, then))
    write(tmp_path / "OUT", "new")
    assert (".OUT-0123456789abcdef" in names(tmp_path)) is left
    assert ".OUT-precious" in names(tmp_path)


def test_the_output_is_as_open_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "OUT", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "OUT").stat().st_mode) == 0o750


def test_a_folder_cannot_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(UnwritableError, match="file is a file; choose another"):
        check_output(tmp_path / "file" / "OUT", force=False)


def test_a_folder_that_may_not_be_written_to_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Asked of os.access, so that the test means the same to root, who may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UnwritableError, match=f"OUT cannot be made: {tmp_path} may not be written"):
        check_output(tmp_path / "new" / "OUT", force=False)


def test_a_folder_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(UnwritableError, match="cannot be made: File name too long"),
        atomic_folder(tmp_path / ("x" * 250), force=False),
    ):
        pass


def test_force_deletes_nothing_that_a_run_did_not_write(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    for name in ("run.json", "my votes.csv"):
        (target / name).write_text("mine")
    with pytest.raises(OutputExistsError, match="'my votes.csv', which no run wrote"):
        check_output(target, force=True)
    (target / "my votes.csv").unlink()
    check_output(target, force=True)
