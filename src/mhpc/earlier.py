"""Earlier runs: where their votes are, and how new votes are joined with them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from mhpc.data.summary import Model
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import NewSources, Votes, join_votes
from mhpc.errors import (
    DataError,
    ParameterError,
    UnreadableError,
    option,
    pluralize,
    quote_list,
)
from mhpc.methods.base import BaseMethod
from mhpc.methods.registry import make_method
from mhpc.model import read_model
from mhpc.parameters import check_choice, check_type
from mhpc.read.inputs import fingerprint_all, is_lasting, list_paths
from mhpc.read.run_folder import RecordedFile, RecordedSettings, RunDocument, read_run_document
from mhpc.read.taxonomy import read_taxonomy
from mhpc.result import Result
from mhpc.settings import SAVED_FILES, RunSettings, read_settings
from mhpc.steps import make_model

CHOOSE_VOTES = option("votes", "FILE")
"""What messages advise where votes are not found."""

OWN_SETTINGS = frozenset(
    {"unknown", "top", "memory", "engine", "truth", "report", "show", "embed_images"}
)
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
            "votes": settings.votes,
            "update": settings.update,
            "gold": None,
        }
        recorded = _use_own_taxonomy(recorded_settings(folder), folder)
        return recorded.model_copy(update={**own, **learned}), ()
    except DataError:
        raise DataError(
            f"the votes of {folder} have changed since it was made of them; consolidate all votes "
            f"together, without {option('update')}"
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
        votes[:0] = find_votes(document, folder, ())
        if not document.settings.apply:
            return recorded_settings(folder), tuple(votes)
        # Its model is that of another run, and its votes have not been learned from yet.
        seen.add(folder)
        folder = Path(document.settings.apply)


def recorded_settings(folder: Path) -> RunSettings:
    """Return the settings of a run, without those by which it used an earlier one."""
    document, settings = (
        read_run_document(folder),
        RunSettings(**read_settings(folder / "run.json")),
    )
    changes: dict[str, Any] = {"apply": None, "update": None, "new_sources": "error"}
    if settings.apply:
        parameters = dict(document.summary.parameters)
        changes |= {"method": document.summary.method, "parameters": parameters}
    settings = settings.model_copy(update=changes)
    if not _is_unchanged(settings.taxonomy, document.inputs.taxonomy):
        # The taxonomy has moved or changed; the run keeps the one that it used.
        settings = _use_own_taxonomy(settings, folder)
    return settings


def _use_own_taxonomy(settings: RunSettings, folder: Path) -> RunSettings:
    """Return settings with the taxonomy that a run wrote, which is read in one way only."""
    others = {
        key: name for key, name in settings.columns.items() if not key.startswith("taxonomy.")
    }
    return settings.model_copy(
        update={
            "taxonomy": str(folder / "taxonomy.csv"), "taxonomy_format": None, "columns": others,
        }
    )  # fmt: skip


def _is_unchanged(path: str | None, recorded: RecordedFile | None) -> bool:
    """Return whether an input is what a run recorded; one that is not a file has no record."""
    if recorded is None or path is None:
        return True
    return is_lasting(Path(path)) and fingerprint_all([path])["sha256"] == recorded.sha256


def cannot_update(folder: str, method: str) -> UnreadableError:
    """Return the error of an update that needs votes which are not there any more."""
    return UnreadableError(
        f"the votes of {folder} are not there any more, without which {method} cannot learn from "
        "new ones; put them back, or score the new votes by what was learned with "
        f"{option('apply')}"
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


def find_votes(document: RunDocument, folder: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Return where the votes are, after checking that they are those of the run.

    By default, they are where the run found them.
    """
    files = tuple(files) or list_paths(resolve_files(document.settings, folder).votes)
    for file in files:
        if file == "-":
            raise UnreadableError(
                f"{folder} was made of votes that came through a pipe, and does not keep them; say "
                f"where they are with {CHOOSE_VOTES}"
            )
        if not is_lasting(Path(file)):
            raise UnreadableError(
                f"{file}, the votes of {folder}, is not there any more; say where it is with "
                f"{CHOOSE_VOTES}"
            )
    recorded = document.inputs.votes
    if recorded and fingerprint_all(files)["sha256"] != recorded.sha256:
        raise DataError(
            f"{' or '.join(files)} has changed since {folder} was made, or is another file (its "
            f"sha256 differs); give the votes as they were with {CHOOSE_VOTES}, or consolidate "
            "again"
        )
    return files


def resolve_files(settings: RecordedSettings, folder: Path) -> RecordedSettings:
    """Find the files that are beside ``run.json``, where `mhpc.Result.save` puts them."""

    def find(file: str) -> str:
        return str(folder / file) if file in SAVED_FILES else file

    votes = tuple(map(find, list_paths(settings.votes)))
    gold = None if settings.gold is None else find(settings.gold)
    return replace(settings, votes=votes, scope=find(settings.scope), gold=gold)


def check_earlier(
    apply: Any, update: Any, new_sources: NewSources, *, taxonomy: Any, **fixed: Any
) -> None:
    """Refuse arguments that an earlier result has fixed, or that mean nothing without one."""
    if apply is not None and update is not None:
        raise ParameterError("apply and update cannot be given together; only update learns")
    check_choice("new_sources", new_sources, get_args(NewSources))
    if apply is not None:
        check_type("apply", apply, (Result, str, Path), "a Result, or the folder of a run")
    if update is not None:
        check_type("update", update, Result, "a Result")
    if new_sources != "error" and apply is None:
        raise ParameterError("new_sources can only be given with apply; else all are learned")
    if apply is None and update is None:
        return
    which = "apply" if update is None else "update"
    for name, value in {"taxonomy": taxonomy, **fixed}.items():
        if value is not None:
            raise ParameterError(f"{name} cannot be given with {which}, which has it already")


def load_model(earlier: Result | str | Path) -> tuple[Model, Taxonomy]:
    """Return the model of an earlier result, or of the folder of a run, and its taxonomy."""
    if not isinstance(earlier, Result):
        return read_model(Path(earlier)), read_taxonomy(Path(earlier) / "taxonomy.csv")
    scores = earlier.consolidation
    if earlier.model is not None:
        return earlier.model(), scores.taxonomy
    if scores.fitted is None or earlier.rule is None:
        raise ParameterError(
            "apply needs what was fitted; give a result of mhpc.consolidate, or the folder of a run"
        )
    return make_model(scores, earlier.rule, earlier.panel), scores.taxonomy


def join_result(earlier: Result, votes: Votes) -> tuple[Votes, Taxonomy, BaseMethod]:
    """Return the votes of an earlier result with new ones, its taxonomy and its method."""
    if earlier.votes is None:
        raise ParameterError("update needs the earlier votes; give a result of mhpc.consolidate")
    scores = earlier.consolidation
    method = make_method(scores.method, dict(scores.parameters))
    return join_votes([earlier.votes, votes]), scores.taxonomy, method
