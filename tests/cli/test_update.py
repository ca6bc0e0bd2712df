"""``mhpc consolidate --update``: an earlier run and new votes, consolidated together."""

import json
from pathlib import Path

import numpy as np
import pytest

import mhpc as package
from mhpc.datasets.garden import load_garden
from mhpc.write.tables import write_votes
from tests.cli.test_apply import label_sets, scores
from tests.fixtures.commands import Mhpc

SUMS = ("sa", "wa", "majority", "wawa", "inat")
"""The methods that are sums over instances."""


@pytest.fixture
def days(garden: Path) -> Path:
    """Votes of three days and of all together; on the last day, an old instance has more votes."""
    data = load_garden()
    profiles = [package.Profile(specificity=0.8, accuracy=accuracy) for accuracy in (0.9, 0.7, 0.6)]
    write_votes(garden / "all.csv", package.simulate(data.truth, data.taxonomy, profiles, seed=3))
    header, *lines = (garden / "all.csv").read_text().splitlines()
    instances = sorted({line.split(",")[0] for line in lines})
    day = {instance: number % 3 for number, instance in enumerate(instances)}
    late = next(line for line in lines if day[line.split(",")[0]] == 0)
    together = [header]
    for number in range(3):
        rows = [line for line in lines if line != late and day[line.split(",")[0]] == number]
        rows += [late] if number == 2 else []
        (garden / f"day{number}.csv").write_text("\n".join([header, *rows]) + "\n")
        together += rows
    (garden / "all.csv").write_text("\n".join(together) + "\n")
    (garden / "tree.csv").write_text(
        "label,parent\n"
        + "".join(f"{data.taxonomy.labels[k]},\n" for k in data.taxonomy.roots)
        + "".join(
            f"{label},{data.taxonomy.labels[p]}\n"
            for k, label in enumerate(data.taxonomy.labels)
            for p in data.taxonomy.parents_of(k)
        )
    )
    return garden


def first_day(mhpc: Mhpc, *options: str) -> None:
    done = mhpc("consolidate", "day0.csv", "--taxonomy", "tree.csv", *options, "-o", "out0")
    assert done.returncode == 0, done.stderr


def assert_equal_scores(first: Path, second: Path) -> None:
    before, after = scores(first), scores(second)
    # A label that a rule chose has a row even if its score is 0.
    cells = sorted(before | after)
    np.testing.assert_allclose(
        [before.get(cell, (0.0, 0.0)) for cell in cells],
        [after.get(cell, (0.0, 0.0)) for cell in cells],
        atol=1e-9,
    )


@pytest.mark.parametrize("method", ["auto", "wa", "channel"])
def test_days_in_a_row_give_what_one_run_on_all_votes_gives(
    days: Path, mhpc: Mhpc, method: str
) -> None:
    options = ("--method", method, "--top", "all", "--rule", "min-probability")
    first_day(mhpc, *options)
    for number in (1, 2):
        done = mhpc(
            "consolidate", f"day{number}.csv", "--update", f"out{number - 1}", "-o", f"out{number}"
        )
        assert done.returncode == 0, done.stderr
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", *options, "-o", "joint")
    assert_equal_scores(days / "joint", days / "out2")
    assert label_sets(days / "joint") == label_sets(days / "out2")
    document = json.loads((days / "out2" / "run.json").read_text())
    assert [Path(file).name for file in document["settings"]["votes"]] == [
        "day0.csv", "day1.csv", "day2.csv",
    ]  # fmt: skip
    assert document["settings"]["update"] is None
    assert any(note.startswith("Updates ") for note in document["notes"])


def test_an_update_can_be_repeated_and_explained(days: Path, mhpc: Mhpc) -> None:
    first_day(mhpc, "--method", "wawa")
    mhpc("consolidate", "day1.csv", "--update", "out0", "-o", "out1")
    done = mhpc("consolidate", "--config", "out1/run.json", "-o", "again")
    assert done.returncode == 0, done.stderr
    for name in ("labels.csv", "model.npz", "sources.csv"):
        assert (days / "again" / name).read_bytes() == (days / "out1" / name).read_bytes()
    assert mhpc("conflicts", "out1").returncode == 0


