"""Notebooks show short tables and escape their contents."""

from typing import Any
from xml.etree import ElementTree

import pytest

import mhpc
from mhpc.data.taxonomy import build_taxonomy
from mhpc.data.votes import Votes
from tests.fixtures.build import GARDEN

EVIL = "<script>alert('x')</script>"


def examples() -> dict[str, Any]:
    taxonomy = build_taxonomy([EVIL, "b", "c"], [("b", EVIL)])
    votes = mhpc.read_votes({"instance": [EVIL, "2"], "source": [EVIL, "s"], "label": [EVIL, "b"]})
    result = mhpc.consolidate(votes, taxonomy, method="sa")
    card = mhpc.evaluate(result, mhpc.read_truth({"instance": [EVIL], "label": ["b"]}))
    return {
        "taxonomy": taxonomy, "votes": votes, "panel": result.panel, "result": result,
        "consolidation": result.consolidation, "decision": result.decision, "scorecard": card,
    }  # fmt: skip


@pytest.mark.parametrize("name", examples())
def test_the_html_is_well_formed_and_escaped(name: str) -> None:
    html = examples()[name]._repr_html_()
    assert "<script>" not in html
    if name != "scorecard":
        assert "&lt;script&gt;" in html
    assert list(ElementTree.fromstring(f"<div>{html}</div>").iter("table"))  # noqa: S314 - ours


def many_votes() -> Votes:
    return mhpc.read_votes({"instance": range(1000), "source": [1] * 1000, "label": ["oak"] * 1000})


def test_a_long_table_shows_its_first_rows_and_the_number_of_the_others() -> None:
    html = many_votes()._repr_html_()
    assert html.count("<tr>") == 11
    assert "… and 990 more" in html


def test_a_long_text_is_cut() -> None:
    html = build_taxonomy(["x" * 1000, "b"], [])._repr_html_()
    assert "x" * 199 + "…" in html
    assert "x" * 201 not in html


def test_a_taxonomy_shows_paths() -> None:
    assert "<td>monarda</td><td>plant &gt; flower &gt; monarda</td>" in GARDEN._repr_html_()
