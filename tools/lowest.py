"""The lowest version of each requirement that is stated, as constraints for pip.

python tools/lowest.py > lowest.txt
"""

import re
import tomllib
from itertools import chain
from pathlib import Path

TOOLS = {"mypy", "ruff"}
"""Tools that check the source rather than run it; their newest versions will do."""


def main() -> None:
    """Print one line per requirement."""
    with (Path(__file__).parent.parent / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    required = [*project["dependencies"], *extras]
    lowest = dict(re.findall(r"^([\w.-]+)>=([\d.]+)", "\n".join(required), flags=re.MULTILINE))
    for name in sorted(lowest.keys() - TOOLS):
        print(f"{name}=={lowest[name]}")


if __name__ == "__main__":
    main()
