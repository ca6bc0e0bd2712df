"""Figures are drawn by the build, from runs of the package as it is now.

`docs/figures/make_NAME.py TARGET` draws `docs/figures/made/NAME.svg`. A picture that is kept beside
its script, since the README shows it, is left to the tests, which hold it to what would be drawn.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw before anything is read."""
    app.connect("builder-inited", _draw_all)
    return {"parallel_read_safe": True}


def _draw_all(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "figures"
    names = [script.stem.removeprefix("make_") for script in sorted(folder.glob("make_*.py"))]
    (folder / "made").mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        wanted = [name for name in names if not (folder / f"{name}.svg").exists()]
        list(pool.map(lambda name: _draw(folder, name), wanted))


def _draw(folder: Path, name: str) -> None:
    command = [sys.executable, folder / f"make_{name}.py", folder / "made" / f"{name}.svg"]
    # Two are drawn at a time, so that each has a core of its own.
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=alone)  # noqa: S603 - ours
    if done.returncode:
        raise ExtensionError(f"make_{name}.py failed:\n{done.stderr}")
