from pathlib import Path

from tests.fixtures.commands import Mhpc


def test_the_demo_shows_an_example_and_lists_the_files_it_wrote(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc("demo")
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("  result ", "  truth ", "best single source", "Written to mhpc-demo/"):
        assert part in done.stdout
    assert (garden / "mhpc-demo" / "labels.csv").exists()
    named = {line.split()[0] for line in done.stdout.splitlines() if line.split()}
    assert {path.name for path in (garden / "mhpc-demo").iterdir()} <= named
    assert mhpc("demo").returncode == 0


def test_the_demo_replaces_only_its_own_output(garden: Path, mhpc: Mhpc) -> None:
    done = mhpc("demo", "-o", garden)
    assert done.returncode == 2
    assert "is not an output of mhpc" in done.stderr
