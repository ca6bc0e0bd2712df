import numpy as np
import pytest

import mhpc
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth
from mhpc.errors import ParameterError, UnknownLabelError
from mhpc.numerics.arrays import IntArray
from mhpc.simulation.sources import make_vague
from tests.fixtures.build import DAG, GARDEN


def truth_of(label: str, *, times: int = 1, taxonomy: Taxonomy = GARDEN) -> Truth:
    names = [f"x{n}" for n in range(times)]
    assert label in taxonomy
    return mhpc.read_truth({"instance": names, "label": [label] * times})


def labels_of(votes: mhpc.Votes) -> list[str | None]:
    return [votes.labels[k] if k >= 0 else None for k in votes.label]


def test_perfect_sources_give_the_true_labels() -> None:
    votes = mhpc.simulate(
        truth_of("monarda", times=3), GARDEN, [mhpc.Profile(1, 1), mhpc.Profile(1, 1)], seed=0
    )
    assert labels_of(votes) == ["monarda"] * 6
    assert votes.sources.ids == ("s1", "s2")


def test_the_vaguest_source_gives_no_label() -> None:
    votes = mhpc.simulate(truth_of("monarda", times=5), GARDEN, [mhpc.Profile(0, 1)], seed=0)
    assert labels_of(votes) == [None] * 5


def test_a_noisy_source_gives_siblings_and_the_label_itself() -> None:
    votes = mhpc.simulate(truth_of("monarda", times=50), GARDEN, [mhpc.Profile(1, 0)], seed=0)
    assert set(labels_of(votes)) == {"monarda", "fuchsia"}
    votes = mhpc.simulate(truth_of("plant", times=50), GARDEN, [mhpc.Profile(1, 0)], seed=0)
    assert set(labels_of(votes)) == {"plant", "animal"}


def test_a_label_stays_with_probability_alpha_to_the_power_of_its_level() -> None:
    count = 20_000
    votes = mhpc.simulate(truth_of("monarda", times=count), GARDEN, [mhpc.Profile(0.8, 1)], seed=1)
    share = {
        label: labels_of(votes).count(label) / count for label in ("monarda", "flower", "plant")
    }
    # Four standard deviations of a share of 20,000 draws are below 0.015.
    assert share["monarda"] == pytest.approx(0.8**3, abs=0.015)
    assert share["flower"] == pytest.approx(0.8**2 - 0.8**3, abs=0.015)
    assert share["plant"] == pytest.approx(0.8 - 0.8**2, abs=0.015)


def move_by_loop(label: int, p: float, alpha: float, taxonomy: Taxonomy) -> int:
    """Lines 5 to 9 of Algorithm 2."""
    while label != -1 and p > alpha ** taxonomy.depth[label]:
        above = taxonomy.parents_of(label)
        label = int(above[0]) if len(above) else -1
    return label


def test_moving_all_labels_at_once_agrees_with_the_loop_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    labels: IntArray = rng.integers(0, len(GARDEN), 200)
    p, alpha = rng.random(200), rng.random(200)
    vague = make_vague(labels.copy(), p, alpha, GARDEN, rng)
    drawn = zip(labels.tolist(), p.tolist(), alpha.tolist(), strict=True)
    expected = [move_by_loop(label, p_V, alpha_V, GARDEN) for label, p_V, alpha_V in drawn]
    assert vague.tolist() == expected


def test_on_a_dag_a_label_moves_to_each_of_its_parents() -> None:
    votes = mhpc.simulate(
        truth_of("d", times=400, taxonomy=DAG), DAG, [mhpc.Profile(0.8, 1)], seed=0
    )
    assert {"d", "c", "b"} <= set(labels_of(votes))


def test_coverage_leaves_instances_unanswered() -> None:
    profiles = [mhpc.Profile(1, 1, coverage=0.25)]
    votes = mhpc.simulate(truth_of("oak", times=2000), GARDEN, profiles, seed=0)
    assert len(votes) / 2000 == pytest.approx(0.25, abs=0.04)
    assert len(votes.instances) == 2000


def test_the_seed_determines_the_votes() -> None:
    def votes(seed: int) -> list[str | None]:
        return labels_of(
            mhpc.simulate(truth_of("oak", times=40), GARDEN, [mhpc.Profile()], seed=seed)
        )

    assert votes(3) == votes(3)
    assert votes(3) != votes(4)


def test_an_answer_with_a_label_is_not_none_of_these() -> None:
    truth = mhpc.read_truth({"instance": ["x"] * 2, "label": ["oak", "finch"]})
    for seed in range(20):
        votes = mhpc.simulate(truth, GARDEN, [mhpc.Profile(0.5, 1)], seed=seed)
        assert labels_of(votes) == [None] or None not in labels_of(votes)


def test_invalid_profiles_and_truths_are_refused() -> None:
    with pytest.raises(ParameterError, match="accuracy = 2"):
        mhpc.Profile(accuracy=2)
    with pytest.raises(ParameterError, match="at least one source"):
        mhpc.simulate(truth_of("oak"), GARDEN, [], seed=0)
    truth = mhpc.read_truth({"instance": ["x"], "label": ["oka"]})
    with pytest.raises(UnknownLabelError, match="'oka'.*'oak'"):
        mhpc.simulate(truth, GARDEN, [mhpc.Profile()], seed=0)
