"""Everything that the HTML report shows, as JSON; docs/report.md describes every field.

Labels and sources are given by their positions in the lists of both, which keeps the page small.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mhpc.data.accuracy import Accuracy
from mhpc.data.combination import Combination
from mhpc.data.contributions import SourceContributions
from mhpc.data.decision import Decision
from mhpc.data.disagreement import ConfusedPair, Explanation, LabelExplanation
from mhpc.data.panel import Panel, SinglePartition
from mhpc.data.profiles import Proportion, SourceProfile
from mhpc.data.scores import Consolidation
from mhpc.data.summary import RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.errors import pluralize
from mhpc.explanation.agreement import PairwiseAgreement, find_confused_pairs
from mhpc.explanation.disagreement import find_disputed
from mhpc.explanation.effects import complete_scores
from mhpc.explanation.queries import (
    MAX_CONFUSED_PAIRS,
    compare_sample,
    explain_instances,
)
from mhpc.explanation.sources import count_run
from mhpc.methods.scope import with_inferred_scope
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.report.accuracy import accuracy_facts, prediction_facts
from mhpc.report.contributions import contributions_facts
from mhpc.report.file_names import file_name, list_paths, remove_folders, shorten_settings
from mhpc.report.findings import FindingsInput, format_exclusive, make_findings
from mhpc.report.review_data import find_gains, identify_votes, list_instances
from mhpc.report.sentences import (
    describe_data,
    describe_decision,
    describe_dependence,
    describe_disagreement,
    describe_method,
    describe_panel,
)
from mhpc.report.summary import to_json
from mhpc.settings import RunSettings

FORMAT = 3

_FROM_RUN = ("trace", "scorecards", "versions", "inputs")
"""Fields that are copied from ``run.json``."""


@dataclass(frozen=True)
class PageLimits:
    """How much a page shows, so that it stays small.

    Attributes
    ----------
    instances : int
        Instances that are listed.
    explained : int
        Instances to review that are explained.
    labels : int
        Labels that are explained, of all these instances together; the first is explained anyway.
    sources : int
        Sources whose agreement is shown.
    """

    instances: int = 10_000
    explained: int = 200
    labels: int = 100_000
    sources: int = 60


@dataclass(frozen=True, eq=False)
class PageData:
    """What a page is made of.

    Attributes
    ----------
    document : mapping
        The ``run.json`` of the run.
    combination : Combination or None
        The methods that were combined, if the method combines others.
    taxonomy : Taxonomy
        The labels.
    counts : RunCounts
        The counts of the run.
    sources : tuple of SourceProfile
        One profile per source.
    agreement : mapping
        The agreement of the sources with the most answers.
    confusions : tuple of ConfusedPair
        Confused labels, the largest excess over chance first.
    compared_instances : int
        The number of instances on which agreement and confusions were counted.
    explanations : tuple of Explanation
        The disputed instances with the largest expected gain.
    instances : mapping
        The instances that are listed, as columns.
    review : mapping
        What a reviewer draws from, as `list_instances` returns it.
    run : str
        What identifies the votes.
    findings : mapping
        What `make_findings` returned.
    """

    document: Mapping[str, Any]
    combination: Combination | None
    taxonomy: Taxonomy
    counts: RunCounts
    sources: tuple[SourceProfile, ...]
    agreement: Mapping[str, Any]
    confusions: tuple[ConfusedPair, ...]
    compared_instances: int
    explanations: tuple[Explanation, ...]
    instances: Mapping[str, Sequence[Any]]
    review: Mapping[str, Any]
    run: str
    findings: Mapping[str, Any]


def make_page_data(
    panel: Panel,
    consolidation: Consolidation,
    decision: Decision,
    sources: tuple[SourceProfile, ...],
    document: Mapping[str, Any],
    *,
    limits: PageLimits | None = None,
    accuracy: Accuracy | None = None,
    contributions: SourceContributions | None = None,
) -> dict[str, Any]:
    """Return the facts that the page of a result shows; `document` is its ``run.json``."""
    limits = limits or PageLimits()
    consolidation = complete_scores(panel, consolidation)
    panel = with_inferred_scope(panel)
    counts = count_run(panel, consolidation, decision, limit=limits.instances)
    agreement = compare_sample(SinglePartition(panel), panel.scope)
    ranked = panel.instances.locate(counts.disagreements.ids)
    first = _select_explained(panel, decision, ranked[: limits.explained], limits.labels)
    instances, review = list_instances(panel, consolidation, decision, limit=limits.instances)
    order = np.argsort(first)
    explanations = explain_instances(panel, consolidation, decision, first[order])
    confusions = find_confused_pairs(agreement, panel.taxonomy, limit=MAX_CONFUSED_PAIRS)
    findings_input = FindingsInput(
        panel.instances, find_gains(consolidation, decision), find_disputed(panel),
        decision.reason, panel.taxonomy, sources, confusions, counts.exclusive,
    )  # fmt: skip
    facts = format_page_data(
        PageData(
            document=document,
            combination=consolidation.combination,
            taxonomy=panel.taxonomy,
            counts=counts,
            sources=sources,
            agreement=_agreement(agreement, counts.by_source[0][: len(sources)], limits.sources),
            confusions=confusions,
            compared_instances=agreement.instances,
            explanations=tuple(explanations[position] for position in np.argsort(order)),
            instances=instances,
            review=review,
            run=identify_votes(panel),
            findings=make_findings(findings_input, panel.instances.locate(instances["id"])),
        )
    )
    predictions = prediction_facts(
        consolidation, decision, panel.gold, panel.instances.locate(facts["instances"]["id"])
    )
    worth = None if contributions is None else contributions_facts(contributions, sources)
    return {
        **facts,
        "accuracy": accuracy_facts(accuracy),
        "predictions": predictions,
        "contributions": to_json(worth),
    }


def _select_explained(
    panel: Panel, decision: Decision, ranked: IntArray, max_labels: int
) -> IntArray:
    """Return the first instances that have no more labels than are explained on a page.

    An instance may have thousands: on a DAG, all that is above the labels that sources gave.
    """
    order = np.argsort(ranked)
    part = panel.select_instances(ranked[order])
    labels = part.sum_answers(part.augmented) + decision.reason[ranked[order]]
    n_labels = np.empty(len(ranked), dtype=np.int64)
    n_labels[order] = np.diff(labels.tocsr().indptr)
    return ranked[: max(int((np.cumsum(n_labels) <= max_labels).sum()), 1)]


def _agreement(pairs: PairwiseAgreement, answers: FloatArray, limit: int) -> dict[str, Any]:
    """Return how often the sources with the most answers agree; with itself each always does."""
    sources = np.sort(np.argsort(-answers, kind="stable")[:limit])
    common, agreed = (
        (half + half.T).tocsr()[sources][:, sources].toarray()
        for half in (pairs.common, pairs.agreed)
    )
    share = np.full(common.shape, np.nan)
    np.divide(agreed, common, out=share, where=common > 0)
    diagonal, own_answers = np.diag_indices(len(sources)), answers[sources]
    common[diagonal] = own_answers
    share[diagonal] = np.where(own_answers > 0, 1.0, np.nan)
    return {
        "sources": sources.tolist(),
        "share": share.round(4).tolist(),
        "common": common.astype(int).tolist(),
    }


def format_page_data(data: PageData) -> dict[str, Any]:
    """Return the facts in the JSON form that the page reads; nan becomes null."""
    document, taxonomy = data.document, data.taxonomy
    positions = _Positions(
        {profile.source: m for m, profile in enumerate(data.sources)}, taxonomy.labels.positions
    )
    paths = list_paths(document["settings"])
    facts: dict[str, Any] = to_json(
        {
            "format": FORMAT,
            "run": data.run,
            "title": _title(document["settings"]["votes"]),
            "findings": data.findings,
            "overview": remove_folders(_overview(data), paths),
            "taxonomy": _taxonomy(taxonomy, data.counts),
            "sources": [positions.source_profile(profile) for profile in data.sources],
            "agreement": data.agreement,
            "conflicts": [positions.disagreement(each) for each in data.explanations],
            "confusions": [positions.confused_pair(pair) for pair in data.confusions],
            "instances": data.instances,
            "review": data.review,
            "exclusive": format_exclusive(data.counts.exclusive),
            "combination": data.combination,
            **{name: remove_folders(document[name], paths) for name in _FROM_RUN},
            "settings": (settings := shorten_settings(document["settings"])),
            "command": format_command(settings),
            "shown": _shown(data),
        }
    )
    return facts


def _overview(data: PageData) -> dict[str, Any]:
    document = data.document
    copied = ("counts", "decision", "method", "parameters", "converged", "seconds")
    sentences = [
        describe_data(document["counts"]),
        describe_method(document["method"], data.combination),
        *describe_panel(data.combination),
        describe_decision(document["decision"]),
        describe_disagreement(data.counts.disagreements.count, data.counts.instances),
        *describe_dependence(data.sources),
    ]
    overview = {"sentences": sentences, **{name: document[name] for name in copied}}
    # Runs of earlier versions did not keep what was said about their input, nor what is technical.
    notes = [*document["notes"], *document.get("input_notes", ())]
    technical = set(document.get("technical_notes", ()))
    overview["notes"] = [note for note in notes if note not in technical]
    overview["technical_notes"] = [note for note in notes if note in technical]
    return overview


def _taxonomy(taxonomy: Taxonomy, counts: RunCounts) -> dict[str, Any]:
    names = ("votes", "supported", "chosen", "disputed")
    parent, ends = taxonomy.parents.indices.tolist(), taxonomy.parents.indptr.tolist()
    return {
        "id": taxonomy.labels.ids,
        "name": taxonomy.names,
        "parents": [parent[start:stop] for start, stop in pairwise(ends)],
        **({"exclusive": taxonomy.exclusive} if taxonomy.exclusive else {}),
        **{
            name: row.astype(int).tolist() for name, row in zip(names, counts.by_label, strict=True)
        },
    }


@dataclass(frozen=True, eq=False)
class _Positions:
    """The positions of sources and labels, by which facts about them are given."""

    source: Mapping[str, int]
    label: Mapping[str, int]

    def source_profile(self, profile: SourceProfile) -> dict[str, Any]:
        return {
            "source": profile.source,
            "answers": profile.answers,
            "coverage": profile.coverage,
            "mean_depth": profile.mean_depth,
            "accurate": _proportion(profile.accurate),
            "vague": _proportion(profile.vague),
            "wrong": _proportion(profile.wrong),
            "independence": profile.independence,
            "nearest_source": self.source.get(profile.nearest_source),
            "dependence": profile.dependence,
            "relation": profile.relation,
            "rejected": profile.rejected,
            "weaknesses": [
                {
                    "label": self.label[weakness.label],
                    "given": weakness.given,
                    "wrong": weakness.wrong,
                }
                for weakness in profile.weaknesses
            ],
        }

    def disagreement(self, explanation: Explanation) -> dict[str, Any]:
        return {
            "instance": explanation.instance,
            "gain": round(explanation.gain, 4),
            "answers": [
                {
                    "source": self.source[answer.source],
                    "labels": [[self.label[label], score] for label, score in answer.labels],
                }
                for answer in explanation.answers
                # Gold is encoded as an answer, but of no source.
                if answer.source in self.source
                # The page would show what is no answer as "none of these".
                and (answer.labels or not (answer.denied or answer.abstained))
            ],
            "agreed": self._label_or_none(explanation.agreed),
            "labels": [self._label_explanation(label) for label in explanation.labels],
        }

    def _label_explanation(self, label: LabelExplanation) -> dict[str, Any]:
        return {
            "label": self.label[label.label],
            "score": round(label.score, 4),
            "specific": round(label.specific, 4),
            "chosen": label.chosen,
            "disputed": label.disputed,
            "vote_share": None if label.vote_share is None else round(label.vote_share, 4),
            "stances": [
                {
                    "source": self.source[stance.source],
                    "stance": stance.stance,
                    "effect": None if stance.effect is None else round(stance.effect, 4),
                }
                for stance in label.stances
                if stance.source in self.source
            ],
        }

    def confused_pair(self, pair: ConfusedPair) -> dict[str, Any]:
        return {
            "first": self.label[pair.first],
            "second": self.label[pair.second],
            "count": pair.count,
            "under": self._label_or_none(pair.under),
        }

    def _label_or_none(self, label: str | None) -> int | None:
        return None if label is None else self.label[label]


def _proportion(proportion: Proportion) -> list[float] | None:
    if proportion.value != proportion.value:
        return None
    return [round(value, 4) for value in proportion]


_FLAGS = {"parameters": "--set", "columns": "--column"}
_DEFAULTS = {name: field.default for name, field in RunSettings.model_fields.items()}


def _list_paths(votes: str | Sequence[str]) -> list[str]:
    return [votes] if isinstance(votes, str) else list(votes)


def _title(votes: str | Sequence[str]) -> str:
    """Return the names of the inputs without their folders."""
    names = list(map(file_name, _list_paths(votes)))
    return names[0] if len(names) == 1 else f"{names[0]} and {pluralize(len(names) - 1, 'other')}"


def format_command(settings: Mapping[str, Any]) -> str:
    """Return the command ``mhpc consolidate VOTES …`` of a run, for a shell, without defaults."""
    words = ["mhpc", "consolidate", *_list_paths(settings["votes"])]
    for name, value in settings.items():
        if name == "votes" or value in (None, {}, (), [], _DEFAULTS.get(name)):
            continue
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            for key, entry in value.items():
                words += [flag, f"{key}={'none' if entry is None else entry}"]
        elif isinstance(value, tuple | list):
            for entry in value:
                words += [flag, str(entry)]
        elif not (settings.get("apply") and name == "taxonomy"):
            words += [flag, str(value)]
    return shlex.join([*words, "-o", "OUT/"])


def _shown(data: PageData) -> dict[str, Any]:
    """Return how much of everything the page shows, and how that was selected."""
    counts, n_labels, n_sources = data.counts, len(data.taxonomy), len(data.sources)
    n_listed, n_explained = len(data.instances["id"]), len(data.explanations)
    n_agreement = len(data.agreement["sources"])
    notes = []
    if n_listed < counts.instances:
        notes.append(
            f"This page lists {n_listed:,} of {pluralize(counts.instances, 'instance')}: those "
            "with the largest expected gain of a review, and a random sample"
        )
    if n_explained < counts.disagreements.candidates:
        notes.append(
            f"This page explains {n_explained:,} of "
            f"{pluralize(counts.disagreements.candidates, 'instance')} to review, those with the "
            "largest expected gain"
        )
    if n_agreement < n_sources:
        notes.append(f"Agreement is shown for the {n_agreement} sources with the most answers")
    if data.compared_instances < counts.instances:
        notes.append(
            "Agreement and confused labels are counted on a random sample of "
            f"{pluralize(data.compared_instances, 'instance')}"
        )
    abstentions = sum(source.abstentions for source in data.sources)
    denials = sum(source.denials for source in data.sources)
    if abstentions or denials:
        notes.append(
            f"Answers are listed without {pluralize(abstentions, 'abstention')} and "
            f"{pluralize(denials, 'negative vote')}, which mhpc explain shows"
        )
    return {
        "instances": [n_listed, counts.instances],
        "conflicts": [n_explained, counts.disagreements.candidates],
        "sources": [n_sources, n_sources],
        "labels": [n_labels, n_labels],
        "note": ". ".join(notes) or None,
    }
