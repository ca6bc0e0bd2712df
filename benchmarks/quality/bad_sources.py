"""How much one bad source, or three of a kind, cost auto and plain majority.

python -m benchmarks.quality.bad_sources [SET ...]

Bad sources are added to the votes of real sets: a source that always gives the most popular label,
one that gives every label in use, one that copies another source, one that draws labels at random,
and an adversary, who replaces what most sources say by wrong labels. All but the copy answer every
instance. Prints a table of hierarchical F and its change, and writes
benchmarks/results/quality_bad_sources.json. The truth serves for measuring only.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

import mhpc
from benchmarks.data import NO_DATA, data_folder
from benchmarks.environment import met_or_missed, write_result
from benchmarks.quality.figures import hierarchical_f, measure
from benchmarks.quality.real import Case, cases
from mhpc.data.index import Index
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import FloatArray, IntArray

SETS = ("dog", "chexpert", "ecg_kin", "taxa_its", "ec_tools", "imclef07a_models", "idpo_cafa")

METHODS = ("auto", "majority")

COUNTS = (1, 3)
"""How many bad sources of a kind are added."""

MAX_LOSS = 0.01
"""What a source of a harmless kind may cost auto."""

HARMLESS = ("constant", "everything", "copy")

_Answers: TypeAlias = tuple[IntArray, IntArray, FloatArray | float]
"""The instance, the label and the score of every vote of one source."""


def main() -> None:
    """Add bad sources to all sets, print the table, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    options = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print(f"Nothing to do: {NO_DATA}")
        return
    warnings.simplefilter("ignore")
    rows = [row for case in cases(folder) if case.name in options.sets for row in compare(case)]
    print(f"\n{render_table(rows)}\n")
    for line in describe(rows):
        print(line)
    write_result("quality_bad_sources", {"rows": rows})


def compare(case: Case) -> Iterator[dict[str, Any]]:
    """Yield hierarchical F of both methods with every kind of bad source, the clean panel first."""
    votes = mhpc.read_votes(case.folder / case.votes)
    taxonomy = mhpc.read_taxonomy(case.folder / "taxonomy.csv")
    truth = mhpc.read_truth(case.folder / "truth.csv")

    def run(kind: str, count: int) -> dict[str, Any]:
        spoiled = add_bad_sources(votes, taxonomy, kind, count) if count else votes
        f = {name: _measure(spoiled, taxonomy, truth, name) for name in METHODS}
        return {"set": case.name, "kind": kind, "count": count, **f}

    clean = run("none", 0)
    yield clean
    for kind in BAD_SOURCES:
        for count in COUNTS:
            row = run(kind, count)
            row |= {f"{name}_change": row[name] - clean[name] for name in METHODS}
            print(_format_row(row), flush=True)
            yield row


def _measure(votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, truth: mhpc.Truth, method: str) -> float:
    result = mhpc.consolidate(votes, taxonomy, method=method, unknown="drop")
    panel = result.panel
    encoded = encode_truth(truth, panel.taxonomy, panel.instances, unknown="drop")
    figures = measure(result.consolidation.score, result.decision.reason, encoded, panel)
    return float(hierarchical_f(np.ones((1, len(figures.true))), figures)[0])


def add_bad_sources(
    votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, kind: str, count: int = 1, *, seed: int = 0
) -> mhpc.Votes:
    """Return the votes with more sources of a kind in `BAD_SOURCES`.

    Their scores are 1, but a copy has those of its original.
    Several constant sources give the same label, and several copies copy the same source; random
    sources and adversaries draw independently.
    """
    known = taxonomy.labels.positions
    is_known = np.array([label in known for label in votes.labels], dtype=bool)
    usable = np.append(is_known, False)[votes.label]
    instance, source, label = (
        values[usable] for values in (votes.instance, votes.source, votes.label)
    )
    rng = np.random.default_rng(seed)
    panel = replace(votes, instance=instance, source=source, label=label, score=votes.score[usable])
    # A copy also repeats answers without a label that the taxonomy knows.
    seen = votes if kind == "copy" else panel
    answers = [BAD_SOURCES[kind](seen, taxonomy, rng) for _ in range(count)]
    instances, labels, scores = zip(*answers, strict=True)
    n_votes = [len(given) for given in instances]
    new = len(votes.sources) + np.arange(count)
    return replace(
        votes,
        sources=Index((*votes.sources, *(f"{kind} {number + 1}" for number in range(count)))),
        instance=np.concatenate([votes.instance, *instances]),
        source=np.concatenate([votes.source, np.repeat(new, n_votes)]),
        label=np.concatenate([votes.label, *labels]),
        score=np.concatenate([votes.score, *map(np.broadcast_to, scores, n_votes)]),
    )


def _give_most_popular(
    votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, rng: np.random.Generator
) -> _Answers:
    N = len(votes.instances)
    return np.arange(N), np.full(N, np.bincount(votes.label).argmax()), 1.0


def _give_everything(
    votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, rng: np.random.Generator
) -> _Answers:
    N, used = len(votes.instances), np.unique(votes.label)
    return np.repeat(np.arange(N), len(used)), np.tile(used, N), 1.0


def _copy(votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, rng: np.random.Generator) -> _Answers:
    """Copy the source that answers the most instances, the first if there are several."""
    answers = np.unique(np.stack([votes.source, votes.instance]), axis=1)
    own = votes.source == np.bincount(answers[0]).argmax()
    return votes.instance[own], votes.label[own], votes.score[own]


