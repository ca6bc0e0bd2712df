"""How far a reader walks: the functions and files of mhpc that one command visits.

python -m tools.walk

Runs commands on the bundled example and notes every function of the package when it is first
called. A file change is a function whose predecessor in that order is in another file: where they
are many, following a vote through the code means jumping. The share of import lines says how much
of the code is wiring.
"""

import ast
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import mhpc

SOURCE = Path(mhpc.__file__).parent
EXAMPLE = SOURCE / "datasets" / "garden"

CO_OPTIMIZED = 1
"""The flag that bodies of functions have, and those of modules and classes lack."""


@dataclass
class Walk:
    """The functions that were called, in the order of their first call."""

    visited: dict[CodeType, None] = field(default_factory=dict)

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Note the function of a frame; `sys.setprofile` calls this."""
        code = frame.f_code
        is_function = code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(str(SOURCE)):
            self.visited.setdefault(code)

    @property
    def path(self) -> list[str]:
        """The file of every function, relative to the package."""
        return [str(Path(code.co_filename).relative_to(SOURCE)) for code in self.visited]

    def __str__(self) -> str:
        """Return functions, files and file changes in one line."""
        path = self.path
        changes = sum(first != second for first, second in pairwise(path))
        return f"{len(path)} functions, {len(set(path))} files, {changes} file changes"


def walk(work: Callable[[], object]) -> Walk:
    """Return the functions that a piece of work calls, in all threads."""
    trace = Walk()
    threading.setprofile(trace.profile)
    sys.setprofile(trace.profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return trace


def run_command(*arguments: str) -> None:
    """Run the command line in this process, without its output."""
    from mhpc.cli import cli

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        cli(list(arguments), standalone_mode=False)


def import_share() -> float:
    """Return the lines of import statements as a share of all lines."""
    imports = lines = 0
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        lines += len(text.splitlines())
        imports += sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
    return imports / lines


def main() -> None:
    """Print the walks of the main commands, and the files in the order of their first visit."""
    votes = [str(EXAMPLE / "votes.csv"), "--taxonomy", str(EXAMPLE / "taxonomy.csv")]
    verbose = "--files" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        commands = {
            "consolidate": ["consolidate", *votes, "-o", "auto"],
            "consolidate --method mhpc": ["consolidate", *votes, "--method", "mhpc", "-o", "mhpc"],
            "explain": ["explain", "auto", "1"],
        }
        instance = (EXAMPLE / "votes.csv").read_text(encoding="utf-8").splitlines()[1].split(",")[0]
        commands["explain"][-1] = instance
        for name, arguments in commands.items():
            trace = walk(lambda arguments=arguments: run_command(*arguments))  # type: ignore[misc]
            print(f"{name}: {trace}")
            if verbose:
                counts: dict[str, int] = {}
                for file in trace.path:
                    counts[file] = counts.get(file, 0) + 1
                print("".join(f"    {count:4d} {file}\n" for file, count in counts.items()))
    print(f"import lines: {import_share():.1%} of the code")


if __name__ == "__main__":
    main()
