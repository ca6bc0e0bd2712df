import numpy as np

from mhpc.methods.one_truth.evidence import build_evidence
from tests.fixtures.build import GARDEN, Row, panel_of

ROWS: list[Row] = [
    ("p", "ann", "monarda"),
    ("p", "bob", "monarda"),
    ("p", "cid", "flower"),
    ("q", "ann", "oak", 0.5),
    ("q", "bob", "finch"),
]


def test_the_first_belief_is_the_share_of_statements_that_name_a_candidate() -> None:
    heard = build_evidence(panel_of(ROWS), None, None)
    shares = {
        (int(owner), GARDEN.labels[label]): share
        for owner, label, share in zip(heard.owner, heard.label, heard.shares(), strict=True)
        if share
    }
    assert {at: round(float(share), 12) for at, share in shares.items()} == {
        (0, "monarda"): round(2 / 3, 12),
        (0, "flower"): round(1 / 3, 12),
        (1, "oak"): round(0.5 / 1.5, 12),
        (1, "finch"): round(1 / 1.5, 12),
    }


def test_candidates_are_what_was_said_and_what_is_above_it() -> None:
    heard = build_evidence(panel_of(ROWS), None, None)
    possible = [{GARDEN.labels[k] for k in heard.label[heard.owner == n]} for n in range(2)]
    assert possible == [
        {"plant", "flower", "monarda"},
        {"plant", "tree", "oak", "animal", "bird", "finch"},
    ]
    assert np.array_equal(heard.possible.indices, heard.label)
