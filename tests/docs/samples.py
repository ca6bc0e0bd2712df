"""Write the input files that the pages mention."""

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
"""Number of photographs in the export of an annotation tool."""

CLASSIFIED = 120
"""Number of photographs that the classifiers score."""


def garden(folder: Path) -> None:
    """Write votes.csv, taxonomy.csv and truth.csv of the bundled example."""
    shutil.copytree(garden_folder(), folder, dirs_exist_ok=True)


def label_studio(folder: Path) -> None:
    """Write export.json and labeling-config.xml of a project with one Taxonomy control."""
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


SAMPLES: dict[str, Callable[[Path], None]] = {
    "classifiers": classifiers,
    "doctors": doctors,
    "garden": garden,
    "label-studio": label_studio,
}


def _taxonomy_result(labels: list[str], taxonomy: mhpc.Taxonomy) -> list[dict[str, object]]:
    """Return the result of an annotation, each label as the path of names that leads to it."""
    paths = [taxonomy.path(taxonomy.labels.positions[label]).split(" > ") for label in labels]
    control = {"type": "taxonomy", "from_name": "taxonomy", "to_name": "text"}
    return [{"id": "r", **control, "value": {"taxonomy": paths}}] if paths else []