def test_the_votes_of_an_applied_run_are_learned_from_by_an_update_of_it(
    days: Path, mhpc: Mhpc
) -> None:
    first_day(mhpc, "--method", "wawa", "--top", "all")
    mhpc("consolidate", "day1.csv", "--apply", "out0", "-o", "out1")
    done = mhpc("consolidate", "day2.csv", "--update", "out1", "-o", "out2")
    assert done.returncode == 0, done.stderr
    options = ("--method", "wawa", "--top", "all")
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", *options, "-o", "joint")
    assert_equal_scores(days / "joint", days / "out2")


@pytest.mark.parametrize("method", SUMS)
def test_methods_that_are_sums_do_not_need_the_earlier_votes(
    days: Path, mhpc: Mhpc, method: str
) -> None:
    first_day(mhpc, "--method", method, "--top", "all")
    (days / "day0.csv").unlink()
    # A source that was not there on the first day.
    with (days / "day1.csv").open("a") as file:
        file.write("extra,dee,monarda\n")
    done = mhpc("consolidate", "day1.csv", "--update", "out0", "--top", "all", "-o", "out1")
    assert done.returncode == 0, done.stderr
    (days / "day1.csv").rename(days / "moved.csv")
    # Without the votes of the first two days, the third is added to what is left of them.
    done = mhpc("consolidate", "day2.csv", "--update", "out1", "--top", "all", "-o", "out2")
    assert done.returncode == 0, done.stderr
    joint = (days / "all.csv").read_text() + "extra,dee,monarda\n"
    late = set((days / "day2.csv").read_text().splitlines()[1:])
    instances = {line.split(",")[0] for line in late}
    (days / "all.csv").write_text(joint)
    options = ("--taxonomy", "tree.csv", "--method", method)
    mhpc("consolidate", "all.csv", *options, "-o", "joint")
    done = mhpc("consolidate", "day2.csv", "--apply", "joint", "--top", "all", "-o", "expected")
    assert done.returncode == 0, done.stderr
    assert {instance for instance, _ in scores(days / "out2")} == instances
    if method == "wawa":
        # The instance that is answered on two days agrees with another majority on each.
        before, after = scores(days / "expected"), scores(days / "out2")
        np.testing.assert_allclose([after[c] for c in before], list(before.values()), atol=0.05)
    else:
        assert_equal_scores(days / "expected", days / "out2")
    notes = json.loads((days / "out2" / "run.json").read_text())["notes"]
    assert any("without its votes" in note for note in notes)


def test_a_sum_without_the_earlier_votes_is_exact_where_no_instance_has_votes_on_both_days(
    days: Path, mhpc: Mhpc
) -> None:
    first_day(mhpc, "--method", "wawa")
    both = (days / "day0.csv").read_text() + (days / "day1.csv").read_text().partition("\n")[2]
    (days / "both.csv").write_text(both)
    (days / "day0.csv").unlink()
    mhpc("consolidate", "day1.csv", "--update", "out0", "--top", "all", "-o", "out1")
    options = ("--taxonomy", "tree.csv", "--method", "wawa")
    mhpc("consolidate", "both.csv", *options, "-o", "joint")
    mhpc("consolidate", "day1.csv", "--apply", "joint", "--top", "all", "-o", "expected")
    assert_equal_scores(days / "expected", days / "out1")


def test_other_methods_need_the_earlier_votes(days: Path, mhpc: Mhpc) -> None:
    first_day(mhpc, "--method", "channel")
    (days / "day0.csv").unlink()
    done = mhpc("consolidate", "day1.csv", "--update", "out0", "-o", "out1")
    assert done.returncode == 1
    assert "channel" in done.stderr
    assert "--apply" in done.stderr
    assert not (days / "out1").exists()


def test_earlier_votes_that_changed_are_refused(days: Path, mhpc: Mhpc) -> None:
    first_day(mhpc, "--method", "sa")
    with (days / "day0.csv").open("a") as file:
        file.write("more,ann,plant\n")
    done = mhpc("consolidate", "day1.csv", "--update", "out0", "-o", "out1")
    assert done.returncode == 1
    assert "changed" in done.stderr


