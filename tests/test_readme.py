"""What the README says is what happens; its examples are run with those of the docs."""

import re
import subprocess
import sys
from pathlib import Path

from mhpc.datasets.garden import garden_folder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_one_screen() -> None:
    assert len(README.splitlines()) <= 70


def test_it_names_the_files_of_a_run(tmp_path: Path) -> None:
    words = ["votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa"]
    words += ["-o", str(tmp_path / "result")]
    line = [sys.executable, "-m", "mhpc", "consolidate", *words]
    subprocess.run(line, cwd=garden_folder(), check=True, capture_output=True)
    (said,) = re.findall(r"^`result/` has (.*);", README, flags=re.MULTILINE)
    named = set(re.findall(r"`([^`]*)`", said))
    assert named == {path.name for path in (tmp_path / "result").iterdir()}


def test_its_figures_are_those_of_the_docs() -> None:
    deciding = (ROOT / "docs" / "deciding.md").read_text(encoding="utf-8")
    told = {row[0]: [row[1], row[3], row[4]] for row in rows(deciding) if len(row) == 6}
    shown = [row[1:] for row in rows(README) if re.fullmatch(r"0\.\d{3}", row[-1])]
    assert len(shown) == 9
    for name, *figures in shown:
        of_docs = [f"{float(figure):.3f}" for figure in told[name]]
        assert figures == of_docs, name


def rows(page: str) -> list[list[str]]:
    """Return the cells of all tables, a list a row; marks of code and brackets left out."""
    lines = re.findall(r"^\| (.*) \|$", page, flags=re.MULTILINE)
    plain = [re.sub(r"`--(.*?)`", r"\1", re.sub(r" \(.*?\)", "", line)) for line in lines]
    return [line.split(" | ") for line in plain]


def test_the_picture_is_what_its_script_draws(tmp_path: Path) -> None:
    script = ROOT / "docs" / "figures" / "make_example.py"
    subprocess.run([sys.executable, script, tmp_path / "example.svg"], check=True)
    drawn = (tmp_path / "example.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "figures" / "example.svg").read_text(encoding="utf-8")
