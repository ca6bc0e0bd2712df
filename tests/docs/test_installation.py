"""The page on installation states what pyproject.toml requires and what the tests are run with."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = (ROOT / "constraints.txt").read_text(encoding="utf-8")

DEVELOPMENT = {"bench", "dev", "docs", "fuzz", "mutate", "package"}
EXTRAS = {
    extra: [Requirement(text) for text in requirements]
    for extra, requirements in PROJECT["optional-dependencies"].items()
    if extra not in DEVELOPMENT
}


def test_the_classifiers_list_every_python_from_the_lowest_that_is_required() -> None:
    versions = classified_versions()
    assert PROJECT["requires-python"] == f">={versions[0]}"
    minors = [int(version.removeprefix("3.")) for version in versions]
    assert minors == list(range(minors[0], minors[-1] + 1))


def test_the_page_lists_the_pythons_of_the_classifiers() -> None:
    (sentence,) = re.findall(r"^Python (.*?) are supported\.", PAGE, flags=re.MULTILINE)
    assert re.findall(r"\b3\.\d+", sentence) == classified_versions()


def test_every_page_asks_for_the_lowest_python_that_is_required() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in pages]
    asked = {version for text in texts for version in re.findall(r"Python (\S+) or newer", text)}
    assert asked == {classified_versions()[0]}


def test_the_page_lists_the_lowest_and_the_newest_version_of_each_requirement() -> None:
    rows = re.findall(r"^\| (\S+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, flags=re.MULTILINE)
    required = [Requirement(text) for text in PROJECT["dependencies"]]
    required += [each for requirements in EXTRAS.values() for each in requirements]
    versions = {each.name: (lowest_version(each), newest_pin(each.name)) for each in required}
    assert {name: (lowest, newest) for name, lowest, newest in rows} == versions


def test_the_page_lists_the_packages_of_each_extra() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", PAGE, flags=re.MULTILINE)
    listed = {extra: set(packages.split(", ")) for extra, packages in rows}
    assert listed == {extra: {each.name for each in EXTRAS[extra]} for extra in EXTRAS}


def classified_versions() -> list[str]:
    classifiers = "\n".join(PROJECT["classifiers"])
    return re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.MULTILINE)


def lowest_version(requirement: Requirement) -> str:
    (lowest,) = [each.version for each in requirement.specifier if each.operator == ">="]
    return lowest


def newest_pin(name: str) -> str:
    """Return the newest pin; a package may have different ones for different Pythons."""
    pins = [Requirement(line) for line in PINS.splitlines()]
    same = [pin for pin in pins if canonicalize_name(pin.name) == canonicalize_name(name)]
    return max((each.version for pin in same for each in pin.specifier), key=Version)
