"""Known vulnerabilities of the pinned packages, as reported by the registry.

python -m tools.audit

Exits with 1 if there is one. Pins for other versions of Python than the running one are left out.
A mirror without advisories reports none: how many packages the registry does not know is printed
too, since that is no good news.
"""

import json
import subprocess
import sys
from pathlib import Path

PINNED = Path(__file__).parent.parent / "constraints.txt"


def main() -> None:
    """Run the audit and print what it finds."""
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
    vulnerable = [package for package in packages if package.get("vulns")]
    for package in vulnerable:
        for vulnerability in package["vulns"]:
            fixed_in = ", ".join(vulnerability["fix_versions"]) or "no version yet"
            pinned = f"{package['name']} {package['version']}"
            print(f"{pinned}: {vulnerability['id']}, fixed in {fixed_in}")
    print(
        f"{len(packages)} packages: {len(vulnerable)} with known vulnerabilities, "
        f"{len(unknown)} unknown to the registry"
    )
    raise SystemExit(bool(vulnerable))


if __name__ == "__main__":
    main()
