from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.index import Index
from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Truth
from mhpc.methods.one_truth.em import run_em
from mhpc.methods.one_truth.evidence import extract_specific_votes
from mhpc.methods.one_truth.label_relations import Relation, relate_labels
from mhpc.numerics.arrays import FloatArray, Sparse, dense
from tests.fixtures.build import DAG, GARDEN, Row, panel_of
from tests.methods.one_truth.panels import random_dependence, random_panel


def em_by_loops(
    panel: Panel, dependence: FloatArray | None, iterations: int
) -> tuple[FloatArray, FloatArray]:
    """Run EM one vote, one candidate and one label at a time; return posterior and profiles."""
    taxonomy, K, M = panel.taxonomy, len(panel.taxonomy), len(panel.sources)
    rho = np.zeros((M, M)) if dependence is None else dependence.copy()
    np.fill_diagonal(rho, 1)
    relation = [[int(relate_labels(taxonomy, np.array([v]), np.array([z]))[0]) for z in range(K)]
                for v in range(K)]  # fmt: skip
    votes = []
    for row, (i, m) in enumerate(zip(panel.instance, panel.source, strict=True)):
        closed = dense(panel.augmented)[row]
        deep = [k for k in np.flatnonzero(closed) if not closed[taxonomy.children_of(int(k))].any()]
        weight = 1.0 if panel.weight is None else panel.weight[row]
        votes += [(i, m, v, 1 / len(deep), closed[v] * weight / len(deep)) for v in deep]
    candidates: dict[int, list[int]] = {}
    for i in {vote[0] for vote in votes}:
        candidates[i] = sorted({k for j, _, v, *_ in votes if j == i
                                for k in [v, *taxonomy.ancestors_of(int(v))]})  # fmt: skip
    S = range(len(votes))
    peers = [[t for t in S if votes[t][0] == votes[s][0]] for s in S]
    independence = [
        1 / sum(rho[votes[s][1], votes[t][1]] * votes[t][3] for t in peers[s]) for s in S
    ]
    volume = [independence[s] * votes[s][4] for s in S]
    others = [sum(volume[t] * (1 - rho[votes[s][1], votes[t][1]]) for t in peers[s]) for s in S]
    popularity = np.full(K, 0.5)
    for s in S:
        popularity[votes[s][2]] += volume[s]
    popularity /= popularity.sum()
    J, shrink = 0.5 * len({vote[2] for vote in votes}), 10.0
    w: dict[tuple[int, int], float] = {}
    posterior = np.zeros((len(panel.instances), K))
    profile = np.zeros((M, 4))
    for iteration in range(iterations):
        mean, errors = np.full(4, 0.01), shrink * popularity
        for (s, z), weight in w.items():
            v = votes[s][2]
            mean[relation[v][z]] += volume[s] * weight
            errors[v] += volume[s] * weight * (relation[v][z] >= Relation.NEAR)
        mean /= mean.sum()
        p = {}
        for s in S:
            i, m, v, _, strength = votes[s]
            for z in candidates[i]:
                r = relation[v][z]
                own = 0.0 if iteration == 0 or others[s] > 1.5 else strength * w[s, z]
                counts = {(t, y): votes[t][4] * x for (t, y), x in w.items() if votes[t][1] == m}
                q = errors if iteration else popularity
                total = sum(q[x] for x in range(K) if relation[x][z] == r)
                share = (q[v] - independence[s] * own) / (total - independence[s] * own)
                vague = 1 / max(len(taxonomy.ancestors_of(z)), 1)
                within = {Relation.EXACT: 1.0, Relation.VAGUE: vague}.get(Relation(r), share)
                if iteration == 0:
                    p[s, z] = (0.7 if r == Relation.EXACT else 0.1) * within
                    continue
                n_r = sum(x for (t, y), x in counts.items() if relation[votes[t][2]][y] == r) - own
                theta = (n_r + shrink * mean[r]) / (sum(counts.values()) - own + shrink)
                n_z = sum(x for (_, y), x in counts.items() if y == z) - own
                n_zv = sum(x for (t, y), x in counts.items() if y == z and votes[t][2] == v) - own
                p[s, z] = (n_zv + J * theta * within) / (n_z + J)
        posterior[:] = 0
        for i, labels in candidates.items():
            logs = {z: np.log(popularity[z]) + sum(volume[s] * np.log(p[s, z])
                    for s in S if votes[s][0] == i) for z in labels}  # fmt: skip
            total = sum(map(np.exp, logs.values()))
            for z in labels:
                posterior[i, z] = np.exp(logs[z]) / total
        w = {}
        for s in S:
            i, m = votes[s][:2]
            by_others = {z: np.log(popularity[z]) + sum((1 - rho[m, votes[t][1]]) * volume[t]
                         * np.log(p[t, z]) for t in peers[s]) for z in candidates[i]}  # fmt: skip
            total = sum(map(np.exp, by_others.values()))
            for z in candidates[i]:
                w[s, z] = np.exp(by_others[z]) / total if others[s] > 1.5 else posterior[i, z]
        profile[:] = 0
        for (s, z), weight in w.items():
            profile[votes[s][1], relation[votes[s][2]][z]] += votes[s][4] * weight
    mean = np.full(4, 0.01)
    for (s, z), weight in w.items():
        mean[relation[votes[s][2]][z]] += volume[s] * weight
    mean /= mean.sum()
    return posterior, (profile + shrink * mean) / (profile.sum(axis=1, keepdims=True) + shrink)


@pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("dependent", [False, True], ids=["independent", "dependent"])
@pytest.mark.parametrize("sets", [False, True], ids=["single labels", "sets"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_em_equals_em_by_loops(
    taxonomy: Taxonomy, dependent: bool, sets: bool, iterations: int
) -> None:
    panel = random_panel(taxonomy, 3, sets=sets)
    dependence = random_dependence(panel, 5) if dependent else None
    result = run_em(panel, dependence=dependence, tol=0, max_iter=iterations)
    posterior, profiles = em_by_loops(panel, dependence, iterations)
    np.testing.assert_allclose(dense(result.posterior), posterior, atol=1e-10)
    np.testing.assert_allclose(result.learned.profiles, profiles, atol=1e-10)


def grove() -> Taxonomy:
    """Six genera with five species each."""
    edges = [(f"{genus}{species}", genus) for genus in "abcdef" for species in range(5)]
    return build_taxonomy([*"abcdef", *(species for species, _ in edges)], edges)


def test_profiles_of_simulated_sources_are_estimated_without_the_truth() -> None:
    taxonomy, N = grove(), 600
    species = np.flatnonzero(taxonomy.depth == 2)
    true = np.random.default_rng(1).choice(species, size=N)
    truth = Truth(Index(tuple(f"i{n}" for n in range(N))), taxonomy.labels, np.arange(N), true)
    sources = [
        mhpc.Profile(specificity=specificity, accuracy=accuracy, coverage=0.7)
        for specificity, accuracy in product((1, 0.95, 0.85), (0.9, 0.75, 0.6))
    ]
    panel = mhpc.encode(mhpc.simulate(truth, taxonomy, sources, seed=2), taxonomy)
    result = run_em(panel)
    votes = extract_specific_votes(panel)
    relation = relate_labels(taxonomy, votes.label, true[votes.instance])
    for m in range(len(sources)):
        own = votes.source == m
        realized = np.bincount(relation[own], minlength=4) / own.sum()
        np.testing.assert_allclose(result.learned.profiles[m], realized, atol=0.05)
    is_right = dense(result.posterior).argmax(axis=1) == true
    assert is_right[np.unique(votes.instance)].mean() > 0.9


def agreeing_rows() -> list[Row]:
    """Forty instances on which three sources agree, cid vaguely every other time."""
    labels = ["monarda", "oak", "finch", "fuchsia"]
    vague = {"monarda": "flower", "oak": "tree", "finch": "bird", "fuchsia": "flower"}
    return [
        (f"p{n}", source, vague[labels[n % 4]] if source == "cid" and n % 8 < 4 else labels[n % 4])
        for n in range(40)
        for source in ("ann", "bob", "cid")
    ]


@pytest.mark.parametrize(
    ("vague", "label", "rival"), [("flower", "monarda", "oak"), ("tree", "oak", "monarda")]
)
def test_a_vague_answer_supports_its_descendants(vague: str, label: str, rival: str) -> None:
    tied: list[Row] = [("x", "ann", "monarda"), ("x", "bob", "oak")]
    panel = panel_of([*agreeing_rows(), *tied, ("x", "cid", vague)])
    posterior = dense(run_em(panel).posterior)[panel.instances.positions["x"]]
    supported, unsupported = posterior[GARDEN.labels.locate([label, rival])]
    assert supported > 5 * unsupported


def test_a_vague_answer_does_not_overrule_more_specific_ones() -> None:
    panel = panel_of([("x", "ann", "monarda"), ("x", "bob", "monarda"), ("x", "cid", "flower")])
    assert dense(run_em(panel).posterior)[0].argmax() == GARDEN.labels.positions["monarda"]


@pytest.mark.parametrize("jeffreys", [1e-7, 1e7])
def test_an_answer_is_not_evidence_for_itself(jeffreys: float) -> None:
    # dee answered once. Counted as her confusion, with a small `jeffreys`, that answer would be
    # likely whatever is true, and only the popularity of finch and bird would distinguish them.
    rows: list[Row] = [
        *agreeing_rows(),
        ("y", "dee", "finch"),
        *((f"q{n}", "eve", "bird") for n in range(30)),
    ]
    panel = panel_of(rows)
    posterior = dense(run_em(panel, jeffreys=jeffreys).posterior)
    y = panel.instances.positions["y"]
    assert posterior[y, GARDEN.labels.positions["finch"]] > 0.7


def test_a_source_that_is_outvoted_is_assessed_by_the_others() -> None:
    rows: list[Row] = [*agreeing_rows(), *((f"p{n}", "dee", "bird") for n in range(0, 40, 4))]
    profiles = run_em(panel_of(rows)).learned.profiles
    assert profiles[3, Relation.EXACT] < profiles[:2, Relation.EXACT].min() / 2
    assert profiles[3, Relation.FAR] > 0.4


def test_a_copy_with_dependence_1_changes_nothing() -> None:
    rows = [(i, s, k) for i, s, k, *_ in random_rows()]
    without_copy = panel_of(rows)
    with_copy = panel_of([*rows, *((i, "copy", k) for i, s, k in rows if s == "a")])
    dependence = np.eye(len(with_copy.sources))
    a, copy = with_copy.sources.locate(["a", "copy"])
    dependence[a, copy] = dependence[copy, a] = 1
    expected = dense(run_em(without_copy, tol=0).posterior)
    shared = dense(run_em(with_copy, dependence=dependence, tol=0).posterior)
    np.testing.assert_allclose(shared, expected, atol=1e-9)
    assert np.abs(dense(run_em(with_copy, tol=0).posterior) - expected).max() > 0.01


def random_rows() -> list[Row]:
    rng = np.random.default_rng(11)
    return [(i, s, str(rng.choice(GARDEN.labels.ids))) for i, s in product("pqrstu", "abcd")]


def test_copies_of_a_wrong_source_count_as_one() -> None:
    truthful: list[Row] = [("x", "ann", "monarda"), ("x", "bob", "monarda")]
    panel = panel_of([*truthful, *(("x", f"liar{n}", "oak") for n in range(3))])
    liar = np.array([source.startswith("liar") for source in panel.sources])
    dependence = np.outer(liar, liar).astype(float)
    monarda, oak = GARDEN.labels.locate(["monarda", "oak"])
    as_independent = dense(run_em(panel).posterior)[0]
    as_dependent = dense(run_em(panel, dependence=dependence).posterior)[0]
    assert as_independent[oak] > as_independent[monarda]
    assert as_dependent[monarda] > as_dependent[oak]


def known_labels(panel: Panel, instance: str, labels: list[str]) -> Sparse:
    closed = np.zeros((len(panel.instances), len(panel.taxonomy)))
    positions = panel.taxonomy.labels.locate(labels)
    row = dense(panel.taxonomy.closure)[positions].max(axis=0)
    closed[panel.instances.positions[instance]] = row
    return sparse.csr_array(closed)


def test_a_known_truth_is_kept_and_shows_which_source_is_right() -> None:
    rows: list[Row] = [(f"p{n}", source, label) for n in range(8)
                       for source, label in (("ann", "oak"), ("bob", "finch"))]  # fmt: skip
    panel = panel_of(rows, instances=["silent"])
    assert dense(run_em(panel).posterior)[4:8].max() < 0.51
    known_truth = sum(known_labels(panel, f"p{n}", ["oak"]) for n in range(4))
    known_truth = sparse.csr_array(known_truth + known_labels(panel, "silent", ["bird"]))
    result = run_em(panel, known=known_truth)
    posterior = dense(result.posterior)
    oak, bird = GARDEN.labels.locate(["oak", "bird"])
    np.testing.assert_array_equal(posterior[:4, oak], 1)
    assert posterior[8, bird] == 1
    assert (posterior[4:8, oak] > 0.65).all()
    profiles = result.learned.profiles
    assert profiles[0, Relation.EXACT] > profiles[1, Relation.EXACT]


def test_a_known_truth_may_be_a_label_that_no_source_gave() -> None:
    panel = panel_of([("x", "ann", "oak"), ("x", "bob", "oak")])
    result = run_em(panel, known=known_labels(panel, "x", ["finch"]))
    assert dense(result.posterior)[0, GARDEN.labels.positions["finch"]] == 1


def test_an_answer_of_weight_zero_has_no_effect() -> None:
    rows = random_rows()
    panel = panel_of([*rows, ("p", "z", "oak")])
    weight = (panel.source != panel.sources.positions["z"]).astype(float)
    result = run_em(replace(panel, weight=weight), tol=0)
    expected = run_em(panel_of(rows), tol=0)
    np.testing.assert_array_equal(dense(result.posterior), dense(expected.posterior))


@pytest.mark.parametrize(("weight", "label"), [((1, 3), "finch"), ((3, 1), "oak")])
def test_the_answer_with_more_weight_prevails(weight: tuple[int, int], label: str) -> None:
    panel = panel_of([("x", "ann", "oak"), ("x", "bob", "finch")])
    posterior = dense(run_em(replace(panel, weight=np.array(weight, dtype=float))).posterior)[0]
    assert posterior.argmax() == GARDEN.labels.positions[label]


def test_with_a_very_strong_prior_all_profiles_are_the_mean_profile() -> None:
    rows: list[Row] = [(f"x{i}", f"s{s}", "de"[(i * s) % 2]) for i in range(6) for s in range(3)]
    panel = panel_of(rows, DAG)
    result = run_em(panel, prior_weight=1e300)
    exact = result.learned.profiles[:, Relation.EXACT]
    assert np.isfinite(dense(result.posterior)).all()
    assert exact == pytest.approx(exact[0])
