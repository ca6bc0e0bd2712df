"""The package as strangers get it: built, installed in a bare environment, every command run.

python -m tools.wheel

The source archive is built, the wheel out of that archive, and the wheel installed, without
extras, into an environment that holds nothing else. There every command does its work on the
bundled example; ``reproduce``, whose figures need an extra, must name that extra. Needs the
package registry.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

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


def main() -> None:
    """Build, install and run; print one line per command; exit with 1 if one ends unexpectedly."""
    wrong = False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for said, well in successive_halving(installed(built(place), place), place / "work"):
            print(said if well else f"WRONG  {said}", flush=True)
            wrong |= not well
    if wrong:
        raise SystemExit(1)


def built(place: Path) -> Path:
    """Return the wheel, which is built out of the source archive alone."""
    run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT)
    (archive,) = (place / "dist").glob("*.tar.gz")
    (wheel,) = (place / "dist").glob("*.whl")
    for file in (archive, wheel):
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
    return wheel


def installed(wheel: Path, place: Path) -> Path:
    """Return the command, in an environment that has the wheel and what it requires."""
    environment = place / "bare"
    venv.create(environment, with_pip=True)
    run(environment / "bin" / "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
    run(environment / "bin" / "pip", "check")
    held = run(environment / "bin" / "pip", "list", "--format=freeze").split()
    print(f"in the bare environment: {' '.join(held)}")
    return environment / "bin" / "mhpc"


def successive_halving(command: Path, work: Path) -> Iterator[tuple[str, bool]]:
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
