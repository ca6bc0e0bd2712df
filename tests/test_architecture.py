"""The architecture: which package may import which, and what the package exports."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mhpc
from mhpc.methods.registry import METHODS

SOURCE = Path(mhpc.__file__).parent

STAGES = ("read", "encoding", "methods", "rules", "metrics", "simulation", "write")
"""What is done to the data, in the order of a run. A stage knows the nouns, not another stage."""

LAYERS = (
    ("errors",),
    ("parameters",),
    ("system",),
    ("numerics",),
    ("data",),
    STAGES,
    ("selection", "datasets", "settings"),
    ("explanation", "model"),
    ("steps",),
    ("engines", "result", "report"),
    ("api",),
    ("run",),
    ("adapters", "paper"),
    ("cli",),
)
"""Every package and module, from the bottom to the top: each may import what is below it."""

EXCEPTIONS: set[tuple[str, str]] = set()
"""Imports that the layers do not allow."""


def imported(file: Path) -> set[str]:
    """Return the packages and modules of mhpc that a file imports, wherever it does so."""
    names = [
        name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    ]
    return {name.split(".")[1] for name in names if name.startswith("mhpc.")}


def test_every_package_has_a_layer() -> None:
    names = {path.stem for path in SOURCE.iterdir() if not path.name.startswith("_")}
    assert names - {"py"} == {name for layer in LAYERS for name in layer}


@pytest.mark.parametrize("name", [name for layer in LAYERS for name in layer])
def test_a_package_imports_only_what_is_below_it(name: str) -> None:
    layer = next(at for at, names in enumerate(LAYERS) if name in names)
    below = {other for names in LAYERS[:layer] for other in names} | {name}
    files = (SOURCE / name).rglob("*.py") if (SOURCE / name).is_dir() else [SOURCE / f"{name}.py"]
    for file in files:
        allowed = below | {other for one, other in EXCEPTIONS if one == name}
        assert imported(file) <= allowed, file.relative_to(SOURCE)


def test_no_module_is_longer_than_can_be_read_in_one_sitting() -> None:
    lengths = {
        str(file.relative_to(SOURCE)): len(file.read_text(encoding="utf-8").splitlines())
        for file in SOURCE.rglob("*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > 500} == {}


def test_every_public_name_can_be_imported() -> None:
    assert len(mhpc.__all__) > 30
    for name in mhpc.__all__:
        assert getattr(mhpc, name).__name__ == name


def test_every_method_class_is_public() -> None:
    classes = {home.partition(":")[2] for home in METHODS.values()}
    assert classes <= set(mhpc.__all__)


def test_dir_lists_public_names_only() -> None:
    assert dir(mhpc) == sorted(mhpc.__all__)
    assert not any(name.startswith("_") for name in dir(mhpc))


def test_type_checkers_see_the_types_of_public_names(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "import mhpc\nreveal_type(mhpc.DawidSkene())\nreveal_type(mhpc.read_votes('x'))\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "use.py"], cwd=tmp_path, capture_output=True,
        text=True, check=False, env={**os.environ, "MYPYPATH": str(SOURCE.parent)},
    )  # fmt: skip
    assert run.stdout.count('Revealed type is "mhpc.') == 2, run.stdout


def test_importing_the_package_waits_for_nothing_heavy() -> None:
    script = "import mhpc, sys; print({'numpy', 'scipy', 'duckdb', 'rich'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'consolidat'"):
        mhpc.consolidat  # type: ignore[attr-defined]  # noqa: B018
