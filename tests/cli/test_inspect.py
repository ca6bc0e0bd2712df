import json
from pathlib import Path

from tests.fixtures.commands import Mhpc

INSPECT = ("inspect", "votes.csv", "--taxonomy", "taxonomy.csv")


def test_an_inspection_is_shown_as_text(mhpc: Mhpc) -> None:
    done = mhpc(*INSPECT)
    assert (done.returncode, done.stderr) == (0, "")
    for count in ("2 sources", "5 answers", "4 votes", "3 instances"):
        assert count in done.stdout
    assert "not in the taxonomy: none" in done.stdout


def test_json_is_all_that_is_on_standard_output(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text("instance,source,label\n1,ann,bea\n1,bob,bee\n2,cat,\n")
    done = mhpc(*INSPECT, "--json")
    inspection = json.loads(done.stdout)
    assert (inspection["instances"], inspection["sources"], inspection["answers"]) == (2, 3, 3)
    assert [entry["label"] for entry in inspection["unknown_labels"]] == ["bea"]
    assert done.stderr == ""


def test_columns_can_be_named(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text("seen,source,label\n1,ann,bee\n")
    assert mhpc(*INSPECT).returncode == 1
    assert mhpc(*INSPECT, "--column", "instance=seen").returncode == 0
