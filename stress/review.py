"""Kill the server of ``mhpc review`` while answers arrive: none that was confirmed is lost.

python -m stress.review [--kills 20] [--seed 0]

Two clients, with a connection each, answer as fast as they can. The server is killed (SIGKILL) at a
random moment and started again on the same folder. All answers that it has confirmed so far must be
there, in the server and in both files, and nothing else may be left in the folder.
"""

import argparse
import csv
import http.client
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mhpc.read.run_folder import read_run
from mhpc.review.answers import format_time
from tests.fixtures.review_server import ReviewServer, make_answer, make_garden_run

N_INSTANCES = 50
"""How many instances are answered, again and again."""

START = datetime(2026, 1, 1, tzinfo=UTC)
LABELS = ("sage", "monarda", "fuchsia", "bee")
MAX_WAIT = 0.5
"""The longest time, in seconds, that a server lives once clients send answers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Kill servers and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        make_garden_run(Path(folder) / "OUT")
        counts = kill_servers(
            Path(folder) / "OUT", Path(folder) / "reviews", kills=options.kills, seed=options.seed
        )
    print(
        f"{counts['kills']} servers killed: {counts['confirmed']} answers of 2 clients confirmed, "
        f"{counts['lost']} lost, {counts['damaged']} damaged folders"
    )
    if counts["lost"] or counts["damaged"] or not counts["confirmed"]:
        raise SystemExit(1)


def kill_servers(run: Path, reviews: Path, *, kills: int, seed: int) -> Counter[str]:
    """Kill servers of one review, and count what was confirmed, lost and damaged."""
    rng = random.Random(seed)
    instances = read_run(run).instances.ids[:N_INSTANCES]
    clients = [_Client(name, instances, rng.randrange(1 << 30)) for name in ("ann", "bob")]
    counts: Counter[str] = Counter()
    for _ in range(kills):
        with ReviewServer(run, reviews=reviews) as server:
            counts["lost"] += _count_lost(server, clients)
            threads = [threading.Thread(target=each.answer, args=(server,)) for each in clients]
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0.02, MAX_WAIT))
            server.process.kill()
            counts["kills"] += 1
            for thread in threads:
                thread.join()
        counts["damaged"] += not _is_complete(reviews / "reviews.csv")
    with ReviewServer(run, reviews=reviews) as server:
        counts["lost"] += _count_lost(server, clients)
        counts["damaged"] += {path.name for path in reviews.iterdir()} != {
            "reviews.csv", "gold.csv",
        }  # fmt: skip
    counts["confirmed"] = sum(each.n_confirmed for each in clients)
    return counts


class _Client:
    """A reviewer who answers until the server is gone, and remembers what was confirmed."""

    def __init__(self, name: str, instances: Sequence[str], seed: int):
        self.name = name
        self.instances = instances
        self.rng = random.Random(seed)
        self.confirmed: dict[str, dict[str, Any]] = {}
        self.unknown: dict[str, dict[str, Any]] = {}
        self.n_confirmed = 0
        self.clock = 0

    def answer(self, server: ReviewServer) -> None:
        while True:
            answer = self._draw()
            instance = answer["instance"]
            self.unknown[instance] = answer
            try:
                response = server.save(answer)
            except (OSError, http.client.HTTPException):
                return
            if response.status != 200:
                raise RuntimeError(response.body.decode())
            self.confirmed[instance] = self.unknown.pop(instance)
            self.n_confirmed += 1

    def _draw(self) -> dict[str, Any]:
        self.clock += 1
        labels = self.rng.sample(LABELS, self.rng.randrange(3))
        instance = self.rng.choice(self.instances)
        moment = format_time(START + timedelta(seconds=self.clock))
        return make_answer(instance, *labels, reviewer=self.name, time=moment)

    def count_lost(self, saved: Sequence[dict[str, Any]]) -> int:
        """Count confirmed answers that are not there; one that was under way may be there too."""
        present = {each["instance"]: each for each in saved if each["reviewer"] == self.name}
        lost = 0
        for instance, answer in self.confirmed.items():
            lost += present.get(instance) not in (answer, self.unknown.get(instance, answer))
        for instance in list(self.unknown):
            if present.get(instance) == self.unknown[instance]:
                self.confirmed[instance] = self.unknown[instance]
        self.unknown.clear()
        return lost


def _count_lost(server: ReviewServer, clients: Sequence[_Client]) -> int:
    answers = server.answers()
    return sum(client.count_lost(answers) for client in clients)


def _is_complete(path: Path) -> bool:
    """Return whether a table ends with a complete row."""
    content = path.read_text(encoding="utf-8")
    return content.endswith("\n") and {len(row) for row in csv.reader(content.splitlines())} == {5}


if __name__ == "__main__":
    main()
