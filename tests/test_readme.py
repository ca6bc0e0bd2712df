"""What the README says is what happens."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mhpc.consolidate.registry import METHODS, method_class
from mhpc.datasets.garden import garden_folder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(garden_folder(), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)  # noqa: S102 - our own page
    (start,) = re.findall(r"# (\[.*), …\]", example)
    labels = names["result"].labels["photo-073"]  # type: ignore[attr-defined]
    assert str(labels).startswith(start)


def test_the_shell_example_runs(tmp_path: Path) -> None:
    shutil.copytree(garden_folder(), tmp_path, dirs_exist_ok=True)
    commands = re.findall(r"^mhpc (inspect|consolidate) (.*)$", README, flags=re.MULTILINE)
    assert len(commands) == 2
    for command, arguments in commands:
        line = [sys.executable, "-m", "mhpc", command, *arguments.split()]
        subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)
    files = {path.name for path in (tmp_path / "result").iterdir()}
    assert files == {
        "labels.csv", "scores.parquet", "sources.csv", "taxonomy.csv", "model.npz", "run.json",
    }  # fmt: skip
    assert all(f"`{name}`" in README for name in files)


def test_the_table_of_figures_is_what_the_demo_prints(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "mhpc", "demo"]
    done = subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, text=True)
    row = r"^\| (best single[^|]*|sa,[^|]*|auto,[^|]*) \| (.*) \|$"
    rows = re.findall(row, README, flags=re.MULTILINE)
    assert len(rows) == 3
    for name, figures in rows:
        printed = [row for row in done.stdout.splitlines() if row.startswith(f"{name} ")][-1]
        loss, auc, _, coverage, count = printed.removeprefix(name).split()
        assert figures.split(" | ") == [loss, auc, coverage]
        assert f"{count} photographs" in README


def test_the_table_of_methods_is_the_registry() -> None:
    rows = re.findall(r"^\| \[`(.*)`\]\((.*)\) \| (.*) \|$", README, flags=re.MULTILINE)
    assert [name for name, _, _ in rows] == list(METHODS)
    for name, page, summary in rows:
        assert (ROOT / page).is_file()
        assert summary == method_class(name).summary


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target.strip()).exists(), f"{page.name}: {target}"


def test_the_picture_is_what_its_script_draws(tmp_path: Path) -> None:
    script = ROOT / "docs" / "figures" / "make_example.py"
    subprocess.run([sys.executable, script, tmp_path / "example.svg"], check=True)
    drawn = (tmp_path / "example.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "figures" / "example.svg").read_text(encoding="utf-8")
