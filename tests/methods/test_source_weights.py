from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import mhpc
from mhpc.data.index import Index
from mhpc.data.panel import Panel
from mhpc.data.profiles import SourceDependence, independent_sources
from mhpc.data.votes import Scope
from mhpc.methods import source_weights as weighing
from mhpc.methods.source_weights import (
    agreement,
    answer_independence,
    panel_dependence,
    weight_answers,
)
from mhpc.numerics.arrays import FloatArray, dense
from tests.fixtures.build import DAG, GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("p1", "ann", "monarda"), ("p1", "bob", "flower"), ("p1", "cid", "fuchsia", 0.5),
    ("p2", "ann", "oak"), ("p2", "bob", "tree"), ("p2", "bob", "finch"), ("p2", "dee", "oak"),
    ("p3", "cid", "bird"), ("p3", "ann", None),
    ("p4", "bob", "monarda"), ("p4", "cid", "monarda"),
    ("p5", "ann", "finch"), ("p5", "bob", "finch"), ("p5", "cid", "oak"),
]  # fmt: skip
"""dee and cid have nothing in common."""


def agreement_by_loops(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Correlations, a pair of sources and a label at a time."""
    said = dense(panel.augmented)
    answer = {
        (m, i): said[at] for at, (m, i) in enumerate(zip(panel.source, panel.instance, strict=True))
    }
    M, N, K = len(panel.sources), len(panel.instances), len(panel.taxonomy)
    can = np.ones((M, K)) if panel.scope is None else dense(panel.scope)
    own = [np.array([answer[m, i] for i in range(N) if (m, i) in answer]) for m in range(M)]
    R, common = np.eye(M), np.zeros((M, M))
    for m in range(M):
        for n in range(M):
            both = [i for i in range(N) if (m, i) in answer and (n, i) in answer]
            common[m, n] = len(both)
            if m == n or not both:
                continue
            covariance = variance_m = variance_n = 0.0
            for k in range(K):
                if can[m, k] and can[n, k]:
                    together = np.mean([answer[m, i][k] * answer[n, i][k] for i in both])
                    covariance += together - own[m][:, k].mean() * own[n][:, k].mean()
                    variance_m += own[m][:, k].var()
                    variance_n += own[n][:, k].var()
            scale = np.sqrt(max(variance_m * variance_n, 1e-12))
            R[m, n] = np.clip(covariance / scale, -1, 1)
    return R, common


@pytest.mark.parametrize("scope", ["all", {"bob": ("monarda", "tree", "finch"), "dee": ("oak",)}])
def test_agreement_is_the_correlation_of_two_sources_over_common_instances(scope: Scope) -> None:
    panel = panel_of(ROWS, scope=scope)
    expected = agreement_by_loops(panel)
    for found, slow in zip(agreement(panel), expected, strict=True):
        np.testing.assert_allclose(found, slow, atol=1e-12)
    assert expected[1][panel.sources.positions["dee"], panel.sources.positions["cid"]] == 0


def test_a_copy_agrees_fully_with_the_original() -> None:
    panel = simulated()
    R, common = agreement(with_copy(panel, "s2"))
    assert R[1, 5] == pytest.approx(1.0)
    assert common[1, 5] == panel.answers_per_source[1]


PROFILES = [
    mhpc.Profile(0.9, 0.9), mhpc.Profile(0.8, 0.5), mhpc.Profile(0.7, 0.4),
    mhpc.Profile(0.8, 0.7), mhpc.Profile(0.9, 0.6),
]  # fmt: skip


def simulated(*, coverage: float = 1.0, seed: int = 0) -> Panel:
    garden = mhpc.load_garden()
    profiles = [replace(profile, coverage=coverage) for profile in PROFILES]
    votes = mhpc.simulate(garden.truth, garden.taxonomy, profiles, seed=seed)
    return mhpc.encode(votes, garden.taxonomy)


def with_copy(panel: Panel, source: str) -> Panel:
    """The panel with one more source, last, that says what another says."""
    copied = np.flatnonzero(panel.source == panel.sources.positions[source])
    row = np.concatenate([np.arange(len(panel.source)), copied])
    who = np.concatenate([panel.source, np.full(len(copied), len(panel.sources))])
    order = np.lexsort((who, panel.instance[row]))
    return replace(
        panel, sources=Index((*panel.sources, f"copy of {source}")), source=who[order],
        instance=panel.instance[row][order], raw=panel.raw[row[order]],
        augmented=panel.augmented[row[order]],
    )  # fmt: skip


def mean(panel: Panel) -> FloatArray:
    return dense(panel.mean("augmented", "answers"))


def test_copies_have_half_a_voice_each_and_the_others_a_whole_one() -> None:
    kin = panel_dependence(with_copy(simulated(), "s2"))
    np.testing.assert_allclose(kin.independence[[1, 5]], 0.5, atol=0.05)
    assert kin.independence[[0, 2, 3, 4]].min() > 0.85


def test_independent_sources_are_not_punished() -> None:
    kin = panel_dependence(simulated())
    assert kin.independence.min() > 0.95


def test_skill_follows_how_noisy_and_vague_a_source_is() -> None:
    skill = panel_dependence(simulated()).skill
    assert skill.argmax() == 0
    assert skill.argmin() == 2


@pytest.mark.parametrize("source", ["s1", "s2", "s3"])
def test_with_a_copy_the_mean_is_nearly_what_it_is_without(source: str) -> None:
    panel = simulated()
    copied = with_copy(panel, source)
    unmoved = np.abs(mean(weight_answers(copied)) - mean(weight_answers(panel))).mean()
    moved = np.abs(mean(copied) - mean(panel)).mean()
    assert unmoved < 0.25 * moved


@pytest.mark.parametrize(
    "method",
    [
        mhpc.MHPC(
            lam=1, sigma=None, n_neighbors=5, votes="each", max_iter=0, source_weights="learned"
        ),
        mhpc.CrossSource(source_weights="learned"),
        mhpc.Channel(source_weights="learned"),
    ],
)
def test_with_a_copy_methods_conclude_nearly_what_they_do_without(
    method: mhpc.MHPC | mhpc.CrossSource | mhpc.Channel,
) -> None:
    panel, equal = simulated(), method.model_copy(update={"sources": "equal"})
    copied = with_copy(panel, "s2")

    def moved(each: mhpc.MHPC | mhpc.CrossSource | mhpc.Channel) -> float:
        there, here = each.consolidate(copied).score, each.consolidate(panel).score
        return float(np.abs(dense(there) - dense(here)).mean())

    assert moved(method) < 0.6 * moved(equal)


def test_a_source_has_its_whole_voice_where_its_kin_is_silent() -> None:
    panel = panel_of([("x", "s", "a"), ("x", "t", "a"), ("x", "u", "b"), ("y", "s", "a")], DAG)
    alike = np.zeros((3, 3))
    alike[0, 1] = alike[1, 0] = 1.0
    kin = SourceDependence(np.ones(3), sparse.csr_array(alike))
    assert answer_independence(panel, kin).tolist() == [0.5, 0.5, 1.0, 1.0]


@pytest.mark.parametrize("cells", [1, 20, 1 << 22])
def test_voices_are_one_over_the_kin_that_answered(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weighing, "_CELLS", cells)
    panel = panel_of(ROWS, instances=["lonely"])
    half = np.triu(np.random.default_rng(0).random((4, 4)), 1)
    alike = half + half.T
    expected = [
        1 / (1 + sum(alike[m, n] for n in panel.source[panel.instance == i]))
        for m, i in zip(panel.source, panel.instance, strict=True)
    ]
    np.testing.assert_allclose(
        answer_independence(panel, SourceDependence(np.ones(4), sparse.csr_array(alike))), expected
    )


def test_an_answer_weighs_its_voice_times_skill_over_mean_skill() -> None:
    panel = panel_of(ROWS)
    kin = SourceDependence(np.array([0.2, 0.4, 0.6, 0.8]), sparse.csr_array(np.zeros((4, 4))))
    weight = weight_answers(panel, kin).weight
    assert weight is not None
    np.testing.assert_allclose(weight, kin.skill[panel.source] / 0.5)


def test_strangers_of_one_skill_weigh_one_each() -> None:
    panel = panel_of(ROWS)
    weight = weight_answers(panel, independent_sources(4)).weight
    assert weight is not None
    assert weight.tolist() == [1.0] * len(panel.source)


def test_who_was_not_asked_changes_nobodys_skill() -> None:
    panel = simulated(coverage=0.6)
    joined = replace(panel, sources=Index((*panel.sources, "late")))
    here, there = panel_dependence(panel), panel_dependence(joined)
    assert there.skill[:5].tolist() == here.skill.tolist()
    assert dense(there.matrix[:5, :5]).tolist() == dense(here.matrix).tolist()
    assert weight_answers(joined).weight.tolist() == weight_answers(panel).weight.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "rows",
    [
        [("x", "s", "d")],
        [("x", "s", None), ("x", "t", None), ("x", "u", None)],
        [("x", "s", "d"), ("y", "t", "d"), ("z", "u", "d")],
        [("x", "s", "d"), ("x", "t", "d"), ("x", "u", "d")],
    ],
    ids=["one source", "nothing said", "nothing in common", "one instance"],
)
def test_where_nothing_can_be_told_all_weigh_the_same(rows: list[Row]) -> None:
    weight = weight_answers(panel_of(rows, DAG)).weight
    assert weight is not None
    np.testing.assert_allclose(weight, 1.0)


def test_too_many_sources_to_look_at_pairs_are_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "MOST_SOURCES", 4)
    kin = panel_dependence(simulated())
    assert kin.independence.tolist() == kin.skill.tolist() == [1.0] * 5


def test_the_panel_that_is_heard_keeps_its_votes() -> None:
    panel = panel_of(ROWS)
    assert weight_answers(panel).raw is panel.raw
    assert weight_answers(panel).taxonomy is GARDEN
    assert panel.weight is None


def test_of_many_instances_as_many_are_looked_at_as_tell_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    panel = with_copy(simulated(), "s2")
    everything = panel_dependence(panel)
    monkeypatch.setattr(weighing, "_COMMON", 60)
    some = panel_dependence(panel)
    assert not np.array_equal(some.skill, everything.skill)
    np.testing.assert_allclose(some.skill, everything.skill, atol=0.2)
    assert dense(some.matrix).argmax() == dense(everything.matrix).argmax()


def test_a_source_that_never_meets_another_has_the_mean_skill_and_its_own_voice() -> None:
    apart: list[Row] = [(f"alone{i}", "hermit", k) for i, k in enumerate(("oak", "finch", "oak"))]
    kin = panel_dependence(panel_of([*ROWS, *apart]))
    others, hermit = kin.skill[:-1], kin.skill[-1]
    assert others.min() <= hermit <= others.max()
    assert kin.matrix.toarray()[-1].tolist() == [0.0] * len(kin.skill)
