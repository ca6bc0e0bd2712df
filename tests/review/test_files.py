from pathlib import Path

import pytest

import mhpc
from mhpc.errors import DataError, OutputExistsError, ParameterError, UnreadableError
from mhpc.review.answers import ReviewAnswer, Reviews
from mhpc.review.files import open_review_folder, read_reviews, write_gold, write_reviews

REVIEWS = Reviews().add([
    ReviewAnswer("photo, 1", ("bee", "=cmd|'/c'!A1"), "ann", "gain", "2026-01-01T00:00:00.000Z"),
    ReviewAnswer('say "2"\r\n', (), "bob", "random", "2026-01-02T00:00:00.000Z"),
    ReviewAnswer("photo, 1", ("=cmd|'/c'!A1", "bee"), "bob", "random", "2026-01-03T00:00:00.000Z"),
    ReviewAnswer("3", ("ant",), "ann", "gain", "2026-01-04T00:00:00.000Z"),
    ReviewAnswer("3", ("bee",), "bob", "gain", "2026-01-05T00:00:00.000Z"),
])  # fmt: skip


def test_reviews_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    write_reviews(path, REVIEWS)
    assert read_reviews(path) == REVIEWS
    assert path.read_text(encoding="utf-8").splitlines()[0] == "instance,source,label,drawn,time"


def test_reviews_are_votes_of_their_reviewers(tmp_path: Path) -> None:
    write_reviews(tmp_path / "reviews.csv", REVIEWS)
    votes = mhpc.read_votes(tmp_path / "reviews.csv")
    assert list(votes.sources) == ["ann", "bob"]
    assert len(votes) == 7
    assert set(votes.labels) == {"bee", "=cmd|'/c'!A1", "ant"}


def test_gold_holds_what_is_settled_and_is_read_as_gold(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    write_gold(path, REVIEWS.settle())
    assert path.read_bytes().decode() == (
        "instance,label,reviewer,drawn\n"
        '"photo, 1",bee,ann + bob,gain\n'
        "\"photo, 1\",=cmd|'/c'!A1,ann + bob,gain\n"
        '"say ""2""\r\n",,bob,random\n'
    )
    gold = mhpc.read_truth(path)
    assert list(gold.instances) == ["photo, 1", 'say "2"\r\n']
    assert len(gold) == 3


def test_no_file_is_no_answers(tmp_path: Path) -> None:
    assert read_reviews(tmp_path / "reviews.csv") == Reviews()


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"instance,label\n1,bee\n", DataError),
        (b"instance,source,label\n1,ann\n", DataError),
        (b"instance,source,label,drawn\n1,ann,bee,lots\n", DataError),
        (b'instance,source,label\n"1,ann,bee\n', UnreadableError),
        (b"instance,source,label\n\xff,ann,bee\n", UnreadableError),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes, error: type[Exception]) -> None:
    path = tmp_path / "reviews.csv"
    path.write_bytes(content)
    with pytest.raises(error, match="reviews.csv"):
        read_reviews(path)


def test_a_folder_serves_one_review_at_a_time(tmp_path: Path) -> None:
    first, second = open_review_folder(tmp_path / "OUT"), open_review_folder(tmp_path / "OUT")
    with first, pytest.raises(OutputExistsError, match="another mhpc review"):
        second.__enter__()
    with open_review_folder(tmp_path / "OUT") as folder:
        assert folder.path == tmp_path / "OUT-review"


def test_what_a_killed_server_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "OUT-review" / ".reviews.csv-0123456789abcdef"
    left.mkdir(parents=True)
    (left / "reviews.csv").write_text("inst")
    (tmp_path / "OUT-review" / ".others").mkdir()
    with open_review_folder(tmp_path / "OUT") as folder:
        assert [path.name for path in folder.path.iterdir()] == [".others"]


@pytest.mark.parametrize("name", ["OUT", "OUT/reviews"])
def test_a_review_is_not_saved_within_the_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="choose another folder"):
        open_review_folder(tmp_path / "OUT", tmp_path / name).__enter__()


def test_a_review_without_an_answer_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_review_folder(tmp_path / "OUT", tmp_path / "a/b"):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    with open_review_folder(tmp_path / "OUT") as folder:
        write_reviews(folder.reviews, Reviews())
    assert [path.name for path in tmp_path.iterdir()] == ["OUT-review"]
