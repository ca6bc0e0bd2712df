"""Scorecards and inspections as tables in a terminal."""

import io

from rich.console import Console

import mhpc
from mhpc.data.comparison import CandidateScore, Comparison
from mhpc.data.disagreement import Answer, Explanation
from mhpc.data.scorecard import Score, Scorecard, View
from mhpc.report.terminal import (
    render_comparison,
    render_explanation,
    render_inspection,
    render_scorecards,
)
from tests.fixtures.build import GARDEN


def test_the_best_value_is_bold_only_within_one_view() -> None:
    def make_card(view: View, value: float) -> Scorecard:
        return Scorecard("m", view, 3, (Score("ranking_loss", value, "lower", "pessimistic"),))

    def count_bold(*cards: Scorecard) -> int:
        out = io.StringIO()
        table = render_scorecards([(str(n), card) for n, card in enumerate(cards)])
        Console(file=out, force_terminal=True, color_system="standard").print(table)
        return out.getvalue().count("\x1b[1m")

    assert count_bold(make_card("closed", 0.2), make_card("closed", 0.1)) == 1
    assert count_bold(make_card("closed", 0.2), make_card("specific", 0.1)) == 0


def test_an_inspection_lists_unknown_labels_with_the_nearest_and_silent_sources() -> None:
    votes = mhpc.read_votes({"instance": ["x"], "source": ["s"], "label": ["oka"]})
    out = io.StringIO()
    Console(file=out, width=120).print(render_inspection(mhpc.inspect(votes, GARDEN)))
    text = out.getvalue()
    assert "'oka', 1 vote; nearest: 'oak'" in text
    assert "no known label: s" in text


def test_methods_that_were_measured_on_fewer_instances_are_below_the_others() -> None:
    def make_row(name: str, loss: float, instances: int) -> Comparison:
        losses = (loss, loss)
        return Comparison(
            name, CandidateScore(name, name, {}, losses, losses, instances, 1.0), (), 1.0
        )

    out = io.StringIO()
    rows = [
        make_row("early", 0.1, 500),
        make_row("second", 0.3, 1000),
        make_row("first", 0.2, 1000),
    ]
    Console(file=out, width=120).print(render_comparison(rows))
    closed, _, note = out.getvalue().strip().split("\n\n")
    assert [line.split()[0] for line in closed.splitlines()[2:]] == ["first", "second", "early"]
    assert [line.split()[-2] for line in closed.splitlines()[2:]] == ["1,000", "1,000", "500"]
    assert note


def test_what_is_no_answer_is_not_shown_as_none_of_these() -> None:
    answers = (
        Answer("ann", (("oak", 1.0),), denied=(("finch", 0.25),)),
        Answer("bob", (), abstained=True),
        Answer("cid", ()),
    )
    out = io.StringIO()
    explanation = Explanation("p", 0.0, None, answers, (), "unknown")
    Console(file=out, width=120).print(render_explanation(explanation))
    assert [line[6:].strip() for line in out.getvalue().splitlines()[1:4]] == [
        "oak, not finch (0.25)", "asked, did not know", "none of these",
    ]  # fmt: skip
