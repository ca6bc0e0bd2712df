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
    assert (inspection["instances"], inspection["sources"], inspection["answers"]) == (2, 3, 2)
    assert [entry["label"] for entry in inspection["unknown_labels"]] == ["bea"]
    assert done.stderr == ""


def test_columns_can_be_named(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text("seen,source,label\n1,ann,bee\n")
    assert mhpc(*INSPECT).returncode == 1
    assert mhpc(*INSPECT, "--column", "instance=seen").returncode == 0


def test_labels_that_are_almost_right_are_shown_in_ten_lines(garden: Path, mhpc: Mhpc) -> None:
    rows = [f"{n},ann,{' ' * n}Bee{' ' * n}" for n in range(1, 9)]
    rows += [f"{n},bob,new {n}" for n in range(1, 9)]
    (garden / "votes.csv").write_text("\n".join(("instance,source,label", *rows, "9,bob,animal/x")))
    done = mhpc(*INSPECT)
    listed = [line for line in done.stdout.splitlines() if line.startswith("  '")]
    assert len(listed) == 10
    assert sum("taken as 'bee' (spelling)" in line for line in listed) == 5


def test_the_options_that_are_recommended_are_accepted(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text("instance,source,label\n1,ann,dunno\n1,bob,animal/x\n")
    text = mhpc(*INSPECT).stdout
    assert "known ancestor: 'animal'" in text
    text = mhpc(*INSPECT, "--unknown", "ancestor", "--abstain", "dunno").stdout
    assert "'animal/x', 1 vote: taken as 'animal' (ancestor)" in text
    assert "not in the taxonomy: none" in text


def test_a_map_of_labels_is_written_once(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text(
        'instance,source,label\n1,ann,Bee \n1,bob,idk\n2,bob,monrada\n2,ann,"a,b"\n3,ann,bee\n'
    )
    done = mhpc(*INSPECT, "--write-map", "map.csv")
    assert done.returncode == 0
    assert "map.csv" in done.stderr
    written = (garden / "map.csv").read_text()
    assert written.splitlines() == [
        "from,to,votes,how",
        "Bee ,bee,1,spelling",
        "idk,abstain,1,abstain",
        "monrada,monarda,1,nearest",
        '"a,b",,1,',
    ]
    again = mhpc(*INSPECT, "--write-map", "map.csv")
    assert (again.returncode, again.stdout) == (2, "")
    assert "--force" in again.stderr
    (garden / "map.csv").write_text("mine")
    assert mhpc(*INSPECT, "--write-map", "map.csv", "--force").returncode == 0
    assert (garden / "map.csv").read_text() == written


def test_a_map_is_not_written_to_standard_output(mhpc: Mhpc) -> None:
    done = mhpc(*INSPECT, "--write-map", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--write-map" in done.stderr


def test_a_role_that_a_table_does_not_have_is_refused(mhpc: Mhpc) -> None:
    done = mhpc(*INSPECT, "--column", "truth.source=x")
    assert done.returncode == 2
    assert "truth has no role 'source'" in done.stderr
