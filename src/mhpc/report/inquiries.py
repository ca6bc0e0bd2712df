"""Explanations and conflicts as a person reads them in a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table

from mhpc.core.conflicts import Conflict, Conflicts, Dispute
from mhpc.core.explanation import Explanation, LabelExplanation, Stance, Voice
from mhpc.report.markup import shown

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


def render_conflicts(found: Conflicts) -> RenderableType:
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


def _instances(conflicts: tuple[Conflict, ...]) -> Table:
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


def _dispute(each: Dispute) -> str:
    return f"{'+' if each.chosen else ''}{each.label} ({each.support}:{each.against})"


def _confusions(found: Conflicts) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for head in ("one", "other", "times", "both under"):
        table.add_column(head, justify="right" if head == "times" else "left")
    for each in found.confusions:
        table.add_row(
            shown(each.one), shown(each.other), f"{each.count:,}", shown(each.under or "-")
        )
    return table
