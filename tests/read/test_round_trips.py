"""Votes and taxonomies survive a round trip through CSV."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mhpc.data.taxonomy import build_taxonomy
from mhpc.data.votes import Votes
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes
from mhpc.write.tables import write_taxonomy, write_votes

# An id may contain anything that a person can type; line ends within a cell are quoted.
IDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1
).map(str.strip).filter(bool)  # fmt: skip
SCORES = st.floats(0, 1).map(lambda score: round(score, 6))
VOTES = st.dictionaries(st.tuples(IDS, IDS, IDS), SCORES, min_size=1, max_size=8)


@given(VOTES)
def test_votes_survive_a_round_trip(scores: dict[tuple[str, str, str], float]) -> None:
    columns = zip(*scores, strict=True)
    table = dict(zip(("instance", "source", "label"), columns, strict=True))
    votes = read_votes({**table, "score": list(scores.values())})
    with TemporaryDirectory() as folder:
        write_votes(Path(folder) / "votes.csv", votes)
        restored = read_votes(Path(folder) / "votes.csv")
    assert rows(restored) == rows(votes) == scores


@given(st.lists(IDS, min_size=2, max_size=8, unique=True), st.data())
def test_taxonomies_survive_a_round_trip(ids: list[str], data: st.DataObject) -> None:
    edges = [
        (ids[position], ids[data.draw(st.integers(0, position - 1))])
        for position in range(1, len(ids))
        if data.draw(st.booleans())
    ]
    taxonomy = build_taxonomy(ids, edges)
    with TemporaryDirectory() as folder:
        write_taxonomy(Path(folder) / "taxonomy.csv", taxonomy)
        restored = read_taxonomy(Path(folder) / "taxonomy.csv", format="table")
    assert restored.labels.ids == taxonomy.labels.ids
    assert np.array_equal(restored.parents.toarray(), taxonomy.parents.toarray())


def rows(votes: Votes) -> dict[tuple[str, str, str], float]:
    cells = zip(votes.instance, votes.source, votes.label, votes.score, strict=True)
    return {
        (votes.instances[i], votes.sources[s], votes.labels[k]): float(score)
        for i, s, k, score in cells
    }
