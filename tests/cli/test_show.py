import json
from pathlib import Path

import pytest

from tests.fixtures.commands import Mhpc

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")


@pytest.fixture
def items(garden: Path) -> Path:
    path = garden / "items.csv"
    path.write_text("instance,text,image\n1,red flower,1.gif\n2,in flight,2.gif\n9,nobody,\n")
    (garden / "1.gif").write_bytes(b"GIF89a")
    return path


def read_show(garden: Path) -> dict[str, dict[str, str]]:
    facts = json.loads((garden / "OUT" / "report.json").read_text())
    ids, show = facts["instances"]["id"], facts["review"]["show"]
    return {
        name: {id_: cell for id_, cell in zip(ids, cells, strict=True) if cell is not None}
        for name, cells in show.items()
    }


def test_a_report_shows_what_the_table_says(garden: Path, items: Path, mhpc: Mhpc) -> None:
    assert mhpc(*CONSOLIDATE).returncode == 0
    done = mhpc("report", "OUT", "--show", "items.csv")
    assert done.returncode == 0
    assert "embed them with --embed-images 20MB" in done.stderr
    assert read_show(garden) == {
        "text": {"1": "red flower", "2": "in flight"},
        "image file": {"1": "1.gif", "2": "2.gif"},
    }


def test_a_run_records_what_it_showed(garden: Path, items: Path, mhpc: Mhpc) -> None:
    options = ("--report", "--show", "items.csv", "--embed-images", "1MB")
    done = mhpc(*CONSOLIDATE, *options)
    assert done.returncode == 0
    assert "1 image not embedded: 1 not found" in done.stderr
    shown = read_show(garden)
    assert shown["image"] == {"1": "data:image/gif;base64,R0lGODlh"}
    assert mhpc("report", "OUT").returncode == 0
    assert read_show(garden) == shown
    assert mhpc("consolidate", "--config", "OUT/run.json", "-o", "AGAIN").returncode == 0
    assert (garden / "AGAIN" / "report.json").exists()
    items.unlink()
    done = mhpc("report", "OUT")
    assert done.returncode == 0
    assert "is not there any more" in done.stderr


def test_what_is_shown_does_not_change_the_result(garden: Path, items: Path, mhpc: Mhpc) -> None:
    mhpc(*CONSOLIDATE)
    labels = (garden / "OUT" / "labels.csv").read_bytes()
    inputs = json.loads((garden / "OUT" / "run.json").read_text())["inputs"]
    mhpc(*CONSOLIDATE, "--force", "--report", "--show", "items.csv")
    assert (garden / "OUT" / "labels.csv").read_bytes() == labels
    assert json.loads((garden / "OUT" / "run.json").read_text())["inputs"] == inputs


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--show", "items.csv"), 2, "give --report"),
        (("--report", "--embed-images", "1MB"), 2, "give --show FILE"),
        (("--report", "--show", "items.csv", "--embed-images", "lots"), 2, "such as 20MB"),
        (("--report", "--show", "truth.csv", "--embed-images", "x"), 2, "such as 20MB"),
        (("--report", "--show", "nothing.csv"), 1, "nothing.csv"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_computed(
    garden: Path, items: Path, mhpc: Mhpc, options: tuple[str, ...], code: int, message: str
) -> None:
    done = mhpc(*CONSOLIDATE, *options)
    assert (done.returncode, (garden / "OUT").exists()) == (code, False)
    assert message in done.stderr
