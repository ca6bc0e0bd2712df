"""Every example of the README and the docs is run, and comes out as it is shown."""

import re
from pathlib import Path

import pytest

from tests.docs.examples import Reader, dialogue, matches
from tests.docs.pages import NAMES, PAGES, ROOT, Block, blocks

MOST_NOT_RUN = 9
"""So many fences may be marked as not run, over all pages."""


@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_says_happens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A slow machine must not add lines of progress to what is compared.
    monkeypatch.setattr("mhpc.cli.progress.PATIENCE", 600.0)
    reader = Reader(tmp_path)
    for block in blocks((ROOT / name).read_text(encoding="utf-8")):
        try:
            reader.follow(block)
        except Exception as error:
            raise AssertionError(f"{name}, line {block.line}: {error}") from error


def test_few_examples_are_not_run() -> None:
    kept = [
        (name, block.line)
        for name, page in zip(NAMES, PAGES, strict=True)
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.not_run is not None
    ]
    assert len(kept) <= MOST_NOT_RUN, kept


@pytest.mark.parametrize("name", NAMES)
def test_commands_stand_in_fences(name: str) -> None:
    loose = re.findall(
        r"^ {4}(?:\$ )?(?:mhpc|pip|python|dask|make) .*$",
        (ROOT / name).read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert not loose


def test_a_fence_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    for kind in ("", "shell", "pyhton"):
        with pytest.raises(AssertionError, match="nobody knows"):
            Reader(tmp_path).follow(Block(1, kind, "mhpc methods"))


def test_a_fence_that_is_not_run_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="needs a reason"):
        Reader(tmp_path).follow(Block(1, "sh", "halt", not_run=""))


def test_another_output_than_the_one_shown_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Reader(tmp_path).follow(
        Block(1, "console", "$ mhpc --help | head -n 1\nUsage: mhpc … COMMAND …\n")
    )
    with pytest.raises(AssertionError, match="the page has"):
        Reader(tmp_path).follow(Block(1, "console", "$ echo one\ntwo\n"))
    with pytest.raises(AssertionError, match="No such"):
        Reader(tmp_path).follow(Block(1, "sh", "cat nothing.csv\n"))
    with pytest.raises(AssertionError, match="4"):
        Reader(tmp_path).follow(Block(1, "python", "2 + 2  # → 5\n"))


def test_what_is_left_out_may_be_anything() -> None:
    assert matches("a … c\n…\nend", "a b c\nd\ne\nend\n")
    assert matches("…\nend", "end\n")
    assert not matches("a … c\nend", "a b c\nd\nend\n")
    assert not matches("a", "a\nb\n")


def test_a_session_is_commands_and_what_comes_of_them() -> None:
    session = "$ one \\\n    two\nsaid\n\nmore\n$ three\n"
    assert list(dialogue(session)) == [("one      two", "said\n\nmore"), ("three", "")]


def test_a_page_comes_apart_into_what_is_run_written_and_shown() -> None:
    page = (
        "<!-- setup\ncp a b\n-->\n<!-- setup sample garden -->\n"
        "<!-- file: votes.csv -->\n\n```text\ninstance\n```\n"
        "1. In a list\n\n   ```sh\n   mhpc methods\n   ```\n<!-- not run: no cluster -->\n"
        "````{note}\n```sh\n```\n````\n"
    )
    assert list(blocks(page)) == [
        Block(1, "setup", "cp a b\n"),
        Block(4, "setup", "sample garden\n"),
        Block(7, "text", "instance\n", file="votes.csv"),
        Block(12, "sh", "mhpc methods\n"),
        Block(16, "{note}", "```sh\n```\n", not_run="no cluster"),
    ]
