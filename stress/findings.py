"""A folder for inputs that broke a rule, so that they can become tests."""

import shutil
from pathlib import Path

FINDINGS = Path(__file__).parent / "findings"


def keep_copy(folder: Path, name: str) -> str:
    """Copy a folder to the findings and return the name of the copy."""
    FINDINGS.mkdir(exist_ok=True)
    shutil.rmtree(FINDINGS / name, ignore_errors=True)
    shutil.copytree(folder, FINDINGS / name)
    return f"{FINDINGS.name}/{name}"
