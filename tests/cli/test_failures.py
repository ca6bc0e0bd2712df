"""Failures of disks and inputs give a one-line error and leave the earlier output intact."""

import errno
import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mhpc.read.options import ReadOptions
from mhpc.read.votes import read_votes_as
from tests.fixtures.commands import Mhpc

resource = pytest.importorskip("resource")

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def old(garden: Path, mhpc: Mhpc) -> dict[str, bytes]:
    """The files that an earlier run wrote to OUT."""
    assert mhpc(*CONSOLIDATE, "OUT").returncode == 0
    return contents(garden / "OUT")


@pytest.mark.parametrize(
    "stage",
    [
        "output.write_taxonomy",
        "output.write_model",
        "output.write_sources",
        "run.summarize",
        "run.write_report",
    ],
)
def test_a_full_disk_in_any_stage_leaves_the_earlier_output(
    stage: str, garden: Path, mhpc: Mhpc, old: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = names(garden)
    monkeypatch.setattr(f"mhpc.{stage}", fill_disk)
    done = mhpc(*CONSOLIDATE, "OUT", "--force", "--report")
    assert done.returncode == 1
    assert done.stderr == (
        f"mhpc: error: {garden} cannot take more data: No space left on device; free some space "
        "there, or choose a folder elsewhere; nothing was written\n"
    )
    assert contents(garden / "OUT") == old
    assert names(garden) == before


def test_a_file_size_limit_leaves_the_earlier_output(garden: Path, old: dict[str, bytes]) -> None:
    """DuckDB, NumPy and Python all report the limit in their own way."""
    before = names(garden)
    for limit in (0, 600):
        done = subprocess.run(
            [sys.executable, "-m", "mhpc", *CONSOLIDATE, "OUT", "--force", "--progress", "none"],
            cwd=garden, capture_output=True, text=True, check=False,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit)),
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert done.stderr.count("\n") == 1
        assert f"{garden} cannot take more data: File too large; free some space" in done.stderr
        assert contents(garden / "OUT") == old
        assert names(garden) == before


