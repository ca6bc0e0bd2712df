"""The facts of a report: everything that its page shows, as one JSON document.

Labels and sources are given by their positions in the lists of both, which keeps it small.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mhpc.core.arrays import FloatArray, IntArray
from mhpc.core.conflicts import Confusion
from mhpc.core.explanation import Explanation, LabelExplanation
from mhpc.core.sources import SourceFacts
from mhpc.core.tally import Tally
from mhpc.core.taxonomy import Taxonomy
from mhpc.report.command import command
from mhpc.report.comparison import comparison
from mhpc.report.document import plain
from mhpc.report.sentences import sentences

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
class Listed:
    """Some instances, a line each: ids, deepest chosen labels, the lowest of their scores, gain."""

    ids: tuple[str, ...]
    labels: tuple[tuple[int, ...], ...]
    score: FloatArray
    gain: FloatArray


@dataclass(frozen=True, eq=False)
class Material:
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
    found: Tally
    sources: tuple[SourceFacts, ...]
    agreement: Agreement
    confusions: tuple[Confusion, ...]
    looked_at: int
    explained: tuple[Explanation, ...]
    listed: Listed


def facts(material: Material) -> dict[str, Any]:
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
        "comparison": comparison(document.get("choice")),
        **{name: document[name] for name in _COPIED},
        "command": command(document["settings"]),
        "shown": _shown(material),
    }  # fmt: skip
    plainly: dict[str, Any] = plain(found)
    return plainly


def _overview(material: Material) -> dict[str, Any]:
    document = material.document
    copied = ("counts", "decision", "method", "parameters", "converged", "notes", "seconds")
    told = sentences(
        document, material.taxonomy, material.sources, material.found, material.confusions,
        material.explained,
    )  # fmt: skip
    return {"sentences": told, **{name: document[name] for name in copied}}


def _taxonomy(taxonomy: Taxonomy, found: Tally) -> dict[str, Any]:
    names = ("votes", "said", "chosen", "disputed")
    return {
        "id": taxonomy.labels.ids,
        "name": taxonomy.names,
        "parents": [taxonomy.parents_of(label).tolist() for label in range(len(taxonomy))],
        **{name: row.astype(int).tolist() for name, row in zip(names, found.by_label, strict=True)},
    }


def _source(each: SourceFacts, place: Mapping[str, int], at: Mapping[str, int]) -> dict[str, Any]:
    shares = {"accurate": each.accurate, "vague": each.vague, "wrong": each.wrong}
    said = {
        name: None if share.value != share.value else [round(end, 4) for end in share]
        for name, share in shares.items()
    }
    return {
        "source": each.source, "answers": each.answers, "coverage": each.coverage,
        "mean_depth": each.mean_depth, **said, "voice": each.voice,
        "kin": place.get(each.kin), "kinship": each.kinship, "copy": each.copy,
        "errs": [
            {"label": at[err.label], "said": err.said, "wrong": err.wrong} for err in each.errs
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


def _shown(material: Material) -> dict[str, Any]:
    """Return how much of everything is there, and by what rule it was taken."""
    found, taxonomy = material.found, len(material.taxonomy)
    listed, contested = len(material.listed.ids), len(material.explained)
    notes = []
    if listed < found.instances:
        notes.append(
            f"{listed:,} of {found.instances:,} instances are listed: those on which one more "
            "opinion is worth most, then a sample by the hash of the id"
        )
    if contested < found.contested.count:
        notes.append(
            f"the {contested:,} most contested of {found.contested.count:,} instances in dispute "
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
        "conflicts": [contested, found.contested.count],
        "sources": [len(material.sources), len(material.sources)],
        "labels": [taxonomy, taxonomy],
        "note": "; ".join(notes) or None,
    }
