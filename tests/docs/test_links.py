"""Links in the README and the docs point to existing files and headings."""

import re
from pathlib import Path

import pytest

from mhpc.methods.registry import METHODS, method_class
from tests.docs.pages import NAMES, ROOT

OTHER_PAGES = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]


def prose(page: Path) -> str:
    """Return a page without its code."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def heading_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, in the form that GitHub gives them."""
    content = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", content, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def exists(file: Path) -> bool:
    """Return whether a file exists or is drawn by the build of the docs."""
    if file.parent.name == "made":
        return (file.parents[1] / f"make_{file.stem}.py").is_file()
    return file.exists()


@pytest.mark.parametrize("name", [*NAMES, *OTHER_PAGES])
def test_links_point_to_existing_files_and_headings(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if "://" in target:
            continue
        path, _, anchor = target.strip().partition("#")
        file = page if not path else (page.parent / path).resolve()
        assert exists(file), target
        assert not anchor or anchor in heading_anchors(file), target


@pytest.mark.parametrize("name", [*NAMES, *OTHER_PAGES])
def test_commands_name_existing_modules(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    for module in re.findall(r"python -m\s((?:benchmarks|stress|tools)[\w.]*)", page):
        path = ROOT.joinpath(*module.strip(".").split("."))
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_every_page_is_in_the_navigation() -> None:
    listed = {"docs/index.md"}
    for name in NAMES:
        page = ROOT / name
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            entries = [line for line in tree.split() if not line.startswith(":")]
            files = [file for entry in entries for file in page.parent.glob(f"{entry}.md")]
            listed |= {file.relative_to(ROOT).as_posix() for file in files}
    assert {name for name in NAMES if name.startswith("docs/")} == listed


def test_the_table_of_methods_lists_the_registry_with_its_summaries() -> None:
    page = (ROOT / "docs" / "methods" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`(.*)`\]\((.*)\) \| (.*) \|$", page, flags=re.MULTILINE)
    assert [name for name, _, _ in rows] == list(METHODS)
    for name, file, summary in rows:
        assert file == f"{name}.md"
        assert (ROOT / "docs" / "methods" / file).is_file()
        assert summary == method_class(name).summary
