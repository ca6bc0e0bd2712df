"""The rules of the house: who may import whom, and what the package shows to the world."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mhpc

SOURCE = Path(mhpc.__file__).parent

MAY_IMPORT = {
    "core": set(),
    "graph": {"core"},
    "read": {"core"},
    "encode": {"core"},
    "consolidate": {"core", "graph"},
    "choose": {"core", "consolidate", "engine", "graph"},
    "decide": {"core"},
    "evaluate": {"core"},
    "explain": {"core"},
    "report": {"core", "settings"},
    "simulate": {"core"},
    "write": {"core"},
    "datasets": {"core", "read"},
    "engine": {"core", "read", "encode", "consolidate", "decide", "explain", "write"},
}
"""Stages know the nouns, not each other; the methods also know the numerics."""

CALLERS = {
    "account.py", "adapters", "cli", "comparison.py", "inquire.py", "paper", "pipeline.py",
    "result.py", "revisit.py", "run.py", "settings.py", "without.py", "__init__.py", "__main__.py",
    "errors.py",
}  # fmt: skip


def imported_rooms(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    ]
    return {name.split(".")[1] for name in names if name.startswith("mhpc.")} - {"errors"}


def test_every_room_has_a_rule() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if not path.name.startswith("__pycache__")}
    assert rooms - {"py.typed"} == set(MAY_IMPORT) | CALLERS


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_stages_do_not_import_each_other(room: str) -> None:
    for file in (SOURCE / room).rglob("*.py"):
        strange = imported_rooms(file) - MAY_IMPORT[room] - {room}
        assert not strange, f"{file.name} imports {strange}"


def test_modules_stay_short() -> None:
    long = {
        str(file.relative_to(SOURCE)): lines
        for file in SOURCE.rglob("*.py")
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > 260
    }
    assert not long


def test_public_names_are_declared_once_for_python_and_once_for_type_checkers() -> None:
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    for_checkers = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert for_checkers.items() <= {**mhpc._HOMES, **mhpc._method_homes()}.items()
    assert sorted(mhpc.__all__) == sorted(for_checkers)
    assert mhpc._HOMES.keys() <= for_checkers.keys()


def test_every_public_name_can_be_had() -> None:
    for name in mhpc.__all__:
        assert getattr(mhpc, name) is not None


def test_a_verb_stays_a_verb_after_its_stage_is_imported() -> None:
    script = (
        "import mhpc.consolidate.registry, mhpc.evaluate.ranking, mhpc.simulate.sources, "
        "mhpc.encode.panel, mhpc; "
        "print(*(callable(getattr(mhpc, v)) for v in "
        "('consolidate', 'evaluate', 'simulate', 'encode')))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True"] * 4


def test_importing_the_package_waits_for_nothing_heavy() -> None:
    script = "import mhpc, sys; print({'numpy', 'scipy', 'duckdb', 'rich'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'consolidat'"):
        mhpc.consolidat  # noqa: B018
