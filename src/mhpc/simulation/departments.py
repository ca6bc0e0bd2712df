"""Simulated consultations of a hospital department: few, incomplete answers per patient.

They stand in for data that are not public. Patients with the same complaint have the same
diseases. A few doctors answer each patient and name a few diseases, some vaguely, some wrongly, and
never all of them.
"""

from dataclasses import dataclass

import numpy as np

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Truth, Votes
from mhpc.errors import ParameterError
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.simulation.sources import make_noisy, make_vague, make_votes

DISEASES_PER_COMPLAINT = (4, 8)
"""The smallest and largest number of diseases of a complaint."""

OUTSIDE_SPECIALITY = 0.2
"""Share of a complaint's diseases that lie outside its main speciality."""

LOST_LABELS = 0.16
"""Share of a doctor's labels that vagueness merges with another one or moves above the root. So
many more labels are drawn than are to be named."""

MIN_LABELS = 20


@dataclass(frozen=True)
class Department:
    """The size of a department and how its doctors answer.

    Attributes
    ----------
    labels : int
        Labels in its taxonomy: one root, specialities, diseases.
    patients : int
        Instances.
    labels_per_answer : float
        Mean number of labels that a doctor gives to a patient.
    answers_per_patient : float
        Mean number of doctors who answer a patient.
    share_of_labels_given : float
        Share of the cells of patients x doctors x labels that are votes; determines the number of
        doctors.
    patients_per_complaint : float
        Mean number of patients with the same complaint.
    """

    labels: int
    patients: int = 500
    labels_per_answer: float = 2.5
    answers_per_patient: float = 3.0
    share_of_labels_given: float = 0.0001
    patients_per_complaint: float = 10.0

    def __post_init__(self) -> None:
        if self.labels < MIN_LABELS:
            raise ParameterError(
                f"labels = {self.labels} is not allowed; give at least {MIN_LABELS}"
            )


@dataclass(frozen=True, eq=False)
class Consultations:
    """The answers of the doctors of a department, and the diseases of its patients."""

    taxonomy: Taxonomy
    votes: Votes
    truth: Truth


def simulate_department(department: Department, *, seed: int) -> Consultations:
    """Return the consultations of a department; the same seed gives the same consultations."""
    rng = np.random.default_rng(seed)
    taxonomy = _make_taxonomy(department.labels)
    truth = _draw_diagnoses(department, taxonomy, rng)
    return Consultations(taxonomy, _draw_answers(department, taxonomy, truth, rng), truth)


def _make_taxonomy(labels: int) -> Taxonomy:
    """Return three levels: the root, about sqrt(labels) specialities, and diseases."""
    specialities = round(labels**0.5)
    names = [f"speciality {n + 1}" for n in range(specialities)]
    diseases = [f"disease {n + 1}" for n in range(labels - 1 - specialities)]
    edges = [(name, "disease") for name in names]
    edges += [(disease, names[n % specialities]) for n, disease in enumerate(diseases)]
    return build_taxonomy(["disease", *names, *diseases], edges)


def _draw_diagnoses(department: Department, taxonomy: Taxonomy, rng: np.random.Generator) -> Truth:
    """Give every patient the diseases of a complaint; the frequency of complaints is Zipfian."""
    N = department.patients
    complaints = _draw_complaints(
        taxonomy, max(2, round(N / department.patients_per_complaint)), rng
    )
    complaint = rng.choice(len(complaints), size=N, p=_zipf(len(complaints)))
    diseases = [complaints[number] for number in complaint]
    return Truth(
        instances=Index(tuple(f"patient {n + 1}" for n in range(N))),
        labels=taxonomy.labels,
        instance=np.repeat(np.arange(N), [len(labels) for labels in diseases]),
        label=np.concatenate(diseases),
        origin="the department's diagnoses",
    )


def _draw_complaints(taxonomy: Taxonomy, count: int, rng: np.random.Generator) -> list[IntArray]:
    specialities = np.flatnonzero(taxonomy.depth == 2)
    all_diseases = np.flatnonzero(taxonomy.depth == 3)
    complaints = []
    for speciality in rng.choice(specialities, size=count):
        own_diseases = np.asarray(taxonomy.children_of(int(speciality)))
        size = int(rng.integers(DISEASES_PER_COMPLAINT[0], DISEASES_PER_COMPLAINT[1] + 1))
        n_outside = min(
            int(rng.binomial(size, OUTSIDE_SPECIALITY)), len(all_diseases) - len(own_diseases)
        )
        n_inside = min(size - n_outside, len(own_diseases))
        inside = rng.choice(own_diseases, size=n_inside, replace=False)
        others = np.setdiff1d(all_diseases, own_diseases)
        outside = rng.choice(others, size=n_outside, replace=False)
        complaints.append(np.concatenate([inside, outside]))
    return complaints


def _draw_answers(
    department: Department, taxonomy: Taxonomy, truth: Truth, rng: np.random.Generator
) -> Votes:
    N, K = department.patients, len(taxonomy)
    per_patient = 1 + rng.poisson(department.answers_per_patient - 1, size=N)
    true = np.split(truth.label, np.flatnonzero(np.diff(truth.instance)) + 1)
    patient = np.repeat(np.arange(N), per_patient)
    mean = department.labels_per_answer / (1 - LOST_LABELS)
    named = [
        # At least one disease is not named: the truth is larger than any answer.
        rng.choice(true[p], size=min(1 + wanted, len(true[p]) - 1), replace=False)
        for p, wanted in zip(
            patient,
            rng.poisson(mean - 1, size=len(patient)),
            strict=True,
        )
    ]
    size = [len(labels) for labels in named]
    n_votes = len(patient) * department.labels_per_answer
    share = department.share_of_labels_given
    doctors = max(int(per_patient.max()), round(n_votes / N / K / share))
    doctor = _draw_doctors(per_patient, doctors, rng)
    source, instance = np.repeat(doctor, size), np.repeat(patient, size)
    specificity, accuracy = rng.uniform(0.85, 1, doctors), rng.uniform(0.6, 1, doctors)
    label = np.concatenate(named)
    label = make_vague(label, rng.random(len(label)), specificity[source], taxonomy, rng)
    label = make_noisy(label, rng.random(len(label)) > accuracy[source], taxonomy, rng)
    index = Index(tuple(f"doctor {n + 1}" for n in range(doctors)))
    return make_votes(truth, taxonomy, index, instance, source, label)


def _draw_doctors(per_patient: IntArray, doctors: int, rng: np.random.Generator) -> IntArray:
    """Draw different doctors for every patient, with Zipfian frequencies."""
    p = _zipf(doctors)
    drawn = [rng.choice(doctors, size=count, replace=False, p=p) for count in per_patient]
    return np.concatenate(drawn)


def _zipf(count: int) -> FloatArray:
    weight = 1.0 / np.arange(2, count + 2)
    return np.asarray(weight / weight.sum())
