"""The page about the paper names functions that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")

NAMED = [
    (file, name)
    for file, names in re.findall(r"`([a-z_/]+\.py)`: ((?:`\w+`(?:, )?)+)", PAGE)
    for name in re.findall(r"`(\w+)`", names)
]
"""Every module of the table with a function or class that it names."""


def definitions(file: str) -> set[str]:
    tree = ast.parse((ROOT / "src" / "mhpc" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_function_in_the_table_is_defined_in_its_module(file: str, name: str) -> None:
    assert name in definitions(file)


def test_every_row_of_the_table_names_a_function() -> None:
    rows = re.findall(r"^\| \[(?:\d|Alg).*$", PAGE, re.MULTILINE)
    assert len(rows) == 10
    assert all(re.search(r"`[a-z_/]+\.py`: `\w+`", row) for row in rows)


def test_files_that_the_page_names_exist() -> None:
    for file in re.findall(r"`((?:src|tests)/[\w/]+\.py)`", PAGE):
        assert (ROOT / file).is_file()
