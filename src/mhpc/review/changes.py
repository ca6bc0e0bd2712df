"""What a consolidation with settled instances changed on the other instances."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.data.hierarchy import deepest
from mhpc.data.profiles import SourceProfile
from mhpc.explanation.disagreement import MIN_GAIN
from mhpc.numerics.sparse import row_indices, values_at
from mhpc.read.run_folder import read_items, read_labels, read_run, read_run_document

MAX_CHANGES = 500
"""How many changed instances are listed."""


@dataclass(frozen=True)
class InstanceState:
    """The most specific labels of an instance, the lowest of their scores, and its gain."""

    labels: tuple[str, ...]
    score: float | None
    gain: float


@dataclass(frozen=True)
class RunState:
    """What a run found on every instance and source."""

    instances: Mapping[str, InstanceState]
    sources: Mapping[str, SourceProfile]


def read_state(folder: Path) -> RunState:
    """Read what a run found from its folder; the votes are not needed."""
    scores, items = read_run(folder), read_items(folder)
    labels = deepest(read_labels(folder, scores), scores.taxonomy)
    row, label = row_indices(labels), labels.indices.astype(np.int64)
    lowest = np.full(len(scores.instances), np.inf)
    np.minimum.at(lowest, row, values_at(scores.score, row, label))
    ids = scores.taxonomy.labels
    sets = (tuple(ids[k] for k in row) for row in np.split(label, labels.indptr[1:-1]))
    gain = dict(zip(items.instance.tolist(), items.review_priority.tolist(), strict=True))
    instances = {
        instance: InstanceState(
            chosen, round(score, 4) if np.isfinite(score) else None, gain.get(instance, 0.0)
        )
        for instance, chosen, score in zip(scores.instances, sets, lowest.tolist(), strict=True)
    }
    sources = read_run_document(folder).summary.sources
    return RunState(instances, {profile.source: profile for profile in sources})


def compare_states(
    before: RunState, after: RunState, settled: Container[str], *, limit: int = MAX_CHANGES
) -> dict[str, Any]:
    """Return what changed on instances that are not settled, as JSON.

    Parameters
    ----------
    before, after : RunState
        Two runs on the same votes.
    settled : container of str
        The instances that do not count, since their labels were given.
    limit : int
        How many changed instances are listed, the largest change of a score first.
    """
    pairs = {
        instance: (before.instances[instance], state)
        for instance, state in after.instances.items()
        if instance in before.instances and instance not in settled
    }
    changed = [
        _describe_change(instance, *pair)
        for instance, pair in pairs.items()
        if set(pair[0].labels) != set(pair[1].labels)
    ]
    changed.sort(key=lambda each: (-_size(each), each["instance"]))
    return {
        "instances": changed[:limit],
        "changed": len(changed),
        "unchanged": len(pairs) - len(changed),
        "sources": [
            _describe_source(before.sources[name], profile)
            for name, profile in after.sources.items()
            if name in before.sources
        ],
        "left": sum(state.gain >= MIN_GAIN for _, state in pairs.values()),
        "gain_before": round(sum(state.gain for state, _ in pairs.values()), 4),
        "gain_after": round(sum(state.gain for _, state in pairs.values()), 4),
    }


def _describe_change(instance: str, before: InstanceState, after: InstanceState) -> dict[str, Any]:
    return {
        "instance": instance,
        "before": list(before.labels),
        "after": list(after.labels),
        "score_before": before.score,
        "score_after": after.score,
    }


def _size(change: Mapping[str, Any]) -> float:
    return float(abs((change["score_after"] or 0.0) - (change["score_before"] or 0.0)))


def _describe_source(before: SourceProfile, after: SourceProfile) -> dict[str, Any]:
    return {
        "source": after.source,
        "wrong_before": _finite(before.wrong.value),
        "wrong_after": _finite(after.wrong.value),
        "accurate_before": _finite(before.accurate.value),
        "accurate_after": _finite(after.accurate.value),
    }


def _finite(value: float) -> float | None:
    return None if value != value else round(value, 4)
