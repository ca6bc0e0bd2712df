"""Write the input files that the pages mention."""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import openpyxl

import mhpc
from mhpc.datasets.garden import garden_folder
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import dense
from mhpc.simulation.departments import Department, simulate_department

TASKS = 60
"""Number of photographs in the export of an annotation tool."""

REVIEWED = 8
"""Number of photographs that a reviewer settled."""

CLASSIFIED = 120
"""Number of photographs that the classifiers score."""


def garden(folder: Path) -> None:
    """Write votes.csv, taxonomy.csv and truth.csv of the bundled example."""
    shutil.copytree(garden_folder(), folder, dirs_exist_ok=True)


def label_studio(folder: Path) -> None:
    """Write export.json and labeling-config.xml of a project with one Taxonomy control.

    review.json is the export of another one, in which a reviewer settled the first tasks.
    """
    taxonomy = mhpc.load_garden().taxonomy
    mhpc.write_taxonomy(folder / "labeling-config.xml", taxonomy)
    with (garden_folder() / "votes.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["instance"], row["source"]))
    tasks = []
    for task, (photo, group) in enumerate(groupby(rows, key=lambda row: row["instance"]), start=1):
        annotations = [
            {
                "completed_by": {"email": f"{source.replace(' ', '.')}@example.org"},
                "result": _taxonomy_result(
                    [row["label"] for row in answer if row["label"]], taxonomy
                ),
            }
            for source, answer in groupby(group, key=lambda row: row["source"])
        ]
        tasks.append({"id": task, "data": {"text": f"{photo}.jpg"}, "annotations": annotations})
    (folder / "export.json").write_text(json.dumps(tasks[:TASKS]), encoding="utf-8")
    photos = list(dict.fromkeys(row["instance"] for row in rows))[:REVIEWED]
    true: dict[str, list[str]] = {photo: [] for photo in photos}
    with (garden_folder() / "truth.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["instance"] in true and row["label"]:
                true[row["instance"]].append(row["label"])
    review = [
        {
            "id": 500 + number,
            "data": {"mhpc_instance": str(number), "text": f"{photo}.jpg"},
            "annotations": [{"completed_by": 1, "result": _taxonomy_result(true[photo], taxonomy)}],
        }
        for number, photo in enumerate(photos, start=1)
    ]
    (folder / "review.json").write_text(json.dumps(review), encoding="utf-8")


def classifiers(folder: Path) -> None:
    """Write models/*.csv, one table per model: one row per photograph, one column per label."""
    data = mhpc.load_garden()
    truth = encode_truth(data.truth, data.taxonomy, data.votes.instances)
    true = dense(truth.closed)
    (folder / "models").mkdir()
    for seed, name in enumerate(("forest", "bayes", "nearest", "network")):
        noise = np.random.default_rng(seed).normal(size=true.shape)
        scores = 1 / (1 + np.exp(2.5 + seed / 4 - (3.6 + seed / 4) * true - noise))
        with (folder / "models" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", *data.taxonomy.labels])
            for position, row in zip(truth.rows[:CLASSIFIED], scores, strict=False):
                photo = data.votes.instances[position]
                table.writerow([photo, *(f"{score:.3f}" for score in row)])


def doctors(folder: Path) -> None:
    """Write visits.csv, diseases.csv and diagnoses.csv of a simulated department."""
    department = simulate_department(Department(labels=30, patients=150), seed=0)
    mhpc.write_votes(folder / "visits.csv", department.votes)
    mhpc.write_taxonomy(folder / "diseases.csv", department.taxonomy)
    truth = department.truth
    with (folder / "diagnoses.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["instance", "label"])
        for instance, label in zip(truth.instance, truth.label, strict=True):
            table.writerow([truth.instances[instance], truth.labels[label]])


def spreadsheets(folder: Path) -> None:
    """Write votes.xlsx, the garden with blank confidences of people, and taxonomy.xlsx by level."""
    data = mhpc.load_garden()
    rng = np.random.default_rng(0)
    rows: list[tuple[object, ...]] = [("photo", "annotator", "category", "confidence")]
    with (garden_folder() / "votes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            is_scored = row["source"] == "phone app" and row["label"]
            confidence = round(float(rng.beta(6, 2)), 2) if is_scored else None
            rows.append((row["instance"], row["source"], row["label"] or None, confidence))
    _write_workbook(folder / "votes.xlsx", rows)
    paths = [data.taxonomy.path(k).split(" > ") for k in range(len(data.taxonomy.labels))]
    levels = max(map(len, paths))
    _write_workbook(
        folder / "taxonomy.xlsx",
        [[f"level{level}" for level in range(1, levels + 1)]]
        + [path + [None] * (levels - len(path)) for path in paths],
    )


TOPICS = {
    "billing": ("invoice", "refund", "payment failed"),
    "account": ("login", "password reset", "close account"),
    "product": ("crash", "slow", "feature request"),
}
"""The taxonomy of support tickets, two levels."""

TICKETS = 160
"""Number of tickets that the language models label."""


def language_models(folder: Path) -> None:
    """Write answers.jsonl of three language models and two people, topics.csv and truth.csv.

    Two of the models are of one family and share most of their errors.
    """
    rng = np.random.default_rng(1)
    topics = [topic for group in TOPICS.values() for topic in group]
    truth = [topics[k] for k in rng.integers(len(topics), size=TICKETS)]
    family = [_confuse(topic, rng, 0.25) for topic in truth]
    answered = {
        "alpha-large": [_confuse(topic, rng, 0.02) for topic in family],
        "alpha-small": [_confuse(topic, rng, 0.06) for topic in family],
        "beta": [_confuse(topic, rng, 0.2) for topic in truth],
        "ann": [_confuse(topic, rng, 0.05) for topic in truth],
        "bob": [_confuse(topic, rng, 0.3) for topic in truth],
    }
    invented = {"crash": "app crash", "login": "Login", "refund": "refunds", "slow": "slowness"}
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as file:
        for ticket in range(TICKETS):
            for name, labels in answered.items():
                is_person = name in ("ann", "bob")
                if is_person and rng.random() < 0.7:
                    continue
                label, chance = labels[ticket], rng.random()
                answer: dict[str, object] = {"item": f"ticket-{ticket + 1:03d}", "model": name}
                answer["labels"] = None if chance < 0.02 else [] if chance < 0.03 else [label]
                if answer["labels"] and not is_person:
                    if rng.random() < 0.08:
                        answer["labels"] = [invented.get(label, label.upper())]
                    is_right = label == truth[ticket]
                    answer["confidence"] = round(float(rng.beta(9 if is_right else 6, 2)), 2)
                file.write(f"{json.dumps(answer)}\n")
    known = [(f"ticket-{ticket + 1:03d}", topic) for ticket, topic in enumerate(truth)]
    _write_csv(folder / "truth.csv", [("instance", "label"), *known])
    _write_csv(
        folder / "topics.csv",
        [("label", "parent"), *((group, "") for group in TOPICS)]
        + [(topic, group) for group, topics in TOPICS.items() for topic in topics],
    )


def days(folder: Path) -> None:
    """Write the garden as monday.csv, tuesday.csv and wednesday.csv, and its taxonomy.

    A new source appears on Tuesday, and some photographs of Monday are answered again on Wednesday.
    """
    shutil.copy(garden_folder() / "taxonomy.csv", folder)
    with (garden_folder() / "votes.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    photos = sorted({row[0] for row in rows})
    first, second = photos[:200], photos[200:250]
    parts: dict[str, list[list[str]]] = {"monday": [], "tuesday": [], "wednesday": []}
    for row in rows:
        photo, source, _ = row
        if source == "retired teacher" and photo in first:
            day = "wednesday"
        else:
            day = "monday" if photo in first else "tuesday" if photo in second else "wednesday"
        parts[day].append(row)
    for day, votes in parts.items():
        _write_csv(folder / f"{day}.csv", [header, *votes])


PATIENTS = 300
"""Number of patients whose disease is graded."""

DOCTORS = {
    "moss": (0.0, 0.4), "reed": (0.0, 0.5), "hill": (0.8, 0.5), "lake": (0.8, 0.6),
    "wood": (0.0, 2.5),
}  # fmt: skip
"""By how much the grades of each doctor are too high, and how much they vary."""


def grades(folder: Path) -> None:
    """Write grades.csv, severities from 0 to 4 by five doctors, and truth.csv.

    Two doctors grade too high, and one hardly looks.
    """
    rng = np.random.default_rng(0)
    truth = rng.choice(5, size=PATIENTS, p=[0.35, 0.25, 0.2, 0.12, 0.08])
    votes: list[tuple[object, ...]] = [("patient_id", "doctor", "grade")]
    for patient, grade in enumerate(truth, start=1):
        for doctor, (bias, spread) in DOCTORS.items():
            given = np.clip(np.rint(grade + bias + spread * rng.normal()), 0, 4)
            if rng.random() < 0.7:
                votes.append((patient, doctor, int(given)))
    _write_csv(folder / "grades.csv", votes)
    seen = {patient for patient, *_ in votes}
    known = [(patient, int(grade)) for patient, grade in enumerate(truth, 1) if patient in seen]
    _write_csv(folder / "truth.csv", [("patient_id", "grade"), *known])


SAMPLES: dict[str, Callable[[Path], None]] = {
    "classifiers": classifiers,
    "days": days,
    "doctors": doctors,
    "garden": garden,
    "grades": grades,
    "label-studio": label_studio,
    "language-models": language_models,
    "spreadsheets": spreadsheets,
}


def _taxonomy_result(labels: list[str], taxonomy: mhpc.Taxonomy) -> list[dict[str, object]]:
    """Return the result of an annotation, each label as the path of names that leads to it."""
    paths = [taxonomy.path(taxonomy.labels.positions[label]).split(" > ") for label in labels]
    control = {"type": "taxonomy", "from_name": "taxonomy", "to_name": "text"}
    return [{"id": "r", **control, "value": {"taxonomy": paths}}] if paths else []


def _confuse(topic: str, rng: np.random.Generator, probability: float) -> str:
    """Return the topic, or with some probability another one, mostly of the same group."""
    if rng.random() >= probability:
        return topic
    group = next(names for names in TOPICS.values() if topic in names)
    others = group if rng.random() < 0.8 else [name for names in TOPICS.values() for name in names]
    return str(rng.choice([name for name in others if name != topic]))


def _write_csv(path: Path, rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def _write_workbook(path: Path, rows: Iterable[Sequence[object]]) -> None:
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.worksheets[0].append(row)
    workbook.save(path)
