"""Votes of several tables, joined."""

import numpy as np

from mhpc.data.index import Index
from mhpc.data.votes import ABSTAINED, Truth, Votes, join_votes
from mhpc.encoding.panel import encode
from mhpc.numerics.arrays import dense
from tests.fixtures.build import GARDEN, Row, panel_of, votes_of

FIRST: list[Row] = [("p", "ann", "oak"), ("q", "bob", None), ("q", "ann", "finch", 0.4)]
SECOND: list[Row] = [("q", "bob", "monarda"), ("r", "cid", "oak"), ("p", "ann", "tree")]


def test_joined_votes_are_those_of_one_table() -> None:
    joined = join_votes([votes_of(FIRST), votes_of(SECOND)])
    assert joined.instances.ids == ("p", "q", "r")
    assert joined.sources.ids == ("ann", "bob", "cid")
    panel, expected = encode(joined, GARDEN), panel_of([*FIRST, *SECOND])
    np.testing.assert_array_equal(dense(panel.raw), dense(expected.raw))
    np.testing.assert_array_equal(panel.source, expected.source)


def test_one_table_is_returned_as_it_is() -> None:
    votes = votes_of(FIRST)
    assert join_votes([votes]) is votes


def test_a_vote_of_both_tables_counts_once() -> None:
    panel = encode(join_votes([votes_of(FIRST), votes_of(FIRST)]), GARDEN)
    np.testing.assert_array_equal(dense(panel.raw), dense(panel_of(FIRST).raw))


def test_scopes_gold_labels_and_negative_votes_are_joined() -> None:
    def make(source: str, label: int, *, negative: bool) -> Votes:
        one = np.zeros(1, dtype=np.int64)
        names = Index(("oak",))
        return Votes(
            Index(("p",)), Index((source,)), names, one, one, np.array([label]), np.ones(1),
            scope={source: ("oak",)}, negative=np.ones(1, dtype=bool) if negative else None,
            gold=Truth(Index((source,)), names, one, one) if negative else None,
        )  # fmt: skip

    joined = join_votes([make("ann", ABSTAINED, negative=False), make("bob", 0, negative=True)])
    assert joined.scope == {"ann": ("oak",), "bob": ("oak",)}
    assert joined.negative is not None
    assert joined.negative.tolist() == [False, True]
    assert joined.label.tolist() == [ABSTAINED, 0]
    assert joined.gold is not None
    assert joined.gold.instances.ids == ("bob",)
