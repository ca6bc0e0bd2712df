"""Neighbours that are searched in leaves, and fewer landmarks, against all neighbours, exactly.

python -m benchmarks.speed.neighbors [--instances 50000] [--landmarks 20000]

Ranking loss of mhpc-local, against the truth: all instances as landmarks and searched
everywhere, which is exact; searched in leaves, as it is done with so many; and fewer landmarks. On
generated votes of a yeast set whose instances are repeated, each time with other answers, and on
the answers of models, repeated with some of their labels left out.
"""

import argparse
import time
from functools import partialmethod
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import mhpc
from benchmarks.data import NO_DATA, data_folder
from benchmarks.environment import met_or_missed, write_result
from mhpc.data.index import Index
from mhpc.data.panel import Panel
from mhpc.data.votes import Truth, Votes
from mhpc.datasets.yeast import largest_split, load_yeast
from mhpc.encoding.gold import encode_truth
from mhpc.metrics.ranking import ranking_loss
from mhpc.numerics.landmark_search import SearchOptions
from mhpc.numerics.neighbors import Landmarks

LOCAL: dict[str, Any] = {"solver": "graph", "source_weights": "equal"}
LEFT_OUT = 0.2
LIMIT = 1.01


def main() -> None:
    """Measure both kinds of votes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=50_000)
    parser.add_argument("--landmarks", type=int, nargs="+", default=[20_000])
    options = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    rows = []
    for name, votes, taxonomy, truth in (
        ("yeast", *yeast(folder, options.instances)),
        ("models", *models(folder / "cellcycle_models", options.instances)),
    ):
        panel = mhpc.encode(votes, taxonomy)
        exact_search = SearchOptions(max_exact=options.instances)
        search = partialmethod(Landmarks.nearest, options=exact_search)
        with mock.patch.object(Landmarks, "nearest", search):
            exact, seconds = measured(panel, truth, options.instances)
        print(
            f"{name}, {options.instances:,} instances: ranking loss {exact:.5f}, all neighbours, "
            f"{seconds:.0f} s of processors"
        )
        for count in (options.instances, *options.landmarks):
            loss, seconds = measured(panel, truth, count)
            rows.append(
                {"votes": name, "landmarks": count, "loss": loss, "exact": exact,
                 "processor_seconds": seconds}
            )  # fmt: skip
            wanted = f"; at most {LIMIT} is wanted: {met_or_missed(loss <= LIMIT * exact)}"
            print(
                f"  {count:,} landmarks: {loss:.5f}, {loss / exact:.4f} times, "
                f"{seconds:.0f} s{wanted if count == options.instances else ''}",
                flush=True,
            )
    write_result("speed_neighbours", {"instances": options.instances, "rows": rows})


def measured(panel: Panel, truth: Truth, count: int) -> tuple[float, float]:
    """Return the ranking loss, closed truth, and seconds of processors."""
    began = time.process_time()
    consolidation = mhpc.LocalMHPC(**LOCAL, landmarks=count).consolidate(panel)
    seconds = time.process_time() - began
    known = encode_truth(truth, panel.taxonomy, panel.instances, unknown="drop")
    return ranking_loss(known.closed, consolidation.score[known.rows]), seconds


def yeast(folder: Path, instances: int) -> tuple[Votes, mhpc.Taxonomy, Truth]:
    """Return votes of four generated sources on a yeast set, repeated until there are enough."""
    known = load_yeast("cellcycle", largest_split("cellcycle"), data=folder)
    truth = repeated_truth(known.truth, instances)
    profiles = [mhpc.Profile()] * 4
    return mhpc.simulate(truth, known.taxonomy, profiles, seed=0), known.taxonomy, truth


def models(folder: Path, instances: int) -> tuple[Votes, mhpc.Taxonomy, Truth]:
    """Return the votes of models, repeated, each time without another fifth of the labels."""
    votes, taxonomy = (
        mhpc.read_votes(folder / "votes.csv"),
        mhpc.read_taxonomy(folder / "taxonomy.csv"),
    )
    rng, own = np.random.default_rng(0), len(votes.instances)
    times = -(-instances // own)
    copy, row = np.divmod(np.arange(times * len(votes)), len(votes))
    kept = rng.random(len(row)) > LEFT_OUT
    copy, row = copy[kept], row[kept]
    ids = Index(tuple(f"{id_} {n}" for n in range(times) for id_ in votes.instances))
    many = Votes(
        ids, votes.sources, votes.labels, votes.instance[row] + copy * own, votes.source[row],
        votes.label[row], votes.score[row],
    )  # fmt: skip
    return many, taxonomy, repeated_truth(mhpc.read_truth(folder / "truth.csv"), instances)


def repeated_truth(truth: Truth, instances: int) -> Truth:
    """Return the truth of instances with a number behind their ids, until there are enough."""
    own = len(truth.instances)
    times = -(-instances // own)
    ids = Index(tuple(f"{id_} {n}" for n in range(times) for id_ in truth.instances))
    copy, row = np.divmod(np.arange(times * len(truth)), len(truth))
    return Truth(ids, truth.labels, truth.instance[row] + copy * own, truth.label[row])


if __name__ == "__main__":
    main()
