"""Inputs: the files of a run, as they were when it began."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mhpc.core.fingerprint import State, fingerprint, lasts, state_of
from mhpc.errors import UnreadableError


@dataclass(frozen=True)
class Inputs:
    """What was there to be read.

    Attributes
    ----------
    prints : mapping of str to mapping
        Sizes and hashes, by what each is to the run.
    states : mapping of Path to State
        By which it is seen that one has changed.
    """

    prints: Mapping[str, dict[str, Any]]
    states: Mapping[Path, State]

    def refuse_changed(self) -> None:
        """Refuse files that somebody wrote to since; one that is gone was read before."""
        for path, before in self.states.items():
            now = state_of(path)
            if now and now != before:
                raise UnreadableError(
                    f"{path} changed while it was read; run again when nobody writes to it"
                )


def look_at(files: Mapping[str, str | None]) -> Inputs:
    """Return what files hold, of those that are files: by what they are to the run, their paths."""
    there = {name: Path(file) for name, file in files.items() if file and lasts(Path(file))}
    # Looked at before they are read, so that no change meanwhile is missed.
    states = {path: state_of(path) for path in there.values()}
    return Inputs({name: fingerprint(path) for name, path in there.items()}, states)
