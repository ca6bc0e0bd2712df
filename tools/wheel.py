"""The package as strangers get it: built, installed in bare environments, every command run.

python -m tools.wheel

The source archive is built, and the wheel out of that archive. pytest must find all tests in the
archive. Then, with every interpreter that `tools.interpreters` finds, the wheel
is installed without extras into an environment that holds nothing else. There every command does
its work on the bundled example; ``reproduce``, whose figures need an extra, must name that extra.
At last the archive is installed in place of the wheel, with the same files. Needs the package
registry.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.interpreters import find_interpreters, make_environment

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "src" / "mhpc" / "datasets" / "garden"

DONE = 0
REFUSED = 2

ON = ["votes.csv", "--taxonomy", "taxonomy.csv"]
CALLS: list[tuple[list[str], int]] = [
    (["demo"], DONE),
    (["methods"], DONE),
    (["inspect", *ON], DONE),
    (["consolidate", *ON, "--truth", "truth.csv", "--report", "-o", "result"], DONE),
    (["consolidate", "votes.csv", "--apply", "result", "-o", "applied"], DONE),
    (["evaluate", "result", "--truth", "truth.csv"], DONE),
    (["explain", "result", "photo-073"], DONE),
    (["conflicts", "result", "--top", "3"], DONE),
    (["report", "result"], DONE),
    (["sources", "result"], DONE),
    (["review", "result"], REFUSED),
    (["compare", *ON, "--method", "sa", "--method", "majority"], DONE),
    (["simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "-o", "simulated.csv"], DONE),
    (["convert", "result", "labels.parquet"], DONE),
    (["convert", "result", "tasks.json", "--to", "label-studio"], DONE),
    (["reproduce", "sources", "-o", "paper"], REFUSED),
]
"""Every command, each using what those before it made, and the code that it should leave with."""

LIST_FILES = """
from importlib.metadata import files
for file in files("mhpc"):
    if file.parts[0] == "mhpc" and file.suffix != ".pyc":
        print(file.hash.value, file)
"""


def main() -> None:
    """Build, install and run; print one line per check; exit with 1 if one ends unexpectedly."""
    interpreters = find_interpreters()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for line, is_expected in try_package(interpreters, Path(folder)):
            print(line if is_expected else f"WRONG  {line}", flush=True)
            failures += not is_expected
    print(f"wheel and source archive tried with Python {', '.join(interpreters)}")
    if failures:
        raise SystemExit(1)


def try_package(interpreters: dict[str, str], place: Path) -> Iterator[tuple[str, bool]]:
    """Try the archive and the wheel; yield how each check ended, and whether that is expected."""
    archive, wheel = build(place / "dist")
    yield collect_tests(archive, place / "unpacked")
    for version, interpreter in interpreters.items():
        commands = make_environment(interpreter, place / version)
        of_wheel = install(wheel, commands)
        held = run(commands / "pip", "list", "--format=freeze").split()
        yield f"Python {version}, bare environment: {' '.join(held)}", True
        yield from run_commands(commands / "mhpc", place / f"work-{version}")
        run(commands / "pip", "uninstall", "--quiet", "--yes", "mhpc")
        of_archive = install(archive, commands)
        run(commands / "mhpc", "demo", cwd=place)
        yield f"the archive installs {len(of_archive)} files, as the wheel", of_archive == of_wheel


def build(folder: Path) -> tuple[Path, Path]:
    """Return the source archive, and the wheel that is built out of it alone."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (archive,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    for file in (archive, wheel):
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
    return archive, wheel


def collect_tests(archive: Path, folder: Path) -> tuple[str, bool]:
    """Let pytest find the tests of the archive, which must have all files of the tree's tests."""
    folder.mkdir()
    run("tar", "-xf", archive, "-C", folder)
    (unpacked,) = folder.iterdir()
    missing = list_tests(ROOT) - list_tests(unpacked)
    # The tree is installed in this environment; the archive's own modules come before it.
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "-o", "pythonpath=. src"]
    collected = run(sys.executable, "-m", "pytest", *options, cwd=unpacked).splitlines()[-1]
    return f"in the archive: {collected}; missing: {sorted(missing)}", not missing


def list_tests(root: Path) -> set[str]:
    """Return the files of the tests, relative to the root of the project."""
    files = (path.relative_to(root) for path in root.glob("tests/**/*") if path.is_file())
    return {str(path) for path in files if "__pycache__" not in path.parts}


def install(package: Path, commands: Path) -> list[str]:
    """Install a package with what it requires; return its files, each after its checksum."""
    run(commands / "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", package)
    run(commands / "pip", "check")
    return sorted(run(commands / "python", "-c", LIST_FILES).splitlines())


def run_commands(command: Path, work: Path) -> Iterator[tuple[str, bool]]:
    """Run every command; yield how each ended, and whether that is expected."""
    shutil.copytree(EXAMPLE, work)
    listed = run(command, "--help", cwd=work).partition("Commands:\n")[2].partition("\n\n")[0]
    names = {line.split()[0] for line in listed.splitlines()}
    for name in sorted(names - {arguments[0] for arguments, _ in CALLS}):
        yield f"mhpc {name}: not tried", False
    for arguments, wanted in CALLS:
        ended = subprocess.run(
            [command, *arguments], cwd=work, env=bare(), capture_output=True, text=True
        )
        line = f"mhpc {' '.join(arguments)}: {ended.returncode}"
        if ended.returncode == wanted and "Traceback" not in ended.stderr:
            yield line, True
        else:
            yield f"{line}, wanted {wanted}\n{ended.stderr}", False


def run(*arguments: object, cwd: Path = ROOT) -> str:
    """Run something that has to end well and return what it printed."""
    ended = subprocess.run(
        [str(each) for each in arguments], cwd=cwd, env=bare(), capture_output=True, text=True
    )
    if ended.returncode:
        raise SystemExit(f"{arguments}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def bare() -> dict[str, str]:
    """Return the environment without what would let the tree's own files be imported."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


if __name__ == "__main__":
    main()
