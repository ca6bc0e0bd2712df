"""What pages and texts of the code mention: commands, options, calls and names in code."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click

from mhpc.cli import cli
from tests.docs.pages import PAGES, ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))
TEXT_PAGES = [*PAGES, ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]

GAP = "…"
"""Stands for what is put into a text when it is shown."""

_FENCES = re.compile(r"^ *(?P<ticks>`{3,})[^\n`]*\n(?P<text>.*?)^ *(?P=ticks)$", re.S | re.M)
_COMMENTS = re.compile(r"<!--.*?-->", re.S)
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)(?P<code>.+?)(?<!`)\1(?!`)", re.S)
_COMMAND = re.compile(r"\bmhpc((?: --(?:debug|verbose))*) (?P<name>[a-z][\w-]*)(?P<rest>.*)", re.S)
_OPTION = re.compile(
    r"(?<![\w-])(?P<flag>--[a-z][a-z-]*[a-z])(?:[ =](?P<value>'[^']*'|[^\s,;:)`|\]]+))?"
)


@dataclass(frozen=True)
class Mention:
    """An option with the value behind it, if there is one, and the command that it follows."""

    flag: str
    value: str | None
    command: str | None


def inline_code(text: str) -> list[str]:
    """Return the code between backticks of a page or a docstring, without fenced blocks."""
    prose = _COMMENTS.sub("", _FENCES.sub("", text))
    return [" ".join(match["code"].split()) for match in _INLINE.finditer(prose)]


def fenced_code(text: str) -> list[str]:
    """Return the lines of all fenced blocks, with continued lines joined."""
    blocks = [match["text"].replace("\\\n", " ") for match in _FENCES.finditer(text)]
    return [line.strip() for block in blocks for line in block.splitlines()]


def options_in(code: str) -> Iterator[Mention]:
    """Yield the options in code or prose; those after `mhpc COMMAND` belong to the command."""
    for part in re.split(r"[;|] |\n\n|(?<=[.`]) |`", code):
        command = _COMMAND.search(part)
        # A word that is no command is a verb: "mhpc reads".
        name = command["name"] if command and command["name"] in parameters() else None
        owned = command.start("rest") if name and command else len(part)
        for match in _OPTION.finditer(part):
            owner = name if match.start() >= owned else None
            yield Mention(match["flag"], _value(match["value"]), owner)


def commands_in(code: str) -> list[str]:
    """Return the words after `mhpc` where it is called: at the start, or after a prompt."""
    return re.findall(r"(?:^|\$ |\| |&& )mhpc(?: --(?:debug|verbose))* ([a-z][\w-]*)", code)


@cache
def parameters() -> dict[str, dict[str, click.Parameter]]:
    """Return the options of every command by their flags."""
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {
        name: {
            flag: parameter
            for parameter in command.get_params(click.Context(command))
            for flag in (*parameter.opts, *parameter.secondary_opts)
            if flag.startswith("-")
        }
        for name, command in commands.items()
        if command is not None
    }


@cache
def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def texts_of(path: Path) -> Iterator[str]:
    """Yield the texts of a module: docstrings, help and messages, with gaps for values."""
    tree = parse(path)
    parts = {
        id(value)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for value in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(value.value) if isinstance(value, ast.Constant) else GAP
                for value in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in parts:
            yield node.value if isinstance(node.value, str) else ""


def _value(text: str | None) -> str | None:
    return text.strip("'\"").rstrip(".") if text else None
