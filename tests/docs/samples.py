"""The files of which pages speak: what a reader would have at hand."""

import csv
import json
import shutil
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import numpy as np

import mhpc
from mhpc.datasets.garden import garden_folder
from mhpc.encoding.gold import encode_truth
from mhpc.numerics.arrays import dense
from mhpc.simulation.departments import Department, simulate_department

TASKS = 60
"""Photographs that are taken to be tasks of an annotation tool."""

CLASSIFIED = 120
"""Photographs that models look at."""


def garden(folder: Path) -> None:
    """Leave votes.csv, taxonomy.csv and truth.csv of the example."""
    shutil.copytree(garden_folder(), folder, dirs_exist_ok=True)


def label_studio(folder: Path) -> None:
    """Leave export.json and labeling-config.xml of a project with one Taxonomy."""
    taxonomy = mhpc.load_garden().taxonomy
    mhpc.write_taxonomy(folder / "labeling-config.xml", taxonomy)
    with (garden_folder() / "votes.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["instance"], row["source"]))
    tasks = []
    for at, (photo, group) in enumerate(groupby(rows, key=lambda row: row["instance"]), start=1):
        annotations = [
            {
                "completed_by": {"email": f"{source.replace(' ', '.')}@example.org"},
                "result": _choice([row["label"] for row in said if row["label"]], taxonomy),
            }
            for source, said in groupby(group, key=lambda row: row["source"])
        ]
        tasks.append({"id": at, "data": {"text": f"{photo}.jpg"}, "annotations": annotations})
    (folder / "export.json").write_text(json.dumps(tasks[:TASKS]), encoding="utf-8")


def classifiers(folder: Path) -> None:
    """Leave models/*.csv, a table of scores a model: a row a photograph, a column a label."""
    data = mhpc.load_garden()
    known = encode_truth(data.truth, data.taxonomy, data.votes.instances)
    true = dense(known.closed)
    (folder / "models").mkdir()
    for at, name in enumerate(("forest", "bayes", "nearest", "network")):
        noise = np.random.default_rng(at).normal(size=true.shape)
        scores = 1 / (1 + np.exp(2.5 + at / 4 - (3.6 + at / 4) * true - noise))
        with (folder / "models" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", *data.taxonomy.labels])
            for at_photo, row in zip(known.rows[:CLASSIFIED], scores, strict=False):
                photo = data.votes.instances[at_photo]
                table.writerow([photo, *(f"{score:.3f}" for score in row)])


def doctors(folder: Path) -> None:
    """Leave visits.csv, diseases.csv and diagnoses.csv of a department."""
    found = simulate_department(Department(labels=30, patients=150), seed=0)
    mhpc.write_votes(folder / "visits.csv", found.votes)
    mhpc.write_taxonomy(folder / "diseases.csv", found.taxonomy)
    truth = found.truth
    with (folder / "diagnoses.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["instance", "label"])
        for instance, label in zip(truth.instance, truth.label, strict=True):
            table.writerow([truth.instances[instance], truth.labels[label]])


SAMPLES: dict[str, Callable[[Path], None]] = {
    "classifiers": classifiers,
    "doctors": doctors,
    "garden": garden,
    "label-studio": label_studio,
}


def _choice(labels: list[str], taxonomy: mhpc.Taxonomy) -> list[dict[str, object]]:
    """Return what somebody chose, each label as the names that lead to it."""
    paths = [taxonomy.path(taxonomy.labels.positions[label]).split(" > ") for label in labels]
    chosen = {"type": "taxonomy", "from_name": "taxonomy", "to_name": "text"}
    return [{"id": "r", **chosen, "value": {"taxonomy": paths}}] if paths else []
