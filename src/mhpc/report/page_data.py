"""Everything the HTML page shows, as JSON.

Labels and sources are given by their positions in the lists of both, which keeps it small.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mhpc.data.disagreement import ConfusedPair, DisagreementRanking, Explanation, LabelExplanation
from mhpc.data.hierarchy import deepest
from mhpc.data.panel import SinglePartition, hash_ids
from mhpc.data.profiles import SourceProfile
from mhpc.data.scorecard import View
from mhpc.data.selection import CandidateScore
from mhpc.data.summary import RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.explanation.agreement import PairwiseAgreement, find_confused_pairs
from mhpc.explanation.queries import (
    MAX_CONFUSED_PAIRS,
    compare_sample,
    explain_some,
)
from mhpc.explanation.sources import count_run
from mhpc.methods.scope import with_inferred_scope
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.numerics.sparse import values_at
from mhpc.report.sentences import sentences
from mhpc.report.summary import plain
from mhpc.result import Result
from mhpc.settings import RunSettings


def comparison(choice: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the candidates of a choice, as ``run.json`` has it: mean and error of each view."""
    return [_candidate(each, choice) for each in choice["candidates"]] if choice else []


def _candidate(each: Mapping[str, Any], choice: Mapping[str, Any]) -> dict[str, Any]:
    judged = CandidateScore(**each)
    return {
        "name": judged.name,
        "closed": _loss(judged, "closed"),
        "specific": _loss(judged, "specific"),
        "seconds": judged.seconds,
        "chosen": _chosen(judged.name, choice),
    }


def _loss(judged: CandidateScore, view: View) -> list[float]:
    return [judged.loss(view), judged.standard_error(view)]


def _chosen(name: str, choice: Mapping[str, Any]) -> str | None:
    score, specific = name in choice["closed"], name in choice["specific"]
    if score and specific:
        return "both"
    return "score" if score else "specific" if specific else None


_FLAGS = {"parameters": "--set", "columns": "--column"}
_USUAL = {name: field.default for name, field in RunSettings.model_fields.items()}
"""Settings as they come."""


def command(settings: Mapping[str, Any]) -> str:
    """Return ``mhpc consolidate VOTES …`` as a shell takes it; what is as it comes is left out."""
    words = ["mhpc", "consolidate", settings["votes"]]
    for name, value in settings.items():
        if name == "votes" or value in (None, {}, _USUAL.get(name)):
            continue
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words += [
                word for key, each in value.items() for word in (flag, f"{key}={_text(each)}")
            ]
        elif not (settings.get("apply") and name == "taxonomy"):
            words += [flag, _text(value)]
    return shlex.join([*words, "-o", "OUT/"])


def _text(value: Any) -> str:
    return "none" if value is None else str(value)


FORMAT = 1

_COPIED = ("trace", "scorecards", "settings", "versions", "inputs")


@dataclass(frozen=True, eq=False)
class Agreement:
    """How often sources agree.

    Attributes
    ----------
    sources : int array, (m,)
        Positions of those that are told of.
    share, common : float arrays, (m, m)
        Of their common instances, those on which neither contradicts the other, nan where there are
        none; and how many they have, of those that were looked at.
    """

    sources: IntArray
    share: FloatArray
    common: FloatArray


@dataclass(frozen=True, eq=False)
class InstanceTable:
    """Some instances, a line each: ids, deepest chosen labels, the lowest of their scores, gain."""

    ids: tuple[str, ...]
    labels: tuple[tuple[int, ...], ...]
    score: FloatArray
    gain: FloatArray


@dataclass(frozen=True, eq=False)
class PageData:
    """What a report is made of.

    Attributes
    ----------
    document : mapping
        The run's ``run.json``.
    taxonomy : Taxonomy
        Its labels.
    found : Tally
        What was counted.
    sources : tuple of SourceFacts
        All of them.
    agreement : Agreement
        Of the sources with most answers.
    confusions : tuple of Confusion
        The most frequent first.
    looked_at : int
        On how many instances agreement and confusions were counted.
    explained : tuple of Explanation
        The most contested instances, the first first.
    listed : Listed
        The instances to list.
    """

    document: Mapping[str, Any]
    taxonomy: Taxonomy
    found: RunCounts
    sources: tuple[SourceProfile, ...]
    agreement: Agreement
    confusions: tuple[ConfusedPair, ...]
    looked_at: int
    explained: tuple[Explanation, ...]
    listed: InstanceTable


