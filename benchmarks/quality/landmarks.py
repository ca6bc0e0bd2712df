"""What `auto` loses beyond 10,000 instances, shown on smaller real sets of MHPC_DATA.

python -m benchmarks.quality.landmarks [--sets NAME …]

Beyond 10,000 distinct instances only a sample of them, the landmarks, is in the graph of
`mhpc-local`, and the others are joined to the nearest landmarks by an approximate search. Here half
of the instances of each set are landmarks, searched exactly and approximately.
"""

import argparse
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import mhpc
from benchmarks.data import NO_DATA, data_folder
from benchmarks.environment import write_result
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.votes import Truth
from mhpc.encoding.gold import encode_truth
from mhpc.methods.base import predict_scores
from mhpc.methods.mhpc import fitted as fitted_mhpc
from mhpc.metrics.scorecard import score
from mhpc.numerics.landmark_search import FAST_SEARCH, SearchOptions
from mhpc.rules.base import apply_rule
from mhpc.selection import auto
from mhpc.steps import fit_rule

SETS = ("imclef07a_models", "cellcycle_models", "gasch1_models", "diatoms_models", "ec_tools",
        "rare_disease")  # fmt: skip

EXACT = replace(FAST_SEARCH, max_exact=10**9)
LEAVES = replace(FAST_SEARCH, max_exact=1, leaf_size=20)
"""Leaves so small that a 32nd of them is a small part of a small set."""


@dataclass(frozen=True)
class Variant:
    """Which share of the instances are landmarks, and how they are searched."""

    name: str
    share: float
    options: SearchOptions


VARIANTS = (
    Variant("all instances", 1.0, EXACT),
    Variant("half of them", 0.5, EXACT),
    Variant("half, approximate search", 0.5, LEAVES),
)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    options, folder = parser.parse_args(), data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    warnings.simplefilter("ignore")
    rows = [row for name in options.sets for row in measure(folder / name)]
    for row in rows:
        print(
            f"{row['set']}, {row['landmarks']}: hierarchical F {row['hierarchical_f']:.4f}, "
            f"ranking loss {row['ranking_loss']:.4f}, specific {row['specific']:.4f}"
        )
    write_result("quality_landmarks", {"rows": rows})


def measure(folder: Path) -> list[dict[str, str | float]]:
    """Return the figures of a set, for every variant."""
    votes, truth = mhpc.read_votes(folder / "votes.csv"), mhpc.read_truth(folder / "truth.csv")
    panel = mhpc.encode(votes, mhpc.read_taxonomy(folder / "taxonomy.csv"), unknown="drop")
    return [
        {"set": folder.name, "landmarks": variant.name, **_measure(panel, truth, variant)}
        for variant in VARIANTS
    ]


def _measure(panel: Panel, truth: Truth, variant: Variant) -> dict[str, float]:
    n_landmarks = int(variant.share * len(panel.instances))
    members = auto._optional_members()
    members["mhpc-local"] = members["mhpc-local"].model_copy(
        update={"landmarks": n_landmarks, "solver": "graph"}
    )
    search = fitted_mhpc.Extension.find_neighbors
    method = auto.Auto()
    with (
        mock.patch.object(auto, "_optional_members", return_value=members),
        mock.patch.object(
            fitted_mhpc.Extension,
            "find_neighbors",
            lambda extension, rows: search(extension, rows, options=variant.options),
        ),
    ):
        scores = predict_scores(method, method.fit(SinglePartition(panel)), panel)
    encoded = encode_truth(truth, panel.taxonomy, panel.instances, unknown="drop")
    label_sets = apply_rule(fit_rule(None, scores, panel), scores).reason
    closed = score(scores, encoded, view="closed", decided=label_sets)
    specific = score(scores, encoded, view="specific", decided=label_sets)
    return {
        "hierarchical_f": closed["hierarchical_f"],
        "ranking_loss": closed["ranking_loss"],
        "specific": specific["ranking_loss"],
    }


if __name__ == "__main__":
    main()
