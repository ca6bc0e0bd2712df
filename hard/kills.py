"""Runs killed at random moments: the output is the old one or the new one, never a mixture.

python -m hard.kills [--kills 100] [--seed 0]

Two methods take turns to replace one output. Each is killed (SIGKILL) at a moment drawn from the
time that it takes, the last moments, when files change places, drawn more often. After every
kill all files must be those of one of the two, byte by byte but for run.json's timings.
"""

import argparse
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from mhpc.datasets.garden import garden_folder

METHODS = ("sa", "majority")
TIMELESS = ("method", "parameters", "decision", "settings")
"""What of run.json is the same each time."""


def main() -> None:
    """Kill, look, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = killed(Path(folder) / "OUT", given.kills, random.Random(given.seed))
    print(
        f"{given.kills} runs killed: {found['old']} left the old output, {found['new']} the new "
        f"one ({found['ended']} of them had ended before), {found['mixture']} a mixture or none"
    )
    if found["mixture"]:
        raise SystemExit(1)


def killed(output: Path, kills: int, rng: random.Random) -> Counter[str]:
    """Replace an output over and over, killing each run; count what is there afterwards."""
    prints, seconds = {}, 0.0
    for method in METHODS:
        began = time.perf_counter()
        started(output, method).wait()
        seconds = time.perf_counter() - began
        prints[method] = fingerprint(output)
    found: Counter[str] = Counter()
    there = METHODS[-1]
    for _ in range(kills):
        (coming,) = set(METHODS) - {there}
        run = started(output, coming)
        late = rng.random() < 0.5
        time.sleep(rng.uniform(0.8, 1.1) * seconds if late else rng.uniform(0.0, seconds))
        found["ended"] += run.poll() is not None
        run.send_signal(signal.SIGKILL)
        run.wait()
        now = fingerprint(output)
        state = "old" if now == prints[there] else "new" if now == prints[coming] else "mixture"
        found[state] += 1
        there = coming if state == "new" else there
        for left in output.parent.glob(f".{output.name}-*"):
            shutil.rmtree(left)
    return found


def started(output: Path, method: str) -> subprocess.Popen[bytes]:
    """Begin to replace the output."""
    data = garden_folder()
    return subprocess.Popen(
        [
            sys.executable, "-m", "mhpc", "consolidate", str(data / "votes.csv"),
            "--taxonomy", str(data / "taxonomy.csv"), "--method", method, "-o", str(output),
            "--force", "--progress", "none",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def fingerprint(output: Path) -> dict[str, str]:
    """Return what every file of an output holds."""
    if not output.is_dir():
        return {}
    found = {}
    for path in sorted(output.iterdir()):
        content = path.read_bytes()
        if path.name == "run.json":
            document = json.loads(content)
            content = json.dumps({name: document[name] for name in TIMELESS}).encode()
        found[path.name] = hashlib.sha256(content).hexdigest()
    return found


if __name__ == "__main__":
    main()
