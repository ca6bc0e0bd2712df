import io

from rich.console import Console, RenderableType

import mhpc
from mhpc.data.scorecard import Score, Scorecard, View
from mhpc.explanation.sources import count_run
from mhpc.report.run_summary import render_summary
from mhpc.report.summary import summarize
from mhpc.report.terminal import render_inspection, render_scorecards
from tests.fixtures.build import GARDEN


def text(renderable: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=120, highlight=False).print(renderable)
    return out.getvalue()


def votes(*sources: str) -> mhpc.Votes:
    return mhpc.read_votes(
        {"instance": ["x"] * len(sources), "source": sources, "label": ["oak"] * len(sources)}
    )


def summary_of(*sources: str, method: str | None = None) -> str:
    return ending(votes(*sources), method=method)


def ending(given: mhpc.Votes, *, method: str | None = None) -> str:
    result = mhpc.consolidate(given, GARDEN, method=method)
    summary = summarize(
        result.consolidation,
        count_run(result.panel, result.consolidation, result.decision),
        result.decision,
        result.sources,
        mhpc.conflicts(result),
        (),
        {},
    )
    return text(render_summary(summary))


def test_a_summary_tells_what_was_done_and_how_sources_fare() -> None:
    shown = summary_of("ann", "bob", method="mhpc")
    assert "1 instances, 2 sources, 2 answers; 9 labels in 3 levels" in shown
    assert "method mhpc: lam=10.0" in shown
    assert "100.0%" in shown


def test_a_summary_names_what_to_look_at_first_and_the_weakest_source() -> None:
    said = {
        "ann": {"a": "monarda", "b": "oak", "c": "finch", "d": "oak"},
        "bob": {"a": "monarda", "b": "oak", "c": "finch", "d": "oak"},
        "cid": {"a": "oak", "b": "finch", "c": "oak", "d": "oak"},
    }
    rows = [
        {"instance": instance, "source": source, "label": label}
        for source, answers in said.items()
        for instance, label in answers.items()
    ]
    shown = ending(mhpc.read_votes(rows), method="majority")
    assert "in dispute: 3 instances" in shown
    assert "(2 for, 1 against)" in shown
    assert "  d: " not in shown
    assert "weakest source: cid" in shown


def test_where_all_agree_a_summary_says_so() -> None:
    assert "nobody contradicts another" in summary_of("ann", "bob", method="majority")


def test_names_are_data_and_not_markup() -> None:
    assert "[bold]ann[/bold]" in summary_of("[bold]ann[/bold]", "[/]")


def test_a_long_list_of_sources_is_cut_and_says_so() -> None:
    shown = summary_of(*(f"s{n}" for n in range(30)))
    assert "… 18 more" in shown


def test_the_best_of_several_is_marked_only_within_one_view() -> None:
    def card(view: View, value: float) -> Scorecard:
        return Scorecard("m", view, 3, (Score("ranking_loss", value, "lower", "pessimistic"),))

    def bold(*cards: Scorecard) -> int:
        out = io.StringIO()
        table = render_scorecards([(str(n), c) for n, c in enumerate(cards)])
        Console(file=out, force_terminal=True, color_system="standard").print(table)
        return out.getvalue().count("\x1b[1m")

    assert bold(card("closed", 0.2), card("closed", 0.1)) == 1
    assert bold(card("closed", 0.2), card("specific", 0.1)) == 0


def test_an_inspection_names_unknown_labels_and_the_nearest() -> None:
    strange = mhpc.read_votes({"instance": ["x"], "source": ["s"], "label": ["oka"]})
    shown = text(render_inspection(mhpc.inspect(strange, GARDEN)))
    assert "'oka', 1 votes; nearest: 'oak'" in shown
    assert "silent sources: s" in shown
