from datetime import UTC, datetime

import pytest

from mhpc.errors import DataError, UnknownInstanceError, UnknownLabelError
from mhpc.review.answers import ReviewAnswer, Reviews, check_answers, parse_answers

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
EARLY, LATE = "2026-01-30T00:00:00.000Z", "2026-01-31T00:00:00.000Z"


def check(*answers: ReviewAnswer) -> tuple[ReviewAnswer, ...]:
    return check_answers(answers, {"1", "2"}, {"bee", "ant"}, now=NOW)


def test_an_instance_is_settled_when_all_reviewers_gave_the_same_set() -> None:
    reviews = Reviews().add([
        ReviewAnswer("1", ("bee", "ant"), "ann"),
        ReviewAnswer("1", ("ant", "bee"), "bob", "random"),
        ReviewAnswer("2", ("bee",), "ann"),
        ReviewAnswer("2", (), "bob"),
    ])  # fmt: skip
    settled = reviews.settle()
    assert list(settled) == ["1"]
    assert settled["1"].labels == ("bee", "ant")
    assert settled["1"].reviewers == ("ann", "bob")
    # Ann was asked for its gain, so that it is not one of a random sample of the rest.
    assert settled["1"].drawn == "gain"


def test_none_of_these_settles_an_instance_too() -> None:
    assert Reviews().add([ReviewAnswer("1", (), "ann")]).settle()["1"].labels == ()


def test_a_later_answer_replaces_an_earlier_one_whatever_arrives_first() -> None:
    early, late = (
        ReviewAnswer("1", ("bee",), "ann", time=EARLY),
        ReviewAnswer("1", (), "ann", time=LATE),
    )
    for order in ([early, late], [late, early]):
        assert Reviews().add(order).answers == [late]


def test_the_same_answer_again_has_no_new_version() -> None:
    reviews = Reviews().add([ReviewAnswer("1", ("bee",), "ann", time=EARLY)])
    assert reviews.add(reviews.answers) is reviews


def test_a_withdrawn_answer_does_not_count_and_others_learn_of_it() -> None:
    reviews = Reviews().add([
        ReviewAnswer("1", ("bee",), "ann", time=EARLY),
        ReviewAnswer("1", ("ant",), "bob", time=EARLY),
    ])  # fmt: skip
    withdrawn = reviews.add([ReviewAnswer("1", None, "bob", time=LATE)])
    assert [answer.labels for answer in withdrawn.after(reviews.version)] == [None]
    assert withdrawn.settle()["1"].labels == ("bee",)
    assert [answer.reviewer for answer in withdrawn.answers] == ["ann"]


def test_versions_grow_with_every_answer() -> None:
    reviews = Reviews().add([ReviewAnswer("1", ("bee",), "ann"), ReviewAnswer("2", (), "ann")])
    assert reviews.version == 2
    assert [answer.instance for answer in reviews.after(1)] == ["2"]
    assert reviews.after(2) == []


def test_times_are_in_utc_and_not_in_the_future() -> None:
    answers = check(
        ReviewAnswer("1", ("bee", "bee"), "ann", time="2026-01-31T01:00:00+02:00"),
        ReviewAnswer("2", (), "ann", time="2099-01-01T00:00:00Z"),
        ReviewAnswer("2", None, "bob"),
    )
    assert [answer.time for answer in answers] == [
        "2026-01-30T23:00:00.000Z", "2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.000Z",
    ]  # fmt: skip
    assert answers[0].labels == ("bee",)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (ReviewAnswer("3", (), "ann"), UnknownInstanceError, "instance '3'"),
        (ReviewAnswer("1", ("Bee",), "ann"), UnknownLabelError, "label 'Bee'"),
        (ReviewAnswer("1", (), ""), DataError, "reviewer ''"),
        (ReviewAnswer("1", (), "a\nb"), DataError, "reviewer 'a"),
        (ReviewAnswer("1", (), " ann"), DataError, "reviewer ' ann'"),
        (ReviewAnswer("1", (), "x" * 201), DataError, "1 to 200"),
        (ReviewAnswer("1", (), "ann", time="yesterday"), DataError, "ISO 8601"),
        (ReviewAnswer("1", (), "ann", time="2026-01-31T12:00:00"), DataError, "no time zone"),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    answer: ReviewAnswer, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        check(ReviewAnswer("1", ("bee",), "ann"), answer)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"", "the body"),
        (b"[]", "the body"),
        (b'{"answers": {}}', "answers"),
        (b'{"answers": [{"instance": "1", "reviewer": "ann"}]}', "labels"),
        (b'{"answers": [{"instance": 1, "labels": [], "reviewer": "ann"}]}', "instance"),
        (b'{"answers": [{"instance": "1", "labels": "bee", "reviewer": "ann"}]}', "labels"),
        (b'{"answers": [{"instance": "1", "labels": [], "reviewer": "a", "drawn": "x"}]}', "drawn"),
        (b'{"answers": [{"instance": "\\ud800", "labels": [], "reviewer": "a"}]}', "the body"),
    ],
)
def test_a_body_that_is_not_a_list_of_answers_is_refused(body: bytes, place: str) -> None:
    with pytest.raises(DataError, match=place):
        parse_answers(body)
