"""What an engine is: where votes are kept, and where they are worked on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from mhpc.data.decision import FittedRule
from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.scores import Consolidation, Top
from mhpc.data.summary import Model, RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth, Unknown
from mhpc.methods.base import BaseMethod
from mhpc.numerics.arrays import Sparse
from mhpc.system.display import Progress


class EncodedVotes(Protocol):
    """Encoded votes, wherever they are."""

    @property
    def partitions(self) -> PanelPartitions:
        """What methods learn from."""

    @property
    def template(self) -> Panel:
        """A panel with the labels, sources, scope and kind of gold that all parts have."""

    def for_method(self, method: BaseMethod, folder: Path) -> "EncodedVotes":
        """Return the votes where the method can work: here, if it needs all of them at once.

        What reading kept in the folder is removed where it is no longer needed.
        """

    def fit_and_score(self, method: BaseMethod, *, progress: Progress) -> Consolidation:
        """Let a method learn, and return what it concludes, of a sample at least."""

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Return what an earlier run concludes, of a sample at least."""

    def rule_sample(self, found: Consolidation) -> Consolidation:
        """Return what rules look at, the same instances on every engine."""

    def write_results(
        self,
        folder: Path,
        found: Consolidation,
        settled: FittedRule,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> RunCounts:
        """Write scores and labels of all instances into a folder.

        What was learnt is in its ``model.npz`` already, if the method keeps what it learns.
        `scope` is what sources can speak about where it comes to who contradicts whom.
        """


class Engine(Protocol):
    """Reads and encodes votes of files."""

    @property
    def is_local(self) -> bool:
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
    ) -> EncodedVotes:
        """Encode them, with what is known, or with the sources of an earlier run."""


@contextmanager
def open_engine(name: str, *, memory: int | None) -> Iterator[Engine]:
    """Give an engine: ``local``, ``dask``, or ``dask=ADDRESS`` of a running scheduler."""
    kind, _, address = name.partition("=")
    if kind == "local":
        from mhpc.engines.local import LocalEngine

        yield LocalEngine()
        return
    from mhpc.engines.dask import DaskEngine
    from mhpc.engines.dask_cluster import connect

    with connect(address or None) as cluster:
        yield DaskEngine(cluster, memory)
