"""The judge of `stress.faults` can fail: planted faults are found, and clean ends are accepted."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mhpc.errors import describe_bug
from stress.faults.__main__ import CLASSES, print_figures
from stress.faults.attack import End, Step
from stress.faults.checks import same_table, scores_in_range
from stress.faults.judge import judge, take_snapshot
from stress.faults.runner import Figures, Place, Runner
from stress.faults.samples import make_samples

REFUSED = End(1, False, "", "mhpc: error: votes.csv has no column label\n")
WORKED = End(0, False, "a,b\n", "mhpc: warning: 2 labels were dropped\n")
STEP = Step(["inspect", "votes.csv"], ["OUT"])


def find(end: End, step: Step = STEP, before: str = "", after: str = "") -> list[str]:
    """Judge an end; `before` and `after` are the files there are, with one letter each."""
    old, new = (dict.fromkeys(names.split(), "") for names in (before, after))
    return list(judge(step, end, old, new, Path("nowhere")))


def test_figures_are_added_by_class_and_name_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"streams": Figures(Counter(refused=2, worked=1, commands=3)), "limits": Figures()}
    print_figures(figures, seed=5)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "3 attacks in 2 classes (3 commands, seed 5): 2 refused, 1 worked, 0 broke a rule"
    )


def test_clean_ends_are_accepted() -> None:
    assert find(REFUSED, before="votes.csv", after="votes.csv") == []
    assert find(WORKED, after="OUT OUT/labels.csv") == []
    assert find(End(130, False, "", "mhpc: interrupted\n"), replace(STEP, signal=(2, 1.0))) == []


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (replace(REFUSED, stderr="Traceback (most recent call last):\n"), "Traceback"),
        (replace(REFUSED, stderr=f"mhpc: error: {describe_bug(KeyError(1))}\n"), "internal error"),
        (replace(WORKED, stderr="Exception ignored in: <x>\n"), "Exception ignored"),
        (replace(REFUSED, status=-11), "signal 11"),
        (replace(REFUSED, status=120), "exit code 120"),
        (replace(REFUSED, status=130), "exit code 130"),
        (replace(REFUSED, hung=True), "hangs"),
        (replace(REFUSED, stderr=""), "without a message"),
        (replace(REFUSED, stderr=REFUSED.stderr * 2), "2 error lines"),
        (replace(REFUSED, stderr="mhpc: error: MemoryError\n"), "says nothing"),
        (replace(REFUSED, stderr="mhpc: error: Binder Error: x is not a column\n"), "library"),
        (replace(WORKED, stderr=REFUSED.stderr), "success with an error"),
        (replace(WORKED, left=[7]), "1 processes left"),
    ],
)
def test_planted_faults_are_found(end: End, problem: str) -> None:
    assert problem in "; ".join(find(end))


@pytest.mark.parametrize(
    ("end", "before", "after", "problem"),
    [
        (REFUSED, "a", "a OUT", "OUT was left"),
        (REFUSED, "a OUT", "a", "OUT was lost"),
        (WORKED, "a", "a .OUT-x", ".OUT-x was left"),
        (WORKED, "a", "OUT", "a was lost"),
    ],
)
def test_files_left_and_lost_are_found(end: End, before: str, after: str, problem: str) -> None:
    assert problem in "; ".join(find(end, before=before, after=after))


def test_a_changed_file_is_found_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "link").symlink_to("nowhere")
    before = take_snapshot(tmp_path)
    (tmp_path / "a").write_text("2")
    assert list(judge(STEP, REFUSED, before, take_snapshot(tmp_path), tmp_path)) == [
        "a was changed by a failure"
    ]


def test_wrong_answers_are_found() -> None:
    check = same_table(b"instance,label\n1,a\n2,b\n")
    assert (
        find(replace(WORKED, stdout="instance,label\n2,b\n1,a\n"), replace(STEP, check=check)) == []
    )
    assert find(replace(WORKED, stdout="instance,label\n2,b\n"), replace(STEP, check=check))
    wrong = "instance,label,score\n1,a,nan\n"
    assert find(replace(WORKED, stdout=wrong), replace(STEP, check=scores_in_range))
    not_json = replace(STEP, words=["inspect", "votes.csv", "--json"])
    assert find(replace(WORKED, stdout='{"a": NaN}'), not_json)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "samples"
    make_samples(folder)
    return folder


@pytest.mark.parametrize("kind", CLASSES)
def test_an_attack_depends_on_its_number_only(kind: str, samples: Path, tmp_path: Path) -> None:
    drawn = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        attack = CLASSES[kind](Place(samples, tmp_path / name), random.Random(f"7/{kind}/3"))
        files = take_snapshot(tmp_path / name)
        drawn.append((attack.fault, [replace(step, check=None) for step in attack.steps], files))
    assert drawn[0] == drawn[1]


@pytest.fixture(scope="module")
def runner(samples: Path) -> Iterator[Runner]:
    with Runner(samples) as runner:
        yield runner


def test_commands_run_in_forks_and_in_new_interpreters(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for fresh in (False, True):
        problems, end = runner.run(Step(["methods"], fresh=fresh), tmp_path)
        assert (problems, end.status) == ([], 0)
        assert "majority" in end.stdout
    problems, end = runner.run(Step(["methods"], stdout="full"), tmp_path)
    assert (problems, end.status) == ([], 1)
    assert "standard output" in end.stderr


def test_a_command_that_waits_forever_hangs(samples: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with Runner(samples, timeout=0.5) as runner:
        # Nobody writes to it.
        os.mkfifo(tmp_path / "work" / "pipe")
        problems, _ = runner.run(Step(["inspect", "pipe"]), tmp_path)
    assert problems == ["hangs"]
