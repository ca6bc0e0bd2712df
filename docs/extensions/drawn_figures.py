"""Draw the figures of the docs during the build, from runs of the package as it is now.

`docs/figures/make_NAME.py TARGET` draws `docs/figures/made/NAME.svg`. A picture that is committed
beside its script, because the README shows it, is not drawn again; a test compares the two.
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
    """Draw before Sphinx reads the pages."""
    app.connect("builder-inited", _draw_all)
    return {"parallel_read_safe": True}


def _draw_all(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "figures"
    names = [script.stem.removeprefix("make_") for script in sorted(folder.glob("make_*.py"))]
    missing = [name for name in names if not (folder / f"{name}.svg").exists()]
    (folder / "made").mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: _draw(folder, name), missing))


def _draw(folder: Path, name: str) -> None:
    command = [sys.executable, folder / f"make_{name}.py", folder / "made" / f"{name}.svg"]
    # Two are drawn at a time: each gets one core.
    single_core = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=single_core)  # noqa: S603 - our own script
    if done.returncode:
        raise ExtensionError(f"make_{name}.py failed:\n{done.stderr}")
