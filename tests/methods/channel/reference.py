"""The channel computed by loops, and small panels to compare with."""

import numpy as np
import pytest

import mhpc
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.methods.channel import Channel
from mhpc.methods.channel.corruption import NoiseModel
from mhpc.methods.channel.inversion import MISS_RATE
from mhpc.numerics.arrays import FloatArray
from tests.fixtures.build import DAG, GARDEN, Row

ROWS: list[Row] = [
    ("p1", "ann", "monarda"), ("p1", "bob", "flower"), ("p1", "cid", "fuchsia"),
    ("p2", "ann", "oak"), ("p2", "bob", "tree"), ("p2", "bob", "finch"),
    ("p3", "cid", "bird"), ("p3", "ann", None),
    ("p4", "bob", "monarda"), ("p4", "cid", "monarda"),
]  # fmt: skip

tree_and_dag = pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "dag"])


def random_rows(*, instances: int = 60, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        (f"x{i}", f"s{s}", str(rng.choice(GARDEN.labels.ids)))
        for i in range(instances)
        for s in rng.choice(5, size=rng.integers(1, 5), replace=False)
    ]


def simulated(*profiles: mhpc.Profile, seed: int = 0) -> Panel:
    garden = mhpc.load_garden()
    votes = mhpc.simulate(garden.truth, garden.taxonomy, profiles, seed=seed)
    return mhpc.encode(votes, garden.taxonomy, instances=garden.truth.instances)


def random_noise(taxonomy: Taxonomy, noise: float, seed: int = 0) -> NoiseModel:
    depth = int(taxonomy.depth.max())
    shares = np.tril(np.random.default_rng(seed).uniform(0.1, 1, (depth, depth)))
    return NoiseModel(shares / shares.sum(axis=1, keepdims=True), noise)


def matrix_by_loops(taxonomy: Taxonomy, model: NoiseModel) -> FloatArray:
    """C by walking every path up from every label, then every path sideways."""
    K = len(taxonomy)
    C = np.zeros((K, K))

    def walk_up(label: int, levels: int) -> dict[int, float]:
        parents = taxonomy.parents_of(label)
        if not levels or not len(parents):
            return {label: 1.0}
        reached: dict[int, float] = {}
        for parent in parents:
            for end, share in walk_up(int(parent), levels - 1).items():
                reached[end] = reached.get(end, 0.0) + share / len(parents)
        return reached

    def draw_sibling(label: int) -> dict[int, float]:
        parents = taxonomy.parents_of(label)
        if not len(parents):
            return {int(root): 1 / len(taxonomy.roots) for root in taxonomy.roots}
        drawn: dict[int, float] = {}
        for parent in parents:
            children = taxonomy.children_of(int(parent))
            for child in children:
                share = 1 / len(parents) / len(children)
                drawn[int(child)] = drawn.get(int(child), 0.0) + share
        return drawn

    for t in range(K):
        for h in range(int(taxonomy.depth[t])):
            for reached, share in walk_up(t, h).items():
                share *= model.vagueness[taxonomy.depth[t] - 1, h]
                C[t, reached] += share * (1 - model.noise)
                for sibling, part in draw_sibling(reached).items():
                    C[t, sibling] += share * model.noise * part
    return C


def first_guess_by_loops(
    panel: Panel, votes: FloatArray, C: FloatArray, popularity: FloatArray
) -> FloatArray:
    N, K = len(panel.instances), len(popularity)
    x = np.zeros((N, K))
    for i in range(N):
        answers = np.flatnonzero(panel.instance == i)
        for v in range(K):
            origins = popularity * C[:, v] / (popularity @ C[:, v])
            x[i] += votes[answers, v].mean() * origins
        missed = MISS_RATE ** len(answers)
        x[i] = (1 - missed) * x[i] + missed * popularity
    return x


def step_by_loops(
    panel: Panel, votes: FloatArray, C: FloatArray, popularity: FloatArray, x: FloatArray,
    averaging: FloatArray, method: Channel,
) -> FloatArray:  # fmt: skip
    result = np.zeros_like(x)
    for i in range(len(x)):
        answers = np.flatnonzero(panel.instance == i)
        n = len(answers)
        a = (1 - method.popularity) * averaging[i] @ x + method.popularity * popularity
        q = (n * x[i] + method.prior * a) / (n + method.prior)
        for t in range(len(popularity)):
            for v in range(len(popularity)):
                share = q[t] * C[t, v] / (q @ C[:, v]) if C[t, v] else 0.0
                result[i, t] += votes[answers, v].mean() * share
        missed = MISS_RATE**n
        result[i] = (1 - missed) * result[i] + missed * q
    return result
