"""A hospital department whose doctors answer few patients and name part of what is there.

A stand-in for consultations that are not public: patients with the same complaint have the
same diseases, each patient is answered by a few doctors, each doctor names a few diseases, some
vaguely, some wrongly, and never all of them.
"""

from dataclasses import dataclass

import numpy as np

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy, build_taxonomy
from mhpc.data.votes import Truth, Votes
from mhpc.errors import ParameterError
from mhpc.numerics.arrays import FloatArray, IntArray
from mhpc.simulation.sources import made_noisy, made_vague, votes_of

_DISEASES = (4, 8)
"""Fewest and most diseases of a complaint."""

_ELSEWHERE = 0.2
"""Share of a complaint's diseases that lie outside its main speciality."""

_LOST = 0.16
"""Share of what doctors have in mind that vagueness merges with another label of theirs, or
takes above the root: they think of more labels than they are heard to name."""

_FEWEST_LABELS = 20


@dataclass(frozen=True)
class Department:
    """How large a department is and how its doctors answer.

    Attributes
    ----------
    labels : int
        Labels in its hierarchy: one root, specialities, diseases.
    patients : int
        Instances.
    labels_per_answer : float
        Labels that a doctor names, in the mean.
    answers_per_patient : float
        Doctors who answer a patient, in the mean.
    share_of_labels_given : float
        How much of the cube patients x doctors x labels is filled; says how many doctors there
        are.
    patients_per_complaint : float
        Patients who come with the same complaint, in the mean.
    """

    labels: int
    patients: int = 500
    labels_per_answer: float = 2.5
    answers_per_patient: float = 3.0
    share_of_labels_given: float = 0.0001
    patients_per_complaint: float = 10.0

    def __post_init__(self) -> None:
        if self.labels < _FEWEST_LABELS:
            raise ParameterError(
                f"labels = {self.labels} is not allowed; give at least {_FEWEST_LABELS}"
            )


@dataclass(frozen=True, eq=False)
class Consultations:
    """What the doctors of a department said, and what the patients have."""

    taxonomy: Taxonomy
    votes: Votes
    truth: Truth


def simulate_department(department: Department, *, seed: int) -> Consultations:
    """Return the consultations of one department; the same seed gives the same."""
    rng = np.random.default_rng(seed)
    taxonomy = _hierarchy(department.labels)
    truth = _diagnoses(department, taxonomy, rng)
    return Consultations(taxonomy, _answers(department, taxonomy, truth, rng), truth)


def _hierarchy(labels: int) -> Taxonomy:
    """Lay out three levels: the root, about sqrt(labels) specialities, diseases in turn."""
    specialities = round(labels**0.5)
    names = [f"speciality {at + 1}" for at in range(specialities)]
    diseases = [f"disease {at + 1}" for at in range(labels - 1 - specialities)]
    edges = [(name, "disease") for name in names]
    edges += [(disease, names[at % specialities]) for at, disease in enumerate(diseases)]
    return build_taxonomy(["disease", *names, *diseases], edges)


def _diagnoses(department: Department, taxonomy: Taxonomy, rng: np.random.Generator) -> Truth:
    """Give every patient the diseases of a complaint; common complaints are common."""
    N = department.patients
    complaints = _complaints(taxonomy, max(2, round(N / department.patients_per_complaint)), rng)
    of_patient = rng.choice(len(complaints), size=N, p=_zipf(len(complaints)))
    diseases = [complaints[at] for at in of_patient]
    return Truth(
        instances=Index(tuple(f"patient {at + 1}" for at in range(N))),
        labels=taxonomy.labels,
        instance=np.repeat(np.arange(N), [len(each) for each in diseases]),
        label=np.concatenate(diseases),
        origin="the department's diagnoses",
    )


def _complaints(taxonomy: Taxonomy, count: int, rng: np.random.Generator) -> list[IntArray]:
    specialities = np.flatnonzero(taxonomy.depth == 2)
    everywhere = np.flatnonzero(taxonomy.depth == 3)
    found = []
    for main in rng.choice(specialities, size=count):
        home = np.asarray(taxonomy.children_of(int(main)))
        size = int(rng.integers(_DISEASES[0], _DISEASES[1] + 1))
        away = min(int(rng.binomial(size, _ELSEWHERE)), len(everywhere) - len(home))
        at_home = rng.choice(home, size=min(size - away, len(home)), replace=False)
        abroad = rng.choice(np.setdiff1d(everywhere, home), size=away, replace=False)
        found.append(np.concatenate([at_home, abroad]))
    return found


def _answers(
    department: Department, taxonomy: Taxonomy, truth: Truth, rng: np.random.Generator
) -> Votes:
    N, K = department.patients, len(taxonomy)
    per_patient = 1 + rng.poisson(department.answers_per_patient - 1, size=N)
    true = np.split(truth.label, np.flatnonzero(np.diff(truth.instance)) + 1)
    patient = np.repeat(np.arange(N), per_patient)
    mean = department.labels_per_answer / (1 - _LOST)
    named = [
        # One disease at least stays unnamed: the truth is wider than any answer.
        rng.choice(true[p], size=min(1 + wanted, len(true[p]) - 1), replace=False)
        for p, wanted in zip(
            patient,
            rng.poisson(mean - 1, size=len(patient)),
            strict=True,
        )
    ]
    size = [len(each) for each in named]
    given = len(patient) * department.labels_per_answer
    doctors = max(int(per_patient.max()), round(given / N / K / department.share_of_labels_given))
    doctor = _who_answers(per_patient, doctors, rng)
    source, instance = np.repeat(doctor, size), np.repeat(patient, size)
    specificity, accuracy = rng.uniform(0.85, 1, doctors), rng.uniform(0.6, 1, doctors)
    label = np.concatenate(named)
    label = made_vague(label, rng.random(len(label)), specificity[source], taxonomy, rng)
    label = made_noisy(label, rng.random(len(label)) > accuracy[source], taxonomy, rng)
    index = Index(tuple(f"doctor {at + 1}" for at in range(doctors)))
    return votes_of(truth, taxonomy, index, instance, source, label)


def _who_answers(per_patient: IntArray, doctors: int, rng: np.random.Generator) -> IntArray:
    """Draw different doctors for every patient, busy ones more often."""
    busy = _zipf(doctors)
    drawn = [rng.choice(doctors, size=count, replace=False, p=busy) for count in per_patient]
    return np.concatenate(drawn)


def _zipf(count: int) -> FloatArray:
    weight = 1.0 / np.arange(2, count + 2)
    return np.asarray(weight / weight.sum())
