import math
import pickle
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from mhpc.data import panel as parts
from mhpc.data.panel import Panel, SinglePartition
from mhpc.errors import ConvergenceWarning
from mhpc.methods import dawid_skene
from mhpc.methods.dawid_skene import DawidSkene, source_skills, trials_of
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN, Row, panel_of


def some_panel(seed: int = 1, *, scoped: bool = False, weighted: bool = False) -> Panel:
    """Ten instances on a DAG; three fair sources, two that guess, one of them among b, c, d."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(list(DAG), 10)
    rows: list[Row] = []
    for instance, label in enumerate(truth):
        for source in range(5):
            if rng.random() < 0.8:
                guess = str(rng.choice(["b", "c", "d"] if source == 3 else list(DAG)))
                said = guess if source >= 3 or rng.random() < 0.2 else str(label)
                rows.append((f"i{instance}", f"s{source}", said, float(rng.choice([0.5, 1.0]))))
    panel = panel_of(rows, DAG, scope={"s3": ("b", "c", "d")} if scoped else "all")
    return replace(panel, weight=rng.random(len(panel.instance)) + 0.2) if weighted else panel


def twin(panel: Panel, rounds: int, smooth: float = 1.0) -> FloatArray:
    """Expectation and maximisation, one answer and one label after the other."""
    K, depth = len(panel.taxonomy), panel.taxonomy.depth
    votes = panel.augmented.toarray()
    weight = np.ones(len(votes)) if panel.weight is None else panel.weight
    can = np.ones((len(panel.sources), K)) if panel.scope is None else panel.scope.toarray()
    answers = list(zip(panel.instance, panel.source, votes, weight, strict=True))
    popularity = [
        (sum(w * y[k] for _, _, y, w in answers) + 0.5)
        / (sum(w * can[m, k] for _, m, _, w in answers) + 1)
        for k in range(K)
    ]
    belief = np.zeros((len(panel.instances), K))
    for i in range(len(belief)):
        for k in range(K):
            about = [(w, y[k]) for j, m, y, w in answers if j == i and can[m, k]]
            if any(y for _, y in about):
                belief[i, k] = sum(w * y for w, y in about) / sum(w for w, _ in about)
    affirmed = belief > 0
    for _ in range(rounds):
        hits, true, alarms, offered = (defaultdict[tuple[int, int], float](float) for _ in "1234")
        for i, m, y, w in answers:
            for k in range(K):
                if not can[m, k]:
                    continue
                for who in (m, -1):  # each source, and all together
                    cell = (who, depth[k])
                    hits[cell] += w * y[k] * belief[i, k]
                    true[cell] += w * belief[i, k]
                    alarms[cell] += w * y[k] * (1 - belief[i, k])
                    offered[cell] += w * popularity[k] * (1 - belief[i, k])
        after = np.zeros_like(belief)
        for i, k in zip(*np.nonzero(affirmed), strict=True):
            logit = math.log(popularity[k] / (1 - popularity[k]))
            for j, m, y, w in answers:
                if j == i and can[m, k]:
                    own, all_ = (m, depth[k]), (-1, depth[k])
                    mean = (hits[all_] + 0.5) / (true[all_] + 1)
                    s = (hits[own] + smooth * mean) / (true[own] + smooth)
                    mean = (alarms[all_] + 1) / (offered[all_] + 1)
                    r = (alarms[own] + smooth * mean) / (offered[own] + smooth)
                    s, f = min(max(s, 0.001), 0.999), min(max(r * popularity[k], 1e-9), 0.99)
                    logit += w * y[k] * math.log(s / f)
                    logit += w * (1 - y[k]) * math.log((1 - s) / (1 - f))
            after[i, k] = 1 / (1 + math.exp(-logit))
        belief = after
    for labels in reversed(panel.taxonomy.levels):
        for k in labels:
            for p in panel.taxonomy.parents_of(k):
                belief[:, p] = np.maximum(belief[:, p], belief[:, k])
    return belief


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_agrees_with_going_from_answer_to_answer(scoped: bool, weighted: bool) -> None:
    panel = some_panel(scoped=scoped, weighted=weighted)
    with pytest.warns(ConvergenceWarning):
        found = DawidSkene(tol=0, max_iter=4, prior_answers=2.0).consolidate(panel)
    np.testing.assert_allclose(dense(found.score), twin(panel, 4, smooth=2.0), atol=1e-12)


def test_it_settles_at_a_fixed_point() -> None:
    panel = some_panel()
    found = DawidSkene(tol=1e-12, max_iter=5000).consolidate(panel)
    assert found.converged
    rounds = len(found.trace)
    np.testing.assert_allclose(dense(found.score), twin(panel, rounds + 5), atol=1e-9)


GOOD_AND_BAD: list[Row] = [
    (f"p{n}", who, label if who != "bob" else wrong)
    for n, (label, wrong) in enumerate(
        [("monarda", "finch"), ("oak", "monarda"), ("finch", "oak"), ("fuchsia", "finch")] * 4
    )
    for who in ("ann", "bob", "cid")
]


def test_skills_are_counted_under_a_given_belief() -> None:
    # Roots only: ann says plant of p and q, bob of p alone; p is a plant, q is one for a half.
    rows: list[Row] = [("p", "ann", "plant"), ("q", "ann", "plant"), ("p", "bob", "plant")]
    trials = trials_of(panel_of([*rows, ("q", "bob", None)]))
    found = source_skills(trials, np.array([1.0, 0.5]), smooth=1.0)
    # Of 3 expected truths 2.5 are hit in all: the mean is (2.5 + .5) / (3 + 1) = 3/4.
    np.testing.assert_allclose(
        found.sensitivity[:, 0], [(1.5 + 0.75) / (1.5 + 1), (1 + 0.75) / (1.5 + 1)]
    )
    # Plant is said in 3 of 4 answers: (3 + .5) / (4 + 1) = .7; animal and the like .5 / 5 = .1.
    offered = np.array([2 * 0.8 - 1.5 * 0.7] * 2)
    mean = (0.5 + 1) / (offered.sum() + 1)
    np.testing.assert_allclose(
        found.rate[:, 0], [(0.5 + mean) / (offered[0] + 1), mean / (offered[1] + 1)]
    )


def test_a_source_that_errs_is_found_out_and_outvoted_even_by_one() -> None:
    rows: list[Row] = [*GOOD_AND_BAD, ("last", "ann", "fuchsia"), ("last", "bob", "oak")]
    found = DawidSkene().consolidate(panel_of(rows))
    last = dict(zip(GARDEN, dense(found.score)[-1], strict=True))
    assert last["fuchsia"] > 0.9
    assert last["oak"] < 0.1
    trials = trials_of(panel_of(rows))
    ann, bob, _ = source_skills(trials, trials.share, smooth=1.0).sensitivity[:, 2]
    assert ann > bob


def test_an_answer_without_weight_is_as_if_never_given() -> None:
    panel = panel_of([*GOOD_AND_BAD, ("last", "ann", "fuchsia")])
    weight = np.where(panel.instance == panel.instances.positions["last"], 0.0, 1.0)
    found = dense(DawidSkene().consolidate(replace(panel, weight=weight)).score)
    without = dense(DawidSkene().consolidate(panel_of(GOOD_AND_BAD)).score)
    assert not found[-1].any()
    np.testing.assert_allclose(found[:-1], without, atol=1e-12)


def test_who_cannot_speak_about_a_label_does_not_speak_against_it() -> None:
    rows: list[Row] = [*GOOD_AND_BAD, ("last", "ann", "oak"), ("last", "dee", "flower")]
    rows += [(f"p{n}", "dee", "flower") for n in (0, 3, 4, 7)]

    def oak(scope: dict[str, tuple[str, ...]]) -> float:
        found = DawidSkene().consolidate(panel_of(rows, scope=scope))
        return float(dense(found.score)[-1, GARDEN.labels.positions["oak"]])

    assert oak({"dee": ("flower",)}) > oak({"dee": ("flower", "oak")})


def test_a_label_is_never_above_its_parent() -> None:
    child, parent = DAG.parents.nonzero()
    for seed in range(5):
        found = DawidSkene().consolidate(some_panel(seed, scoped=True))
        scores = dense(found.score)
        assert (scores[:, child] <= scores[:, parent]).all()
        assert found.threshold == 0.5


def test_the_trace_tells_change_and_spread_of_every_round() -> None:
    # On a flat panel nothing is raised, so that scores are beliefs.
    panel = panel_of([(i, s, {"monarda": "plant"}.get(str(k), "animal")) for i, s, k in
                      (row[:3] for row in GOOD_AND_BAD)])  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        found = DawidSkene(tol=0, max_iter=3).consolidate(panel)
    rounds = [twin(panel, n) for n in range(4)]
    centred = [u - u.mean(axis=0) for u in rounds]
    for n, step in enumerate(found.trace):
        change = np.linalg.norm(rounds[n + 1] - rounds[n]) / np.linalg.norm(rounds[n])
        assert step.change == pytest.approx(change)
        spread = np.linalg.norm(centred[n + 1]) / np.linalg.norm(centred[0])
        assert step.spread == pytest.approx(spread)


def test_nothing_said_is_settled_at_once() -> None:
    found = DawidSkene().consolidate(panel_of([("p", "ann", None)]))
    assert found.converged
    assert not dense(found.score).any()


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_results_do_not_depend_on_how_instances_are_divided(
    monkeypatch: pytest.MonkeyPatch, scoped: bool, weighted: bool
) -> None:
    panel = some_panel(scoped=scoped, weighted=weighted)
    whole = DawidSkene().consolidate(panel)
    monkeypatch.setattr(parts, "_INSTANCES", 3)
    monkeypatch.setattr(dawid_skene, "CHANCES", 1)
    plan_partitions = DawidSkene().consolidate(panel)
    np.testing.assert_allclose(dense(plan_partitions.score), dense(whole.score), atol=1e-12)
    np.testing.assert_allclose(dense(plan_partitions.specific), dense(whole.specific), atol=1e-12)
    for one, other in zip(plan_partitions.trace, whole.trace, strict=True):
        assert (one.change, one.spread) == pytest.approx((other.change, other.spread), abs=1e-12)


def test_some_instances_are_judged_by_what_all_taught() -> None:
    panel = some_panel()
    fitted = pickle.loads(pickle.dumps(DawidSkene().fit(SinglePartition(panel))))  # noqa: S301
    some = np.array([1, 4, 7])
    np.testing.assert_allclose(
        dense(fitted.predict(panel.select_instances(some)).score),
        dense(fitted.predict(panel).score)[some],
        atol=1e-12,
    )


def test_nothing_of_an_instance_is_kept() -> None:
    few, many = (
        panel_of([(f"{n} {i}", s, k) for n in range(copies) for i, s, k, *_ in GOOD_AND_BAD])
        for copies in (1, 20)
    )
    sizes = []
    for panel in (few, many):
        fitted = DawidSkene().fit(SinglePartition(panel))
        sizes.append(len(pickle.dumps(replace(fitted, trace=()))))
    assert sizes[0] == sizes[1]
