"""One review session: answers, the newest result, and the consolidation that may be running."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from mhpc.errors import DataError, MhpcError, describe_bug, option, spell_options
from mhpc.report.html import dump_json, render_page
from mhpc.review.answers import ReviewAnswer, Reviews, check_answers
from mhpc.review.changes import RunState, compare_states, read_state
from mhpc.review.consolidation import ReviewedRun, consolidate_again
from mhpc.review.files import ReviewFolder, read_reviews

State: TypeAlias = Literal["idle", "running", "done", "failed"]

_OFFLINE = "content=\"default-src 'none';"
"""How the content security policy of the page begins."""


@dataclass(frozen=True)
class Status:
    """How far "consolidate again" is.

    Attributes
    ----------
    state : "idle", "running", "done" or "failed"
        Whether it runs, and how it ended.
    stage : str
        What it is doing.
    result : int
        How many consolidations have finished.
    error : str or None
        Why it failed.
    """

    state: State = "idle"
    stage: str = ""
    result: int = 0
    error: str | None = None

    def start(self) -> "Status":
        """Return the status of a consolidation that begins."""
        return Status("running", "starting", self.result)

    def finish(self) -> "Status":
        """Return the status after success."""
        return Status("done", "", self.result + 1)

    def fail(self, error: str) -> "Status":
        """Return the status after an error."""
        return Status("failed", "", self.result, error)


@dataclass(frozen=True)
class ServedResult:
    """The newest result, as it is sent: page and facts, and what the last consolidation changed."""

    state: RunState
    page: bytes
    facts: bytes
    changes: Mapping[str, Any] | None = None


class Session:
    """The state of a server; all methods are called in its thread.

    A consolidation runs in a thread of its own, one at a time. It takes the answers that there are
    when it starts; those that arrive meanwhile are saved as always.
    """

    def __init__(self, reviewed: ReviewedRun, folder: ReviewFolder):
        self.reviewed = reviewed
        self.folder = folder
        self.reviews = load_reviews(reviewed, folder)
        self.status = Status()
        self.result = serve_result(reviewed.facts, read_state(reviewed.folder))
        self._worker: threading.Thread | None = None
        # Files that a process left behind when it was killed may be older than the answers.
        folder.save(self.reviews)

    def save(self, answers: tuple[ReviewAnswer, ...]) -> int:
        """Save answers and return the version; afterwards they survive a crash."""
        checked = check_answers(answers, self.reviewed.instances, self.reviewed.labels)
        reviews = self.reviews.add(checked)
        if reviews is not self.reviews:
            self.folder.save(reviews)
            self.reviews = reviews
        return reviews.version

    def consolidate(self, call_in_server: Callable[..., Any]) -> bool:
        """Start a consolidation, unless one is running.

        Parameters
        ----------
        call_in_server : callable
            Calls a function with arguments in the thread of the server.
        """
        if self.status.state == "running":
            return False
        self.status = self.status.start()
        arguments = (self.reviews, call_in_server)
        self._worker = threading.Thread(target=self._work, args=arguments, daemon=True)
        self._worker.start()
        return True

    def wait(self) -> None:
        """Wait for the consolidation that is running, if there is one."""
        if self._worker is not None:
            self._worker.join()

    def _work(self, reviews: Reviews, call_in_server: Callable[..., Any]) -> None:
        try:
            result = self._consolidate(reviews)
        except Exception as error:  # noqa: BLE001 - the server lives on, and shows what it was
            is_known = isinstance(error, MhpcError | OSError | MemoryError)
            message = spell_options(error) if is_known else describe_bug(error)
            message = message or type(error).__name__
            call_in_server(self._end, self.status.fail(" ".join(message.split())))
        else:
            call_in_server(self._end, self.status.finish(), result)

    def _consolidate(self, reviews: Reviews) -> ServedResult:
        settled = reviews.settle()
        facts = consolidate_again(self.reviewed, self.folder, settled, progress=self._advance)
        state = read_state(self.folder.result)
        known = settled.keys() | self.reviewed.gold.keys()
        changes = compare_states(self.result.state, state, known)
        return serve_result(facts, state, {**changes, "settled": len(settled)})

    def _advance(self, stage: str, done: int, total: int) -> None:
        # Only the worker changes the status while it runs.
        self.status = replace(self.status, stage=stage)

    def _end(self, status: Status, result: ServedResult | None = None) -> None:
        self.status, self.result = status, result or self.result


def load_reviews(reviewed: ReviewedRun, folder: ReviewFolder) -> Reviews:
    """Read the answers of earlier sessions, which must be about the same run."""
    answers = read_reviews(folder.reviews).answers
    try:
        return Reviews().add(check_answers(answers, reviewed.instances, reviewed.labels))
    except DataError as error:
        raise DataError(
            f"{folder.reviews} does not belong to {reviewed.folder}: {error.message}; choose "
            f"another folder with {option('reviews', 'FOLDER', command='review')}"
        ) from None


def serve_result(
    facts: Mapping[str, Any], state: RunState, changes: Mapping[str, Any] | None = None
) -> ServedResult:
    """Prepare a result; the page may connect to the server that sent it, and to nothing else."""
    page = render_page(facts)
    if page.count(_OFFLINE) != 1:
        raise RuntimeError("the page has no content security policy that could be extended")
    page = page.replace(_OFFLINE, f"{_OFFLINE} connect-src 'self';")
    return ServedResult(state, page.encode(), dump_json(facts).encode(), changes)
