"""What reviewers answered, what is settled by that, and checks of answers that come in."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from mhpc.errors import DataError, UnknownInstanceError, UnknownLabelError

Drawn: TypeAlias = Literal["gain", "random"]
"""How an instance was drawn for review: by its expected gain, or at random."""

MAX_REVIEWER = 200
"""The most characters that the name of a reviewer may have."""


@dataclass(frozen=True)
class ReviewAnswer:
    """What one reviewer says about one instance.

    Attributes
    ----------
    instance : str
        Its id.
    labels : tuple of str or None
        The most specific labels; empty: none of these; None: an earlier answer is withdrawn.
    reviewer : str
        Who answered.
    drawn : "gain" or "random"
        How the instance was drawn.
    time : str
        When, as ISO 8601 in UTC; texts of this form sort by time.
    """

    instance: str
    labels: tuple[str, ...] | None
    reviewer: str
    drawn: Drawn = "gain"
    time: str = ""


@dataclass(frozen=True)
class SettledInstance:
    """Labels on which all reviewers of an instance agree."""

    labels: tuple[str, ...]
    reviewers: tuple[str, ...]
    drawn: Drawn


@dataclass(frozen=True)
class Reviews:
    """The last answer of every reviewer on every instance, each with a version.

    Attributes
    ----------
    version : int
        The version of the newest answer.
    entries : mapping of (instance, reviewer) to (version, answer)
        In the order of the versions. Withdrawn answers stay, so that others learn about them.

    Examples
    --------
    >>> reviews = Reviews().add([
    ...     ReviewAnswer("photo-1", ("bee",), "ann"), ReviewAnswer("photo-1", ("ant",), "bob"),
    ... ])
    >>> reviews.settle()
    {}
    >>> reviews.add([ReviewAnswer("photo-1", ("bee",), "bob")]).settle()["photo-1"].labels
    ('bee',)
    """

    version: int = 0
    entries: Mapping[tuple[str, str], tuple[int, ReviewAnswer]] = field(default_factory=dict)

    def add(self, answers: Iterable[ReviewAnswer]) -> "Reviews":
        """Return the reviews with further answers.

        An answer replaces that of the same reviewer on the same instance, unless it is older: a
        browser may send answers late.
        """
        version, entries = self.version, dict(self.entries)
        for answer in answers:
            key = answer.instance, answer.reviewer
            present = entries[key][1] if key in entries else None
            if present is not None and (answer == present or answer.time < present.time):
                continue
            version += 1
            entries.pop(key, None)
            entries[key] = version, answer
        return self if version == self.version else Reviews(version, entries)

    def after(self, version: int) -> list[ReviewAnswer]:
        """Return the answers with a higher version, withdrawn ones included."""
        return [answer for number, answer in self.entries.values() if number > version]

    @property
    def answers(self) -> list[ReviewAnswer]:
        """The answers that were not withdrawn, the oldest version first."""
        return [answer for answer in self.after(0) if answer.labels is not None]

    def settle(self) -> dict[str, SettledInstance]:
        """Return the instances on which all reviewers who answered gave the same label set."""
        by_instance: dict[str, list[ReviewAnswer]] = {}
        for answer in self.answers:
            by_instance.setdefault(answer.instance, []).append(answer)
        return {
            instance: SettledInstance(
                answers[0].labels or (),
                tuple(answer.reviewer for answer in answers),
                "random" if all(answer.drawn == "random" for answer in answers) else "gain",
            )
            for instance, answers in by_instance.items()
            if len({frozenset(answer.labels or ()) for answer in answers}) == 1
        }


@dataclass(frozen=True)
class _Body:
    answers: tuple[ReviewAnswer, ...]


def parse_answers(content: bytes) -> tuple[ReviewAnswer, ...]:
    """Return the answers of a request, ``{"answers": [...]}``, before they are checked."""
    try:
        body: _Body = TypeAdapter(_Body).validate_json(content, strict=True)
    except ValidationError as refusal:
        error = refusal.errors(include_url=False, include_input=False)[0]
        place = " > ".join(map(str, error["loc"])) or "the body"
        raise DataError(f"{place}: {error['msg']}") from None
    return body.answers


def check_answers(
    answers: Sequence[ReviewAnswer],
    instances: Collection[str],
    labels: Collection[str],
    *,
    now: datetime | None = None,
) -> tuple[ReviewAnswer, ...]:
    """Return answers with comparable times and without repeated labels, or refuse all of them.

    Parameters
    ----------
    answers : sequence of ReviewAnswer
        Their ids must be among those of the run, exactly as they are written there.
    instances, labels : collections of str
        The ids of the run.
    now : datetime, optional
        The time of answers without one, and the latest that there may be: a clock that is fast
        must not keep later answers out.
    """
    now = now or datetime.now(UTC)
    for answer in answers:
        _check_ids(answer, instances, labels)
        _check_reviewer(answer.reviewer)
    return tuple(
        replace(
            answer,
            labels=None if answer.labels is None else tuple(dict.fromkeys(answer.labels)),
            time=_normalize_time(answer.time, now),
        )
        for answer in answers
    )


def _check_ids(answer: ReviewAnswer, instances: Collection[str], labels: Collection[str]) -> None:
    if answer.instance not in instances:
        raise UnknownInstanceError(f"instance {answer.instance!r} is not in the run")
    for label in answer.labels or ():
        if label not in labels:
            raise UnknownLabelError(
                f"label {label!r} of instance {answer.instance!r} is not in the taxonomy"
            )


def _check_reviewer(name: str) -> None:
    if not (0 < len(name) <= MAX_REVIEWER and name.isprintable() and name == name.strip()):
        raise DataError(
            f"reviewer {name[:MAX_REVIEWER]!r} is not a name; give 1 to {MAX_REVIEWER} printable "
            "characters"
        )


def _normalize_time(text: str, now: datetime) -> str:
    try:
        time = datetime.fromisoformat(text) if text else now
    except ValueError:
        raise DataError(f"time {text!r} is not ISO 8601, as in 2026-01-31T12:00:00Z") from None
    if time.tzinfo is None:
        raise DataError(f"time {text!r} has no time zone; give UTC, as in 2026-01-31T12:00:00Z")
    return format_time(min(time, now))


def format_time(time: datetime) -> str:
    """Return a time as ISO 8601 in UTC, in milliseconds.

    >>> format_time(datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-31T12:00:00.000Z'
    """
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_json(answer: ReviewAnswer) -> dict[str, Any]:
    """Return an answer as page and server exchange it."""
    return {
        "instance": answer.instance,
        "labels": None if answer.labels is None else list(answer.labels),
        "reviewer": answer.reviewer,
        "drawn": answer.drawn,
        "time": answer.time,
    }
