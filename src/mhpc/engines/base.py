"""What an engine does: hold the votes of a run, in this process or on workers, and work on them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from mhpc.data.decision import RULE_SAMPLE, FittedRule
from mhpc.data.panel import Panel, PanelPartitions
from mhpc.data.scores import Consolidation, Top
from mhpc.data.summary import Model, RunCounts
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Policy, Truth
from mhpc.encoding.known_sources import KnownSources
from mhpc.methods.base import BaseMethod
from mhpc.numerics.arrays import Sparse
from mhpc.read.options import ReadOptions
from mhpc.rules.base import Rule
from mhpc.system.display import Progress


@contextmanager
def open_engine(
    name: str, *, memory: int | None, rule_sample: int = RULE_SAMPLE, **limits: float
) -> Iterator["Engine"]:
    """Open an engine.

    Parameters
    ----------
    name : str
        ``local``, ``dask``, or ``dask=ADDRESS`` of a running scheduler.
    memory : int or None
        Bytes that work may take; None: half of what is free.
    rule_sample : int
        How many instances rules are fitted to at most.
    **limits
        How long to wait for a Dask cluster, as `mhpc.engines.dask_cluster.connect` takes it.
    """
    kind, _, address = name.partition("=")
    if kind == "local":
        from mhpc.engines.local import LocalEngine

        yield LocalEngine(rule_sample)
        return
    from mhpc.engines.dask import DaskEngine
    from mhpc.engines.dask_cluster import connect

    with connect(address or None, **limits) as cluster:
        yield DaskEngine(cluster, memory, rule_sample)


class Engine(Protocol):
    """Reads and encodes the votes of files."""

    @property
    def is_local(self) -> bool:
        """Whether all scores are in this process, where they can be evaluated."""

    def read(
        self,
        source: str | Sequence[str],
        options: ReadOptions,
        *,
        scope: str,
        folder: Path,
    ) -> Any:
        """Read as much of the votes as encoding needs; temporary files go into the folder."""

    def encode(
        self,
        votes: Any,
        taxonomy: Taxonomy,
        *,
        unknown: Policy,
        gold: Truth | None,
        earlier: KnownSources | None,
        progress: Progress,
    ) -> "EncodedVotes":
        """Encode the votes with gold labels, or with the sources of an earlier run."""


class EncodedVotes(Protocol):
    """Encoded votes, in this process or on workers."""

    @property
    def partitions(self) -> PanelPartitions:
        """The votes, as methods are fitted to them."""

    @property
    def template(self) -> Panel:
        """A panel with the taxonomy, sources and scope that all partitions have."""

    def place_for(self, method: BaseMethod, folder: Path) -> "EncodedVotes":
        """Return the votes where a method can work: in this process if it needs all at once.

        Temporary files of reading in the folder are removed as soon as they are not needed.
        """

    def fit_and_score(self, method: BaseMethod, *, progress: Progress) -> Consolidation:
        """Fit a method to all instances, and score at least a sample of them."""

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Score instances by the model of an earlier run, at least one of them."""

    def fit_rule(self, rule: Rule, scores: Consolidation) -> FittedRule:
        """Fit a rule to a sample of the scores, the same instances on every engine."""

    def write_results(
        self,
        folder: Path,
        scores: Consolidation,
        rule: FittedRule,
        *,
        top: Top,
        scope: Sparse | None,
        progress: Progress,
    ) -> RunCounts:
        """Write the items, scores and label sets of all instances into a folder.

        Its ``model.npz`` is there already, if the method can predict other instances. `scope` says
        which labels a source can give, for finding out who contradicts whom.
        """