def test_a_taxonomy_that_changed_does_not_matter(days: Path, mhpc: Mhpc) -> None:
    first_day(mhpc, "--method", "sa")
    (days / "tree.csv").write_text("label,parent\nstone,\n")
    done = mhpc("consolidate", "day1.csv", "--update", "out0", "-o", "out1")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--update", "out0", "--apply", "out0"), "--apply and --update cannot be given together"),
        (("--update", "out0", "--method", "sa"), "--method cannot be given with --update"),
        (("--update", "out0", "--column", "label=x"), "--column cannot be given with --update"),
        (("--update", "out0", "--new-sources", "prior"), "--new-sources can only be given with"),
        (("--taxonomy", "tree.csv", "--new-sources", "prior"), "--new-sources can only be given"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    days: Path, mhpc: Mhpc, options: tuple[str, ...], words: str
) -> None:
    done = mhpc("consolidate", "day1.csv", *options, "-o", "out1")
    assert done.returncode == 2
    assert words in done.stderr


def test_labels_that_were_added_to_the_taxonomy_stay_without_the_earlier_votes(
    days: Path, mhpc: Mhpc
) -> None:
    with (days / "day0.csv").open("a") as file:
        file.write("rock,ann,granite\n")
    first_day(mhpc, "--method", "wa", "--unknown", "graft")
    (days / "day0.csv").unlink()
    (days / "day1.csv").write_text("instance,source,label\nstone,ann,granite\n")
    done = mhpc("consolidate", "day1.csv", "--update", "out0", "-o", "out1")
    assert done.returncode == 0, done.stderr
    assert {label for _, label in scores(days / "out1")} == {"granite"}


def test_a_label_that_is_new_without_the_earlier_votes_cannot_be_learned(
    days: Path, mhpc: Mhpc
) -> None:
    first_day(mhpc, "--method", "wa")
    (days / "day0.csv").unlink()
    (days / "day1.csv").write_text("instance,source,label\nstone,ann,granite\n")
    options = ("--update", "out0", "--unknown", "graft")
    done = mhpc("consolidate", "day1.csv", *options, "-o", "out1")
    assert done.returncode == 1
    assert "wa cannot learn" in done.stderr


def test_votes_from_a_pipe_cannot_be_learned_from_again(days: Path, mhpc: Mhpc) -> None:
    first_day(mhpc, "--method", "channel")
    document = json.loads((days / "out0" / "run.json").read_text())
    document["settings"]["votes"] = "-"
    (days / "out0" / "run.json").write_text(json.dumps(document))
    done = mhpc("consolidate", "day1.csv", "--update", "out0", "-o", "out1")
    assert done.returncode == 1
    assert "channel cannot learn" in done.stderr


def test_a_run_can_be_updated_in_its_own_folder(days: Path, mhpc: Mhpc) -> None:
    first_day(mhpc, "--method", "wawa", "--top", "all")
    for number in (1, 2):
        options = ("--update", "out0", "-o", "out0", "--force")
        done = mhpc("consolidate", f"day{number}.csv", *options)
        assert done.returncode == 0, done.stderr
    method = ("--method", "wawa", "--top", "all")
    mhpc("consolidate", "all.csv", "--taxonomy", "tree.csv", *method, "-o", "joint")
    assert_equal_scores(days / "joint", days / "out0")


def test_sums_can_be_updated_in_their_own_folder_without_the_votes(days: Path, mhpc: Mhpc) -> None:
    first_day(mhpc, "--method", "wawa", "--top", "all")
    (days / "day0.csv").unlink()
    for number in (1, 2):
        options = ("--update", "out0", "-o", "out0", "--force")
        done = mhpc("consolidate", f"day{number}.csv", *options)
        assert done.returncode == 0, done.stderr
    assert json.loads((days / "out0" / "run.json").read_text())["settings"]["top"] == "all"


def test_a_run_that_was_applied_in_its_own_folder_does_not_know_its_votes(
    days: Path, mhpc: Mhpc
) -> None:
    first_day(mhpc, "--method", "channel")
    mhpc("consolidate", "day1.csv", "--apply", "out0", "-o", "out0", "--force")
    done = mhpc("consolidate", "day2.csv", "--update", "out0", "-o", "out2")
    assert done.returncode == 1
    assert "channel cannot learn" in done.stderr
