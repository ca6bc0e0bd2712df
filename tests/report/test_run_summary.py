"""The end of a run in a terminal."""

import io

from rich.console import Console

import mhpc
from mhpc.explanation.sources import count_run
from mhpc.report.run_summary import render_summary
from mhpc.report.summary import summarize
from tests.fixtures.build import GARDEN


def render(votes: mhpc.Votes, *, method: str | None = None) -> str:
    result = mhpc.consolidate(votes, GARDEN, method=method)
    summary = summarize(
        result.consolidation,
        count_run(result.panel, result.consolidation, result.decision),
        result.decision,
        result.sources,
        mhpc.conflicts(result),
        (),
        {},
    )
    out = io.StringIO()
    Console(file=out, width=120, highlight=False).print(render_summary(summary))
    return out.getvalue()


def unanimous_votes(*sources: str) -> mhpc.Votes:
    return mhpc.read_votes(
        {"instance": ["x"] * len(sources), "source": sources, "label": ["oak"] * len(sources)}
    )


def test_a_summary_has_counts_method_and_proportions() -> None:
    text = render(unanimous_votes("ann", "bob"), method="mhpc")
    for fact in ("2 sources", "2 answers", "1 instance.", "9 labels", "3 levels"):
        assert fact in text
    assert "mhpc (lam=10.0" in text
    assert "100 %" in text


def test_a_summary_names_the_instances_to_review_and_the_least_reliable_source() -> None:
    labels = {
        "ann": {"a": "monarda", "b": "oak", "c": "finch", "d": "oak"},
        "bob": {"a": "monarda", "b": "oak", "c": "finch", "d": "oak"},
        "cid": {"a": "oak", "b": "finch", "c": "oak", "d": "oak"},
    }
    rows = [
        {"instance": instance, "source": source, "label": label}
        for source, answers in labels.items()
        for instance, label in answers.items()
    ]
    text = render(mhpc.read_votes(rows), method="majority")
    assert "disagree on 3 instances" in text
    assert "(2 for, 1 against)" in text
    assert "\n  d  " not in text
    assert "Least reliable source: cid" in text


def test_a_summary_notes_that_one_source_would_have_been_enough() -> None:
    rows = [
        {"instance": f"p{n}", "source": source, "label": "monarda" if n % 2 else "oak"}
        for n in range(40)
        for source in ("ann", "bob", "cid")
        if source == "ann" or n % 4
    ]
    text = render(mhpc.read_votes(rows), method="majority")
    assert "ann alone would give the same label sets on 100 % of its instances" in text


def test_a_summary_names_combined_methods_and_the_number_of_sources() -> None:
    text = render(unanimous_votes("ann", "bob"))
    assert "dawid-skene, mhpc-local" in text
    assert "On average, 2 sources" in text


def test_without_disagreement_nothing_is_to_be_reviewed() -> None:
    text = render(unanimous_votes("ann", "bob"), method="majority")
    assert "Review" not in text
    assert "against" not in text


def test_names_are_not_markup() -> None:
    assert "[bold]ann[/bold]" in render(unanimous_votes("[bold]ann[/bold]", "[/]"))


def test_a_long_list_of_sources_is_truncated_with_a_count() -> None:
    assert "… 18 more" in render(unanimous_votes(*(f"s{n}" for n in range(30))))
