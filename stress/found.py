"""Where what breaks a rule is kept, to be made into a test."""

import shutil
from pathlib import Path

FOUND = Path(__file__).parent / "found"


def kept(folder: Path, name: str) -> str:
    """Keep a copy of a folder and return what it is called."""
    FOUND.mkdir(exist_ok=True)
    shutil.rmtree(FOUND / name, ignore_errors=True)
    shutil.copytree(folder, FOUND / name)
    return f"{FOUND.name}/{name}"
