"""A run that is killed while it replaces a folder, where folders cannot be exchanged at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mhpc.errors import MhpcWarning, OutputExistsError
from mhpc.system import files
from mhpc.system.files import atomic_folder, restore_folder
from mhpc.system.locks import folder_lock

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders are locked on POSIX only")

KILLED = """
import os, signal, sys
from pathlib import Path
from mhpc.system import files
from mhpc.system.files import atomic_folder

rename = Path.rename
def rename_and_die(self, target):
    rename(self, target)
    os.kill(os.getpid(), signal.SIGKILL)

with atomic_folder(Path(sys.argv[1]), force=True, exchange=lambda *_: False) as folder:
    (folder / "run.json").write_text("new")
    Path.rename = rename_and_die
"""
"""A program that dies after the first of two renames."""


def kill_between_renames(target: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False, timeout=60)
    assert done.returncode == -9


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The place of an output, which a killed run moved aside."""
    target = tmp_path / "OUT"
    target.mkdir()
    (target / "run.json").write_text("old")
    kill_between_renames(target)
    assert not target.exists()
    return target


def test_the_old_output_is_restored_and_it_is_said(out: Path) -> None:
    with pytest.warns(MhpcWarning, match="OUT was restored: a run was killed"):
        restore_folder(out)
    assert (out / "run.json").read_text() == "old"
    assert not list(out.parent.glob(".OUT-old-*"))
    # The second time there is nothing to do or to say.
    restore_folder(out)


@pytest.mark.parametrize("path", ["run.json", "deeper/x", "../OUT", "../OUT/run.json"])
def test_what_is_in_the_old_output_is_restored_with_it(out: Path, path: str) -> None:
    with pytest.warns(MhpcWarning, match="OUT was restored"):
        restore_folder(out / path)
    assert (out / "run.json").read_text() == "old"


def test_a_run_that_writes_restores_the_old_output_first(out: Path) -> None:
    with (
        pytest.warns(MhpcWarning, match="was restored"),
        pytest.raises(OutputExistsError),
        atomic_folder(out, force=False),
    ):
        pass
    assert (out / "run.json").read_text() == "old"


def test_the_output_behind_a_link_is_restored(out: Path) -> None:
    link = out.parent / "link"
    link.symlink_to("OUT")
    with pytest.warns(MhpcWarning, match="was restored"):
        restore_folder(link)
    assert (link / "run.json").read_text() == "old"


def test_nothing_is_restored_while_the_run_that_replaces_it_is_alive(out: Path) -> None:
    (aside,) = out.parent.glob(".OUT-old-*")
    with folder_lock(aside):
        restore_folder(out)
        assert not out.exists()


def test_what_a_killed_run_moved_aside_is_removed_once_it_is_replaced(tmp_path: Path) -> None:
    aside = tmp_path / ".OUT-old-0123456789abcdef"
    (aside / "run").mkdir(parents=True)
    (tmp_path / "OUT").mkdir()
    os.utime(aside, (0, 0))
    with atomic_folder(tmp_path / "OUT", force=True) as folder:
        (folder / "run.json").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["OUT"]


def test_what_cannot_be_restored_is_not_removed(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (aside,) = out.parent.glob(".OUT-old-*")
    os.utime(aside, (0, 0))
    monkeypatch.setattr(files, "restore_folder", lambda target: None)
    with atomic_folder(out, force=True):
        assert (aside / "run" / "run.json").read_text() == "old"
