"""Every example of the README and the docs runs and prints what the page shows."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import NAMES, PAGES, ROOT, Block, split_into_blocks
from tests.docs.runner import PageRunner, matches, split_session

MAX_NOT_RUN = 10
"""The number of blocks, over all pages, that may be marked as not run."""


@pytest.mark.parametrize("name", NAMES)
def test_examples_print_what_the_page_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = PageRunner(tmp_path)
    for block in split_into_blocks((ROOT / name).read_text(encoding="utf-8")):
        try:
            runner.run(block)
        except Exception as error:
            raise AssertionError(f"{name}, line {block.line}: {error}") from error


def test_few_examples_are_not_run() -> None:
    not_run = [
        (name, block.line)
        for name, page in zip(NAMES, PAGES, strict=True)
        for block in split_into_blocks(page.read_text(encoding="utf-8"))
        if block.not_run is not None
    ]
    assert len(not_run) <= MAX_NOT_RUN, not_run


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_in_fenced_blocks(name: str) -> None:
    indented_commands = re.findall(
        r"^ {4}(?:\$ )?(?:mhpc|pip|python|dask|make) .*$",
        (ROOT / name).read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert not indented_commands


def test_an_unknown_kind_of_block_fails(tmp_path: Path) -> None:
    for kind in ("", "shell", "pyhton"):
        with pytest.raises(AssertionError, match="unknown kind"):
            PageRunner(tmp_path).run(Block(1, kind, "mhpc methods"))


def test_a_block_that_is_not_run_needs_a_reason(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="needs a reason"):
        PageRunner(tmp_path).run(Block(1, "sh", "halt", not_run=""))


def test_an_output_that_differs_from_the_page_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    usage = "$ mhpc --help | head -n 1\nUsage: mhpc … COMMAND …\n"
    PageRunner(tmp_path).run(Block(1, "console", usage))
    with pytest.raises(AssertionError, match="page:"):
        PageRunner(tmp_path).run(Block(1, "console", "$ echo one\ntwo\n"))
    with pytest.raises(AssertionError, match="No such"):
        PageRunner(tmp_path).run(Block(1, "sh", "cat nothing.csv\n"))
    with pytest.raises(AssertionError, match="4"):
        PageRunner(tmp_path).run(Block(1, "python", "2 + 2  # → 5\n"))


def test_an_ellipsis_stands_for_any_text_or_any_lines() -> None:
    assert matches("a … c\n…\nend", "a b c\nd\ne\nend\n")
    assert matches("…\nend", "end\n")
    assert not matches("a … c\nend", "a b c\nd\nend\n")
    assert not matches("a", "a\nb\n")


def test_a_session_is_split_into_commands_and_outputs() -> None:
    session = "$ one \\\n    two\noutput\n\nmore\n$ three\n"
    assert list(split_session(session)) == [("one      two", "output\n\nmore"), ("three", "")]


def test_a_page_is_split_into_blocks() -> None:
    page = (
        "<!-- setup\ncp a b\n-->\n<!-- setup sample garden -->\n"
        "<!-- file: votes.csv -->\n\n```text\ninstance\n```\n"
        "1. In a list\n\n   ```sh\n   mhpc methods\n   ```\n<!-- not run: no cluster -->\n"
        "````{note}\n```sh\n```\n````\n"
    )
    assert list(split_into_blocks(page)) == [
        Block(1, "setup", "cp a b\n"),
        Block(4, "setup", "sample garden\n"),
        Block(7, "text", "instance\n", file="votes.csv"),
        Block(12, "sh", "mhpc methods\n"),
        Block(16, "{note}", "```sh\n```\n", not_run="no cluster"),
    ]
