"""Every method has a page with the same sections that documents all its parameters."""

import re
from pathlib import Path

import pytest

from mhpc.methods.registry import METHODS, method_class

PAGES = Path(__file__).parents[1] / "docs" / "methods"

SECTIONS = (
    "What it computes", "When to use it", "Parameters", "Cost", "Edge cases", "Example",
    "Reference",
)  # fmt: skip


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    (text,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", page(name), re.DOTALL | re.MULTILINE)
    return str(text)


def parameters(name: str) -> set[str]:
    return set(method_class(name).model_fields)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_page_has_the_same_sections(name: str) -> None:
    titles = re.findall(r"^## (.*)$", page(name), re.MULTILINE)
    assert [title for title in titles if title in SECTIONS] == list(SECTIONS)
    assert page(name).startswith(f"# {name}: ")
    assert "**Use it**" in section(name, "When to use it")
    assert "**Do not**" in section(name, "When to use it")
    assert "```python\n" in section(name, "Example")


@pytest.mark.parametrize("name", METHODS)
def test_the_section_on_parameters_lists_exactly_the_parameters(name: str) -> None:
    lists = re.findall(r"^- ((?:`[a-z_]+`(?:, )?)+):", section(name, "Parameters"), re.MULTILINE)
    named = [field for line in lists for field in re.findall(r"`([a-z_]+)`", line)]
    assert sorted(named) == sorted(parameters(name))


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_on_a_page_names_a_parameter(name: str) -> None:
    settings = re.findall(r"`([a-z_]+)=[^`]*`", page(name))
    settings += re.findall(r"--set ([a-z_]+)=", page(name))
    assert set(settings) <= parameters(name)


def test_the_page_about_the_paper_states_the_defaults_of_mhpc() -> None:
    paper = (PAGES.parent / "paper.md").read_text(encoding="utf-8")
    defaults = re.findall(r"`([a-z_]+)=([^`]*)`, the\s+default", paper)
    assert {name for name, _ in defaults} == {"average", "anchor"}
    for name, value in defaults:
        assert method_class("mhpc").model_fields[name].default == value