def facts(material: PageData) -> dict[str, Any]:
    """Return the document; nan is null, all else what JSON knows."""
    document, taxonomy = material.document, material.taxonomy
    place = {facts.source: at for at, facts in enumerate(material.sources)}
    at = taxonomy.labels.positions
    found: dict[str, Any] = {
        "format": FORMAT,
        "title": str(document["settings"]["votes"]).replace("\\", "/").rsplit("/", 1)[-1],
        "overview": _overview(material),
        "taxonomy": _taxonomy(taxonomy, material.found),
        "sources": [_source(each, place, at) for each in material.sources],
        "agreement": {
            "sources": material.agreement.sources.tolist(),
            "share": material.agreement.share.round(4).tolist(),
            "common": material.agreement.common.astype(int).tolist(),
        },
        "conflicts": [_conflict(each, place, at) for each in material.explained],
        "confusions": [
            {
                "one": at[each.one], "other": at[each.other], "count": each.count,
                "under": None if each.under is None else at[each.under],
            }
            for each in material.confusions
        ],
        "instances": {
            "id": material.listed.ids,
            "labels": material.listed.labels,
            "score": material.listed.score.round(4).tolist(),
            "gain": material.listed.gain.round(4).tolist(),
        },
        "comparison": comparison(document.get("selection")),
        **{name: document[name] for name in _COPIED},
        "command": command(document["settings"]),
        "shown": _shown(material),
    }  # fmt: skip
    plainly: dict[str, Any] = plain(found)
    return plainly


def _overview(material: PageData) -> dict[str, Any]:
    document = material.document
    copied = ("counts", "decision", "method", "parameters", "converged", "notes", "seconds")
    told = sentences(
        document, material.taxonomy, material.sources, material.found, material.confusions,
        material.explained,
    )  # fmt: skip
    return {"sentences": told, **{name: document[name] for name in copied}}


def _taxonomy(taxonomy: Taxonomy, found: RunCounts) -> dict[str, Any]:
    names = ("votes", "said", "chosen", "disputed")
    return {
        "id": taxonomy.labels.ids,
        "name": taxonomy.names,
        "parents": [taxonomy.parents_of(label).tolist() for label in range(len(taxonomy))],
        **{name: row.astype(int).tolist() for name, row in zip(names, found.by_label, strict=True)},
    }


def _source(each: SourceProfile, place: Mapping[str, int], at: Mapping[str, int]) -> dict[str, Any]:
    shares = {"accurate": each.accurate, "vague": each.vague, "wrong": each.wrong}
    said = {
        name: None if share.value != share.value else [round(end, 4) for end in share]
        for name, share in shares.items()
    }
    return {
        "source": each.source, "answers": each.answers, "coverage": each.coverage,
        "mean_depth": each.mean_depth, **said, "independence": each.independence,
        "nearest_source": place.get(each.nearest_source), "dependence": each.dependence, "copy": each.copy,
        "weaknesses": [
            {"label": at[err.label], "said": err.said, "wrong": err.wrong} for err in each.weaknesses
        ],
    }  # fmt: skip


def _conflict(each: Explanation, place: Mapping[str, int], at: Mapping[str, int]) -> dict[str, Any]:
    return {
        "instance": each.instance,
        "gain": round(each.gain, 4),
        # What is known is no source's.
        "answers": [
            {
                "source": place[answer.source],
                "said": [[at[label], score] for label, score in answer.said],
            }
            for answer in each.answers
            if answer.source in place
        ],
        "agreed": None if each.agreed is None else at[each.agreed],
        "labels": [_label(label, place, at) for label in each.labels],
    }


def _label(
    each: LabelExplanation, place: Mapping[str, int], at: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "label": at[each.label],
        "score": round(each.score, 4),
        "specific": round(each.specific, 4),
        "chosen": each.chosen,
        "disputed": each.disputed,
        "own": None if each.own is None else round(each.own, 4),
        "stances": [
            {
                "source": place[voice.source],
                "stance": voice.stance,
                "effect": None if voice.effect is None else round(voice.effect, 4),
            }
            for voice in each.voices
            if voice.source in place
        ],
    }


def _shown(material: PageData) -> dict[str, Any]:
    """Return how much of everything is there, and by what rule it was taken."""
    found, taxonomy = material.found, len(material.taxonomy)
    listed, contested = len(material.listed.ids), len(material.explained)
    notes = []
    if listed < found.instances:
        notes.append(
            f"{listed:,} of {found.instances:,} instances are listed: those on which one more "
            "opinion is worth most, then a sample by the hash of the id"
        )
    if contested < found.disagreements.count:
        notes.append(
            f"the {contested:,} most contested of {found.disagreements.count:,} instances in dispute "
            "are explained"
        )
    if len(material.agreement.sources) < len(material.sources):
        notes.append(
            f"agreement is of the {len(material.agreement.sources)} sources with most answers"
        )
    if material.looked_at < found.instances:
        notes.append(
            f"agreement and confused labels are counted on {material.looked_at:,} instances"
        )
    return {
        "instances": [listed, found.instances],
        "conflicts": [contested, found.disagreements.count],
        "sources": [len(material.sources), len(material.sources)],
        "labels": [taxonomy, taxonomy],
        "note": "; ".join(notes) or None,
    }


EXPLAINED = 200
"""Contested instances that are explained."""

LISTED = 10_000
"""Instances that are listed."""

SOURCES = 60
"""Sources whose agreement is shown."""


def page_data_of(result: Result, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a report on a result; `document` is what ``run.json`` says of it."""
    panel = with_inferred_scope(result.panel)
    found = count_run(panel, result.consolidation, result.decision, most=LISTED)
    met = compare_sample(SinglePartition(panel), panel.scope)
    ranked = panel.instances.locate(found.disagreements.ids)
    first = ranked[:EXPLAINED]
    order = np.argsort(first)
    explained = explain_some(result, first[order])
    by_rank = np.argsort(order)
    return facts(
        PageData(
            document=document,
            taxonomy=panel.taxonomy,
            found=found,
            sources=result.sources,
            agreement=agreement(met, found.by_source[0][: len(result.sources)]),
            confusions=find_confused_pairs(met, panel.taxonomy, most=MAX_CONFUSED_PAIRS),
            looked_at=met.instances,
            explained=tuple(explained[at] for at in by_rank),
            listed=_listed(result, found.disagreements, ranked),
        )
    )


def agreement(met: PairwiseAgreement, answers: FloatArray) -> Agreement:
    """Return how often the sources with most answers agree; with itself each always does."""
    sources = np.sort(np.argsort(-answers, kind="stable")[:SOURCES])
    common, agreed = (
        (half + half.T).tocsr()[sources][:, sources].toarray() for half in (met.common, met.agreed)
    )
    share = np.full(common.shape, np.nan)
    np.divide(agreed, common, out=share, where=common > 0)
    own = answers[sources]
    common[np.diag_indices(len(sources))] = own
    share[np.diag_indices(len(sources))] = np.where(own > 0, 1.0, np.nan)
    return Agreement(sources, share, common)


def _listed(result: Result, contested: DisagreementRanking, ranked: IntArray) -> InstanceTable:
    """Return a line for the most contested instances, then for some of the others or all."""
    rest = np.setdiff1d(np.arange(len(result.panel.instances)), ranked)
    room = max(LISTED - len(ranked), 0)
    if len(rest) > room:
        sampling_order = hash_ids(result.panel.instances.select(rest))
        rest = np.sort(rest[np.argsort(sampling_order, kind="stable")[:room]])
    at = np.concatenate([ranked, rest])
    chosen = result.decision.reason[at].astype(bool).astype(float).tocsr()
    lowest = deepest(chosen, result.panel.taxonomy)
    row = np.repeat(np.arange(len(at)), np.diff(lowest.indptr))
    return InstanceTable(
        ids=tuple(result.panel.instances[i] for i in at),
        labels=tuple(
            tuple(each.tolist()) for each in np.split(lowest.indices, lowest.indptr[1:-1])
        ),
        score=_lowest(result, at, row, lowest.indices.astype(np.int64)),
        gain=np.concatenate([contested.gain, np.zeros(len(rest))]),
    )


def _lowest(result: Result, at: IntArray, row: IntArray, label: IntArray) -> FloatArray:
    """Return the lowest score among the given labels of each instance, nan where it has none."""
    score = values_at(result.consolidation.score[at], row, label)
    found = np.full(len(at), np.inf)
    np.minimum.at(found, row, score)
    return np.where(np.isfinite(found), found, np.nan)
