"""Thirty everyday ways to write down the same votes: all of them give the same result.

Every input is read without options, or with the one option that the error message names.
"""

import csv
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import duckdb
import openpyxl
import pandas
import pytest

from mhpc.cli import main
from tests.fixtures.build import GARDEN
from tests.fixtures.commands import shows_bug

SOURCES = ("ann", "bob", "gpt-x")

ANSWERS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("p1", "ann"): ("monarda",),
    ("p1", "bob"): ("monarda", "oak"),
    ("p1", "gpt-x"): ("fuchsia",),
    ("p2", "ann"): ("finch",),
    ("p2", "bob"): ("finch",),
    ("p2", "gpt-x"): ("bird",),
    ("p3", "ann"): ("oak",),
    ("p3", "bob"): ("tree",),
    ("p4", "ann"): (),
    ("p4", "gpt-x"): ("fuchsia", "finch"),
    ("p5", "bob"): ("fuchsia",),
    ("p5", "gpt-x"): ("fuchsia",),
}
"""The answers; ann says "none of these" about p4."""

SCORES = {
    (instance, source, label): round(0.25 + 0.125 * (number % 7), 3)
    for number, (instance, source, label) in enumerate(
        (instance, source, label)
        for (instance, source), labels in ANSWERS.items()
        for label in labels
    )
}
"""Scores for the same votes."""

PATHS = {label: tuple(GARDEN.path(GARDEN.labels.positions[label]).split(" > ")) for label in GARDEN}


@dataclass(frozen=True)
class Input:
    """Something that a person has, and what it takes to consolidate it.

    Attributes
    ----------
    write : callable
        Writes the files into a folder and returns the words of the command line.
    option : tuple of str
        The option that is needed, which the message about the input without it must name.
    """

    write: Callable[[Path], Sequence[str]]
    option: tuple[str, ...] = ()


def rows() -> list[tuple[str, str, str]]:
    """Return one row per vote; the label is empty for "none of these"."""
    return [
        (instance, source, label)
        for (instance, source), labels in ANSWERS.items()
        for label in labels or ("",)
    ]


def put(folder: Path, name: str, text: str) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return name


