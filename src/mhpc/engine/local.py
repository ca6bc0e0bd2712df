"""The local engine: all votes as one panel in this process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mhpc.consolidate.fitted import concluded
from mhpc.consolidate.method import MethodParameters
from mhpc.consolidate.registry import make_method
from mhpc.core.arrays import Sparse
from mhpc.core.consolidation import Consolidation, Top, among
from mhpc.core.decision import Settled
from mhpc.core.model import Model
from mhpc.core.panel import Panel
from mhpc.core.parts import Whole, sample_of
from mhpc.core.progress import Progress
from mhpc.core.tally import Tally
from mhpc.core.taxonomy import Taxonomy
from mhpc.core.truth import Truth
from mhpc.core.votes import Votes
from mhpc.decide.rule import LOOKED_AT
from mhpc.encode.gold import clamped, with_gold
from mhpc.encode.known import of_known_sources
from mhpc.encode.labels import Unknown
from mhpc.encode.panel import encode
from mhpc.encode.truth import encode_truth
from mhpc.engine.finish import finish
from mhpc.engine.foresee import refuse_what_cannot_be_read, refuse_what_will_not_fit
from mhpc.read.votes import read_votes


@dataclass(frozen=True)
class Local:
    """Work in this process."""

    whole: bool = True

    def read(
        self,
        source: str,
        *,
        columns: Mapping[str, str],
        scope: str,
        folder: Path,
        format: str | None = None,  # noqa: A002 - as for read_votes
    ) -> Votes:
        """Read all votes, if they fit."""
        refuse_what_cannot_be_read(source)
        return read_votes(source, columns=columns, scope=scope, format=format)

    def encode(
        self,
        votes: Votes,
        taxonomy: Taxonomy,
        *,
        unknown: Unknown,
        gold: Truth | None,
        earlier: Model | None,
        progress: Progress,
    ) -> "Here":
        """Encode them as one panel."""
        panel = with_known(encode(votes, taxonomy, unknown=unknown), gold, unknown=unknown)
        if earlier is not None:
            panel = of_known_sources(panel, earlier.sources, earlier.scope)
        return Here(panel)


@dataclass(frozen=True, eq=False)
class Here:
    """A panel in memory."""

    shape: Panel

    @property
    def parts(self) -> Whole:
        """The panel, as parts."""
        return Whole(self.shape)

    def for_method(self, method: MethodParameters, folder: Path) -> "Here":
        """Return the same: all is here."""
        return self

    def learn(self, method: MethodParameters, *, progress: Progress) -> Consolidation:
        """Return what the method concludes of all instances, if it fits."""
        refuse_what_will_not_fit(method, self.shape)
        return clamped(method.consolidate(self.shape, progress=progress), self.shape.gold)

    def apply(self, model: Model, *, progress: Progress) -> Consolidation:
        """Return what the earlier run concludes of all instances."""
        method = make_method(model.method, model.parameters)
        found = concluded(method, model.fitted, self.shape, progress=progress)
        return clamped(found, self.shape.gold)

    def seen(self, found: Consolidation) -> Consolidation:
        """Return the consolidation of a sample."""
        return sample_seen(found, self.shape)

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
        """Write in one walk over the instances."""
        return finish(folder, self.shape, found, settled, top=top, scope=scope, progress=progress)


def with_known(panel: Panel, gold: Truth | None, *, unknown: Unknown) -> Panel:
    """Return the panel with what is known of its instances, if anything."""
    if gold is None:
        return panel
    return with_gold(panel, encode_truth(gold, panel.taxonomy, panel.instances, unknown=unknown))


def sample_seen(found: Consolidation, panel: Panel) -> Consolidation:
    """Return the part of a consolidation that rules look at."""
    at = sample_of(panel, LOOKED_AT)
    if len(at) == len(panel.instances):
        return found
    return among(found, at)
