"""A run that is reviewed: what the review needs of it, and how it is consolidated again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mhpc.data.panel import Panel
from mhpc.earlier import find_votes, recorded_settings
from mhpc.errors import DataError
from mhpc.read.inputs import is_lasting, list_paths
from mhpc.read.run_folder import read_run_document
from mhpc.read.show import ShowSource
from mhpc.report.show import add_show
from mhpc.result import page_data
from mhpc.review.answers import SettledInstance
from mhpc.review.files import ReviewFolder, write_gold
from mhpc.run import load_run, run
from mhpc.settings import RunSettings
from mhpc.system.display import Progress, silent

_EARLIER_GOLD = "gold"
"""Who is named as the reviewer of gold labels that the run had before."""


@dataclass(frozen=True, eq=False)
class ReviewedRun:
    """What a review needs of a run.

    Attributes
    ----------
    folder : Path
        Its folder.
    votes : tuple of str
        Where its votes are, if the user said so.
    facts : mapping
        What its page shows.
    instances, labels : frozenset of str
        The ids that answers may have.
    gold : mapping of str to tuple of str
        The gold labels that it had.
    voted : frozenset of str
        The instances with votes, which others can be learned from.
    show : ShowSource or None
        What is shown beside instances.
    """

    folder: Path
    votes: tuple[str, ...]
    facts: Mapping[str, Any]
    instances: frozenset[str]
    labels: frozenset[str]
    gold: Mapping[str, tuple[str, ...]]
    voted: frozenset[str]
    show: ShowSource | None = None


def load_reviewed_run(
    folder: Path, *, votes: Sequence[str] = (), show: ShowSource | None = None
) -> ReviewedRun:
    """Read a run and its votes."""
    result = load_run(folder, votes=tuple(votes))
    panel = result.panel
    return ReviewedRun(
        folder,
        tuple(votes),
        facts=make_facts(page_data(result), show),
        instances=frozenset(panel.instances.ids),
        labels=frozenset(panel.taxonomy.labels.ids),
        gold=_list_gold(panel),
        voted=frozenset(() if result.votes is None else result.votes.instances.ids),
        show=show,
    )


def _list_gold(panel: Panel) -> dict[str, tuple[str, ...]]:
    """Return the gold labels of a panel by instance, as ids of the taxonomy."""
    if panel.gold is None:
        return {}
    specific, ids = panel.gold.specific, panel.taxonomy.labels
    sets = np.split(specific.indices, specific.indptr[1:-1])
    return {
        panel.instances[row]: tuple(ids[label] for label in labels)
        for row, labels in zip(panel.gold.rows, sets, strict=True)
    }


def make_facts(facts: Mapping[str, Any], show: ShowSource | None) -> dict[str, Any]:
    """Return the facts of a served page: with what is shown, and with `review.server`."""
    if show is not None:
        facts = add_show(facts, show.read(facts["instances"]["id"]))
    return {**facts, "review": {**(facts.get("review") or {}), "server": True}}


def combine_gold(
    reviewed: ReviewedRun, settled: Mapping[str, SettledInstance]
) -> dict[str, SettledInstance]:
    """Return the gold labels of the run and the settled instances, which take precedence."""
    before = {
        instance: SettledInstance(labels, (_EARLIER_GOLD,), "gain")
        for instance, labels in reviewed.gold.items()
    }
    return {
        instance: each
        for instance, each in {**before, **settled}.items()
        if instance in reviewed.voted
    }


def consolidate_again(
    reviewed: ReviewedRun,
    folder: ReviewFolder,
    settled: Mapping[str, SettledInstance],
    *,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Repeat a run with settled instances as gold labels, and return the facts of its page.

    The result replaces that of an earlier consolidation.
    """
    gold = combine_gold(reviewed, settled)
    settings = make_settings(reviewed, folder.result_gold if gold else None)
    if gold:
        write_gold(folder.result_gold, gold)
    run(settings, output=folder.result, force=True, progress=progress)
    progress("reporting", 0, 0)
    facts = json.loads((folder.result / "report.json").read_bytes())
    return make_facts(facts, reviewed.show)


def make_settings(reviewed: ReviewedRun, gold: Path | None) -> RunSettings:
    """Return the settings of a run for repeating it with other gold labels."""
    document = read_run_document(reviewed.folder)
    if document.settings.apply or document.settings.update:
        raise DataError(
            f"{reviewed.folder} was scored by the model of another run, so nothing can be learned "
            "from its reviews; consolidate all votes together, with --gold gold.csv"
        )
    settings = recorded_settings(reviewed.folder)
    files = find_votes(document, reviewed.folder, reviewed.votes)
    votes = tuple(str(Path(file).absolute()) for file in files)
    changes: dict[str, Any] = {
        "votes": votes[0] if len(votes) == 1 else votes,
        "gold": None if gold is None else str(gold.absolute()),
        # Our table of gold labels has the usual columns.
        "columns": {k: v for k, v in settings.columns.items() if not k.startswith("gold.")},
        "report": True,
        "show": None,
        "embed_images": None,
    }
    if not all(is_lasting(Path(file)) for file in list_paths(settings.truth)):
        changes["truth"] = None
    return settings.model_copy(update=changes)
