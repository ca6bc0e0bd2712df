"""Scorecards and inspections as tables in a terminal."""

import io

from rich.console import Console

import mhpc
from mhpc.data.scorecard import Score, Scorecard, View
from mhpc.report.terminal import render_inspection, render_scorecards
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
