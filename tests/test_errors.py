"""Messages: options are arguments in Python and options on the command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mhpc
from mhpc import errors
from mhpc.errors import DataError, MhpcError, MhpcWarning, OutputExistsError, option, spell_options

SOURCE = Path(mhpc.__file__).parent

COMMANDS = {"__main__.py", "report/page_data.py", "report/terminal.py", "paper/run.py"}
"""Modules that write commands, or only what commands print."""


@pytest.mark.parametrize(
    ("name", "value", "argument", "flag"),
    [
        ("unknown", "drop", "unknown='drop'", "--unknown drop"),
        ("memory", None, "memory", "--memory"),
        ("force", True, "force=True", "--force"),
        ("columns", {"label": "tag"}, "columns={'label': 'tag'}", "--column label=tag"),
        ("taxonomy_format", "obo=part_of", "format='obo=part_of'", "--taxonomy-format obo=part_of"),
        ("depth_bias", 2, "depth_bias=2", "--depth-bias 2"),
    ],
)
def test_an_option_is_spelled_for_the_reader(
    name: str, value: object, argument: str, flag: str
) -> None:
    for kind in (DataError, OutputExistsError, MhpcWarning):
        message = kind(f"use {option(name, value)}, please")
        assert str(message) == f"use {argument}, please"
        assert spell_options(message) == f"use {flag}, please"


def test_what_only_a_command_has_is_named_with_the_command() -> None:
    message = DataError(option("engine", "dask", command="consolidate"))
    assert str(message) == "mhpc consolidate --engine dask"
    assert spell_options(message) == "--engine dask"


@pytest.mark.parametrize("name", ["a\x02b\x03c", "\x02[1]", '\x02["a", 1]\x03'])
def test_a_file_name_with_marks_of_an_option_stays_as_it_is(name: str) -> None:
    assert str(DataError(name)) == spell_options(DataError(name)) == name


def test_long_messages_are_abridged_in_both_spellings() -> None:
    error = DataError("x" * 9000 + option("unknown", "drop"))
    assert len(str(error)) < 2000
    assert str(error).endswith("unknown='drop'")
    assert spell_options(error).endswith("--unknown drop")


def texts_of(file: Path) -> list[str]:
    """Return the texts of a module that are not docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def test_no_message_outside_the_command_line_spells_an_option() -> None:
    spelled = {
        (name, text)
        for file in SOURCE.rglob("*.py")
        if not (name := file.relative_to(SOURCE).as_posix()).startswith("cli/")
        and name not in COMMANDS
        for text in texts_of(file)
        if re.search(r"(^|[\s(])--[a-z]", text)
    }
    assert spelled == set()


def test_a_message_that_quotes_an_error_keeps_its_options() -> None:
    inner = DataError(f"leave them out with {option('unknown', 'drop')}")
    outer = DataError(f"settings X: {inner.message}")
    assert str(outer) == "settings X: leave them out with unknown='drop'"
    assert spell_options(outer) == "settings X: leave them out with --unknown drop"


def quoted_errors(tree: ast.Module) -> Iterator[str]:
    """Yield the own errors that f-strings quote as text, in which options are spelled already."""
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None:
            continue
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {name.id for name in caught if isinstance(name, ast.Name)}
        if not names & {name for name in dir(errors) if is_own_error(name)}:
            continue
        for node in ast.walk(handler):
            quoted = node.value if isinstance(node, ast.FormattedValue) else None
            if isinstance(quoted, ast.Name) and quoted.id == handler.name:
                yield f"{', '.join(sorted(names))}: line {quoted.lineno}"


def is_own_error(name: str) -> bool:
    kind = getattr(errors, name)
    return isinstance(kind, type) and issubclass(kind, MhpcError)


def test_no_message_quotes_an_error_whose_options_are_spelled_already() -> None:
    quoted = {
        (file.relative_to(SOURCE).as_posix(), place)
        for file in SOURCE.rglob("*.py")
        for place in quoted_errors(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert quoted == set()
