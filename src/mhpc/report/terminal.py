"""Tables and lists for people who read results in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from mhpc.data.comparison import CandidateScore, Comparison
from mhpc.data.disagreement import (
    Answer,
    Disagreements,
    Explanation,
    LabelDispute,
    LabelExplanation,
    SourceStance,
    Stance,
)
from mhpc.data.scorecard import Score, Scorecard, View
from mhpc.data.summary import Inspection
from mhpc.errors import pluralize
from mhpc.report.sentences import format_percent, name_label
from mhpc.system.display import escape_control

_MAX_LABELS = 4
"""Disputed labels that are shown of an instance."""

_MAX_LISTED = 10
"""Labels that are listed because they are not in the taxonomy as they are written."""

_MAX_MATCHED = 5
"""How many of them may be labels that are understood."""

_STANCES: tuple[tuple[Stance, str, str], ...] = (
    ("direct", "gives it", "give it"),
    ("below", "gives a descendant", "give a descendant"),
    ("vague", "gives only an ancestor", "give only an ancestor"),
    ("against", "contradicts it", "contradict it"),
)
"""Each stance, in the words for one source and for several."""


def escape_text(text: str) -> str:
    r"""Escape brackets, which rich would take for markup, and control characters.

    >>> print(escape_text("[red]\x1b[2J"))
    \[red]\x1b[2J
    """
    return escape(escape_control(text))


def render_inspection(inspection: Inspection) -> RenderableType:
    """Render what `mhpc inspect` found."""
    lines = [
        f"{pluralize(inspection.sources, 'source')} gave "
        f"{pluralize(inspection.answers, 'answer')} with {pluralize(inspection.votes, 'vote')} "
        f"about {pluralize(inspection.instances, 'instance')}",
        f"Taxonomy: {pluralize(inspection.labels, 'label')} on "
        f"{pluralize(inspection.levels, 'level')}; {inspection.labels_used:,} of them used",
        f"Coverage: sources answered {format_percent(inspection.coverage)} of all (instance, "
        f"source) pairs; {_answers_per_instance(inspection)}",
        _depth(inspection),
        *_unanswered(inspection),
        _disagreement(inspection),
        f"Sources that gave no known label: {_list_names(inspection.silent_sources)}",
        *_matched_labels(inspection),
        *_unknown_labels(inspection),
    ]
    return Group(*(escape_text(line) for line in lines))


def _answers_per_instance(inspection: Inspection) -> str:
    answers = inspection.answers_per_instance
    return (
        f"{answers['mean']:.1f} answers per instance (from {answers['min']:.0f} to "
        f"{answers['max']:.0f}); {format_percent(answers['single'])} of the instances have only one"
    )


def _depth(inspection: Inspection) -> str:
    total = sum(inspection.votes_per_level.values()) or 1
    levels = ", ".join(
        f"{format_percent(votes / total)} on level {level}"
        for level, votes in inspection.votes_per_level.items()
    )
    none_answers = pluralize(inspection.none_answers, "answer")
    verb = "says" if inspection.none_answers == 1 else "say"
    return f'Votes by level: {levels or "none"}; {none_answers} {verb} "none of these"'


def _unanswered(inspection: Inspection) -> Iterable[str]:
    if inspection.abstentions:
        unknown = pluralize(inspection.unknown_answers, "time")
        some = f" ({unknown} with nothing but unknown labels)" if inspection.unknown_answers else ""
        yield f"Asked, did not know: {pluralize(inspection.abstentions, 'time')}{some}"
    if inspection.denials:
        yield f"Labels that do not apply: {pluralize(inspection.denials, 'negative vote')}"


def _disagreement(inspection: Inspection) -> str:
    if inspection.disagreement != inspection.disagreement:
        return "No instance was answered by several sources"
    share = format_percent(inspection.disagreement)
    instances = pluralize(inspection.disputed, "instance")
    return f"Sources disagree on {instances}, {share} of those that several of them answered"


def _list_names(names: Sequence[str], limit: int = 8) -> str:
    if not names:
        return "none"
    text = ", ".join(names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit:,} more"


def _matched_labels(inspection: Inspection) -> Iterable[str]:
    matched = inspection.matched_labels
    if matched:
        yield f"Labels that are written differently, but understood: {len(matched):,}"
        for label in matched[:_MAX_MATCHED]:
            is_label = label.how not in ("abstain", "none")
            count = pluralize(label.votes, "vote" if is_label else "time")
            yield f"  {label.label!r}, {count}: taken as {label.to!r} ({label.how})"


def _unknown_labels(inspection: Inspection) -> Iterable[str]:
    unknown = inspection.unknown_labels
    if not unknown:
        yield "Labels that are not in the taxonomy: none"
        return
    yield f"Labels that are not in the taxonomy: {len(unknown):,} (see --unknown)"
    shown = min(len(inspection.matched_labels), _MAX_MATCHED)
    for label in unknown[: _MAX_LISTED - shown]:
        nearest = f"; nearest: {', '.join(map(repr, label.nearest))}" if label.nearest else ""
        ancestor = f"; known ancestor: {label.to!r}" if label.how == "ancestor" else ""
        yield f"  {label.label!r}, {pluralize(label.votes, 'vote')}{nearest}{ancestor}"


def render_methods(methods: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Render every method with its parameters, defaults and ranges."""
    parts: list[RenderableType] = []
    for method in methods:
        parts.append(f"[bold]{escape_text(method['name'])}[/]  {escape_text(method['summary'])}")
        parts.append(Padding(f"[dim]{escape_text(method['reference'])}[/]", (0, 0, 0, 2)))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
        for column in ({"no_wrap": True}, {"no_wrap": True}, {}):
            table.add_column(**column)  # type: ignore[arg-type]
        for parameter in method["parameters"]:
            table.add_row(
                escape_text(f"{parameter['name']} = {parameter['default']}"),
                escape_text(parameter["range"]),
                escape_text(parameter["meaning"]),
            )
        parts += [table, ""]
    return Group(*parts[:-1])


def render_scorecards(
    rows: Sequence[tuple[str, Scorecard]], *, title: str | None = None
) -> RenderableType:
    """Render scorecards as a table, the best value of each metric in bold."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="")
    table.add_column("")
    cards = [card for _, card in rows]
    for score in cards[0]:
        table.add_column(_metric_heading(score), justify="right")
    table.add_column("instances", justify="right")
    # Somebody may have edited run.json, so that scorecards have different metrics.
    kinds = {(card.view, *(score.metric for score in card)) for card in cards}
    comparable = len(kinds) == 1 and len(cards) > 1
    for name, card in rows:
        cells = []
        for score in card:
            pick = min if score.better == "lower" else max
            best = pick(candidate[score.metric] for candidate in cards) if comparable else None
            text = f"{score.value:.4f}"
            cells.append(f"[bold]{text}[/]" if score.value == best else text)
        table.add_row(escape_text(name), *cells, f"{card.instances:,}")
    return table


def render_label_sets(card: Scorecard) -> RenderableType:
    """Render the metrics of the label sets, overall and by level; nothing if there are no sets."""
    if not card.sets:
        return Group()
    overall = Table(box=None, pad_edge=False, show_header=False)
    overall.add_column("")
    overall.add_column("", justify="right")
    for score in card.sets:
        overall.add_row(_metric_heading(score), f"{score.value:.4f}")
    by_level = Table(box=None, pad_edge=False, header_style="")
    for heading in ("level", "true labels", "labels given", "precision ↑", "recall ↑", "F ↑"):
        by_level.add_column(heading, justify="right")
    for level in card.levels:
        shares = (f"{value:.4f}" for value in (level.precision, level.recall, level.f))
        by_level.add_row(str(level.level), f"{level.true:,}", f"{level.given:,}", *shares)
    return Group("", "Label sets (labels with their ancestors)", overall, "", by_level)


def _metric_heading(score: Score) -> str:
    words = {"auc": "AUC", "f": "F"}
    name = " ".join(words.get(word, word) for word in score.metric.split("_"))
    return f"{name} {'↓' if score.better == 'lower' else '↑'}"


def format_score(score: CandidateScore) -> str:
    """Return how well a method predicts held-out answers, as a line."""
    closed, specific = score.loss("closed"), score.loss("specific")
    return (
        f"{score.name}: log-rank loss {closed:.4f} (closed), {specific:.4f} (specific) on "
        f"{pluralize(score.instances, 'instance')} in {score.seconds:.1f} s"
    )


def render_comparison(comparisons: Sequence[Comparison]) -> RenderableType:
    """Render the tables of `mhpc compare`, one per view, the method with the lowest loss first.

    Methods that were measured on fewer instances are below the others: they were clearly worse.
    """
    views: tuple[View, ...] = ("closed", "specific")
    titles = {
        "closed": "Closed view: labels with their ancestors",
        "specific": "Specific view: labels as the sources gave them",
    }
    parts: list[RenderableType] = []
    for view in views:
        ranked = sorted(comparisons, key=lambda comparison: _rank(comparison, view))
        parts += [titles[view], _comparison_table(ranked, view), ""]
    if len({each.candidate.instances for each in comparisons if each.candidate is not None}) > 1:
        parts.append(
            "Methods that were clearly worse on a sample were not measured on more instances"
        )
    if all(comparison.candidate is None for comparison in comparisons):
        parts.append("No cross-validation: no answer can be predicted from another source's answer")
    return Group(*parts)


def _comparison_table(comparisons: Sequence[Comparison], view: View) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column("method")
    scores = [
        [score for card in comparison.scorecards if card.view == view for score in _main(card)]
        for comparison in comparisons
    ]
    for heading in ["log-rank loss ↓", *map(_metric_heading, scores[0]), "instances", "seconds"]:
        table.add_column(heading, justify="right")
    for comparison, row in zip(comparisons, scores, strict=True):
        table.add_row(
            escape_text(comparison.name),
            _format_loss(comparison.candidate, view),
            *(f"{score.value:.4f}" for score in row),
            "-" if comparison.candidate is None else f"{comparison.candidate.instances:,}",
            f"{comparison.seconds:.2f}",
        )
    return table


def _main(card: Scorecard) -> list[Score]:
    """Return one of the two micro-AUCs and, in the closed view, the F of the label sets."""
    scores = [score for score in card if score.metric != "micro_auc_strict"]
    sets = [score for score in card.sets if score.metric == "hierarchical_f"]
    return scores + sets if card.view == "closed" else scores


def _rank(comparison: Comparison, view: View) -> tuple[int, float]:
    candidate = comparison.candidate
    return (0, 0.0) if candidate is None else (-candidate.instances, candidate.loss(view))


def _format_loss(candidate: CandidateScore | None, view: View) -> str:
    if candidate is None:
        return "-"
    error = candidate.standard_error(view)
    return f"{candidate.loss(view):.4f}" + ("" if error != error else f" ± {error:.4f}")


def render_explanation(explanation: Explanation) -> RenderableType:
    """Render what `mhpc explain` found: the answers, then each label with the sources' stances."""
    agreed = "the answers have no label in common"
    if explanation.agreed is not None:
        agreed = f"all answers agree on {name_label(explanation.agreed, explanation.names)}"
    gain = f"expected gain of a review {explanation.gain:.3f}"
    parts: list[RenderableType] = [
        escape_text(f"{explanation.instance}: {agreed}; {gain}"),
        _answer_table(explanation),
    ]
    for label in explanation.labels:
        parts += ["", escape_text(_label_heading(label, explanation.names)), _stance_table(label)]
    parts += ["", escape_text(f"Effect of an answer (in parentheses): {explanation.effects}")]
    return Group(*parts)


def _answer_table(explanation: Explanation) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for answer in explanation.answers:
        text = _format_answer(answer, explanation.names)
        table.add_row(escape_text(f"  {answer.source}"), escape_text(text))
    return table


def _format_answer(answer: Answer, names: Mapping[str, str]) -> str:
    if answer.abstained:
        return "asked, did not know"
    marked = [("", *vote) for vote in answer.labels] + [("not ", *vote) for vote in answer.denied]
    votes = (
        f"{mark}{name_label(label, names)}" + ("" if score == 1 else f" ({score:.2f})")
        for mark, label, score in marked
    )
    return ", ".join(votes) or "none of these"


def _label_heading(label: LabelExplanation, names: Mapping[str, str]) -> str:
    # The path of names ends in the label itself, by which it is known where it has no other id.
    known_as = f"{label.label} ({label.name})" if label.label in names else label.name
    state = "chosen" if label.chosen else "not chosen"
    dispute = ", disputed" if label.disputed else ""
    heading = (
        f"{known_as}: {state}{dispute}; score {label.score:.3f}, specific {label.specific:.3f}"
    )
    if label.vote_share is None or label.adjustment is None:
        return f"{heading}; no source that answered has it in its scope"
    return (
        f"{heading}\n  score = {label.vote_share:.3f} (share of the votes) "
        f"{_format_signed(label.adjustment)} (model)"
    )


def _stance_table(label: LabelExplanation) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for stance, singular, plural in _STANCES:
        stances = [each for each in label.stances if each.stance == stance]
        if stances:
            words = singular if len(stances) == 1 else plural
            table.add_row(
                f"  {len(stances)} {words}", escape_text(", ".join(map(_format_stance, stances)))
            )
    return table


def _format_stance(stance: SourceStance) -> str:
    if stance.effect is None:
        return stance.source
    return f"{stance.source} ({_format_signed(stance.effect)})"


def _format_signed(value: float) -> str:
    """Return three decimals with a sign; without one for what rounds to 0."""
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0"


def render_conflicts(disagreements: Disagreements) -> RenderableType:
    """Render what `mhpc conflicts` found: instances, then pairs of labels."""
    if disagreements.has_random:
        return Group(
            "Review these, and settle all that are drawn at random:",
            _instance_table(disagreements),
        )
    if not disagreements.instances:
        return disagreements.heading
    parts: list[RenderableType] = [
        f"{disagreements.heading} first (largest expected gain of a review):",
        _instance_table(disagreements),
    ]
    if disagreements.confusions:
        parts += [
            "",
            "Most confused labels, given how common they are:",
            _confusion_table(disagreements),
        ]
    return Group(*parts)


def _instance_table(disagreements: Disagreements) -> Table:
    names = disagreements.names
    table = Table(box=None, pad_edge=False, header_style="")
    is_mixed = disagreements.has_random
    for heading in (
        "instance",
        *(("drawn",) if is_mixed else ()),
        "gain",
        "answers",
        "all agree on",
        "disputed (for:against, + chosen)",
    ):
        table.add_column(heading, justify="right" if heading in ("gain", "answers") else "left")
    for disagreement in disagreements.instances:
        shown = disagreement.disputed[:_MAX_LABELS]
        disputed = ", ".join(_format_dispute(dispute, names) for dispute in shown)
        more = len(disagreement.disputed) - _MAX_LABELS
        table.add_row(
            escape_text(disagreement.instance),
            *((disagreement.drawn,) if is_mixed else ()),
            f"{disagreement.gain:.3f}",
            str(disagreement.answers),
            escape_text(_label_or_dash(disagreement.agreed, names)),
            (escape_text(disputed) or "none, but uncertain")
            + (f" and {more} more" if more > 0 else ""),
        )
    return table


def _label_or_dash(label: str | None, names: Mapping[str, str]) -> str:
    return "-" if label is None else name_label(label, names)


def _format_dispute(dispute: LabelDispute, names: Mapping[str, str]) -> str:
    chosen = "+" if dispute.chosen else ""
    return f"{chosen}{name_label(dispute.label, names)} ({dispute.support}:{dispute.against})"


def _confusion_table(disagreements: Disagreements) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for heading in ("label", "other label", "times", "both under"):
        table.add_column(heading, justify="right" if heading == "times" else "left")
    for pair in disagreements.confusions:
        table.add_row(
            escape_text(name_label(pair.first, disagreements.names)),
            escape_text(name_label(pair.second, disagreements.names)),
            f"{pair.count:,}",
            escape_text(_label_or_dash(pair.under, disagreements.names)),
        )
    return table
