"""The architecture: which package may import which, and what the package exports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mhpc
from mhpc.methods.registry import METHODS

SOURCE = Path(mhpc.__file__).parent

LAYERS: tuple[dict[str, str], ...] = (
    {
        "errors": "every error and warning, and how messages are worded",
        "process": "locks and settings that the threads of a process share and a fork copies",
    },
    {"parameters": "what methods, rules and settings derive from; classes found by name"},
    {"system": "files, processes, memory, DuckDB, checkpoints: what the machine offers"},
    {"numerics": "dense and sparse arrays, nearest neighbours, linear algebra"},
    {"data": "the nouns: taxonomy, votes, panel, scores, decisions, profiles"},
    {
        "read": "files, dataframes and exports of annotation tools become votes and taxonomies",
        "encoding": "votes become a panel: labels located, ancestors added, gold labels known",
        "methods": "a panel becomes scores",
        "rules": "scores become label sets",
        "metrics": "scores and label sets are measured against a truth",
        "simulation": "a truth becomes votes",
        "write": "results become files and dataframes",
    },
    {
        "selection": "methods are compared by cross-validation over sources: the method auto",
        "datasets": "the bundled example, and public data sets",
        "settings": "every option of a run, declared once",
    },
    {
        "explanation": "source profiles, disagreements, and why an instance has a label",
        "model": "model.npz: what a run fitted, saved and read",
    },
    {"steps": "the four steps of every consolidation: encode, fit and score, decide, profile"},
    {"accuracy": "label sets without their own gold labels, and how accurate the others are"},
    {
        "engines": "where the votes of a run are held: in this process, or on Dask workers",
        "report": "run.json, terminal output and the HTML page",
    },
    {"output": "the files of a run, written in one way"},
    {"result": "what mhpc.consolidate returns"},
    {"earlier": "earlier runs: where their votes are, and how new ones are joined with them"},
    {"run": "from files to a folder, and back"},
    {
        "api": "the verbs of the package",
        "estimate": "the verb that estimates the accuracy of label sets that nobody reviewed",
        "contributions": "what each source of a result or a run is worth",
    },
    {"comparison": "the verb that compares methods"},
    {
        "adapters": "the interfaces of scikit-learn and crowd-kit",
        "paper": "the experiments of the paper",
        "review": "the answers of reviewers, and a local server that saves them",
    },
    {"cli": "the command line"},
)
"""Every package and module of mhpc, from the bottom to the top, and what it is for.

A package may import the layers below its own, but no other package of its layer: stages share
the types of `data` and do not know each other. There are no exceptions.
"""

MODULES = {
    ".".join(("mhpc", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): (
        file
    )
    for file in SOURCE.rglob("*.py")
}


def imports_of(module: str) -> set[str]:
    """Return the modules of mhpc that a module imports, at its top or within functions."""
    imported = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= submodules & MODULES.keys() or {node.module}
    return {name for name in imported if name in MODULES and name not in (module, "mhpc")}


def package_of(module: str) -> str:
    return module.split(".")[1]


def test_every_package_has_a_layer() -> None:
    names = {path.stem for path in SOURCE.iterdir() if not path.name.startswith("_")}
    assert names - {"py"} == {name for layer in LAYERS for name in layer}


@pytest.mark.parametrize("name", [name for layer in LAYERS for name in layer])
def test_a_package_imports_only_what_is_below_it(name: str) -> None:
    position = next(number for number, layer in enumerate(LAYERS) if name in layer)
    allowed = {below for layer in LAYERS[:position] for below in layer} | {name}
    modules = [module for module in MODULES if module != "mhpc" and package_of(module) == name]
    assert modules
    for module in modules:
        assert {package_of(imported) for imported in imports_of(module)} <= allowed, module


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    imports = {module: imports_of(module) for module in MODULES}
    while leaves := [module for module, below in imports.items() if not below & imports.keys()]:
        for module in leaves:
            del imports[module]
    assert list(imports) == []


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


def test_every_public_name_has_an_example() -> None:
    assert [
        name for name in mhpc.__all__ if ">>> " not in (getattr(mhpc, name).__doc__ or "")
    ] == []


def test_every_method_class_is_public() -> None:
    classes = {home.partition(":")[2] for home in METHODS.values()}
    assert classes <= set(mhpc.__all__)


def test_dir_lists_public_names_only() -> None:
    assert dir(mhpc) == sorted(mhpc.__all__)
    assert not any(name.startswith("_") for name in dir(mhpc))


def test_importing_the_package_imports_no_heavy_dependency() -> None:
    script = "import mhpc, sys; print({'numpy', 'scipy', 'duckdb', 'rich'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'consolidat'"):
        mhpc.consolidat  # type: ignore[attr-defined]  # noqa: B018
