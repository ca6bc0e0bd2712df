"""Votes and taxonomies survive writing and reading in every format, with any ids."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Votes
from mhpc.encoding.panel import encode
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.votes import read_votes
from mhpc.write.formats import Content
from mhpc.write.tables import write_file, write_taxonomy, write_votes
from tests.fixtures.build import GARDEN
from tests.fixtures.build import votes_of as build_votes
from tests.fixtures.labelled_scores import SURE, THREE, UNSURE

EXACT = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz")
"""The ends of names of files that hold every id as it is."""

IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
"""Ids of all kinds."""

FEW = settings(max_examples=10)
"""Each example opens files and databases, and holds many ids."""

ROWS = st.lists(
    st.tuples(IDS, IDS, st.none() | IDS, st.floats(0, 1)),
    min_size=1, max_size=40, unique_by=lambda row: row[:3],
)  # fmt: skip


def votes_of(rows: list[tuple[str, str, str | None, float]]) -> Votes:
    names = ("instance", "source", "label", "score")
    # An answer is either "none of these" or labels, never both.
    empty = {row[:2] for row in rows if row[2] is None}
    consistent = [row for row in rows if row[2] is None or row[:2] not in empty]
    return read_votes(dict(zip(names, zip(*consistent, strict=True), strict=True)))


def votes_are_equal(left: Votes, right: Votes) -> bool:
    return all(
        getattr(left, axis).ids == getattr(right, axis).ids
        for axis in ("instances", "sources", "labels")
    ) and all(
        getattr(left, column).tolist() == getattr(right, column).tolist()
        for column in ("instance", "source", "label", "score")
    )


def write_and_read(
    write: Callable[..., None], read: Callable[[Path], Any], subject: Any, end: str
) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"file.{end}"
        write(path, subject)
        return read(path)


@pytest.mark.parametrize("end", EXACT)
@FEW
@given(rows=ROWS)
def test_votes_survive_every_format(
    end: str, rows: list[tuple[str, str, str | None, float]]
) -> None:
    votes = votes_of(rows)
    assert votes_are_equal(write_and_read(write_votes, read_votes, votes, end), votes)


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Draw named labels, each with up to two parents among the earlier ones."""
    labels = draw(st.lists(IDS, min_size=2, max_size=30, unique=True))
    edges = [
        (label, parent)
        for position, label in enumerate(labels)
        for parent in draw(
            st.lists(st.sampled_from(labels[:position] or [""]), max_size=2, unique=True)
        )
        if parent
    ]
    return build_taxonomy(labels, edges, names=[draw(IDS) for _ in labels])


@pytest.mark.parametrize("end", EXACT)
@FEW
@given(taxonomy=taxonomies())
def test_taxonomies_survive_every_format(end: str, taxonomy: Taxonomy) -> None:
    restored = write_and_read(write_taxonomy, read_taxonomy, taxonomy, end)
    assert restored.labels.ids == taxonomy.labels.ids
    assert restored.names == taxonomy.names
    assert (restored.parents != taxonomy.parents).nnz == 0


@pytest.mark.parametrize(
    ("format_", "content"), [("label-studio", "labels"), ("argilla", "labels"), ("cafa", "scores")]
)
def test_results_exported_to_a_tool_are_read_as_a_source(
    tmp_path: Path, format_: str, content: Content
) -> None:
    write_file(tmp_path / "file", THREE, content, format=format_)
    panel = encode(read_votes(tmp_path / "file", format=format_), GARDEN)
    labels_read = {
        panel.instances[i]: {GARDEN.labels[k] for k in panel.augmented[[answer]].indices}
        for answer, i in enumerate(panel.instance)
    }
    assert {i: labels for i, labels in labels_read.items() if labels} == {
        "1": set(SURE),
        "2": set(UNSURE),
    }
    assert len(panel.sources) == 1


@pytest.mark.parametrize("end", EXACT)
def test_negative_votes_and_abstentions_survive_every_format(end: str) -> None:
    votes = build_votes(
        [("p", "ann", "oak", 0.5), ("p", "bob", None)],
        denied=[("p", "cid", "oak", 0.25), ("q", "cid", "finch")],
        abstained=[("q", "ann")],
    )
    again = write_and_read(write_votes, read_votes, votes, end)
    assert again.negative.tolist() == votes.negative.tolist()  # type: ignore[union-attr]
    assert again.score.tolist() == votes.score.tolist()
    texts = [None if k < 0 else again.labels[k] for k in again.label]
    assert texts == ["oak", None, "abstain", "oak", "finch"]
