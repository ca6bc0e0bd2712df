"""What a truth tells of label sets, as a person reads it in a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table

from mhpc.core.scorecard import Scorecard


def render_sets(card: Scorecard) -> RenderableType:
    """Return the metrics of the label sets, and those of every level; nothing without sets."""
    if not card.sets:
        return Group()
    return Group("", "label sets, with their ancestors", _metrics(card), "", _levels(card))


def _metrics(card: Scorecard) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    for score in card.sets:
        arrow = "↓" if score.better == "lower" else "↑"
        table.add_row(f"{score.metric.replace('_', ' ')} {arrow}", f"{score.value:.4f}")
    return table


def _levels(card: Scorecard) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for head in ("level", "true labels", "given", "precision ↑", "recall ↑", "f ↑"):
        table.add_column(head, justify="right")
    for each in card.levels:
        shares = (f"{value:.4f}" for value in (each.precision, each.recall, each.f))
        table.add_row(str(each.level), f"{each.true:,}", f"{each.given:,}", *shares)
    return table
