"""Earlier runs: where their votes are, and how new votes are joined with them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mhpc.errors import DataError, UnreadableError, pluralize, quote_list
from mhpc.read.run_folder import RunDocument, read_run_document
from mhpc.settings import RunSettings, read_settings
from mhpc.system.inputs import fingerprint_all, is_lasting, list_paths

OWN_SETTINGS = frozenset({"unknown", "top", "memory", "engine", "truth", "report"})
"""The settings of an update that may differ from those of the earlier run."""


def join_earlier(settings: RunSettings) -> tuple[RunSettings, tuple[str, ...]]:
    """Return the settings of a run on the votes of an earlier run and new ones, and a note.

    These are the settings of the earlier run, with all votes. If its votes are not there any more,
    they have the new votes only, and still name the run to update: its model may be updated
    without them.
    """
    folder = Path(str(settings.update))
    own = {name: getattr(settings, name) for name in OWN_SETTINGS & settings.model_fields_set}
    new = list_paths(settings.votes)
    try:
        recorded, votes = _earlier_votes(folder)
    except UnreadableError:
        # Gold labels of the earlier run are part of what it learned, and so are added labels.
        learned = {
            "votes": settings.votes, "update": settings.update, "gold": None,
            "taxonomy": str(folder / "taxonomy.csv"), "taxonomy_format": None,
        }  # fmt: skip
        return _recorded_settings(folder).model_copy(update={**own, **learned}), ()
    except DataError:
        raise DataError(
            f"the votes of {folder} have changed since it was made of them; consolidate all votes "
            "together, without --update"
        ) from None
    n_earlier = read_run_document(folder).summary.counts["instances"]
    note = (
        f"Updates {folder}: fitted to the votes of its {pluralize(n_earlier, 'instance')} and the "
        "new ones together, as in one run on all of them"
    )
    return recorded.model_copy(update={**own, "votes": (*votes, *new)}), (note,)


def _earlier_votes(folder: Path) -> tuple[RunSettings, tuple[str, ...]]:
    """Return the settings by which the model of a run was fitted, and the votes up to that run."""
    votes, seen = list[str](), set[Path]()
    while True:
        document = read_run_document(folder)
        if document.settings.update or folder in seen:
            raise UnreadableError(f"{folder} does not say which votes its model was fitted to")
        votes[:0] = find_votes(document, folder, None)
        if not document.settings.apply:
            return _recorded_settings(folder), tuple(votes)
        # Its model is that of another run, and its votes have not been learned from yet.
        seen.add(folder)
        folder = Path(document.settings.apply)


def _recorded_settings(folder: Path) -> RunSettings:
    """Return the settings of a run, without those by which it used an earlier one."""
    document, settings = (
        read_run_document(folder),
        RunSettings(**read_settings(folder / "run.json")),
    )
    changes: dict[str, Any] = {"apply": None, "update": None, "new_sources": "error"}
    if settings.apply:
        parameters = dict(document.summary.parameters)
        changes |= {"method": document.summary.method, "parameters": parameters}
    if not _is_unchanged(settings.taxonomy, document.content["inputs"].get("taxonomy")):
        # The taxonomy has moved or changed; the run keeps the one that it used.
        changes |= {"taxonomy": str(folder / "taxonomy.csv"), "taxonomy_format": None}
    return settings.model_copy(update=changes)


def _is_unchanged(path: str, recorded: Mapping[str, Any] | None) -> bool:
    """Return whether an input is what a run recorded; one that is not a file has no record."""
    if recorded is None:
        return True
    return is_lasting(Path(path)) and fingerprint_all([path])["sha256"] == recorded["sha256"]


def cannot_update(folder: str, method: str) -> UnreadableError:
    """Return the error of an update that needs votes which are not there any more."""
    return UnreadableError(
        f"the votes of {folder} are not there any more, without which {method} cannot learn from "
        "new ones; put them back, or score the new votes by what was learned with --apply"
    )


def describe_applied(settings: RunSettings, new_sources: tuple[str, ...]) -> tuple[str, ...]:
    """Return notes on how an earlier run was used."""
    if settings.update:
        note = (
            f"Updates {settings.update} without its votes: its sums and those of the new votes are "
            "added, its rule decides, and the result has the new instances only"
        )
    else:
        note = (
            f"Applies {settings.apply}: scored by its model and decided by its rule; nothing was "
            "fitted to these votes"
        )
    if not new_sources:
        return (note,)
    treatment = (
        "left out"
        if settings.apply and settings.new_sources == "ignore"
        else "counted as average sources"
    )
    return note, f"New sources, {treatment}: {quote_list(new_sources)}"


def find_votes(document: RunDocument, folder: Path, votes: str | None) -> tuple[str, ...]:
    """Return where the votes are, after checking that they are those of the run."""
    files = list_paths(votes or document.settings.votes)
    for file in files:
        if file == "-":
            raise UnreadableError(
                f"{folder} was made of votes that came through a pipe, and does not keep them; say "
                "where they are with --votes FILE"
            )
        if not is_lasting(Path(file)):
            raise UnreadableError(
                f"{file}, the votes of {folder}, is not there any more; say where it is with "
                "--votes FILE"
            )
    recorded = document.inputs.votes
    if recorded and fingerprint_all(files)["sha256"] != recorded.sha256:
        raise DataError(
            f"{' or '.join(files)} has changed since {folder} was made of it: its sha256 is "
            "another one; give the votes as they were with --votes FILE, or consolidate again"
        )
    return files
