"""The tests on every Python of this machine, each in an environment of its own.

python -m tools.versions [OPTIONS OF PYTEST]

The environments are ``.venv-3.11``, ``.venv-3.12``, …, made on the first call and again when the
requirements have changed. Tests in a browser are left out: what a browser does is the same for
every Python. The last lines say how the tests ended, one line per version; exits with 1 if
they did not pass on each.
"""

import subprocess
import sys
from pathlib import Path

from tools.interpreters import find_interpreters, make_environment

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ("pyproject.toml", "constraints.txt")
PYTEST = ("-m", "pytest", "-n", "2", "--ignore", "tests/browser")


def main() -> None:
    """Run the tests on one version after the other, and print how they ended."""
    outcomes = {}
    for version, interpreter in find_interpreters().items():
        python = ROOT / f".venv-{version}" / "bin" / "python"
        if is_installed(python) or install(interpreter, python):
            outcomes[version] = run_tests(python)
        else:
            outcomes[version] = "the requirements cannot be installed", False
    for version, (line, _) in outcomes.items():
        print(f"Python {version}: {line}")
    if not all(has_passed for _, has_passed in outcomes.values()):
        raise SystemExit(1)


def is_installed(python: Path) -> bool:
    """Say whether the environment was made for the requirements as they are now."""
    mark = mark_of(python)
    changed = max((ROOT / name).stat().st_mtime for name in REQUIREMENTS)
    return mark.exists() and mark.stat().st_mtime > changed


def install(interpreter: str, python: Path) -> bool:
    """Make the environment, and say whether all requirements could be installed there."""
    make_environment(interpreter, python.parent.parent)
    options = ["--quiet", "-c", "constraints.txt", "-e", ".[dev]"]
    ended = subprocess.run([python, "-m", "pip", "install", *options], cwd=ROOT)
    if ended.returncode == 0:
        mark_of(python).touch()
    return ended.returncode == 0


def mark_of(python: Path) -> Path:
    """Return the empty file which records that an installation was finished."""
    return python.parent.parent / "installed"


def run_tests(python: Path) -> tuple[str, bool]:
    """Run the tests; return the last line of pytest and whether they passed."""
    line = ""
    with subprocess.Popen(
        [python, *PYTEST, *sys.argv[1:]], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as tests:
        for line in tests.stdout or ():
            print(line, end="", flush=True)
    return line.strip(" =\n"), tests.returncode == 0


if __name__ == "__main__":
    main()
