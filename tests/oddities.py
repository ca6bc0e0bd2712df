"""Tables as nobody should write them: odd ids, repeats, empty cells, scores at their bounds."""

import csv
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IDS = (
    "a", "b", "c", "d", "e", "007", "7", "7.0", "1e5", "-1", "0", "NaN", "null", "None", "true",
    "2020-01-01", " a", "a ", "A", "é", "e\u0301", "ß", "İ", "ﬁ", "🦋", "‮abc", "\u200b", "a\u2028b",
    "=1+1", "+1", "-x", "@x", "#bee", "%x", "[red]", "[/]", "\\", "\\[", ":bee:", "<b>", "&amp;",
    "</script>", "'", '"', '""', "a,b", "a;b", "a\tb", "a\nb", "a\r\nb", "\x1b[2J", "\x07", "\x01",
    "a/b", "a > b", "..", "../x", "C:\\x", "*", "?", "[a]", "{a}", "${HOME}", "$(x)", "`x`", "%s",
    "{0}", "x" * 300, "ид", "标签", "العربية", "a" + "\u0301" * 20, "root", "instance", "label",
)  # fmt: skip
"""Ids that some program takes for something else."""

SCORES = ("0", "1", "0.5", "1.0", "0.0", "1e-300", "0.999999999999999999", ".5", "5e-1")
BAD_SCORES = ("nan", "inf", "-inf", "-0.1", "1.1", "", "x", "1e999", "½")


@dataclass(frozen=True)
class Tables:
    """Votes, a taxonomy and a truth as rows with a header."""

    votes: list[list[str]]
    taxonomy: list[list[str]]
    truth: list[list[str]]

    @property
    def instances(self) -> list[str]:
        """The instances that have votes."""
        return [row[0] for row in self.votes[1:]]

    @property
    def labels(self) -> list[str]:
        """The labels of the taxonomy."""
        return [row[0] for row in self.taxonomy[1:]]

    def write(self, folder: Path) -> None:
        """Write votes.csv, taxonomy.csv and truth.csv."""
        for name in ("votes", "taxonomy", "truth"):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(getattr(self, name))
            path = folder / f"{name}.csv"
            path.write_text(text.getvalue(), encoding="utf-8", newline="")


def odd_tables(rng: random.Random) -> Tables:
    """Return tables, most of them valid, each odd in a few ways."""
    labels = _ids(rng, rng.choice((1, 2, 2, 3, 5, 8, 20)))
    taxonomy = [["label", "parent"], *_hierarchy(labels, rng)]
    instances = _ids(rng, rng.choice((1, 1, 2, 3, 6, 15)))
    sources = _ids(rng, rng.choice((1, 1, 2, 3, 6)))
    said = [*labels] + [""] * rng.choice((0, 0, 1, 3))
    if rng.random() < 0.15:
        said += _ids(rng, 2)
    graded = rng.random() < 0.4
    votes = [["instance", "source", "label", *(["score"] if graded else [])]]
    for instance, source in _pairs(instances, sources, rng):
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            score = [_score(rng)] if graded else []
            votes.append([instance, source, rng.choice(said), *score])
    if rng.random() < 0.1:
        votes.append(["", sources[0], labels[0], *(["1"] if graded else [])])
    known = [each for each in instances if rng.random() < 0.8]
    truth = [["instance", "label"], *([each, rng.choice([*labels, ""])] for each in known)]
    if rng.random() < 0.1:
        truth.append(["nobody", labels[0]])
    return Tables(votes, taxonomy, truth)


def _ids(rng: random.Random, count: int) -> list[str]:
    plain = [f"n{number}" for number in range(count)]
    odd = rng.choice((0.0, 0.3, 1.0))
    chosen = [rng.choice(IDS) if rng.random() < odd else each for each in plain]
    return list(dict.fromkeys(chosen))


def _hierarchy(labels: Sequence[str], rng: random.Random) -> list[list[str]]:
    """Return edges: a forest, a chain, siblings, several parents, now and then a cycle."""
    shape = rng.choice(("forest", "chain", "flat", "several"))
    rows = []
    for at, label in enumerate(labels):
        above = labels[:at]
        if not above or shape == "flat":
            rows.append([label, ""])
        elif shape == "chain":
            rows.append([label, above[-1]])
        else:
            count = min(len(above), 1 if shape == "forest" else rng.choice((1, 2, 3)))
            rows += [[label, parent] for parent in rng.sample(list(above), count)]
    if rng.random() < 0.05:
        rows.append([labels[0], labels[-1]])
    if rng.random() < 0.05:
        rows.append([labels[0], "no label"])
    return rows


def _pairs(
    instances: Sequence[str], sources: Sequence[str], rng: random.Random
) -> list[tuple[str, str]]:
    """Return who answers what: all, some, or no two sources the same instance."""
    how = rng.choice(("all", "some", "apart"))
    if how == "apart":
        return [(each, sources[at % len(sources)]) for at, each in enumerate(instances)]
    pairs = [(instance, source) for instance in instances for source in sources]
    some = [pair for pair in pairs if how == "all" or rng.random() < 0.5]
    return some or pairs[:1]


def _score(rng: random.Random) -> str:
    return rng.choice(BAD_SCORES if rng.random() < 0.02 else SCORES)


def odd_options(rng: random.Random, methods: Sequence[str], rules: Sequence[str]) -> list[str]:
    """Return options of ``mhpc consolidate``, some of which go together with nothing."""
    given: list[Any] = ["--method", rng.choice(methods)]
    for words in (
        ["--rule", rng.choice(rules)],
        ["--scope", "used"],
        ["--unknown", rng.choice(("drop", "graft"))],
        ["--top", rng.choice(("1", "2", "all"))],
        ["--seed", rng.choice(("0", "7", str(2**63), "-1"))],
        ["--depth-bias", rng.choice(("-20", "20", "0.5", "nan", "inf"))],
        ["--threshold", rng.choice(("0.5", "0", "1e-9", "2", "nan"))],
        ["--gold", "truth.csv"],
        ["--truth", "truth.csv"],
        ["--report"],
        ["--json"],
        ["--memory", rng.choice(("1GB", "1KB", "0", "x"))],
        ["--set", rng.choice(("max_iter=0", "lam=1e9", "sigma=1e-9", "prior=0", "x=1"))],
    ):
        if rng.random() < 0.12:
            given += words
    return given
