"""What an engine is: where votes are kept, and where they are worked on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from mhpc.data.decision import Settled
from mhpc.data.panel import Panel, Parts
from mhpc.data.scores import Consolidation, Top
from mhpc.data.summary import Model, Tally
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Unknown
from mhpc.methods.base import MethodParameters
from mhpc.numerics.arrays import Sparse
from mhpc.system.display import Progress


class Held(Protocol):
    """Encoded votes, wherever they are."""

    @property
    def parts(self) -> Parts:
        """What methods learn from."""

    @property
    def shape(self) -> Panel:
        """A panel with the labels, sources, scope and kind of gold that all parts have."""

    def for_method(self, method: MethodParameters, folder: Path) -> "Held":
        """Return the votes where the method can work: here, if it needs all of them at once.

        What reading kept in the folder is removed where it is no longer needed.
        """

    def learn(self, method: MethodParameters, *, progress: Progress) -> Consolidation:
        """Let a method learn, and return what it concludes, of a sample at least."""

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Return what an earlier run concludes, of a sample at least."""

    def seen(self, found: Consolidation) -> Consolidation:
        """Return what rules look at, the same instances on every engine."""

    def finish(
        self,
        folder: Path,
        found: Consolidation,
        settled: Settled,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> Tally:
        """Write scores and labels of all instances into a folder.

        What was learnt is in its ``model.npz`` already, if the method keeps what it learns.
        `scope` is what sources can speak about where it comes to who contradicts whom.
        """


class Engine(Protocol):
    """Reads and encodes votes of files."""

    @property
    def whole(self) -> bool:
        """Whether all scores come to this process, where they can be measured."""

    def read(
        self,
        source: str,
        *,
        columns: Mapping[str, str],
        scope: str,
        folder: Path,
        format: str | None = None,  # noqa: A002 - as for read_votes
    ) -> Any:
        """Read as much of the votes as is needed to encode them.

        What has to be kept meanwhile is kept in the folder.
        """

    def encode(
        self,
        votes: Any,
        taxonomy: Taxonomy,
        *,
        unknown: Unknown,
        gold: Truth | None,
        earlier: Model | None,
        progress: Progress,
    ) -> Held:
        """Encode them, with what is known, or with the sources of an earlier run."""


@contextmanager
def open_engine(name: str, *, memory: int | None) -> Iterator[Engine]:
    """Give an engine: ``local``, ``dask``, or ``dask=ADDRESS`` of a running scheduler."""
    kind, _, address = name.partition("=")
    if kind == "local":
        from mhpc.engines.local import Local

        yield Local()
        return
    from mhpc.engines.dask import Remote
    from mhpc.engines.dask_cluster import gathered

    with gathered(address or None) as crew:
        yield Remote(crew, memory)
