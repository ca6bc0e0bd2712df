import numpy as np
import pytest

from mhpc.methods.one_truth.evidence import (
    build_evidence,
    digest_votes,
    extract_specific_votes,
    measure_redundancy,
)
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, Row, panel_of
from tests.methods.one_truth.panels import random_dependence, random_panel

ROWS: list[Row] = [
    ("p", "ann", "monarda"),
    ("p", "bob", "monarda"),
    ("p", "cid", "flower"),
    ("q", "ann", "oak", 0.5),
    ("q", "bob", "finch"),
]


def test_vote_shares_are_the_shares_of_votes_for_each_candidate() -> None:
    evidence = build_evidence(panel_of(ROWS))
    shares = {
        (int(instance), GARDEN.labels[label]): share
        for instance, label, share in zip(
            evidence.candidate_instance,
            evidence.candidate_label,
            evidence.vote_shares(),
            strict=True,
        )
        if share
    }
    assert shares == pytest.approx(
        {(0, "monarda"): 2 / 3, (0, "flower"): 1 / 3, (1, "oak"): 1 / 3, (1, "finch"): 2 / 3}
    )


def test_candidates_are_the_labels_given_and_their_ancestors() -> None:
    evidence = build_evidence(panel_of(ROWS))
    labels = [
        {GARDEN.labels[k] for k in evidence.candidate_label[evidence.candidate_instance == n]}
        for n in range(2)
    ]
    assert labels == [
        {"plant", "flower", "monarda"},
        {"plant", "tree", "oak", "animal", "bird", "finch"},
    ]
    assert len(evidence.vote) == 3 * 3 + 2 * 6


@pytest.mark.parametrize("block_pairs", [1, 7, 1 << 22])
def test_redundancy_is_the_dependence_of_sources_within_an_instance(block_pairs: int) -> None:
    panel = random_panel(GARDEN, 4, sets=True)
    votes, dependence = extract_specific_votes(panel), random_dependence(panel, 1)
    source, instance = votes.source, votes.instance
    expected = np.where(source[:, None] == source, 1, dependence[source][:, source])
    expected = expected * (instance[:, None] == instance)
    redundancy = measure_redundancy(votes, dependence, block_pairs=block_pairs)
    np.testing.assert_array_equal(dense(redundancy), expected)


@pytest.mark.parametrize(
    "change",
    [("p", "ann", "flower"), ("p", "cid", "monarda"), ("p", "ann", "monarda", 0.5)],
    ids=["label", "source", "score"],
)
def test_votes_have_the_same_digest_only_if_they_are_equal(change: Row) -> None:
    answers = [("ann", "monarda"), ("bob", "flower"), ("cid", "oak")]
    equal_rows: list[Row] = [(i, source, label) for i in "qr" for source, label in answers]
    panel = panel_of([*equal_rows, change, ("p", "bob", "flower"), ("p", "dee", "oak")])
    q, r, p = digest_votes(extract_specific_votes(panel), panel, n_sources=4)
    assert q == r != p
