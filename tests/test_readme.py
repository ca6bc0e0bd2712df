"""The README is short and its facts are correct; tests/docs runs its examples."""

import re
import subprocess
import sys
from pathlib import Path

from mhpc.datasets.garden import garden_folder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_fits_on_one_screen() -> None:
    assert len(README.splitlines()) <= 70


def test_the_make_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert re.search(rf"^make {target}\b", README, flags=re.MULTILINE), target
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_readme_lists_the_files_of_a_run(tmp_path: Path) -> None:
    options = ["votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa"]
    options += ["-o", str(tmp_path / "result")]
    command = [sys.executable, "-m", "mhpc", "consolidate", *options]
    subprocess.run(command, cwd=garden_folder(), check=True, capture_output=True)
    (sentence,) = re.findall(r"^`result/` contains (.*);", README, flags=re.MULTILINE)
    files = set(re.findall(r"`([^`]*)`", sentence))
    assert files == {path.name for path in (tmp_path / "result").iterdir()}


def test_the_measurements_equal_those_of_the_docs() -> None:
    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8").splitlines()
    measured = [line for line in README.splitlines() if re.search(r"\| 0\.\d{3} \|", line)]
    assert len(measured) >= 5
    assert set(measured) <= set(page)


def test_the_figure_is_up_to_date(tmp_path: Path) -> None:
    script = ROOT / "docs" / "figures" / "make_example.py"
    subprocess.run([sys.executable, script, tmp_path / "example.svg"], check=True)
    svg = (tmp_path / "example.svg").read_text(encoding="utf-8")
    assert svg == (ROOT / "docs" / "figures" / "example.svg").read_text(encoding="utf-8")