def test_a_full_folder_for_temporary_files_is_named(garden: Path) -> None:
    (garden / "scratch").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "mhpc", "consolidate", "-", *CONSOLIDATE[2:], "OUT"],
        cwd=garden, capture_output=True, check=False, input=b"x" * 100_000,
        env=os.environ | {"TMPDIR": str(garden / "scratch")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )  # fmt: skip
    message = done.stderr.decode()
    assert done.returncode == 1
    assert f"{garden / 'scratch'} cannot take more data" in message
    assert "set TMPDIR to a folder with more" in message
    assert not names(garden / "scratch")
    assert "OUT" not in names(garden)


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ((*CONSOLIDATE, "OUT", "--force", "--report"), "cannot take more data"),
        (("convert", "OUT", "made.csv"), "cannot take more data"),
        (("inspect", "votes.csv", "--write-map", "map.csv"), "cannot take more data"),
    ],
    ids=lambda words: words[0],
)
def test_a_disk_without_room_for_another_file_is_no_wrong_usage(
    words: tuple[str, ...],
    outcome: str,
    garden: Path,
    mhpc: Mhpc,
    old: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when a disk has no inodes left: nothing can be created, however small it is."""
    before, create = names(garden), Path.open

    def refuse(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        if "w" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return create(path, mode, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    done = mhpc(*words)
    assert (done.returncode, done.stderr.count("mhpc: error: ")) == (1, 1)
    assert f"{outcome}: No space left on device; free some space" in done.stderr
    assert contents(garden / "OUT") == old
    assert names(garden) == before


def test_a_full_disk_is_not_blamed_on_an_archive(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with zipfile.ZipFile(garden / "votes.zip", "w") as archive:
        archive.write(garden / "votes.csv", "votes.csv")
    monkeypatch.setattr("mhpc.read.archives._extract_member", fill_disk)
    done = mhpc("inspect", "votes.zip")
    assert done.returncode == 1
    assert "cannot take more data: No space left on device" in done.stderr


@pytest.mark.parametrize("words", [(*CONSOLIDATE, "OUT"), ("inspect", "votes.csv")])
def test_a_current_folder_that_was_removed_is_one_line(
    words: tuple[str, ...], garden: Path
) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m mhpc "$@"'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, *words], cwd=garden, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) in ((1, 1), (2, 1))
    assert "no such file" in done.stderr or "the current folder is not there" in done.stderr


def test_without_any_folder_for_temporary_files_it_is_said(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("mhpc.system.files.tempfile.gettempdir", find_none)
    with zipfile.ZipFile(garden / "votes.zip", "w") as archive:
        archive.write(garden / "votes.csv", "votes.csv")
    done = mhpc("inspect", "votes.zip")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "set TMPDIR" in done.stderr


def test_votes_that_change_while_they_are_read_are_refused(
    garden: Path, mhpc: Mhpc, old: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(source: str, options: ReadOptions, **more: Any) -> Any:
        votes = read_votes_as(source, options, **more)
        with Path(source).open("a") as file:
            file.write("4,ann,bee\n")
        return votes

    before = names(garden)
    monkeypatch.setattr("mhpc.engines.local.read_votes_as", read)
    done = mhpc(*CONSOLIDATE, "OUT", "--force")
    assert done.returncode == 1
    assert "votes.csv changed while it was read; run again when nothing writes to it" in done.stderr
    assert contents(garden / "OUT") == old
    assert names(garden) == before


def test_votes_may_be_deleted_after_they_were_read(
    garden: Path, mhpc: Mhpc, old: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(source: str, options: ReadOptions, **more: Any) -> Any:
        votes = read_votes_as(source, options, **more)
        Path(source).unlink()
        return votes

    monkeypatch.setattr("mhpc.engines.local.read_votes_as", read)
    assert mhpc(*CONSOLIDATE, "OUT", "--force").returncode == 0
    assert contents(garden / "OUT")["labels.csv"] == old["labels.csv"]


def test_votes_deleted_before_they_are_read_are_an_error(
    garden: Path, mhpc: Mhpc, old: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(source: str, options: ReadOptions, **more: Any) -> Any:
        Path(source).unlink()
        return read_votes_as(source, options, **more)

    monkeypatch.setattr("mhpc.engines.local.read_votes_as", read)
    done = mhpc(*CONSOLIDATE, "OUT", "--force")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "votes.csv" in done.stderr
    assert contents(garden / "OUT") == old


def test_a_run_from_a_pipe_cannot_be_resumed(garden: Path) -> None:
    votes = (garden / "votes.csv").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "mhpc", "consolidate", "-", *CONSOLIDATE[2:], "OUT", "--resume"],
        cwd=garden, capture_output=True, check=False, input=votes,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"what comes through a pipe may not be what it was" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("report", "OUT"),
        ("report", "OUT/../OUT"),
        ("inspect", "votes.csv", "--taxonomy", "OUT/taxonomy.csv"),
        ("conflicts", "OUT"),
        ("conflicts", "OUT", "-o", "OUT/conflicts.csv"),
        (*CONSOLIDATE, "OUT/deeper"),
        ("sources", "OUT"),
        ("convert", "OUT", "labels.jsonl"),
        ("evaluate", "OUT", "--truth", "truth.csv"),
        ("consolidate", "--config", "OUT/run.json", "-o", "OUT", "--force"),
        ("consolidate", "votes.csv", "--apply", "OUT", "-o", "NEW"),
        (*CONSOLIDATE, "OUT", "--force"),
    ],
    ids=" ".join,
)
def test_every_command_restores_an_output_that_a_killed_run_moved_aside(
    command: tuple[str, ...], garden: Path, mhpc: Mhpc, old: dict[str, bytes]
) -> None:
    aside = garden / ".OUT-old-0123456789abcdef"
    aside.mkdir()
    (garden / "OUT").rename(aside / "run")
    done = mhpc(*command)
    assert "OUT was restored: a run was killed" in done.stderr
    assert done.returncode == 0, done.stderr
    assert (garden / "OUT" / "labels.csv").read_bytes() == old["labels.csv"]
    assert not aside.exists()
