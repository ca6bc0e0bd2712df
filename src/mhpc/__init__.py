"""Consolidate labels that many sources took from one hierarchy, without knowing the truth.

    taxonomy = mhpc.read_taxonomy("taxonomy.csv")
    votes = mhpc.read_votes("votes.csv")
    result = mhpc.consolidate(votes, taxonomy)
    result.labels, result.scores, result.sources, result.trace

Names are imported when they are first used, so that ``mhpc --help`` waits for nothing.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

# A library says nothing unless it is asked: logging.getLogger("mhpc").setLevel("INFO").
logging.getLogger("mhpc").addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from mhpc.api import compare, conflicts, consolidate, evaluate, explain, inspect
    from mhpc.data.decision import Decision
    from mhpc.data.panel import Panel
    from mhpc.data.scorecard import Scorecard
    from mhpc.data.scores import Consolidation
    from mhpc.data.taxonomy import Taxonomy
    from mhpc.data.votes import Truth, Votes
    from mhpc.datasets.garden import load_garden
    from mhpc.encoding.panel import encode
    from mhpc.errors import MhpcError, MhpcWarning
    from mhpc.methods.averaging import SA, WA
    from mhpc.methods.channel import Channel
    from mhpc.methods.cross_source import CrossSource
    from mhpc.methods.mhpc import MHPC, MPCU, LocalMHPC
    from mhpc.methods.mlcm import MLCM
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.truth import read_truth
    from mhpc.read.votes import read_votes
    from mhpc.result import Result
    from mhpc.rules.expected_f import ExpectedF
    from mhpc.rules.paths import OnePath, TopPaths
    from mhpc.rules.threshold import MinProbability, Threshold
    from mhpc.selection.auto import Auto
    from mhpc.simulation.sources import Profile, simulate
    from mhpc.write.tables import write_taxonomy, write_votes

_HOMES = {
    "read_taxonomy": "mhpc.read.taxonomy",
    "read_votes": "mhpc.read.votes",
    "read_truth": "mhpc.read.truth",
    "write_taxonomy": "mhpc.write.tables",
    "write_votes": "mhpc.write.tables",
    "load_garden": "mhpc.datasets.garden",
    "simulate": "mhpc.simulation.sources",
    "Profile": "mhpc.simulation.sources",
    "inspect": "mhpc.api",
    "encode": "mhpc.encoding.panel",
    "compare": "mhpc.api",
    "consolidate": "mhpc.api",
    "evaluate": "mhpc.api",
    "explain": "mhpc.api",
    "conflicts": "mhpc.api",
    "ExpectedF": "mhpc.rules.expected_f",
    "Threshold": "mhpc.rules.threshold",
    "MinProbability": "mhpc.rules.threshold",
    "OnePath": "mhpc.rules.paths",
    "TopPaths": "mhpc.rules.paths",
    "Taxonomy": "mhpc.data.taxonomy",
    "Votes": "mhpc.data.votes",
    "Truth": "mhpc.data.votes",
    "Panel": "mhpc.data.panel",
    "Consolidation": "mhpc.data.scores",
    "Decision": "mhpc.data.decision",
    "Scorecard": "mhpc.data.scorecard",
    "Result": "mhpc.result",
    "MhpcError": "mhpc.errors",
    "MhpcWarning": "mhpc.errors",
}

__all__ = [
    "LocalMHPC",
    "MHPC",
    "MLCM",
    "MPCU",
    "SA",
    "WA",
    "Auto",
    "Channel",
    "Consolidation",
    "CrossSource",
    "Decision",
    "ExpectedF",
    "MhpcError",
    "MhpcWarning",
    "MinProbability",
    "OnePath",
    "Panel",
    "Profile",
    "Result",
    "Scorecard",
    "Taxonomy",
    "Threshold",
    "TopPaths",
    "Truth",
    "Votes",
    "compare",
    "conflicts",
    "consolidate",
    "encode",
    "evaluate",
    "explain",
    "inspect",
    "load_garden",
    "read_taxonomy",
    "read_truth",
    "read_votes",
    "simulate",
    "write_taxonomy",
    "write_votes",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mhpc")
    home = _HOMES.get(name) or _method_homes().get(name)
    if home is None:
        raise AttributeError(f"module 'mhpc' has no attribute {name!r}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_method_homes()})


def _method_homes() -> dict[str, str]:
    """Return where the method classes live: whatever is registered can be had as mhpc.NAME."""
    from mhpc.methods.registry import METHODS

    return {name: home for home, _, name in (where.partition(":") for where in METHODS.values())}
