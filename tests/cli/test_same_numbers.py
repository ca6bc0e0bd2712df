"""A number that is printed twice is the same number.

Each case is one run whose outputs are parsed: the summary in the terminal, the files of the run
folder, the data of its page, what the other commands print about it, and what Python returns.
"""

import csv
import io
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pytest

import mhpc as package
from mhpc.cli import main
from mhpc.datasets.garden import garden_folder
from mhpc.explanation.disagreement import MIN_GAIN
from mhpc.report.sentences import format_percent
from mhpc.report.summary import to_json as plain

Row = dict[str, str]

N_INSTANCES = 40
"""Instances of each set: few, so that many cases are quick."""

EXACT = 1e-9


@dataclass(frozen=True)
class Case:
    """A set, and options of `mhpc consolidate`."""

    data: str
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.data, *self.options))


SILENCES = ("--negative", "mark")
GOLD, TRUTH = ("--gold", "gold.csv"), ("--truth", "truth.csv")
CASES = [
    Case("garden", ("--method", "auto")),
    Case("silences", ("--method", "auto", *SILENCES, *GOLD, *TRUTH, "--top", "4")),
    Case("silences", ("--method", "sa", *SILENCES, *GOLD)),
    Case("silences", ("--method", "dawid-skene", *SILENCES, *TRUTH, "--unknown", "drop")),
    Case("silences", ("--method", "one-truth", *SILENCES, *GOLD, "--unknown", "nearest")),
    Case("chexpert", ("--method", "dawid-skene", *TRUTH)),
    Case("dog", ("--method", "one-truth", *GOLD, "--top", "1")),
    Case("taxa_its", ("--method", "sa", *TRUTH, "--top", "3")),
]


@dataclass(frozen=True)
class Outputs:
    """What a run says, in all places."""

    folder: Path
    case: Case
    printed: str

    @property
    def sentences(self) -> str:
        """What is printed, without the line breaks of a narrow terminal."""
        return " ".join(self.printed.split())

    def json(self, *words: str) -> Any:
        return json.loads(run_command(*words, "--json"))

    @property
    def run(self) -> Any:
        return json.loads((self.folder / "OUT" / "run.json").read_text(encoding="utf-8"))

    @property
    def page(self) -> Any:
        return json.loads((self.folder / "OUT" / "report.json").read_text(encoding="utf-8"))

    def table(self, name: str) -> list[Row]:
        return parse((self.folder / "OUT" / name).read_text(encoding="utf-8"))

    def convert(self, what: str) -> list[Row]:
        run_command("convert", "OUT", "converted.csv", "--what", what, "--force")
        return parse((self.folder / "converted.csv").read_text(encoding="utf-8"))

    @cached_property
    def items(self) -> dict[str, Row]:
        return {row["instance"]: row for row in self.table("items.csv")}

    @cached_property
    def scores(self) -> dict[tuple[str, str], tuple[float, float]]:
        with duckdb.connect() as connection:
            rows = connection.execute(
                "SELECT instance, label, score, specific FROM read_parquet($1)",
                [str(self.folder / "OUT" / "scores.parquet")],
            ).fetchall()
        return {(str(i), str(label)): (score, specific) for i, label, score, specific in rows}

    @property
    def unknown(self) -> tuple[str, ...]:
        given = list(self.case.options)
        return ("--unknown", given[given.index("--unknown") + 1]) if "--unknown" in given else ()


def parse(text: str) -> list[Row]:
    return list(csv.DictReader(io.StringIO(text)))


