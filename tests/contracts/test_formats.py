"""One battery over every format: the same answers must become the same panel."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import networkx
import pandas
import polars
import pyarrow
import pytest

from mhpc.data.panel import Panel
from mhpc.data.taxonomy import Taxonomy
from mhpc.encoding.panel import encode
from mhpc.errors import silence_warnings
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.taxonomy_formats import TAXONOMY_FORMATS
from mhpc.read.vote_formats import VOTE_FORMATS
from mhpc.read.votes import read_votes
from tests.fixtures.build import GARDEN
from tests.fixtures.spreadsheets import write_ods, write_xlsx

Answers = dict[tuple[str, str], list[str]]

ANSWERS: Answers = {
    ("1", "ann"): ["monarda", "tree"],
    ("1", "bob"): ["fuchsia"],
    ("2", "ann"): ["finch"],
    ("2", "bob"): ["bird", "plant"],
    ("3", "bob"): ["oak"],
}
"""What two sources answered; ann has no answer for instance 3."""

NAMES = ("ann", "bob")

PATHS = {label: GARDEN.path(GARDEN.labels.positions[label]).split(" > ") for label in GARDEN}


def labels_by_answer(panel: Panel) -> dict[tuple[str, str], dict[str, float]]:
    answers = {}
    for answer, (i, s) in enumerate(zip(panel.instance, panel.source, strict=True)):
        row = panel.raw[[answer]].tocoo()
        labels = {
            panel.taxonomy.labels[k]: float(v) for k, v in zip(row.col, row.data, strict=True)
        }
        answers[panel.instances[i], panel.sources[s]] = labels
    return answers


def csv_text(header: list[str], rows: list[list[Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([header, *rows])
    return text.getvalue()


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def tasks(value: Callable[[list[str]], dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    tasks_by_id: dict[str, dict[str, Any]] = {}
    for number, ((instance, source), labels) in enumerate(ANSWERS.items()):
        task = tasks_by_id.setdefault(
            instance,
            {"id": int(instance), "data": {"text": "…"}, "annotations": [], "predictions": []},
        )
        result = {"id": f"r{number}", "type": kind, "from_name": "topic", "to_name": "text"}
        task["annotations"].append(
            {
                "id": number, "completed_by": {"id": number, "email": source},
                "was_cancelled": False, "ground_truth": False,
                "result": [{**result, "value": value(labels)}],
            }
        )  # fmt: skip
    return list(tasks_by_id.values())


def taxonomy_value(labels: list[str]) -> dict[str, Any]:
    return {"taxonomy": [PATHS[label] for label in labels]}


def long_table(folder: Path) -> Path:
    rows = [[i, s, label] for (i, s), labels in ANSWERS.items() for label in labels]
    return write_text(folder / "votes.csv", csv_text(["instance", "source", "label"], rows))


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def crowd_kit(folder: Path) -> pandas.DataFrame:
    rows = [(i, s, labels) for (i, s), labels in ANSWERS.items()]
    return pandas.DataFrame(rows, columns=["task", "worker", "label"])


def records(folder: Path) -> Path:
    answers = [{"item": i, "model": s, "labels": labels} for (i, s), labels in ANSWERS.items()]
    return write_text(folder / "answers.jsonl", lines(answers))


def records_with_scores(folder: Path) -> Path:
    answers = [
        {"id": i, "model": s, "labels": [{"name": label, "confidence": 1} for label in labels]}
        for (i, s), labels in ANSWERS.items()
    ]
    return write_text(folder / "answers.json", json.dumps(answers))


def by_instance() -> dict[str, dict[str, list[str]]]:
    answers: dict[str, dict[str, list[str]]] = {}
    for (i, s), labels in ANSWERS.items():
        answers.setdefault(i, {})[s] = labels
    return answers


def records_nested(folder: Path) -> Path:
    items = [
        {"id": i, "annotations": [{"annotator": s, "labels": labels} for s, labels in by.items()]}
        for i, by in by_instance().items()
    ]
    return write_text(folder / "items.json", json.dumps(items))


def records_by_source(folder: Path) -> Path:
    items = [{"id": i, "annotations": by} for i, by in by_instance().items()]
    return write_text(folder / "items.jsonl", lines(items))


def source_columns(folder: Path) -> Path:
    rows: list[list[Any]] = []
    for i, by in by_instance().items():
        rows += [
            [i, *(labels[n] if n < len(labels := by.get(s, [])) else "" for s in NAMES)]
            for n in range(2)
        ]
    return write_text(folder / "raters.csv", csv_text(["id", *NAMES], rows))


def one_file_per_source(folder: Path) -> Path:
    (folder / "votes").mkdir()
    for name in NAMES:
        rows = [[i, label] for (i, s), labels in ANSWERS.items() if s == name for label in labels]
        write_text(folder / "votes" / f"{name}.csv", csv_text(["id", "category"], rows))
    return folder / "votes"


def several_files(folder: Path) -> list[Path]:
    votes = long_table(folder)
    first, second = votes.read_text().splitlines()[1:4], votes.read_text().splitlines()[4:]
    header = "instance,source,label\n"
    json_rows = [
        dict(zip(("item", "judge", "label"), row.split(","), strict=True)) for row in second
    ]
    return [
        write_text(folder / "a.csv", header + "\n".join(first) + "\n"),
        write_text(folder / "b.jsonl", lines(json_rows)),
    ]


def zipped(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "votes.zip", "w") as archive:
        for path in several_files(folder):
            archive.write(path, path.name)
    return folder / "votes.zip"


def no_header(folder: Path) -> Path:
    text = long_table(folder).read_text().split("\n", 1)[1]
    return write_text(folder / "bare.csv", text)


def judge_lines(folder: Path) -> Path:
    records = [
        {"item": i, "judge": s, "label": label}
        for (i, s), labels in ANSWERS.items()
        for label in labels
    ]
    return write_text(folder / "judges.jsonl", lines(records))


def judge_lists(folder: Path) -> Path:
    records = [{"item": i, "judge": s, "label": labels} for (i, s), labels in ANSWERS.items()]
    return write_text(folder / "judges.jsonl", lines(records))


def json_array(folder: Path) -> Path:
    records = [
        {"instance": i, "source": s, "label": label}
        for (i, s), labels in ANSWERS.items()
        for label in labels
    ]
    return write_text(folder / "votes.json", json.dumps(records, indent=1))


def wide(folder: Path) -> Path:
    rows = [
        ["some text", i, "2019", s, "False", *(int(label in labels) for label in GARDEN)]
        for (i, s), labels in ANSWERS.items()
    ]
    header = ["text", "id", "created_utc", "rater_id", "example_very_unclear", *GARDEN]
    return write_text(folder / "emotions.csv", csv_text(header, rows))


def matrices(folder: Path) -> Path:
    (folder / "sources").mkdir()
    for source, order in (("ann", list(GARDEN)), ("bob", list(reversed(list(GARDEN))))):
        rows = [
            [i, *(float(label in labels) for label in order)]
            for (i, s), labels in ANSWERS.items()
            if s == source
        ]
        write_text(folder / "sources" / f"{source}.csv", csv_text(["Study", *order], rows))
    return folder / "sources"


def cafa(folder: Path) -> str:
    for source in ("ann", "bob"):
        rows = [
            f"{i}\t{label}\t1.00"
            for (i, s), labels in ANSWERS.items()
            if s == source
            for label in labels
        ]
        framed = ["AUTHOR team", "MODEL 1", "KEYWORDS none.", *rows, "END"]
        write_text(folder / f"{source}.tsv", "\n".join(framed if source == "bob" else rows) + "\n")
    return f"{folder}/*.tsv"


def label_studio(folder: Path) -> Path:
    exported = tasks(taxonomy_value, "taxonomy")
    return write_text(folder / "export.json", json.dumps(exported, indent=1))


def label_studio_choices(folder: Path) -> Path:
    exported = tasks(lambda labels: {"choices": labels}, "choices")
    return write_text(folder / "export.json", json.dumps(exported))


def label_studio_in_memory(folder: Path) -> list[dict[str, Any]]:
    return tasks(taxonomy_value, "taxonomy")


def label_studio_min(folder: Path) -> Path:
    records = [
        {
            "text": "…", "id": int(i), "topic": [taxonomy_value(labels)], "annotator": s,
            "annotation_id": number, "created_at": "…", "updated_at": "…", "lead_time": 3.5,
        }
        for number, ((i, s), labels) in enumerate(ANSWERS.items())
    ]  # fmt: skip
    return write_text(folder / "min.json", json.dumps(records, indent=2))


def label_studio_min_choices(folder: Path) -> Path:
    """Write what the converter writes: one choice as text, several in an object."""
    records = [
        {
            "text": "…", "id": int(i), "topic": labels[0] if len(labels) == 1 else {
                "choices": labels
            }, "annotator": s, "annotation_id": number,
        }
        for number, ((i, s), labels) in enumerate(ANSWERS.items())
    ]  # fmt: skip
    return write_text(folder / "min.json", json.dumps(records, indent=2))


def label_studio_csv(folder: Path) -> Path:
    rows = [
        [number, s, "…", i, json.dumps([taxonomy_value(labels)]), "…"]
        for number, ((i, s), labels) in enumerate(ANSWERS.items())
    ]
    header = ["annotation_id", "annotator", "created_at", "id", "topic", "text"]
    return write_text(folder / "export.csv", csv_text(header, rows))


def argilla_flat(folder: Path) -> Path:
    return write_text(folder / "records.json", json.dumps(argilla_records(flatten=True)))


def argilla_nested(folder: Path) -> Path:
    return write_text(folder / "records.json", json.dumps(argilla_records(flatten=False)))


def argilla_records(*, flatten: bool) -> list[dict[str, Any]]:
    records = []
    for instance in ("1", "2", "3"):
        answers = {s: labels for (i, s), labels in ANSWERS.items() if i == instance}
        if flatten:
            record: dict[str, Any] = {
                "id": instance, "status": "completed", "_server_id": "…", "text": "…",
                "topic.responses": list(answers.values()), "topic.responses.users": list(answers),
                "topic.responses.status": ["submitted"] * len(answers),
            }  # fmt: skip
        else:
            responses = [{"value": labels, "user_id": s} for s, labels in answers.items()]
            record = {
                "id": instance, "fields": {"text": "…"}, "metadata": {}, "suggestions": {},
                "responses": {"topic": responses}, "vectors": {}, "status": "completed",
            }  # fmt: skip
        records.append(record)
    return records


def doccano(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        for source in ("ann", "bob"):
            records = [
                {"id": int(i), "text": "…", "label": ANSWERS.get((i, source), []), "Comments": []}
                for i in ("1", "2", "3")
            ]
            archive.writestr(f"{source}.jsonl", lines(records))
    return folder / "export.zip"


def prodigy(folder: Path) -> Path:
    records = [
        {
            "text": "…", "options": [{"id": label, "text": label} for label in GARDEN],
            "accept": labels, "answer": "accept", "_input_hash": int(i), "_task_hash": -1,
            "_view_id": "choice", "_timestamp": 1, "_annotator_id": s, "_session_id": s,
        }
        for (i, s), labels in ANSWERS.items()
    ]  # fmt: skip
    return write_text(folder / "annotations.jsonl", lines(records))


def zooniverse(folder: Path) -> Path:
    header = [
        "classification_id", "user_name", "user_id", "user_ip", "workflow_id", "workflow_name",
        "workflow_version", "created_at", "gold_standard", "expert", "metadata", "annotations",
        "subject_data", "subject_ids",
    ]  # fmt: skip
    rows: list[list[Any]] = []
    for number, ((i, s), labels) in enumerate(ANSWERS.items()):
        survey = [{"choice": k, "answers": {"HOWMANY": "1"}, "filters": {}} for k in labels]
        annotations = json.dumps([{"task": "T0", "value": survey}])
        rows.append([number, s, "", "ip", 1, "w", "1.1", "…", "", "", "{}", annotations, "{}", i])
    return write_text(folder / "classifications.csv", csv_text(header, rows))


def peerannot(folder: Path) -> Path:
    answers: dict[str, dict[str, Any]] = {}
    for (i, s), labels in ANSWERS.items():
        answers.setdefault(i, {})[s] = labels if len(labels) > 1 else labels[0]
    return write_text(folder / "answers.json", json.dumps(answers))


def long_rows() -> list[list[str]]:
    rows = [[i, s, label] for (i, s), labels in ANSWERS.items() for label in labels]
    return [["instance", "source", "label"], *rows]


def sheet_of_votes(folder: Path) -> str:
    write_xlsx(folder / "votes.xlsx", {"Notes": [["by us"]], "All votes": long_rows()})
    return f"{folder}/votes.xlsx:All votes"


def long_columns() -> dict[str, list[str]]:
    rows = [(i, s, label) for (i, s), labels in ANSWERS.items() for label in labels]
    return dict(zip(("task", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True))


VOTE_EXAMPLES: dict[str, tuple[str | None, Callable[[Path], Any]]] = {
    "long": ("long", long_table),
    "json-array": ("long", json_array),
    "excel": ("long", lambda folder: write_xlsx(folder / "votes.xlsx", {"Votes": long_rows()})),
    "excel-sheet": ("long", sheet_of_votes),
    "open-document": ("long", lambda folder: write_ods(folder / "votes.ods", {"V": long_rows()})),
    "crowd-kit-lists": ("long", crowd_kit),
    "crowd-kit": ("long", lambda folder: pandas.DataFrame(long_columns())),
    "polars-lists": ("long", lambda folder: polars.from_pandas(crowd_kit(folder))),
    "arrow-lists": ("long", lambda folder: pyarrow.Table.from_pandas(crowd_kit(folder))),
    "relation-lists": ("long", lambda folder: duckdb.connect().from_df(crowd_kit(folder))),
    "relation": (
        "long",
        lambda folder: duckdb.connect().from_df(pandas.DataFrame(long_columns())),
    ),
    "judges": ("long", judge_lines),
    "judges-lists": ("long", judge_lists),
    "records": ("records", records),
    "records-scores": ("records", records_with_scores),
    "records-nested": ("records", records_nested),
    "records-by-source": ("records", records_by_source),
    "records-memory": ("records", lambda folder: json.loads(records_nested(folder).read_text())),
    "source-columns": ("source-columns", source_columns),
    "source-columns-frame": (
        "source-columns",
        lambda folder: pandas.read_csv(source_columns(folder)),
    ),
    "one-file-per-source": (None, one_file_per_source),
    "several-files": (None, several_files),
    "zip": (None, zipped),
    "no-header": ("long", no_header),
    "wide": ("wide", wide),
    "wide-frame": ("wide", lambda folder: pandas.read_csv(wide(folder))),
    "matrices": ("matrices", matrices),
    "cafa": ("cafa", cafa),
    "label-studio": ("label-studio", label_studio),
    "label-studio-choices": ("label-studio", label_studio_choices),
    "label-studio-memory": ("label-studio", label_studio_in_memory),
    "label-studio-min": ("label-studio-min", label_studio_min),
    "label-studio-min-choices": ("label-studio-min", label_studio_min_choices),
    "label-studio-csv": ("label-studio-min", label_studio_csv),
    "argilla-flat": ("argilla", argilla_flat),
    "argilla-nested": ("argilla", argilla_nested),
    "argilla-memory": ("argilla", lambda folder: argilla_records(flatten=True)),
    "doccano": ("doccano", doccano),
    "prodigy": ("prodigy", prodigy),
    "zooniverse": ("zooniverse", zooniverse),
    "peerannot": ("peerannot", peerannot),
}


def test_every_format_of_votes_has_an_example() -> None:
    assert {name for name, _ in VOTE_EXAMPLES.values() if name} == set(VOTE_FORMATS)


@pytest.mark.parametrize("is_named", [False, True], ids=["format detected", "format named"])
@pytest.mark.parametrize("example", VOTE_EXAMPLES)
def test_the_same_answers_become_the_same_panel(
    example: str, is_named: bool, tmp_path: Path
) -> None:
    format_, write = VOTE_EXAMPLES[example]
    if format_ == "source-columns" and not is_named:
        pytest.skip("recognized by labels that several sources give, of which there are none here")
    with silence_warnings():
        votes = read_votes(write(tmp_path), format=format_ if is_named else None)
    panel = encode(votes, GARDEN)
    expected = {answer: dict.fromkeys(labels, 1.0) for answer, labels in ANSWERS.items()}
    assert labels_by_answer(panel) == expected
    assert panel.scope is None
    assert votes.gold is None


OBO = "format-version: 1.2\n" + "".join(
    f"\n[Term]\nid: {label}\nname: {label}\n"
    + "".join(
        f"is_a: {GARDEN.labels[p]} ! above\n"
        for p in GARDEN.parents_of(GARDEN.labels.positions[label])
    )
    for label in GARDEN
)
PARENT = {
    label: GARDEN.labels[above[0]] if len(above := GARDEN.parents_of(position)) else None
    for position, label in enumerate(GARDEN)
}


def nested_json() -> dict[str, Any]:
    def node(label: str) -> dict[str, Any]:
        below = [child for child in GARDEN if PARENT[child] == label]
        return {"name": label, **({"children": [node(child) for child in below]} if below else {})}

    return {"name": "everything", "children": [node(root) for root in ("plant", "animal")]}


def config_xml() -> str:
    def choice(label: str) -> str:
        below = "".join(choice(child) for child in GARDEN if PARENT[child] == label)
        return f'<Choice value="{label}">{below}</Choice>'

    roots = "".join(choice(root) for root in ("plant", "animal"))
    return (
        '<View><Text name="text" value="$text"/>'
        f'<Taxonomy name="topic" toName="text">{roots}</Taxonomy></View>'
    )


def turtle() -> str:
    return "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n" + "".join(
        f'<urn:x:{label}> a skos:Concept ; skos:prefLabel "{label}"@en '
        + (f"; skos:broader <urn:x:{PARENT[label]}> " if PARENT[label] else "")
        + ".\n"
        for label in GARDEN
    )


def graph(folder: Path) -> Any:
    digraph = networkx.DiGraph()
    digraph.add_nodes_from(GARDEN)
    digraph.add_edges_from((above, label) for label, above in PARENT.items() if above)
    return digraph


def level_rows() -> list[list[str]]:
    return [["Level 1", "Level 2", "Level 3"], *(PATHS[label] for label in GARDEN)]


def levels(folder: Path) -> Path:
    header, *rows = level_rows()
    padded = [[*row, *[""] * (3 - len(row))] for row in rows]
    return write_text(folder / "t.csv", csv_text(header, padded))


def outline(folder: Path) -> Path:
    def lines_of(label: str, indent: str) -> str:
        below = (child for child in GARDEN if PARENT[child] == label)
        return f"{indent}{label}\n" + "".join(lines_of(child, indent + "  ") for child in below)

    return write_text(folder / "t.txt", lines_of("plant", "") + lines_of("animal", ""))


def yaml_tree(folder: Path) -> Path:
    def keys(label: str, indent: str) -> str:
        below = (child for child in GARDEN if PARENT[child] == label)
        return f"{indent}{label}:\n" + "".join(keys(child, indent + "  ") for child in below)

    return write_text(folder / "t.yaml", keys("plant", "") + keys("animal", ""))


def path_codes(folder: Path) -> Path:
    return write_text(folder / "t", "".join(f"{'/'.join(PATHS[label])}\n" for label in GARDEN))


def table(folder: Path) -> Path:
    numbers = {label: number for number, label in enumerate(GARDEN, start=1)}
    rows = [[numbers[k], k, numbers[PARENT[k] or ""] if PARENT[k] else -1] for k in GARDEN]
    return write_text(folder / "t.csv", csv_text(["ID", "name", "parentID"], rows))


TAXONOMY_EXAMPLES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "table": ("table", table),
    "edges": ("edges", lambda folder: write_text(folder / "t", "".join(
        f"{above} {label}\n" for label, above in PARENT.items() if above
    ))),
    "paths": ("paths", path_codes),
    "levels": ("levels", levels),
    "levels-excel": (
        "levels", lambda folder: write_xlsx(folder / "t.xlsx", {"Taxonomy": level_rows()})
    ),
    "indented": ("indented", outline),
    "yaml": ("yaml", yaml_tree),
    "obo": ("obo", lambda folder: write_text(folder / "t", OBO)),
    "skos": ("skos", lambda folder: write_text(folder / "t", turtle())),
    "label-studio": ("label-studio", lambda folder: write_text(folder / "t", config_xml())),
    "networkx": ("networkx", graph),
    "nested": ("nested", lambda folder: write_text(folder / "t", json.dumps(
        nested_json()["children"]
    ))),
}  # fmt: skip


def parents_by_name(taxonomy: Taxonomy) -> dict[str, set[str]]:
    return {
        taxonomy.names[k]: {taxonomy.names[p] for p in taxonomy.parents_of(k)}
        for k in range(len(taxonomy))
    }


def test_every_format_of_taxonomies_has_an_example() -> None:
    tested_elsewhere = {"arff", "icd-10-cm"}
    assert {name for name, _ in TAXONOMY_EXAMPLES.values()} | tested_elsewhere == set(
        TAXONOMY_FORMATS
    )


@pytest.mark.parametrize("is_named", [False, True], ids=["format detected", "format named"])
@pytest.mark.parametrize("example", TAXONOMY_EXAMPLES)
def test_the_same_hierarchy_becomes_the_same_taxonomy(
    example: str, is_named: bool, tmp_path: Path
) -> None:
    format_, write = TAXONOMY_EXAMPLES[example]
    taxonomy = read_taxonomy(write(tmp_path), format=format_ if is_named else None)
    assert parents_by_name(taxonomy) == parents_by_name(GARDEN)
    # Votes may use the name or the path of a label.
    for label in GARDEN:
        located = taxonomy.locate([label, " > ".join(PATHS[label])])
        assert taxonomy.names[located[0]] == taxonomy.names[located[1]] == label