def table(header: Sequence[str], cells: Sequence[Sequence[Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([header, *cells])
    return text.getvalue()


def long(folder: Path, name: str = "votes.csv", header: Sequence[str] = ()) -> str:
    return put(folder, name, table(header or ("instance", "source", "label"), rows()))


def taxonomy(folder: Path) -> str:
    parents = [(label, path[-2] if len(path) > 1 else "") for label, path in PATHS.items()]
    return put(folder, "taxonomy.csv", table(("label", "parent"), parents))


def with_taxonomy(write: Callable[[Path], str | Sequence[str]]) -> Callable[[Path], Sequence[str]]:
    def write_both(folder: Path) -> Sequence[str]:
        votes = write(folder)
        return [*([votes] if isinstance(votes, str) else votes), "--taxonomy", taxonomy(folder)]

    return write_both


def with_votes(write: Callable[[Path], str]) -> Callable[[Path], Sequence[str]]:
    return lambda folder: [long(folder), "--taxonomy", write(folder)]


def workbook(folder: Path, name: str, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> str:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, cells in sheets.items():
        sheet = book.create_sheet(title)
        for row in cells:
            sheet.append(list(row))
    book.save(folder / name)
    return name


def votes_workbook(folder: Path) -> str:
    cells = [("Item ID", "Annotator", "Category"), *rows()]
    return workbook(folder, "votes.xlsx", {"Votes": cells})


def votes_sheet(folder: Path) -> str:
    cells = [("item", "annotator", "label"), *rows()]
    notes = [("about", "what"), ("this", "book")]
    return workbook(folder, "book.xlsx", {"Notes": notes, "March votes": cells}) + ":March votes"


def level_workbook(folder: Path) -> str:
    cells = [("Level 1", "Level 2", "Level 3"), *((*path, "", "")[:3] for path in PATHS.values())]
    return workbook(folder, "labels.xlsx", {"Taxonomy": cells})


def one_file_per_source(folder: Path) -> Sequence[str]:
    return [
        put(
            folder,
            f"{name}.csv",
            table(("instance", "label"), [(i, k) for i, s, k in rows() if s == name]),
        )
        for name in SOURCES
    ]


def source_folder(folder: Path) -> str:
    (folder / "votes").mkdir()
    one_file_per_source(folder / "votes")
    return "votes"


def source_zip(folder: Path) -> str:
    (folder / "parts").mkdir()
    with zipfile.ZipFile(folder / "votes.zip", "w") as archive:
        for name in one_file_per_source(folder / "parts"):
            archive.write(folder / "parts" / name, name)
    return "votes.zip"


def two_halves(folder: Path) -> Sequence[str]:
    header, half = ("task", "worker", "label"), len(rows()) // 2
    return [
        put(folder, "march.csv", table(header, rows()[:half])),
        put(folder, "april.tsv", table(header, rows()[half:], "\t")),
    ]


def joined(labels: Sequence[str], separator: str) -> str:
    return separator.join(labels)


def answers_table(separator: str) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        cells = [(i, s, joined(labels, separator)) for (i, s), labels in ANSWERS.items()]
        return put(folder, "votes.csv", table(("id", "model", "labels"), cells))

    return write


def annotator_columns(folder: Path) -> str:
    instances = dict.fromkeys(instance for instance, _ in ANSWERS)
    cells = [
        [i, *(joined(ANSWERS[i, s], ";") or "none" if (i, s) in ANSWERS else "" for s in SOURCES)]
        for i in instances
    ]
    return put(folder, "sheet.csv", table(("photo", *SOURCES), cells))


def json_lines(records: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def language_models(folder: Path) -> str:
    answers = [
        {"item": i, "model": s, "labels": list(labels), "raw_response": "…"}
        for (i, s), labels in ANSWERS.items()
    ]
    return put(folder, "answers.jsonl", json_lines(answers))


def nested_annotations(folder: Path) -> str:
    items: dict[str, list[dict[str, Any]]] = {}
    for (i, s), labels in ANSWERS.items():
        items.setdefault(i, []).append({"annotator_id": s, "labels": list(labels)})
    records = [{"id": i, "text": "…", "annotations": answers} for i, answers in items.items()]
    return put(folder, "items.json", json.dumps(records))


def label_objects(folder: Path) -> str:
    answers = [
        {"id": i, "annotator": s, "labels": [{"name": label} for label in labels]}
        for (i, s), labels in ANSWERS.items()
    ]
    return put(folder, "answers.json", json.dumps(answers))


def spelled(change: Callable[[str], str]) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        cells = [(i, s, change(label) if label else "") for i, s, label in rows()]
        return put(folder, "votes.csv", table(("instance", "source", "label"), cells))

    return write


def as_path(separator: str) -> Callable[[str], str]:
    return lambda label: separator.join(PATHS[label])


def no_header(folder: Path) -> str:
    return put(folder, "votes.csv", table(rows()[0], rows()[1:]))


def with_abstentions(folder: Path) -> str:
    cells = [*rows(), ("p3", "gpt-x", "unknown"), ("p5", "ann", "N/A")]
    return put(folder, "votes.csv", table(("instance", "source", "label"), cells))


def semicolons(folder: Path) -> str:
    return put(folder, "votes.csv", table(("Instance", "Source", "Label"), rows(), ";"))


def bare_indented(folder: Path) -> str:
    lines = ["  " * (len(path) - 1) + path[-1] for path in PATHS.values()]
    return put(folder, "labels.txt", "\n".join(lines) + "\n")


def path_list(separator: str) -> Callable[[Path], str]:
    return lambda folder: put(
        folder, "labels.txt", "".join(f"{separator.join(path)}\n" for path in PATHS.values())
    )


def level_columns(folder: Path) -> str:
    cells = [(*path, "", "")[:3] for path in PATHS.values()]
    return put(folder, "levels.csv", table(("level1", "level2", "level3"), cells))


def outline(folder: Path) -> str:
    cells = [
        ("",) * (len(path) - 1) + (path[-1],) + ("",) * (3 - len(path)) for path in PATHS.values()
    ]
    return put(folder, "outline.csv", table(("Level 1", "Level 2", "Level 3"), cells))


def parent_categories(folder: Path) -> str:
    cells = [(label, path[-2] if len(path) > 1 else "") for label, path in PATHS.items()]
    return put(folder, "categories.csv", table(("Category", "Parent Category"), cells))


def yaml_tree(folder: Path) -> str:
    text = "plant:\n  flower: [monarda, fuchsia]\n  tree: [oak]\nanimal:\n  bird: [finch]\n"
    return put(folder, "taxonomy.yaml", text)


def mapped(folder: Path) -> Sequence[str]:
    votes = spelled(lambda label: f"label of {label}!")(folder)
    put(folder, "map.csv", table(("from", "to"), [(f"label of {k}!", k) for k in PATHS]))
    return [votes, "--map", "map.csv"]


def settings(folder: Path) -> Sequence[str]:
    long(folder), taxonomy(folder)
    put(folder, "run.yaml", "votes: votes.csv\ntaxonomy: taxonomy.csv\n")
    return ["--config", "run.yaml"]


INPUTS: Mapping[str, Input] = {
    "a long table": Input(with_taxonomy(long)),
    "other names of columns": Input(
        with_taxonomy(lambda folder: long(folder, header=("id", "annotator_id", "category")))
    ),
    "names with capitals and blanks": Input(
        with_taxonomy(lambda folder: long(folder, header=("Item ID", "Model Name", "Tag")))
    ),
    "an unusual name": Input(
        with_taxonomy(lambda folder: long(folder, header=("ref", "source", "label"))),
        ("--column", "instance=ref"),
    ),
    "no header": Input(with_taxonomy(no_header)),
    "semicolons between columns": Input(with_taxonomy(semicolons)),
    "a workbook": Input(with_taxonomy(votes_workbook)),
    "a sheet of a workbook": Input(with_taxonomy(votes_sheet)),
    "several files": Input(with_taxonomy(two_halves)),
    "one file per source": Input(with_taxonomy(one_file_per_source)),
    "a folder": Input(with_taxonomy(source_folder)),
    "a zip": Input(with_taxonomy(source_zip)),
    "a pattern": Input(with_taxonomy(lambda folder: (source_folder(folder), "votes/*.csv")[1])),
    "labels joined by semicolons": Input(with_taxonomy(answers_table(";")), ("--separator", ";")),
    "labels joined by bars": Input(with_taxonomy(answers_table("|")), ("--separator", "|")),
    "labels joined by commas": Input(with_taxonomy(answers_table(", ")), ("--separator", ",")),
    "one column per annotator": Input(with_taxonomy(annotator_columns), ("--separator", ";")),
    "answers of language models": Input(with_taxonomy(language_models)),
    "annotations within items": Input(with_taxonomy(nested_annotations)),
    "labels as objects": Input(with_taxonomy(label_objects)),
    "labels in capitals": Input(with_taxonomy(spelled(str.upper))),
    "labels with blanks around them": Input(with_taxonomy(spelled(lambda label: f" {label} "))),
    "labels as paths": Input(with_taxonomy(spelled(as_path(" > ")))),
    "labels as paths with slashes": Input(with_taxonomy(spelled(as_path("/")))),
    "labels below the known ones": Input(
        with_taxonomy(spelled(lambda label: as_path(" > ")(label) + " > var. x")),
        ("--unknown", "ancestor"),
    ),
    "labels with typing errors": Input(
        with_taxonomy(spelled(lambda label: label[:2] + label[1] + label[2:])),
        ("--unknown", "nearest"),
    ),
    "labels replaced by a map": Input(with_taxonomy(mapped)),
    "abstentions": Input(with_taxonomy(with_abstentions)),
    "levels as columns": Input(with_votes(level_columns)),
    "levels in a workbook": Input(with_votes(level_workbook)),
    "an outline": Input(with_votes(outline)),
    "parent categories": Input(with_votes(parent_categories)),
    "an indented list": Input(with_votes(bare_indented)),
    "paths with slashes": Input(with_votes(path_list("/"))),
    "paths with arrows": Input(with_votes(path_list(" → "))),
    "nested YAML": Input(with_votes(yaml_tree)),
    "labels that are paths, without a taxonomy": Input(
        lambda folder: [spelled(as_path(" > "))(folder)]
    ),
    "settings in YAML": Input(settings),
}


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., CompletedProcess[str]]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*words: str) -> CompletedProcess[str]:
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as exit_info:
            main(list(words))
        out, err = capsys.readouterr()
        assert not shows_bug(err), err
        return CompletedProcess(words, int(exit_info.value.code or 0), out, err)

    return run


Runner = Callable[..., CompletedProcess[str]]


def consolidate(run: Runner, words: Sequence[str], output: str) -> CompletedProcess[str]:
    return run("consolidate", *words, "--method", "majority", "--top", "all", "-o", output)


def last_step(label: str) -> str:
    """Return the name of a label: a taxonomy of paths has them as ids."""
    for separator in (" > ", "/", " → "):
        label = label.rsplit(separator, 1)[-1]
    return label


def result(folder: Path) -> dict[tuple[str, str], float]:
    """Return the scores above 0 of all labels, by instance and name of the label."""
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(folder / "scores.parquet")).fetchall()
    return {(instance, last_step(label)): score for instance, label, score, _ in rows if score}


def sources(folder: Path) -> dict[str, str]:
    with (folder / "sources.csv").open(encoding="utf-8") as file:
        return {row["source"]: row["answers"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", INPUTS)
def test_every_input_gives_the_same_result(name: str, tmp_path: Path, run: Runner) -> None:
    (tmp_path / "plain").mkdir()
    plain = [
        str(tmp_path / "plain" / long(tmp_path / "plain")),
        "--taxonomy",
        str(tmp_path / "plain" / taxonomy(tmp_path / "plain")),
    ]
    assert consolidate(run, plain, "PLAIN").returncode == 0
    words = INPUTS[name].write(tmp_path)
    option = INPUTS[name].option
    if option:
        refused = consolidate(run, words, "OUT")
        assert refused.returncode in (1, 2)
        assert refused.stderr.count("\n") <= 2
        assert option[0] in refused.stderr
        assert not (tmp_path / "OUT").exists()
    done = consolidate(run, [*words, *option], "OUT")
    assert done.returncode == 0, done.stderr
    assert result(tmp_path / "OUT") == pytest.approx(result(tmp_path / "PLAIN"))
    assert sources(tmp_path / "OUT") == sources(tmp_path / "PLAIN")


def scored(form: Callable[[float], Any]) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        cells = [(i, s, k, form(SCORES[i, s, k]) if k else "") for i, s, k in rows()]
        return put(folder, "votes.csv", table(("item", "model", "label", "confidence"), cells))

    return write


def scored_records(folder: Path) -> str:
    answers = [
        {
            "item": i, "model": s,
            "labels": [{"label": k, "score": SCORES[i, s, k]} for k in labels],
        }
        for (i, s), labels in ANSWERS.items()
    ]  # fmt: skip
    return put(folder, "answers.jsonl", json_lines(answers))


def scores_beside_votes(folder: Path) -> Sequence[str]:
    cells = [(*row, SCORES[row]) for row in rows() if row in SCORES]
    scores = table(("instance", "source", "label", "score"), cells)
    return [long(folder), put(folder, "scores.csv", scores)]


SCORED_INPUTS: Mapping[str, Input] = {
    "percentages": Input(with_taxonomy(scored(lambda score: f"{100 * score:g}%"))),
    "percentages without a sign": Input(with_taxonomy(scored(lambda score: 100 * score))),
    "decimal commas": Input(with_taxonomy(scored(lambda score: str(score).replace(".", ",")))),
    "grades of a scale": Input(
        with_taxonomy(scored(lambda score: 8 * score)), ("--score-max", "8")
    ),
    "labels with scores": Input(with_taxonomy(scored_records)),
    "votes and scores in two files": Input(with_taxonomy(scores_beside_votes)),
}


@pytest.mark.parametrize("name", SCORED_INPUTS)
def test_every_way_of_writing_scores_gives_the_same_result(
    name: str, tmp_path: Path, run: Runner
) -> None:
    (tmp_path / "plain").mkdir()
    plain = scored(lambda score: score)(tmp_path / "plain")
    plain_words = [str(tmp_path / "plain" / plain), "--taxonomy", taxonomy(tmp_path)]
    assert consolidate(run, plain_words, "PLAIN").returncode == 0
    words = SCORED_INPUTS[name].write(tmp_path)
    option = SCORED_INPUTS[name].option
    if option:
        refused = consolidate(run, words, "OUT")
        assert refused.returncode == 1
        assert option[0] in refused.stderr
    done = consolidate(run, [*words, *option], "OUT")
    assert done.returncode == 0, done.stderr
    assert result(tmp_path / "OUT") == pytest.approx(result(tmp_path / "PLAIN"))


def test_a_dataframe_gives_the_same_votes(tmp_path: Path) -> None:
    import mhpc

    frame = pandas.read_csv(tmp_path / long(tmp_path), dtype=str)
    labels = pandas.read_csv(tmp_path / taxonomy(tmp_path))
    from_frame = mhpc.consolidate(frame, labels, method="majority")
    from_file = mhpc.consolidate(
        tmp_path / "votes.csv", tmp_path / "taxonomy.csv", method="majority"
    )
    assert from_frame.labels == from_file.labels