def run_command(*words: str) -> str:
    """Run a command, and return what it prints on standard output."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main(list(words))
    assert end.value.code == 0, (words, err.getvalue())
    return out.getvalue()


@pytest.fixture(scope="module", params=CASES, ids=str)
def outputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    case: Case = request.param
    folder = tmp_path_factory.mktemp("run")
    write_tables(case.data, folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        printed = run_command(
            "consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--report",
            *case.options,
        )  # fmt: skip
        yield Outputs(folder, case, printed)
    finally:
        os.chdir(before)


def write_tables(name: str, folder: Path) -> None:
    """Write the first instances of a set; "silences" adds all kinds of silence to the garden."""
    home = garden_folder()
    if name not in ("garden", "silences"):
        if "MHPC_DATA" not in os.environ:
            pytest.skip("MHPC_DATA is not set")
        home = Path(os.environ["MHPC_DATA"]) / name
    tables = {
        table: parse((home / f"{table}.csv").read_text(encoding="utf-8"))
        for table in ("votes", "truth", "taxonomy")
    }
    kept = sorted({row["instance"] for row in tables["votes"]})[:N_INSTANCES]
    votes = [row for row in tables["votes"] if row["instance"] in kept]
    truth = [row for row in tables["truth"] if row["instance"] in kept]
    if name == "silences":
        votes += silences(kept, votes[0])
    write(folder / "votes.csv", votes)
    write(folder / "truth.csv", truth)
    write(folder / "gold.csv", [row for row in truth if row["instance"] in kept[3:12]])
    write(folder / "taxonomy.csv", tables["taxonomy"])


def silences(instances: Sequence[str], repeated: Row) -> list[Row]:
    """Return votes that abstain, deny, say none of these, are unknown, or repeated."""
    given = [
        *((instance, "shy", "unknown") for instance in instances[:6]),
        *((instance, "nay", "!plant") for instance in instances[:3]),
        *(
            (instance, "nay", label)
            for instance in instances[3:6]
            for label in ("!animal", "plant")
        ),
        (instances[6], "nay", "fuschia"),
        (instances[7], "nay", ""),
        (instances[8], "nay", "plant"),
        (instances[8], "nay", "none"),
        *((instance, "shy", "unknown") for instance in instances[:2]),
    ]
    rows = [dict(zip(("instance", "source", "label"), row, strict=True)) for row in given]
    return [*rows, repeated]


def write(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def same(first: Any, second: Any, tolerance: float = EXACT) -> bool:
    """Return whether two numbers, or two that are not known, are the same."""
    unknown = (None, "", "nan")
    if first in unknown or second in unknown or first != first or second != second:
        return (first in unknown or first != first) == (second in unknown or second != second)
    return abs(float(first) - float(second)) <= tolerance


# How many there are.


def test_counts_are_the_same_everywhere(outputs: Outputs) -> None:
    counts = outputs.run["counts"]
    printed = re.match(
        r"([\d,]+) sources? gave ([\d,]+) answers? about ([\d,]+) instances?\. The taxonomy has "
        r"([\d,]+) labels? on ([\d,]+) levels?\.",
        outputs.sentences,
    )
    assert printed is not None
    words = [int(word.replace(",", "")) for word in printed.groups()]
    assert words == [counts[key] for key in ("sources", "answers", "instances", "labels", "levels")]
    inspection = outputs.json(
        "inspect", "votes.csv", "--taxonomy", "taxonomy.csv",
        *(SILENCES if outputs.case.data == "silences" else ()), *outputs.unknown,
    )  # fmt: skip
    assert {key: inspection[key] for key in counts} == counts
    assert outputs.page["overview"]["counts"] == counts
    sources, items = outputs.table("sources.csv"), outputs.items
    assert len(sources) == counts["sources"]
    assert len(items) == counts["instances"]
    answers = sum(int(row["answers"]) for row in sources)
    assert answers == sum(int(row["sources"]) for row in items.values()) == counts["answers"]
    assert inspection["abstentions"] == sum(int(row["abstentions"]) for row in sources)
    assert inspection["denials"] == sum(int(row["denials"]) for row in sources)
    unknown_votes = sum(label["votes"] for label in inspection["unknown_labels"])
    assert inspection["votes"] == sum(inspection["votes_per_level"].values()) + unknown_votes
    assert inspection["disputed"] == outputs.run["conflicts"]["disputed"]


def test_label_sets_are_the_same_everywhere(outputs: Outputs) -> None:
    rows, items, decision = outputs.table("labels.csv"), outputs.items, outputs.run["decision"]
    label_sets: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        label_sets[row["instance"]].add(row["label"])
        if (row["instance"], row["label"]) in outputs.scores:
            assert same(row["score"], outputs.scores[row["instance"], row["label"]][0])
    assert same(decision["labels_per_instance"], len(rows) / len(items))
    without = sum(instance not in label_sets for instance in items)
    assert decision["instances_without_label"] == without
    assert without == sum(row["labels"] == "" for row in items.values())
    printed = re.search(r"([\d.]+) labels per instance", outputs.sentences)
    assert printed is not None
    assert printed[1] == f"{len(rows) / len(items):.1f}"
    got_none = f"{without} instances got no label" if without > 1 else "1 instance got no label"
    assert (got_none if without else "every instance got a label") in outputs.sentences
    for row in outputs.convert("labels"):
        assert row["label"] in label_sets[row["instance"]]
    result = package.load_run("OUT")
    assert {instance: set(labels) for instance, labels in result.labels.items()} == {
        instance: label_sets[instance] for instance in items
    }


def test_the_threshold_and_the_expected_f_are_printed_as_recorded(outputs: Outputs) -> None:
    decision, page = outputs.run["decision"], outputs.page["overview"]["decision"]
    assert page == decision
    for key, pattern in (("threshold", r"threshold ([\d.]+)"), ("expected_f", r"F ([\d.]+)")):
        printed = re.search(rf"labels per instance \([^)]*?{pattern}", outputs.sentences)
        if printed is not None and decision.get(key) is not None:
            digits = len(printed[1].rpartition(".")[2])
            assert same(printed[1], decision[key], 0.5001 * 10**-digits)


def test_converted_tables_are_those_of_the_folder(outputs: Outputs) -> None:
    for what in ("items", "sources"):
        ours = outputs.table(f"{what}.csv")
        for first, second in zip(ours, outputs.convert(what), strict=True):
            assert first == second
    scores = outputs.convert("scores")
    assert len(scores) == sum(max(both) > 0 for both in outputs.scores.values())
    for row in scores:
        score, specific = outputs.scores[row["instance"], row["label"]]
        assert same(row["score"], score)
        assert same(row["specific"], specific)


# How sure they are, and what to review.


def test_items_have_the_scores_and_gains_of_other_places(outputs: Outputs) -> None:
    scores = {(row["instance"], row["label"]): row["score"] for row in outputs.table("labels.csv")}
    listed = outputs.page["instances"]
    ids = {label: row["id"] for label, row in enumerate(taxonomy_rows(outputs.page))}
    for number, instance in enumerate(listed["id"]):
        row = outputs.items[instance]
        labels = row["labels"].split("; ") if row["labels"] else []
        if labels:
            lowest = min(float(scores[instance, label]) for label in labels)
            assert same(row["probability"], lowest)
            assert same(listed["score"][number], lowest, 1e-4)
        assert sorted(ids[label] for label in listed["labels"][number]) == sorted(labels)
        assert same(listed["gain"][number], row["review_priority"], 1e-4)


def taxonomy_rows(page: Any) -> list[dict[str, Any]]:
    columns = page["taxonomy"]
    return [{"id": each} for each in columns["id"]]


def test_instances_to_review_are_the_same_everywhere(outputs: Outputs) -> None:
    recorded, items = outputs.run["conflicts"], outputs.items
    everywhere = [
        recorded,
        outputs.json("conflicts", "OUT", "--top", "all"),
        to_json(package.conflicts("OUT", top=len(items))),
        to_json(package.conflicts(package.load_run("OUT"), top=len(items))),
    ]
    to_review = sum(float(row["review_priority"]) >= MIN_GAIN for row in items.values())
    for found in everywhere:
        assert found["disputed"] == recorded["disputed"]
        assert found["to_review"] == to_review
        assert round_scores(found["instances"]) == round_scores(recorded["instances"])
    for case in recorded["instances"]:
        assert same(case["gain"], items[case["instance"]]["review_priority"])
        assert case["answers"] == int(items[case["instance"]]["sources"])
    findings = outputs.page["findings"]
    assert findings["review"]["count"] == to_review
    assert findings["settled"]["count"] + findings["settled"]["contested"] + to_review == len(items)
    printed = re.search(r"Sources disagree on ([\d,]+) instances?", outputs.sentences)
    assert int(printed[1]) == recorded["disputed"] if printed else recorded["disputed"] == 0
    for case in outputs.page["conflicts"]:
        assert same(case["gain"], items[case["instance"]]["review_priority"], 1e-4)


def round_scores(cases: Any) -> Any:
    """Return instances to review with rounded scores: those not kept are predicted to 1e-6."""
    return [
        {
            **case,
            "disputed": [{**each, "score": round(each["score"], 5)} for each in case["disputed"]],
        }
        for case in cases
    ]


def to_json(value: Any) -> Any:
    return json.loads(json.dumps(plain(value)))


def test_explanations_have_the_numbers_of_the_run(outputs: Outputs) -> None:
    label_sets = {(row["instance"], row["label"]) for row in outputs.table("labels.csv")}
    disputed = {case["instance"]: case for case in outputs.run["conflicts"]["instances"]}
    for instance in list(outputs.items)[:7]:
        explanation = outputs.json("explain", "OUT", instance)
        assert same(explanation["gain"], outputs.items[instance]["review_priority"])
        answering = [
            answer
            for answer in explanation["answers"]
            if not answer["abstained"] and answer["source"] != "gold"
        ]
        deniers = [each for each in answering if each["denied"] and not each["labels"]]
        n_sources = int(outputs.items[instance]["sources"])
        assert n_sources <= len(answering) <= n_sources + len(deniers)
        labels = {label["label"]: label for label in explanation["labels"]}
        for name, label in labels.items():
            assert label["chosen"] == ((instance, name) in label_sets)
            if (instance, name) in outputs.scores:
                assert same(label["score"], outputs.scores[instance, name][0])
        for dispute in disputed.get(instance, {"disputed": []})["disputed"]:
            stances = Counter(
                stance["stance"]
                for stance in labels[dispute["label"]]["stances"]
                if stance["source"] != "gold"
            )
            assert dispute["support"] == stances["direct"] + stances["below"]
            assert dispute["against"] == stances["against"]
            assert labels[dispute["label"]]["disputed"]
        if instance in disputed:
            assert explanation["agreed"] == disputed[instance]["agreed"]


# How reliable sources are.


def test_sources_have_the_same_reliability_everywhere(outputs: Outputs) -> None:
    table = {row["source"]: row for row in outputs.table("sources.csv")}
    recorded = {each["source"]: each for each in outputs.run["sources"]}
    shown = {each["source"]: each for each in outputs.page["sources"]}
    loaded = {each.source: each for each in package.load_run("OUT").sources}
    assert list(table) == list(recorded) == list(shown) == list(loaded)
    for name, row in table.items():
        for key in ("answers", "coverage", "mean_depth", "independence", "dependence"):
            assert same(row[key], recorded[name][key])
            assert same(row[key], shown[name][key], 1e-4)
            assert same(row[key], getattr(loaded[name], key))
        for key in ("accurate", "vague", "wrong"):
            for known, tolerance in ((recorded[name][key], EXACT), (shown[name][key], 1e-4)):
                assert same(row[key], None if known is None else known[0], tolerance)
            assert same(row[key], getattr(loaded[name], key).value)
    check_printed_sources(outputs.printed, table)


def check_printed_sources(printed: str, table: Mapping[str, Row]) -> None:
    lines = printed.split("independence\n", 1)[1].splitlines()
    for line in lines:
        name = next((name for name in table if line.startswith(f"{name} ")), None)
        if name is None:
            break
        row = table[name]
        numbers = re.findall(r"[\d.]+(?: %)?", line[len(name) :].replace(",", ""))
        expected = [row["answers"], percent(row["coverage"])]
        expected += [f"{float(row['mean_depth']):.2f}"] if row["mean_depth"] else []
        expected += [percent(row[key]) for key in ("accurate", "vague", "wrong") if row[key]]
        assert numbers == [*expected, f"{float(row['independence']):.2f}"], line


def percent(text: str) -> str:
    return format_percent(float(text))


def test_what_sources_are_worth_agrees_with_the_run(outputs: Outputs) -> None:
    worth = outputs.json("sources", "OUT")
    answers = {row["source"]: int(row["answers"]) for row in outputs.table("sources.csv")}
    assert {each["source"]: each["answers"] for each in worth["sources"]} == {
        name: answers[name] for name in (each["source"] for each in worth["sources"])
    }
    facts = outputs.page["contributions"]
    names = [each["source"] for each in outputs.page["sources"]]
    by_name = {each["source"]: each for each in worth["sources"]}
    for number, changed in enumerate(facts["changed"]):
        if changed is not None and by_name[names[number]]["changed"] is not None:
            assert same(changed, by_name[names[number]]["changed"], 1e-4)


# Measured against the truth.


def test_metrics_are_the_same_everywhere(outputs: Outputs) -> None:
    cards = outputs.run["scorecards"]
    if not cards:
        pytest.skip("no truth is given")
    measured = outputs.json("evaluate", "OUT", "--truth", "truth.csv")
    in_python = to_json(package.evaluate(package.load_run("OUT"), "truth.csv"))
    closed = next(card for card in cards if card["view"] == "closed")
    for part in ("sets", "levels"):
        assert measured[part] == closed[part] == in_python[part]
    for metric in closed["sets"]:
        name = metric["metric"].replace("_", " ").replace(" f", " F")
        assert re.search(rf"{name} [↑↓] {metric['value']:.4f}", outputs.sentences), name
