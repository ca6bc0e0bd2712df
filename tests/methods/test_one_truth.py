from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.index import Index
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Truth
from mhpc.errors import ConvergenceWarning, ParameterError, TooLargeError
from mhpc.methods.one_truth import OneTruth, fits
from mhpc.methods.one_truth import evidence as statements
from mhpc.methods.one_truth.em import Inference, infer
from mhpc.methods.one_truth.evidence import EXACT, NEAR, VAGUE, relate_labels
from mhpc.numerics.arrays import FloatArray, Sparse, dense
from mhpc.system.memory import use_memory_budget
from tests.fixtures.build import DAG, GARDEN, Row, panel_of


def random_panel(taxonomy: Taxonomy, seed: int, *, sets: bool = False) -> Panel:
    """A few sources of which some are silent; with `sets`, several labels, scores and weights."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for instance, source in product("pqrstu", "abcde"):
        if rng.random() < 0.7:
            said = rng.choice(taxonomy.labels.ids, size=rng.integers(1, 4) if sets else 1)
            rows += [
                (instance, source, str(k), float(rng.choice([0.3, 1])) if sets else 1.0)
                for k in set(said)
            ]
    panel = panel_of(rows, taxonomy)
    return replace(panel, weight=rng.random(len(panel.instance)) * 2) if sets else panel


def random_kinship(panel: Panel, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    M = len(panel.sources)
    rho = np.triu(rng.random((M, M)) * (rng.random((M, M)) < 0.5), 1)
    return rho + rho.T


def by_loops(
    panel: Panel, kinship: FloatArray | None, rounds: int
) -> tuple[FloatArray, FloatArray]:
    """The inference one statement, one candidate, one label at a time."""
    taxonomy, K, M = panel.taxonomy, len(panel.taxonomy), len(panel.sources)
    rho = np.zeros((M, M)) if kinship is None else kinship.copy()
    np.fill_diagonal(rho, 1)
    kind = [[int(relate_labels(taxonomy, np.array([v]), np.array([z]))[0]) for z in range(K)]
            for v in range(K)]  # fmt: skip
    said = []
    for row, (i, m) in enumerate(zip(panel.instance, panel.source, strict=True)):
        closed = dense(panel.augmented)[row]
        deep = [k for k in np.flatnonzero(closed) if not closed[taxonomy.children_of(int(k))].any()]
        weight = 1.0 if panel.weight is None else panel.weight[row]
        said += [(i, m, v, 1 / len(deep), closed[v] * weight / len(deep)) for v in deep]
    options: dict[int, list[int]] = {}
    for i in {s[0] for s in said}:
        options[i] = sorted({k for j, _, v, *_ in said if j == i
                             for k in [v, *taxonomy.ancestors_of(int(v))]})  # fmt: skip
    S = range(len(said))
    same = [[t for t in S if said[t][0] == said[s][0]] for s in S]
    voice = [1 / sum(rho[said[s][1], said[t][1]] * said[t][3] for t in same[s]) for s in S]
    volume = [voice[s] * said[s][4] for s in S]
    others = [sum(volume[t] * (1 - rho[said[s][1], said[t][1]]) for t in same[s]) for s in S]
    popular = np.full(K, 0.5)
    for s in S:
        popular[said[s][2]] += volume[s]
    popular /= popular.sum()
    J, shrink = 0.5 * len({s[2] for s in said}), 10.0
    w: dict[tuple[int, int], float] = {}
    post = np.zeros((len(panel.instances), K))
    profile = np.zeros((M, 4))
    for turn in range(rounds):
        mean, error = np.full(4, 0.01), shrink * popular
        for (s, z), weight in w.items():
            v = said[s][2]
            mean[kind[v][z]] += volume[s] * weight
            error[v] += volume[s] * weight * (kind[v][z] >= NEAR)
        mean /= mean.sum()
        p = {}
        for s in S:
            i, m, v, _, strength = said[s]
            for z in options[i]:
                k = kind[v][z]
                own = 0.0 if turn == 0 or others[s] > 1.5 else strength * w[s, z]
                mine = {(t, y): said[t][4] * x for (t, y), x in w.items() if said[t][1] == m}
                q = error if turn else popular
                rivals = sum(q[x] for x in range(K) if kind[x][z] == k)
                share = (q[v] - voice[s] * own) / (rivals - voice[s] * own)
                given = {EXACT: 1.0, VAGUE: 1 / max(len(taxonomy.ancestors_of(z)), 1)}.get(k, share)
                if turn == 0:
                    p[s, z] = (0.7 if k == EXACT else 0.1) * given
                    continue
                of_kind = sum(x for (t, y), x in mine.items() if kind[said[t][2]][y] == k) - own
                theta = (of_kind + shrink * mean[k]) / (sum(mine.values()) - own + shrink)
                there = sum(x for (_, y), x in mine.items() if y == z) - own
                confusion_id = (
                    sum(x for (t, y), x in mine.items() if y == z and said[t][2] == v) - own
                )
                p[s, z] = (confusion_id + J * theta * given) / (there + J)
        post[:] = 0
        for i, possible in options.items():
            logs = {z: np.log(popular[z]) + sum(volume[s] * np.log(p[s, z])
                    for s in S if said[s][0] == i) for z in possible}  # fmt: skip
            total = sum(map(np.exp, logs.values()))
            for z in possible:
                post[i, z] = np.exp(logs[z]) / total
        w = {}
        for s in S:
            i, m = said[s][:2]
            cavity = {z: np.log(popular[z]) + sum((1 - rho[m, said[t][1]]) * volume[t]
                      * np.log(p[t, z]) for t in same[s]) for z in options[i]}  # fmt: skip
            total = sum(map(np.exp, cavity.values()))
            for z in options[i]:
                w[s, z] = np.exp(cavity[z]) / total if others[s] > 1.5 else post[i, z]
        profile[:] = 0
        for (s, z), weight in w.items():
            profile[said[s][1], kind[said[s][2]][z]] += said[s][4] * weight
    mean = np.full(4, 0.01)
    for (s, z), weight in w.items():
        mean[kind[said[s][2]][z]] += volume[s] * weight
    mean /= mean.sum()
    return post, (profile + shrink * mean) / (profile.sum(axis=1, keepdims=True) + shrink)


def profile_table(found: Inference) -> FloatArray:
    shares = found.profiles
    return np.stack([shares.exact, shares.vague, shares.near, shares.far], axis=1)


@pytest.mark.parametrize("taxonomy", [GARDEN, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("related", [False, True], ids=["strangers", "kin"])
@pytest.mark.parametrize("sets", [False, True], ids=["single labels", "sets"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_inference_agrees_with_one_by_one(
    taxonomy: Taxonomy, related: bool, sets: bool, rounds: int
) -> None:
    panel = random_panel(taxonomy, 3, sets=sets)
    kinship = random_kinship(panel, 5) if related else None
    found = infer(panel, kinship=kinship, tol=0, max_iter=rounds)
    belief, profile = by_loops(panel, kinship, rounds)
    np.testing.assert_allclose(dense(found.specific), belief, atol=1e-10)
    np.testing.assert_allclose(profile_table(found), profile, atol=1e-10)


def grove() -> Taxonomy:
    """Six genera with five species each."""
    edges = [(f"{genus}{species}", genus) for genus in "abcdef" for species in range(5)]
    return build_taxonomy([*"abcdef", *(species for species, _ in edges)], edges)


def test_profiles_of_simulated_sources_are_found_without_the_truth() -> None:
    taxonomy, N = grove(), 600
    species = np.flatnonzero(taxonomy.depth == 2)
    true = np.random.default_rng(1).choice(species, size=N)
    truth = Truth(Index(tuple(f"i{n}" for n in range(N))), taxonomy.labels, np.arange(N), true)
    sources = [
        mhpc.Profile(specificity=specificity, accuracy=accuracy, coverage=0.7)
        for specificity, accuracy in product((1, 0.95, 0.85), (0.9, 0.75, 0.6))
    ]
    panel = mhpc.encode(mhpc.simulate(truth, taxonomy, sources, seed=2), taxonomy)
    found = infer(panel)
    said = statements.extract_statements(panel)
    kind = relate_labels(taxonomy, said.label, true[said.instance])
    for m in range(len(sources)):
        realised = np.bincount(kind[said.source == m], minlength=4) / (said.source == m).sum()
        np.testing.assert_allclose(profile_table(found)[m], realised, atol=0.05)
    assert (dense(found.specific).argmax(axis=1) == true)[np.unique(said.instance)].mean() > 0.9


def confirmed() -> list[Row]:
    """Forty instances on which three sources agree, cid vaguely every other time."""
    labels = ["monarda", "oak", "finch", "fuchsia"]
    vague = {"monarda": "flower", "oak": "tree", "finch": "bird", "fuchsia": "flower"}
    return [
        (f"p{n}", who, vague[labels[n % 4]] if who == "cid" and n % 8 < 4 else labels[n % 4])
        for n in range(40)
        for who in ("ann", "bob", "cid")
    ]


@pytest.mark.parametrize(
    ("vague", "label", "rival"), [("flower", "monarda", "oak"), ("tree", "oak", "monarda")]
)
def test_a_vague_answer_supports_what_lies_below_it(vague: str, label: str, rival: str) -> None:
    tied: list[Row] = [("x", "ann", "monarda"), ("x", "bob", "oak")]
    panel = panel_of([*confirmed(), *tied, ("x", "cid", vague)])
    belief = dense(infer(panel).specific)[panel.instances.positions["x"]]
    supported, other = belief[GARDEN.labels.locate([label, rival])]
    assert supported > 5 * other


def test_a_vague_answer_does_not_overrule_those_who_know_better() -> None:
    panel = panel_of([("x", "ann", "monarda"), ("x", "bob", "monarda"), ("x", "cid", "flower")])
    assert dense(infer(panel).specific)[0].argmax() == GARDEN.labels.positions["monarda"]


@pytest.mark.parametrize("jeffreys", [1e-7, 1e7])
def test_an_answer_does_not_testify_for_itself(jeffreys: float) -> None:
    # dee spoke once. Were that counted as her habit, small `jeffreys` would make it explain
    # itself whatever is true, and only the popularity of finch and bird would tell them apart.
    rows: list[Row] = [
        *confirmed(),
        ("y", "dee", "finch"),
        *((f"q{n}", "eve", "bird") for n in range(30)),
    ]
    panel = panel_of(rows)
    found = dense(infer(panel, jeffreys=jeffreys).specific)
    y = panel.instances.positions["y"]
    assert found[y, GARDEN.labels.positions["finch"]] > 0.7


def test_who_is_outvoted_is_judged_by_the_others() -> None:
    rows: list[Row] = [*confirmed(), *((f"p{n}", "dee", "bird") for n in range(0, 40, 4))]
    found = infer(panel_of(rows)).profiles
    assert found.exact[3] < found.exact[:2].min() / 2
    assert found.far[3] > 0.4


def test_a_copy_that_is_known_as_such_changes_nothing() -> None:
    rows = [(i, s, k) for i, s, k, *_ in random_rows()]
    alone = panel_of(rows)
    doubled = panel_of([*rows, *((i, "copy", k) for i, s, k in rows if s == "a")])
    kinship = np.eye(len(doubled.sources))
    a, copy = doubled.sources.locate(["a", "copy"])
    kinship[a, copy] = kinship[copy, a] = 1
    expected, found = infer(alone, tol=0), infer(doubled, kinship=kinship, tol=0)
    np.testing.assert_allclose(dense(found.specific), dense(expected.specific), atol=1e-9)
    assert np.abs(dense(infer(doubled, tol=0).specific) - dense(expected.specific)).max() > 0.01


def random_rows() -> list[Row]:
    rng = np.random.default_rng(11)
    return [(i, s, str(rng.choice(GARDEN.labels.ids))) for i, s in product("pqrstu", "abcd")]


def test_copies_of_a_wrong_source_are_one_voice() -> None:
    truthful: list[Row] = [("x", "ann", "monarda"), ("x", "bob", "monarda")]
    panel = panel_of([*truthful, *(("x", f"liar{n}", "oak") for n in range(3))])
    liar = np.array([source.startswith("liar") for source in panel.sources])
    kinship = np.outer(liar, liar).astype(float)
    monarda, oak = GARDEN.labels.locate(["monarda", "oak"])
    fooled = dense(infer(panel).specific)[0]
    aware = dense(infer(panel, kinship=kinship).specific)[0]
    assert fooled[oak] > fooled[monarda]
    assert aware[monarda] > aware[oak]


def test_kinship_is_looked_up_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = random_panel(GARDEN, 4, sets=True)
    said, kinship = statements.extract_statements(panel), random_kinship(panel, 1)
    whole = dense(statements.redundancy(said, kinship))
    monkeypatch.setattr(statements, "BLOCK_PAIRS", 7)
    np.testing.assert_array_equal(dense(statements.redundancy(said, kinship)), whole)
    alike = np.where(said.source[:, None] == said.source, 1, kinship[said.source][:, said.source])
    np.testing.assert_array_equal(whole, alike * (said.instance[:, None] == said.instance))


def known_row(panel: Panel, instance: str, labels: list[str]) -> Sparse:
    closed = np.zeros((len(panel.instances), len(panel.taxonomy)))
    at = panel.taxonomy.labels.locate(labels)
    closed[panel.instances.positions[instance]] = dense(panel.taxonomy.closure)[at].max(axis=0)
    return sparse.csr_array(closed)


def test_a_known_truth_is_kept_and_shows_who_is_right() -> None:
    rows: list[Row] = [(f"p{n}", who, label) for n in range(8)
                       for who, label in (("ann", "oak"), ("bob", "finch"))]  # fmt: skip
    panel = panel_of(rows, instances=["silent"])
    assert dense(infer(panel).specific)[4:8].max() < 0.51
    known = sum(known_row(panel, f"p{n}", ["oak"]) for n in range(4))
    known = sparse.csr_array(known + known_row(panel, "silent", ["bird"]))
    found = infer(panel, known=known)
    belief = dense(found.specific)
    oak, bird = GARDEN.labels.locate(["oak", "bird"])
    np.testing.assert_array_equal(belief[:4, oak], 1)
    assert belief[8, bird] == 1
    assert (belief[4:8, oak] > 0.65).all()
    assert found.profiles.exact[0] > found.profiles.exact[1]


def test_a_truth_that_nobody_named_can_be_known() -> None:
    panel = panel_of([("x", "ann", "oak"), ("x", "bob", "oak")])
    found = infer(panel, known=known_row(panel, "x", ["finch"]))
    assert dense(found.specific)[0, GARDEN.labels.positions["finch"]] == 1


def test_an_answer_of_weight_zero_was_not_given() -> None:
    rows = random_rows()
    panel = panel_of([*rows, ("p", "z", "oak")])
    weight = (panel.source != panel.sources.positions["z"]).astype(float)
    found = infer(replace(panel, weight=weight), tol=0)
    np.testing.assert_array_equal(
        dense(found.specific), dense(infer(panel_of(rows), tol=0).specific)
    )


@pytest.mark.parametrize(("weight", "label"), [((1, 3), "finch"), ((3, 1), "oak")])
def test_a_heavy_answer_prevails(weight: tuple[int, int], label: str) -> None:
    panel = panel_of([("x", "ann", "oak"), ("x", "bob", "finch")])
    found = dense(infer(replace(panel, weight=np.array(weight, dtype=float))).specific)[0]
    assert found.argmax() == GARDEN.labels.positions[label]


@pytest.mark.parametrize("sets", [False, True])
def test_scores_are_probabilities_that_grow_upwards(sets: bool) -> None:
    panel = random_panel(DAG, 8, sets=sets)
    found = OneTruth(max_iter=500).consolidate(panel)
    score = dense(found.score)
    np.testing.assert_allclose(dense(found.specific).sum(axis=1), 1)
    assert score.max() <= 1
    for label in range(len(DAG)):
        for parent in DAG.parents_of(label):
            assert (score[:, parent] >= score[:, label] - 1e-12).all()
    assert found.one_truth
    assert found.threshold == 0.5


def test_it_fits_where_no_answer_names_two_truths() -> None:
    path: list[Row] = [("x", "ann", "flower"), ("x", "ann", "monarda"), ("x", "bob", None)]
    assert fits(panel_of(path))
    assert not fits(panel_of([*path, ("x", "ann", "oak")]))


def test_the_trace_tells_every_round_and_a_short_run_warns() -> None:
    panel = random_panel(GARDEN, 2)
    with pytest.warns(ConvergenceWarning, match="one-truth stopped after 3 iterations"):
        found = OneTruth(tol=0, max_iter=3).consolidate(panel)
    rounds = [dense(infer(panel, tol=0, max_iter=n).specific) for n in (1, 2, 3)]
    assert [step.iteration for step in found.trace] == [0, 1, 2]
    for n in (1, 2):
        moved = np.abs(rounds[n] - rounds[n - 1]).sum() / rounds[n - 1].sum()
        assert found.trace[n].change == pytest.approx(moved)
    assert OneTruth().consolidate(panel).converged


def test_it_says_that_it_needs_all_instances_at_once() -> None:
    with pytest.raises(ParameterError, match="one-truth cannot be learnt in parts"):
        OneTruth().fit(SinglePartition(random_panel(GARDEN, 2)))


def test_more_than_fits_is_refused() -> None:
    with use_memory_budget(1000), pytest.raises(TooLargeError, match="--memory, or use --method"):
        OneTruth().consolidate(random_panel(GARDEN, 2))


def test_profiles_that_nothing_outweighs_are_the_mean_profile() -> None:
    rows: list[Row] = [(f"x{i}", f"s{s}", "de"[(i * s) % 2]) for i in range(6) for s in range(3)]
    panel = panel_of(rows, DAG)
    found = infer(panel, prior_weight=1e300)
    assert np.isfinite(dense(found.specific)).all()
    assert found.profiles.exact == pytest.approx(found.profiles.exact[0])
