"""Run the examples of a page and compare their output with the output that the page shows."""

import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from mhpc.cli import cli, main
from tests.docs.pages import Block
from tests.docs.samples import SAMPLES

ELLIPSIS = "…"
"""Stands for any text within a line, and on a line of its own for any lines."""

NOT_EXECUTED = frozenset({"text", "json", "xml"})
"""Kinds of blocks that are only shown."""


class PageRunner:
    """Runs the blocks of a page one after the other, in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {}

    def run(self, block: Block) -> None:
        """Run one block, and fail if its outcome differs from the page."""
        if block.not_run is not None:
            assert block.not_run, "a block that is not run needs a reason"
        elif block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind in ("setup", "sh"):
            for command in _split_commands(block.text):
                code, output = self._run_command(command)
                assert code == 0, f"$ {command}\n{output}"
        elif block.kind == "console":
            for command, shown in split_session(block.text):
                self._compare(command, shown)
        elif block.kind == "python":
            self._execute(block.text)
        else:
            is_known = block.kind in NOT_EXECUTED or block.kind.startswith("{")
            assert is_known, f"unknown kind of block: {block.kind!r}"

    def _compare(self, command: str, shown: str) -> None:
        code, output = self._run_command(command)
        shows_error = re.search(r"^(mhpc: error|Error): ", shown, flags=re.MULTILINE) is not None
        assert (code != 0) == shows_error, f"$ {command}\n{output}"
        assert not shown or matches(shown, output), f"$ {command}\n{output}\n--- page:\n{shown}"

    def _run_command(self, command: str) -> tuple[int, str]:
        words = _plain_words(command)
        if words and words[0] == "sample":
            SAMPLES[words[1]](self.folder)
            return 0, ""
        if words and words[0] == "mhpc":
            return _run_in_process(words[1:])
        return _run_in_shell(command, self.folder)

    def _execute(self, text: str) -> None:
        """Run Python, and compare each value with the comment `# → VALUE` behind it."""
        lines = text.splitlines()
        for statement in ast.parse(text).body:
            shown = re.search(r"  # → (.*)$", lines[(statement.end_lineno or 1) - 1])
            if isinstance(statement, ast.Expr):
                code = compile(ast.Expression(statement.value), "page", "eval")
                value = eval(code, self.names)  # noqa: S307 - our own page
                assert shown is None or matches(shown[1], repr(value)), f"{shown[0]}: {value!r}"
            else:
                module = ast.Module([statement], type_ignores=[])
                exec(compile(module, "page", "exec"), self.names)  # noqa: S102 - our own page


def split_session(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a terminal session, each with the output shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, shown = part.split("\n", 1)
        while command.endswith("\\"):
            line, shown = shown.split("\n", 1)
            command = f"{command[:-1]} {line}"
        yield command.strip(), shown.strip("\n")


def matches(shown: str, output: str) -> bool:
    """Return whether an output equals the one shown, where an ellipsis stands for any text."""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?" if line == ELLIPSIS else re.escape(line).replace(ELLIPSIS, ".*?") + r" *\n"
        for line in lines
    )
    return re.fullmatch(pattern, output.strip("\n") + "\n") is not None


def _split_commands(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def _plain_words(command: str) -> list[str] | None:
    """Return the words of a command that needs no shell, None for other commands."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    words = list(lexer)
    return None if any(set(word) <= set("|<>&;") for word in words) else words


def _run_in_process(words: list[str]) -> tuple[int, str]:
    """Run mhpc in this process, which is faster than starting another one."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(_without_progress(words))
        except SystemExit as end:
            return int(end.code or 0), output.getvalue()
    raise AssertionError("the command did not exit")


def _without_progress(words: list[str]) -> list[str]:
    """Turn progress off where a command shows it: a slow machine would print more of it."""
    command = cli.get_command(click.Context(cli), words[0])
    options = {name for parameter in command.params for name in parameter.opts} if command else ()
    return [*words, "--progress", "none"] if "--progress" in options else words


def _run_in_shell(command: str, folder: Path) -> tuple[int, str]:
    prelude = f'mhpc() {{ "{sys.executable}" -m mhpc "$@"; }}\nset -eo pipefail\n'
    completed = subprocess.run(
        ["bash", "-c", prelude + command], cwd=folder, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    return completed.returncode, completed.stdout
