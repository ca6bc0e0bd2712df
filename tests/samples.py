"""What can be read, to be damaged: small valid files, and who reads them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mhpc.errors import MhpcError
from mhpc.read.model import read_model
from mhpc.read.outcome import read_outcome
from mhpc.read.run import read_labels
from mhpc.read.tasks import read_tasks
from mhpc.read.taxonomy import read_taxonomy
from mhpc.read.truth import read_truth
from mhpc.read.votes import read_votes
from mhpc.revisit import read_conflicts, revisit
from mhpc.settings import read_settings

_FOREIGN = re.compile(
    r"\b(INTERNAL|Binder|Catalog|Parser|Conversion|Invalid Input|IO|Out of Range|Not implemented|"
    r"Serialization|Constraint|Fatal|Invalid Error|Unknown)( Error)?: "
)
"""How DuckDB begins to speak for itself."""


@dataclass(frozen=True)
class Sample:
    """Files by name, which of them is given to a reader, and which reader that is.

    `given` is empty where it is the folder itself.
    """

    name: str
    reader: str
    files: Mapping[str, bytes]
    given: str
    format: str | None = None

    def write(self, folder: Path, damaged: str | None = None, content: bytes = b"") -> Path:
        """Write the files, one of them with another content, and return what is given."""
        for name, whole in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if name == damaged else whole)
        return folder / self.given


def outcome_of(sample: Sample, given: Path, *, insist: bool) -> str:
    """Read; return the message if it is refused, nothing if not. Any other error goes through."""
    try:
        READERS[sample.reader](given, sample.format if insist else None)
    except MhpcError as error:
        return str(error)
    return ""


def complaints(message: str, given: Path) -> Iterator[str]:
    """Tell what a message lacks: what it is about, in words of our own, and in good measure."""
    if given.name.split("*")[0] not in message:
        yield "does not name the file"
    if _FOREIGN.search(message):
        yield "is DuckDB's own"
    if len(message) > 2000:
        yield f"has {len(message):,} characters"


def _read_run(folder: Path, format_: str | None) -> None:
    outcome = read_outcome(folder)
    read_labels(folder, outcome.consolidation)
    read_conflicts(folder)
    revisit(folder, votes=str(folder.parent / "votes.csv"))
    read_model(folder)


_ASKED = {"instance": ["1", "1"], "source": ["ann", "bob"], "label": ["oak", "tree"]}

READERS: Mapping[str, Callable[[Path, str | None], object]] = {
    "votes": lambda path, format_: read_votes(str(path), format=format_),
    "taxonomy": lambda path, format_: read_taxonomy(path, format=format_),
    "truth": lambda path, format_: read_truth(path),
    "tasks": lambda path, format_: read_tasks(path),
    "scope": lambda path, format_: read_votes(_ASKED, scope=path),
    "settings": lambda path, format_: read_settings(path),
    "run": _read_run,
}
"""What reads what; all take a path and the format that is insisted on."""
