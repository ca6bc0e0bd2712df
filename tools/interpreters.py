"""The Python interpreters of this machine that the package can be tried with."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

MINOR_VERSIONS = range(11, 21)
"""The versions of Python 3 to look for, some of them yet to come."""

ASK_VERSION = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


def find_interpreters() -> dict[str, str]:
    """Return one interpreter per version, such as ``{"3.11": "/usr/bin/python3.11"}``.

    These are the names or paths in the environment variable PYTHONS, separated by spaces. Without
    it they are the running interpreter and every ``python3.11``, ``python3.12``, … on the path
    that works; names on the path may not, since version managers also put versions there that are
    switched off.
    """
    if requested := os.environ.get("PYTHONS", "").split():
        versions = {interpreter: ask_version(interpreter) for interpreter in requested}
        if broken := [interpreter for interpreter, version in versions.items() if not version]:
            raise SystemExit(
                f"PYTHONS: {', '.join(broken)} does not run or cannot make virtual environments"
            )
    else:
        named = [shutil.which(f"python3.{minor}") for minor in MINOR_VERSIONS]
        candidates = [*filter(None, named), sys.executable]
        versions = {interpreter: ask_version(interpreter) for interpreter in candidates}
    return {version: interpreter for interpreter, version in versions.items() if version}


def ask_version(interpreter: str) -> str:
    """Return the version of an interpreter; nothing if it cannot make virtual environments."""
    try:
        asked = subprocess.run([interpreter, "-c", ASK_VERSION], capture_output=True, text=True)
    except OSError:
        return ""
    return "" if asked.returncode else asked.stdout.strip()


def make_environment(interpreter: str, folder: Path) -> Path:
    """Make a virtual environment in place of an earlier one; return the folder of its commands."""
    subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True)
    return folder / "bin"
