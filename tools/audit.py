"""Known holes in the packages that are pinned, as the registry tells of them.

python -m tools.audit

Leaves with 1 if there is one. A mirror that keeps no advisories can tell of none: how many
packages were asked about in vain is printed too, and is not taken for good news.
"""

import json
import subprocess
import sys
from pathlib import Path

PINNED = Path(__file__).parent.parent / "constraints.txt"


def main() -> None:
    """Ask, print, leave."""
    asked = subprocess.run(
        [
            sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json",
            "--disable-pip", "--no-deps", "-r", str(PINNED),
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    if not asked.stdout:
        raise SystemExit(f"the audit did not run: {asked.stderr.strip()}")
    packages = json.loads(asked.stdout)["dependencies"]
    unknown = [package for package in packages if "skip_reason" in package]
    holed = [package for package in packages if package.get("vulns")]
    for package in holed:
        for hole in package["vulns"]:
            expected_gain = ", ".join(hole["fix_versions"]) or "no version yet"
            print(
                f"{package['name']} {package['version']}: {hole['id']}, mended in {expected_gain}"
            )
    print(
        f"{len(packages)} packages: {len(holed)} with known holes, "
        f"{len(unknown)} of which the registry knows nothing"
    )
    raise SystemExit(bool(holed))


if __name__ == "__main__":
    main()
