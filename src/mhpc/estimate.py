"""`mhpc.estimate_accuracy`: how accurate the label sets are that nobody reviewed."""

from pathlib import Path
from typing import Any

from mhpc.data.accuracy import Accuracy
from mhpc.data.votes import Policy, Truth
from mhpc.encoding.gold import encode_truth
from mhpc.errors import DataError
from mhpc.parameters import check_type
from mhpc.read.truth import read_gold
from mhpc.result import Result, measure_accuracy
from mhpc.run import load_run
from mhpc.system.display import Progress, silent


def estimate_accuracy(
    result: Result | str | Path,
    gold: Truth | Any | None = None,
    *,
    unknown: Policy = "error",
    progress: Progress = silent,
) -> Accuracy:
    """Estimate how many of the other label sets are exactly right, from a random sample.

    Draw instances at random (``mhpc.conflicts(result, strategy="random")``), find out their true
    labels, and this estimates the share of right label sets among all others, with a 95 % interval;
    also for each level of the taxonomy; and how many more answers would narrow the interval to
    ±2 %. The estimate is prediction-powered: `mhpc.metrics.accuracy` has the equations.

    If the run used gold labels, the sets of these instances are predicted again without their own
    gold labels: the method is fitted five times, each time without a fifth of them.

    Parameters
    ----------
    result : Result or path
        As `mhpc.consolidate` returns it, or the folder of a run.
    gold : Truth, or anything that `mhpc.read_truth` reads, optional
        The true labels of instances drawn at random. If it has a column ``drawn``, only those with
        the value ``random`` count; otherwise all are assumed to be drawn at random. By default the
        gold labels of the run.
    unknown : "error", "drop", "graft", "nearest" or "ancestor"
        What to do with labels and instances that the result does not know, as in `mhpc.evaluate`.
    progress : callable, optional
        Called with the name of a stage, how much of it is done, and how much there is.

    Examples
    --------
    >>> import mhpc
    >>> votes = {f"photo-{n}": {"ann": "bee", "bob": "bee" if n % 5 else "ant"} for n in range(500)}
    >>> result = mhpc.consolidate(votes, {"insect": ["bee", "ant"]}, rule="one-path")
    >>> sample = mhpc.conflicts(result, top=60, strategy="random").instances
    >>> estimate_accuracy(result, {case.instance: "bee" for case in sample})
    Accuracy(74 %, 62 to 84 %, of 440 instances, from 60 drawn at random)
    """
    check_type("result", result, (Result, str, Path), "a Result, or the folder of a run")
    loaded = result if isinstance(result, Result) else load_run(result)
    panel = loaded.panel
    if gold is not None:
        truth = encode_truth(read_gold(gold), panel.taxonomy, panel.instances, unknown=unknown)
    elif panel.gold is not None:
        truth = panel.gold
    else:
        raise DataError("the run has no gold labels; give those of instances drawn at random")
    return measure_accuracy(loaded, truth, progress=progress)
