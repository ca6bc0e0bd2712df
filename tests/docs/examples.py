"""Do what a page says, and see what it says come true."""

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

from mhpc.cli import main
from tests.docs.pages import Block
from tests.docs.samples import SAMPLES

ELIDED = "…"
"""Stands for any text within a line, and for any lines by itself."""

SHOWN = frozenset({"text", "json", "xml"})
"""Kinds of fences that are only looked at."""


class Reader:
    """Somebody who does what a page says, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {}

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.not_run is not None:
            assert block.not_run, "a block that is not run needs a reason"
        elif block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind in ("setup", "sh"):
            for command in _commands(block.text):
                code, said = self._run(command)
                assert code == 0, f"$ {command}\n{said}"
        elif block.kind == "console":
            for command, shown in dialogue(block.text):
                self._compare(command, shown)
        elif block.kind == "python":
            self._execute(block.text)
        else:
            known = block.kind in SHOWN or block.kind.startswith("{")
            assert known, f"nobody knows what to do with a fence of kind {block.kind!r}"

    def _compare(self, command: str, shown: str) -> None:
        code, said = self._run(command)
        wrong = re.search(r"^(mhpc: error|Error): ", shown, flags=re.MULTILINE) is not None
        assert (code != 0) == wrong, f"$ {command}\n{said}"
        assert not shown or matches(shown, said), f"$ {command}\n{said}\n--- the page has\n{shown}"

    def _run(self, command: str) -> tuple[int, str]:
        words = _plain_words(command)
        if words and words[0] == "sample":
            SAMPLES[words[1]](self.folder)
            return 0, ""
        if words and words[0] == "mhpc":
            return _called(words[1:])
        return _in_a_shell(command, self.folder)

    def _execute(self, text: str) -> None:
        """Run Python, and hold what a comment `# → VALUE` says against the value before it."""
        lines = text.splitlines()
        for statement in ast.parse(text).body:
            said = re.search(r"  # → (.*)$", lines[(statement.end_lineno or 1) - 1])
            if isinstance(statement, ast.Expr):
                code = compile(ast.Expression(statement.value), "page", "eval")
                value = eval(code, self.names)  # noqa: S307 - our own page
                assert said is None or matches(said[1], repr(value)), f"{said[0]}: {value!r}"
            else:
                module = ast.Module([statement], type_ignores=[])
                exec(compile(module, "page", "exec"), self.names)  # noqa: S102 - our own page


def dialogue(text: str) -> Iterator[tuple[str, str]]:
    """Give the commands of a session, each with what is shown to come of it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, shown = part.split("\n", 1)
        while command.endswith("\\"):
            line, shown = shown.split("\n", 1)
            command = f"{command[:-1]} {line}"
        yield command.strip(), shown.strip("\n")


def matches(shown: str, said: str) -> bool:
    """Tell whether a page shows what was said, but for what it leaves out."""
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?" if line == ELIDED else re.escape(line).replace(ELIDED, ".*?") + r" *\n"
        for line in lines
    )
    return re.fullmatch(pattern, said.strip("\n") + "\n") is not None


def _commands(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def _plain_words(command: str) -> list[str] | None:
    """Return the words of a command that needs no shell."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|<>&;")
    words.whitespace_split = True
    found = list(words)
    return None if any(set(word) <= set("|<>&;") for word in found) else found


def _called(words: list[str]) -> tuple[int, str]:
    """Run our own command in this process, which is quicker than in one of its own."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(words)
        except SystemExit as ended:
            return int(ended.code or 0), said.getvalue()
    raise AssertionError("the command did not end")


def _in_a_shell(command: str, folder: Path) -> tuple[int, str]:
    program = f'mhpc() {{ "{sys.executable}" -m mhpc "$@"; }}\nset -eo pipefail\n'
    done = subprocess.run(
        ["bash", "-c", program + command], cwd=folder, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout
