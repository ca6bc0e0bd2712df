"""Facts of a run that nobody made, of any size, to show and to break the report page with."""

import random
from typing import Any

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quoted\" & 'quoted'",
    "تضخم القلب",
    "{@html '<b>bold</b>'}",
    "a very long name of a label " * 12,
)
"""Names that a careless page would run, cut short or let overflow."""

STANCES = ("direct", "below", "vague", "against")


def sample_facts(
    *,
    labels: int = 60,
    sources: int = 6,
    instances: int = 80,
    conflicts: int = 12,
    hostile: bool = False,
    seed: int = 0,
) -> dict[str, Any]:
    """Return facts of the given size, the same for the same arguments."""
    draw = random.Random(seed)
    taxonomy = _taxonomy(labels, instances, hostile, draw)
    names = [f"reader-{m}" for m in range(sources)]
    ids = [f"case-{n:05d}" for n in range(instances)]
    if hostile:
        names[: len(HOSTILE)] = HOSTILE[:sources]
        ids[: len(HOSTILE)] = HOSTILE[:instances]
    shown = min(sources, 60)
    return {
        "format": 1,
        "title": HOSTILE[0] if hostile else "votes.csv",
        "overview": _overview(labels, sources, instances),
        "taxonomy": taxonomy,
        "sources": [_source(m, names, labels, draw) for m in range(sources)],
        "agreement": _agreement(shown, draw),
        "conflicts": [_conflict(ids[n], n, sources, taxonomy, draw) for n in range(conflicts)],
        "confusions": [_confusion(labels, draw) for _ in range(20)],
        "instances": {
            "id": ids,
            "labels": [[draw.randrange(labels)] for _ in ids],
            "score": [round(draw.random(), 3) for _ in ids],
            "gain": [round(draw.random() / 2, 3) for _ in ids],
        },
        "comparison": [
            _compared(name, at) for at, name in enumerate(("channel", "cross-source", "mhpc"))
        ],
        "trace": [
            {"iteration": n, "change": 10.0**-n, "objective": 3 + 1 / n, "spread": 0.4 + n / 50,
             "seconds": 0.1}
            for n in range(1, 8)
        ],
        "scorecards": [
            {"method": "auto", "view": "closed", "instances": instances, "scores": [
                {"metric": "ranking_loss", "value": 0.0123, "better": "lower", "ties": "half"}]},
        ],
        "settings": {"votes": "votes.csv", "taxonomy": "taxonomy.csv", "method": None, "seed": 0},
        "command": "mhpc consolidate votes.csv --taxonomy taxonomy.csv -o result/",
        "versions": {"python": "3.11.7", "mhpc": "0.1.0"},
        "inputs": {"votes": {"bytes": 1234, "sha256": "ab" * 32}},
        "shown": {
            "instances": [instances, 2 * instances], "conflicts": [conflicts, 3 * conflicts],
            "sources": [sources, sources], "labels": [labels, labels],
            "note": "The instances with most to gain are shown.",
        },
    }  # fmt: skip


def bare_facts() -> dict[str, Any]:
    """Return facts of a run of which there is next to nothing to tell."""
    facts = sample_facts(labels=3, sources=1, instances=2, conflicts=0)
    facts |= {"confusions": [], "comparison": [], "trace": [], "scorecards": []}
    facts["agreement"] = {"sources": [0], "share": [[None]], "common": [[2]]}
    facts["sources"][0] |= dict.fromkeys(
        ("accurate", "vague", "wrong", "mean_depth", "kin", "copy")
    )
    facts["sources"][0]["errs"] = []
    facts["instances"] = {"id": [], "labels": [], "score": [], "gain": []}
    facts["shown"]["note"] = None
    return facts


