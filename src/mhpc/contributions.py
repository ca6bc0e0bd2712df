"""What sources are worth: `mhpc.source_contributions`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mhpc.data.contributions import SourceContributions
from mhpc.data.votes import Truth, Unknown
from mhpc.encoding.gold import encode_truth
from mhpc.errors import ParameterError
from mhpc.explanation.contributions import measure_contributions
from mhpc.model import errors_of
from mhpc.parameters import check_function, check_mapping, check_type, is_number, show_value
from mhpc.read.truth import read_gold
from mhpc.result import Result
from mhpc.run import load_run
from mhpc.system.blas import single_threaded_blas
from mhpc.system.display import Progress, silent

Readable: TypeAlias = Any
"""A path, a dataframe, a mapping, a list, or our own object: what `mhpc.read_truth` reads."""


def source_contributions(
    result: Result | str | Path,
    *,
    gold: Truth | Readable | None = None,
    costs: Mapping[str, float] | None = None,
    keep: float = 0.95,
    unknown: Unknown = "error",
    progress: Progress = silent,
) -> SourceContributions:
    """Measure what every source is worth: how the result changes without it.

    The fitted model predicts without the answers of a source; nothing is fitted again. Sources are
    also dropped one after the other, which gives a curve of quality against cost, and the panel to
    keep.

    Parameters
    ----------
    result : Result or path
        As `mhpc.consolidate` returns it, or the folder of a run.
    gold : Truth, or anything that `mhpc.read_truth` reads, optional
        Correct labels of some instances, to measure accuracy with and without each source. By
        default, those that the result was computed with.
    costs : mapping of str to float, optional
        The price of an answer of every source; by default, every answer costs 1.
    keep : float
        The panel to keep is the cheapest with at least this share of the quality of all sources.
    unknown : "error", "drop", "graft", "nearest" or "ancestor"
        What to do with labels and instances of `gold` that the result does not know.
    progress : callable
        Called with the name of a stage, how much of it is done, and how much there is.

    Examples
    --------
    >>> import mhpc
    >>> votes = {"1": {"ann": "bee", "bob": "bee", "cid": "ant"}, "2": {"ann": "ant", "bob": "ant"}}
    >>> result = mhpc.consolidate(votes, ["ant", "bee"], method="majority")
    >>> worth = mhpc.source_contributions(result)
    >>> {each.source: each.changed for each in worth.sources}
    {'ann': 0.5, 'bob': 0.5, 'cid': 0.0}
    >>> worth.kept
    ('bob',)
    """
    if not is_number(keep) or not 0 < keep <= 1:
        raise ParameterError(
            f"keep = {show_value(keep)} is not allowed; give a share above 0, at most 1"
        )
    check_mapping("costs", costs, "sources to prices")
    check_function("progress", progress)
    check_type("result", result, (Result, str, Path), "a Result, or the folder of a run")
    loaded = result if isinstance(result, Result) else load_run(result)
    panel = loaded.panel
    with errors_of(loaded.model), single_threaded_blas():
        known = None
        if gold is not None:
            known = encode_truth(read_gold(gold), panel.taxonomy, panel.instances, unknown=unknown)
        return measure_contributions(
            loaded.predictor, panel, loaded.sources, gold=known, costs=costs, keep=keep,
            progress=progress,
        )  # fmt: skip
