"""The summary of a run, and run.json."""

import json

import mhpc
from mhpc.explanation.sources import count_run
from mhpc.report.summary import run_document, summarize, to_json
from tests.fixtures.build import GARDEN


def test_a_run_document_is_json_with_settings_versions_and_trace() -> None:
    votes = mhpc.read_votes({"instance": ["x"], "source": ["s"], "label": [None]})
    result = mhpc.consolidate(votes, GARDEN)
    summary = summarize(
        result.consolidation,
        count_run(result.panel, result.consolidation, result.decision),
        result.decision,
        result.sources,
        mhpc.conflicts(result),
        (),
        {"reading": 0.1},
    )  # fmt: skip
    document = json.loads(json.dumps(run_document({"votes": "-"}, {}, summary), allow_nan=False))
    assert document["settings"] == {"votes": "-"}
    assert {"python", "mhpc", "numpy"} <= document["versions"].keys()
    assert document["trace"][0].keys() == {"iteration", "change", "objective", "spread", "seconds"}
    # The source gave no label, so that its mean depth is not known.
    assert document["sources"][0]["mean_depth"] is None


def test_nan_and_infinity_become_null() -> None:
    assert to_json({"a": (float("nan"), float("inf"), 1.5)}) == {"a": [None, None, 1.5]}