def _taxonomy(labels: int, instances: int, hostile: bool, draw: random.Random) -> dict[str, Any]:
    """Return a hierarchy with about eight children a label and a few second parents."""
    parents: list[list[int]] = [[] if n < 3 else [(n - 3) // 8] for n in range(labels)]
    for label in range(40, labels, 37):
        parents[label].append(label // 9)
    names = [f"finding {n}" for n in range(labels)]
    if hostile:
        names[: len(HOSTILE)] = HOSTILE[:labels]
    said = [max(0, instances // (1 + n) - n % 2) for n in range(labels)]
    return {
        "id": [f"F{n}" for n in range(labels)],
        "name": names,
        "parents": [sorted(set(above)) for above in parents],
        "votes": [n // 2 for n in said],
        "said": said,
        "chosen": [int(n * draw.uniform(0.5, 1)) for n in said],
        "disputed": [int(n * draw.uniform(0, 0.6)) for n in said],
    }


def _overview(labels: int, sources: int, instances: int) -> dict[str, Any]:
    return {
        "sentences": [
            f"{sources} sources labelled {instances} instances.",
            "They agree on most, and where they do not, one more opinion helps.",
        ],
        "counts": {
            "instances": instances, "sources": sources, "answers": instances * sources // 2,
            "labels": labels, "levels": 4,
        },
        "decision": {
            "rule": "threshold", "level": 0.41, "labels_per_instance": 2.34,
            "instances_without_label": 3,
        },
        "method": "auto", "parameters": {"blend": 2}, "converged": True,
        "notes": ["Scores are calibrated."], "seconds": {"reading": 0.12, "consolidating": 71.5},
    }  # fmt: skip


def _source(position: int, names: list[str], labels: int, draw: random.Random) -> dict[str, Any]:
    def share(value: float) -> list[float]:
        return [value, max(0.0, value - 0.06), min(1.0, value + 0.08)]

    wrong, vague = draw.uniform(0.02, 0.4), draw.uniform(0.05, 0.3)
    copied = position == 3
    return {
        "source": names[position], "answers": draw.randrange(10, 900), "coverage": draw.random(),
        "mean_depth": draw.uniform(1, 4), "accurate": share(1 - wrong - vague),
        "vague": share(vague), "wrong": share(wrong), "voice": 0.5 if copied else 1.0,
        "kin": 2 if copied else None, "kinship": 0.93 if copied else 0.0,
        "copy": "near-copy" if copied else None,
        "errs": [
            {"label": draw.randrange(labels), "said": 20 + n, "wrong": 9 - n} for n in range(2)
        ],
    }  # fmt: skip


def _agreement(sources: int, draw: random.Random) -> dict[str, Any]:
    share: list[list[float | None]] = [[None] * sources for _ in range(sources)]
    common = [[0] * sources for _ in range(sources)]
    for one in range(sources):
        for other in range(one):
            share[one][other] = share[other][one] = round(draw.uniform(0.1, 1), 3)
            common[one][other] = common[other][one] = draw.randrange(1, 400)
    return {"sources": list(range(sources)), "share": share, "common": common}


def _conflict(
    instance: str, rank: int, sources: int, taxonomy: dict[str, Any], draw: random.Random
) -> dict[str, Any]:
    """Return a conflict about one label and a neighbour of it, each with all above."""
    labels = len(taxonomy["id"])
    one = draw.randrange(3, labels)
    other = one + 1 if one + 1 < labels else one - 1
    above = taxonomy["parents"][one][0]
    about = [(one, True, True), (other, False, True), (above, True, False)]
    heard = draw.sample(range(sources), min(sources, 4))
    said = {source: one if place % 2 else other for place, source in enumerate(heard)}
    return {
        "instance": instance,
        "gain": round(0.5 / (1 + rank / 10), 3),
        "answers": [
            {"source": source, "said": [[label, 1.0]] if source % 5 else []}
            for source, label in said.items()
        ],
        "agreed": above,
        "labels": [
            {"label": label, "score": round(draw.uniform(0.2, 0.9), 3), "specific": 0.31,
             "chosen": chosen, "disputed": disputed, "own": 0.5,
             "stances": [
                {"source": source, "stance": STANCES[(source + label) % 4],
                 "effect": round(draw.uniform(-0.2, 0.2), 3)} for source in heard]}
            for label, chosen, disputed in about
        ],
    }  # fmt: skip


def _confusion(labels: int, draw: random.Random) -> dict[str, Any]:
    one = draw.randrange(3, labels) if labels > 3 else 0
    return {"one": one, "other": max(0, one - 1), "count": draw.randrange(1, 40), "under": one // 8}


def _compared(name: str, rank: int) -> dict[str, Any]:
    return {
        "name": name, "closed": [0.21 + rank / 30, 0.008], "specific": [0.11 + rank / 25, None],
        "seconds": 1.5 + rank, "chosen": (["both", "score"] + [None] * 9)[rank],
    }  # fmt: skip
