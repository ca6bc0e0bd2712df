"""Tables for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from mhpc.data.disagreement import (
    Disagreement,
    Disagreements,
    Explanation,
    LabelDispute,
    LabelExplanation,
    Stance,
    Voice,
)
from mhpc.data.scorecard import Score, Scorecard, View
from mhpc.data.selection import CandidateScore, Comparison
from mhpc.data.summary import Inspection
from mhpc.system.display import escape_control


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


def shown(text: str) -> str:
    r"""Return text for rich in which brackets stay brackets, and controls are spelt out.

    >>> print(shown("[red]\x1b[2J"))
    \[red]\x1b[2J
    """
    return escape(escape_control(text))


def render_scorecards(
    rows: Sequence[tuple[str, Scorecard]], *, title: str | None = None
) -> RenderableType:
    """Return scorecards as a table, the best value of each metric in bold."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="")
    table.add_column("")
    cards = [card for _, card in rows]
    for score in cards[0]:
        table.add_column(_head(score), justify="right")
    table.add_column("instances", justify="right")
    comparable = len({card.view for card in cards}) == 1 and len(cards) > 1
    for name, card in rows:
        cells = []
        for score in card:
            pick = min if score.better == "lower" else max
            best = pick(other[score.metric] for other in cards)
            text = f"{score.value:.4f}"
            cells.append(f"[bold]{text}[/]" if comparable and score.value == best else text)
        table.add_row(shown(name), *cells, f"{card.instances:,}")
    return table


def render_inspection(facts: Inspection) -> RenderableType:
    """Return what `mhpc inspect` tells."""
    per = facts.answers_per_instance
    total = sum(facts.votes_per_level.values()) or 1
    depth = ", ".join(f"{n / total:.0%} on level {k}" for k, n in facts.votes_per_level.items())
    lines = [
        f"{facts.instances:,} instances, {facts.sources:,} sources, {facts.answers:,} answers, "
        f"{facts.votes:,} votes",
        f"taxonomy: {facts.labels:,} labels in {facts.levels} levels, {facts.labels_used:,} of "
        "them said",
        f"coverage: {facts.coverage:.1%} of all (instance, source) pairs; "
        f"{per['mean']:.1f} answers an instance ({per['min']:.0f} to {per['max']:.0f}), "
        f"{per['single']:.0%} of instances have one",
        f"depth: {depth or 'nothing said'}; {facts.none_answers:,} answers say none of these",
        f"conflict: {_share(facts.conflict)} of instances with several answers have no answer "
        "that holds all the others",
        f"silent sources: {_list(facts.silent_sources)}",
    ]
    if facts.unknown_labels:
        lines.append(f"unknown labels: {len(facts.unknown_labels):,} (see --unknown)")
        lines += [
            f"  {entry.label!r}, {entry.votes:,} votes"
            + (f"; nearest: {', '.join(map(repr, entry.nearest))}" if entry.nearest else "")
            for entry in facts.unknown_labels[:10]
        ]
    else:
        lines.append("unknown labels: none")
    return Group(*(shown(line) for line in lines))


def render_methods(methods: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Return the registry: every method with its parameters, defaults and ranges."""
    parts: list[RenderableType] = []
    for method in methods:
        parts.append(f"[bold]{shown(method['name'])}[/]  {shown(method['summary'])}")
        parts.append(Padding(f"[dim]{shown(method['reference'])}[/]", (0, 0, 0, 2)))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
        for column in ({"no_wrap": True}, {"no_wrap": True}, {}):
            table.add_column(**column)  # type: ignore[arg-type]
        for entry in method["parameters"]:
            default = f"{entry['name']} = {entry['default']}"
            table.add_row(shown(default), shown(entry["range"]), shown(entry["meaning"]))
        parts += [table, ""]
    return Group(*parts[:-1])


def render_comparison(methods: Sequence[Comparison]) -> RenderableType:
    """Return the tables of `mhpc compare`, one a view, the least surprised first."""
    views: tuple[View, ...] = ("closed", "specific")
    titles = {
        "closed": "closed view: labels with their ancestors",
        "specific": "specific view: labels as they were said",
    }
    parts: list[RenderableType] = []
    for view in views:
        ranked = sorted(methods, key=lambda each: _surprise(each, view))
        parts += [titles[view], _compared(ranked, view), ""]
    if all(each.candidate is None for each in methods):
        parts.append("no answer could be hidden and foretold from another: not judged")
    return Group(*parts)


def _compared(methods: Sequence[Comparison], view: View) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column("method")
    measured = [
        [score for card in each.scorecards if card.view == view for score in _usual(card)]
        for each in methods
    ]
    for head in ["surprise ↓", *map(_head, measured[0]), "seconds"]:
        table.add_column(head, justify="right")
    for each, scores in zip(methods, measured, strict=True):
        values = [f"{score.value:.4f}" for score in scores]
        judged, seconds = _judged(each.candidate, view), f"{each.seconds:.2f}"
        table.add_row(shown(each.name), judged, *values, seconds)
    return table


def _usual(card: Scorecard) -> list[Score]:
    """Return one micro-AUC of the two and, once, how the label sets fare."""
    scores = [score for score in card if score.metric != "micro_auc_strict"]
    sets = [score for score in card.sets if score.metric == "hierarchical_f"]
    return scores + sets if card.view == "closed" else scores


def _head(score: Score) -> str:
    return f"{score.metric.replace('_', ' ')} {'↓' if score.better == 'lower' else '↑'}"


def _surprise(compared: Comparison, view: View) -> float:
    return float("inf") if compared.candidate is None else compared.candidate.loss(view)


def _judged(judged: CandidateScore | None, view: View) -> str:
    if judged is None:
        return "-"
    error = judged.standard_error(view)
    return f"{judged.loss(view):.4f}" + ("" if error != error else f" ± {error:.4f}")


def _share(value: float) -> str:
    return "-" if value != value else f"{value:.1%}"


def _list(names: Sequence[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8:,} more"


_MOST_LABELS = 4
"""Labels in dispute that are shown of an instance."""

_STANCES: tuple[tuple[Stance, str], ...] = (
    ("direct", "say it"),
    ("below", "say a label below it"),
    ("vague", "say only an ancestor"),
    ("against", "contradict it"),
)


def render_explanation(found: Explanation) -> RenderableType:
    """Return what `mhpc explain` tells: the answers, then label by label who says what."""
    agreed = "all answers agree on nothing"
    if found.agreed is not None:
        agreed = f"all answers agree on {found.agreed}"
    parts: list[RenderableType] = [
        shown(f"{found.instance}: {agreed}; one more opinion is worth {found.gain:.3f}"),
        _answers(found),
    ]
    for label in found.labels:
        parts += ["", shown(_headline(label)), _voices(label)]
    parts += ["", shown(f"effect: score less score without the answer, {found.effects}")]
    return Group(*parts)


def render_conflicts(found: Disagreements) -> RenderableType:
    """Return what `mhpc conflicts` tells: instances, then pairs of labels."""
    parts: list[RenderableType] = [
        f"{found.disputed:,} instances have a label in dispute; one more opinion is worth most on:",
        _instances(found.instances),
    ]
    if found.confusions:
        parts += ["", "labels that sources confuse most often:", _confusions(found)]
    return Group(*parts)


def _answers(found: Explanation) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for answer in found.answers:
        said = ", ".join(
            label if score == 1 else f"{label} ({score:.2f})" for label, score in answer.said
        )
        table.add_row(shown(f"  {answer.source}"), shown(said or "none of these"))
    return table


def _headline(label: LabelExplanation) -> str:
    state = "chosen" if label.chosen else "not chosen"
    dispute = ", in dispute" if label.disputed else ""
    line = f"{label.name}: {state}{dispute}; score {label.score:.3f}, specific {label.specific:.3f}"
    if label.own is None or label.learnt is None:
        return f"{line}; no source that answered can speak about it"
    return f"{line} = {label.own:.3f} of the answers {_signed(label.learnt)} learnt from elsewhere"


def _voices(label: LabelExplanation) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for stance, words in _STANCES:
        voices = [voice for voice in label.voices if voice.stance == stance]
        if voices:
            table.add_row(f"  {len(voices)} {words}", shown(", ".join(map(_voice, voices))))
    return table


def _voice(voice: Voice) -> str:
    return voice.source if voice.effect is None else f"{voice.source} ({_signed(voice.effect)})"


def _signed(value: float) -> str:
    """Return three digits with a sign, none for what rounds to 0."""
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0"


def _instances(conflicts: tuple[Disagreement, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for head in ("instance", "gain", "answers", "all agree on", "in dispute (for : against)"):
        table.add_column(head, justify="right" if head in ("gain", "answers") else "left")
    for each in conflicts:
        disputed = ", ".join(map(_dispute, each.disputed[:_MOST_LABELS]))
        more = len(each.disputed) - _MOST_LABELS
        table.add_row(
            shown(each.instance), f"{each.gain:.3f}", str(each.answers),
            shown(each.agreed or "-"),
            shown(disputed) + (f" and {more} more" if more > 0 else ""),
        )  # fmt: skip
    return table


def _dispute(each: LabelDispute) -> str:
    return f"{'+' if each.chosen else ''}{each.label} ({each.support}:{each.against})"


def _confusions(found: Disagreements) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for head in ("one", "other", "times", "both under"):
        table.add_column(head, justify="right" if head == "times" else "left")
    for each in found.confusions:
        table.add_row(
            shown(each.one), shown(each.other), f"{each.count:,}", shown(each.under or "-")
        )
    return table
