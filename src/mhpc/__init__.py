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

# Stages and the verbs that start them share names: mhpc/consolidate/ and mhpc.consolidate().
# Python binds a package to its parent once, when it is first imported. Importing these now,
# light as they are, and forgetting the binding leaves the name to the verb for good.
import mhpc.consolidate
import mhpc.encode
import mhpc.evaluate
import mhpc.explain
import mhpc.simulate

del mhpc.consolidate, mhpc.encode, mhpc.evaluate, mhpc.explain, mhpc.simulate

# A library says nothing unless it is asked: logging.getLogger("mhpc").setLevel("INFO").
logging.getLogger("mhpc").addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from mhpc.choose.auto import Auto
    from mhpc.comparison import compare
    from mhpc.consolidate.channel import Channel
    from mhpc.consolidate.cross_source import CrossSource
    from mhpc.consolidate.mhpc import MHPC
    from mhpc.consolidate.mlcm import MLCM
    from mhpc.consolidate.mpc_u import MPCU
    from mhpc.consolidate.sa import SA
    from mhpc.consolidate.wa import WA
    from mhpc.core.consolidation import Consolidation
    from mhpc.core.decision import Decision
    from mhpc.core.panel import Panel
    from mhpc.core.scorecard import Scorecard
    from mhpc.core.taxonomy import Taxonomy
    from mhpc.core.truth import Truth
    from mhpc.core.votes import Votes
    from mhpc.datasets.garden import load_garden
    from mhpc.decide.expected_f import ExpectedF
    from mhpc.decide.one_path import OnePath
    from mhpc.decide.sure import Sure
    from mhpc.decide.threshold import Threshold
    from mhpc.decide.top_paths import TopPaths
    from mhpc.encode.panel import encode
    from mhpc.errors import MhpcError, MhpcWarning
    from mhpc.inquire import conflicts, explain
    from mhpc.pipeline import consolidate, evaluate, inspect
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.truth import read_truth
    from mhpc.read.votes import read_votes
    from mhpc.result import Result
    from mhpc.simulate.sources import Profile, simulate
    from mhpc.write.tables import write_taxonomy
    from mhpc.write.votes import write_votes

_HOMES = {
    "read_taxonomy": "mhpc.read.taxonomy",
    "read_votes": "mhpc.read.votes",
    "read_truth": "mhpc.read.truth",
    "write_taxonomy": "mhpc.write.tables",
    "write_votes": "mhpc.write.votes",
    "load_garden": "mhpc.datasets.garden",
    "simulate": "mhpc.simulate.sources",
    "Profile": "mhpc.simulate.sources",
    "inspect": "mhpc.pipeline",
    "encode": "mhpc.encode.panel",
    "compare": "mhpc.comparison",
    "consolidate": "mhpc.pipeline",
    "evaluate": "mhpc.pipeline",
    "explain": "mhpc.inquire",
    "conflicts": "mhpc.inquire",
    "ExpectedF": "mhpc.decide.expected_f",
    "Threshold": "mhpc.decide.threshold",
    "Sure": "mhpc.decide.sure",
    "OnePath": "mhpc.decide.one_path",
    "TopPaths": "mhpc.decide.top_paths",
    "Taxonomy": "mhpc.core.taxonomy",
    "Votes": "mhpc.core.votes",
    "Truth": "mhpc.core.truth",
    "Panel": "mhpc.core.panel",
    "Consolidation": "mhpc.core.consolidation",
    "Decision": "mhpc.core.decision",
    "Scorecard": "mhpc.core.scorecard",
    "Result": "mhpc.result",
    "MhpcError": "mhpc.errors",
    "MhpcWarning": "mhpc.errors",
}

__all__ = [
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
    "OnePath",
    "Panel",
    "Profile",
    "Result",
    "Scorecard",
    "Sure",
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
    from mhpc.consolidate.registry import METHODS

    return {name: home for home, _, name in (where.partition(":") for where in METHODS.values())}