def _draw_at_random(
    votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, rng: np.random.Generator
) -> _Answers:
    """Draw as many labels as a random answer has, by their popularity (Gumbel's top k)."""
    N = len(votes.instances)
    used, popularity = np.unique(votes.label, return_counts=True)
    _, sizes = np.unique(votes.source * np.int64(N) + votes.instance, return_counts=True)
    keys = np.log(popularity) + rng.gumbel(size=(N, len(used)))
    order, size = np.argsort(-keys, axis=1), rng.choice(sizes, N)
    is_drawn = np.arange(len(used)) < size[:, np.newaxis]
    return np.repeat(np.arange(N), np.minimum(size, len(used))), used[order[is_drawn]], 1.0


def _contradict(votes: mhpc.Votes, taxonomy: mhpc.Taxonomy, rng: np.random.Generator) -> _Answers:
    """Replace every label that half of the answers contain, or else the most frequent one.

    The replacement is a sibling in use, or any label in use that is not related to it.
    """
    N, K = len(votes.instances), len(votes.labels)
    position = np.array([taxonomy.labels.positions.get(label, -1) for label in votes.labels])
    used = np.unique(votes.label)
    answers = np.unique(np.stack([votes.source, votes.instance]), axis=1)[1]
    n_answers = np.bincount(answers, minlength=N)
    cells, n_votes = np.unique(votes.instance * np.int64(K) + votes.label, return_counts=True)
    instance, label = np.divmod(cells, K)
    most = np.zeros(N)
    np.maximum.at(most, instance, n_votes)
    is_majority = (2 * n_votes >= n_answers[instance]) | (n_votes == most[instance])
    siblings, unrelated = _relate(taxonomy, position, used)
    wrong = dict[tuple[int, int], None]()
    for i in range(N):
        majority = label[is_majority & (instance == i)]
        for k in majority:
            options = np.setdiff1d(siblings[k], majority)
            options = options if len(options) else np.setdiff1d(unrelated[k], majority)
            if len(options):
                wrong[i, int(rng.choice(options))] = None
    pairs = np.array(list(wrong), dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], 1.0


def _relate(
    taxonomy: mhpc.Taxonomy, position: IntArray, used: IntArray
) -> tuple[dict[int, IntArray], dict[int, IntArray]]:
    """Return the siblings, and the labels that are neither above nor below, of labels in use."""
    parents, closure = (
        matrix[position[used]].toarray() > 0 for matrix in (taxonomy.parents, taxonomy.closure)
    )
    siblings, unrelated = {}, {}
    for row, k in enumerate(used):
        is_other = used != k
        shares_parent = (parents & parents[row]).any(axis=1)
        if not parents[row].any():
            shares_parent = ~parents.any(axis=1)
        is_related = closure[row][position[used]] | closure[:, position[k]]
        siblings[int(k)] = used[shares_parent & is_other]
        unrelated[int(k)] = used[~is_related]
    return siblings, unrelated


BAD_SOURCES: Mapping[str, Callable[[mhpc.Votes, mhpc.Taxonomy, np.random.Generator], _Answers]] = {
    "constant": _give_most_popular,
    "everything": _give_everything,
    "copy": _copy,
    "random": _draw_at_random,
    "adversary": _contradict,
}


def describe(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield, for every kind and number, the worst loss of auto and whether the targets are met."""
    for kind in BAD_SOURCES:
        for count in COUNTS:
            own = [row for row in rows if (row["kind"], row["count"]) == (kind, count)]
            if not own:
                continue
            worst = min(own, key=lambda row: row["auto_change"])
            beyond = [row["set"] for row in own if not _is_met(row)]
            yield (
                f"{count} x {kind}: auto {np.mean([row['auto_change'] for row in own]):+.4f} on "
                f"average, {worst['auto_change']:+.4f} at worst ({worst['set']}); majority "
                f"{np.mean([row['majority_change'] for row in own]):+.4f}; "
                f"{met_or_missed(not beyond)}{': ' * bool(beyond)}{', '.join(beyond)}"
            )


def _is_met(row: Mapping[str, Any]) -> bool:
    """Return whether auto lost less than majority, and a harmless kind cost it little."""
    loss, majority_loss = -row["auto_change"], -row["majority_change"]
    return loss <= max(majority_loss, 0.0) + 5e-4 and (
        row["kind"] not in HARMLESS or loss <= MAX_LOSS
    )


def render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return Markdown: one row per set and kind, F before and after with 1 and 3 bad sources."""
    value = {(row["set"], row["kind"], row["count"]): row for row in rows}
    numbers = " | ".join(f"{name}, {count} more" for name in METHODS for count in COUNTS)
    lines = [
        f"| set | bad source | auto | majority | {numbers} |",
        f"|---|---|{'---:|' * (len(METHODS) * (1 + len(COUNTS)))}",
    ]
    for name in dict.fromkeys(row["set"] for row in rows):
        clean = value[name, "none", 0]
        for kind in BAD_SOURCES:
            changes = " | ".join(
                f"{value[name, kind, count][f'{method}_change']:+.3f}"
                for method in METHODS
                for count in COUNTS
            )
            before = " | ".join(f"{clean[method]:.3f}" for method in METHODS)
            lines.append(f"| {name} | {kind} | {before} | {changes} |")
    return "\n".join(lines)


def _format_row(row: Mapping[str, Any]) -> str:
    changes = ", ".join(f"{name} {row[f'{name}_change']:+.4f}" for name in METHODS)
    return f"{row['set']}: {row['count']} x {row['kind']}: {changes}"


if __name__ == "__main__":
    main()
