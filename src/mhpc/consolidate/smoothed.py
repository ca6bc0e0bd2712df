"""Smoothing on landmarks: what is learnt of some instances, and told to any."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from scipy import sparse

from mhpc.consolidate.descent import descended
from mhpc.consolidate.fitted import Fitted
from mhpc.consolidate.voices import Hearing, listen
from mhpc.core.arrays import FloatArray, IntArray, Sparse, dense
from mhpc.core.consolidation import Step
from mhpc.core.panel import Average, Panel, VotesKind
from mhpc.core.parts import Parts, part_of, spans
from mhpc.core.progress import Progress
from mhpc.core.views import Views
from mhpc.graph.extend import Extension, Smoothable, Vertices, solve_extension, vertices_of
from mhpc.graph.local import Solution

UNREACHED = 1e-7
"""What a label's share of the answers counts: enough to rank labels that no path reaches."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How answers become what is smoothed and compared.

    Attributes
    ----------
    smoothed, compared : "raw" or "augmented"
        Which votes.
    average, shrink
        As in the method.
    each : bool
        Whether votes with ancestors are smoothed beside those as said.
    heard : Hearing or None
        How sources are heard.
    weights : float array, (K,)
        Weight of each label in a distance; empty: all alike.
    """

    smoothed: VotesKind
    compared: VotesKind
    average: Average
    shrink: Literal["none", "answers"]
    each: bool = False
    heard: Hearing | None = None
    weights: FloatArray = field(default_factory=lambda: np.ones(0))

    def smoothable(self, panel: Panel, answered: IntArray, used: IntArray) -> Smoothable:
        """Return the answered instances of a panel that is heard already, and of labels used."""
        kinds = {self.smoothed, self.compared, *(("augmented",) if self.each else ())}
        mean = {kind: panel.mean(kind, self.average)[answered][:, used] for kind in kinds}
        compared = mean[self.compared]
        if len(self.weights):
            scale = sparse.diags_array(np.sqrt(self.weights[used]), format="csr")
            compared = (compared @ scale).tocsr()
        values = mean[self.smoothed]
        if self.each:
            values = sparse.hstack([values, mean["augmented"]], format="csr")
        n = panel.evidence[answered] if self.shrink == "answers" else np.ones(len(answered))
        return Smoothable(compared, values, n)

    def filled(
        self,
        closed: FloatArray,
        panel: Panel,
        answered: IntArray,
        popularity: FloatArray,
        total: float | None,
        strength: float,
    ) -> FloatArray:
        """Return means with what was left open below them, from the top down."""
        # What the mean was divided by, so that both together are the answers for a label.
        divided = panel.evidence[answered]
        if self.average == "all-sources":
            divided = np.full(len(divided), float(len(panel.sources)))
            total = None if total is None else float(len(panel.sources)) * total
        return descended(
            closed, divided, popularity, panel.taxonomy, strength=strength, total=total
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SmoothedLandmarks(Fitted):
    """What was solved on landmarks, for any instance to be joined to.

    Attributes
    ----------
    reading : Reading
        How answers are read.
    used : int array
        Labels that anyone said.
    extension : Extension
        The solution.
    share : pair of float arrays, (K,)
        Of the answers that hold each label, as smoothed and with ancestors.
    popularity : float array, (K,)
        How often each label is said.
    total : float
        What popularity is counted in.
    fill : float
        As in the method.
    """

    reading: Reading
    used: IntArray
    extension: Extension
    share: tuple[FloatArray, FloatArray]
    popularity: FloatArray
    total: float
    fill: float

    def views(self, panel: Panel) -> Views:
        """Return the solution of landmarks, and of others by one row each."""
        panel = listen(panel, self.reading.heard)
        answered = np.flatnonzero(panel.answers_per_instance > 0)
        z = self.extension(self.reading.smoothable(panel, answered, self.used))
        first = self._over_labels(z[:, : len(self.used)], self.share[0])
        closed = self._over_labels(z[:, -len(self.used) :], self.share[1]) if self._each else first
        if self.fill:
            closed = self.reading.filled(
                closed, panel, answered, self.popularity, self.total, self.fill
            )
        score = _over_instances(closed, answered, len(panel.instances))
        if not self._each:
            return Views(score, score)
        return Views(score, _over_instances(first, answered, len(panel.instances)))

    @property
    def _each(self) -> bool:
        return self.reading.each

    def _over_labels(self, z: FloatArray, share: FloatArray) -> FloatArray:
        found = np.zeros((len(z), len(share)))
        found[:, self.used] = z
        found += UNREACHED * share
        return found


def smooth_landmarks(
    parts: Parts,
    reading: Reading,
    *,
    landmarks: int,
    neighbours: int,
    sigma: float | None,
    lam: float,
    fill: float,
    progress: Progress,
) -> SmoothedLandmarks:
    """Solve on a sample of the instances."""
    said, popularity, occurs, evidence, answered = parts.total(
        partial(_counted, reading=reading), stage="counting", progress=progress
    )
    used = np.flatnonzero(occurs > 0)
    sample = listen(parts.sample(landmarks), reading.heard)
    there = np.flatnonzero(sample.answers_per_instance > 0)
    progress("solving", 0, 1)
    began = time.perf_counter()
    vertices = vertices_of(reading.smoothable(sample, there, used))
    extension, solution = solve_extension(vertices, neighbours=neighbours, sigma=sigma, lam=lam)
    step = _step(vertices, solution, len(used), time.perf_counter() - began)
    progress("solving", 1, 1)
    counted = max(float(evidence), 1.0)
    return SmoothedLandmarks(
        reading=reading, used=used, extension=extension, fill=fill, popularity=popularity,
        share=(said / counted, popularity / counted), converged=solution.settled,
        total=float(answered if reading.average == "all-sources" else evidence),
        trace=(step,), notes=(_described(len(there), vertices, solution),),
    )  # fmt: skip


def distinct_in(panel: Panel, reading: Reading) -> int:
    """Return how many answered instances of a panel differ, some at a time."""
    used = np.arange(len(panel.taxonomy))

    def digests() -> Iterator[np.ndarray]:
        for span in spans(len(panel.instances), len(panel.taxonomy)):
            part = listen(part_of(panel, span), reading.heard)
            answered = np.flatnonzero(part.answers_per_instance > 0)
            yield reading.smoothable(part, answered, used).digests()

    return len(np.unique(np.concatenate(list(digests()))))


def _counted(
    panel: Panel, *, reading: Reading
) -> tuple[FloatArray, FloatArray, FloatArray, float, int]:
    panel = listen(panel, reading.heard)
    said = np.asarray(panel.summed(panel.votes(reading.smoothed)).sum(axis=0)).ravel()
    answered = int((panel.answers_per_instance > 0).sum())
    return said, panel.popularity, panel.occurrences, float(panel.evidence.sum()), answered


def _over_instances(rows: FloatArray, answered: IntArray, instances: int) -> FloatArray:
    if len(rows) == instances:
        return rows
    scores = np.zeros((instances, rows.shape[1]))
    scores[answered] = rows
    return scores


def _step(vertices: Vertices, solution: Solution, labels: int, seconds: float) -> Step:
    """Return what the solve did to the landmarks, without a dense matrix of what they were."""
    Y, Z = vertices.distinct.values[:, :labels].tocsr(), solution.values[:, :labels]
    c = vertices.counts
    before, after = _squares(Y, c), float(c @ np.einsum("ij,ij->i", Z, Z))
    row = np.repeat(np.arange(len(c)), np.diff(Y.indptr))
    crossed = float((c[row] * Y.data) @ Z[row, Y.indices])
    moved = max(before - 2 * crossed + after, 0.0)
    spread_before = max(before - _of_mean(Y.T @ c, c), 0.0)
    spread_after = max(after - _of_mean(Z.T @ c, c), 0.0)
    return Step(
        0, _root_ratio(moved, before), None, _root_ratio(spread_after, spread_before), seconds
    )


def _squares(Y: Sparse, counts: FloatArray) -> float:
    return float(counts @ np.asarray(Y.multiply(Y).sum(axis=1)).ravel())


def _of_mean(total: FloatArray, counts: FloatArray) -> float:
    return float(total @ total) / max(float(counts.sum()), 1.0)


def _root_ratio(part: float, whole: float) -> float:
    return float(np.sqrt(part / whole)) if whole > 0 else 0.0


def _described(instances: int, vertices: Vertices, solution: Solution) -> str:
    how = (
        f"{solution.steps} steps of conjugate gradients, relative residual "
        f"{solution.residual:.1g} at most"
        if solution.steps
        else "by a factor"
    )
    return f"solved on {len(vertices.counts):,} distinct of {instances:,} landmarks, {how}"


def mean_of_used(
    panel: Panel, votes: VotesKind, average: Average, answered: IntArray, used: IntArray
) -> FloatArray:
    """Return the mean answers of some instances, for some labels."""
    return dense(panel.mean(votes, average)[answered][:, used])


def spread_out(
    values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]
) -> FloatArray:
    """Return the values at their instances and labels, 0 elsewhere."""
    if values.shape == shape:
        return values
    full = np.zeros(shape)
    full[np.ix_(rows, columns)] = values
    return full
