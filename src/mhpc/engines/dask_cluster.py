"""DaskCluster: connect to workers or start them, submit tasks, and wait for results.

What tasks need is read by tasks, or is an argument that the scheduler keeps. So everything that a
worker holds can be computed again when the worker is lost.
"""

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from mhpc.errors import MissingExtraError, WorkerError, option
from mhpc.system.files import temporary_folder
from mhpc.system.parallel import core_count, defer_interrupts

_WITH_DASK = option("engine", "dask", command="consolidate")

_RETRIES = 3
"""How often a task that fails is tried again."""

_FAN_IN = 8
"""How many results one task of a reduction combines."""

_POLL_INTERVAL = 0.5
"""Seconds between two reports of progress."""

PATIENCE = 20.0
"""Seconds without any worker after which none is expected to come back."""

CONNECT_TIMEOUT = 10.0
"""Seconds in which a scheduler must answer."""


@contextmanager
def connect(
    address: str | None, *, patience: float = PATIENCE, timeout: float = CONNECT_TIMEOUT
) -> Iterator["DaskCluster"]:
    """Connect to a running cluster or, without an address, start one on this machine.

    That one has one process with one thread per core, and ends with this context.

    Parameters
    ----------
    address : str or None
        Of the scheduler.
    patience : float
        Seconds without any worker after which none is expected to come back.
    timeout : float
        Seconds in which the scheduler must answer.
    """
    distributed = _import_distributed()
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        started = None if address else stack.enter_context(_local_cluster())
        try:
            client = distributed.Client(
                started or address, timeout=timeout, set_as_default=False, name="mhpc"
            )
        except (OSError, ValueError) as error:
            raise WorkerError(
                f"no Dask scheduler answers at {address} ({_shorten(error)}); start one with "
                f"'dask scheduler', or use {_WITH_DASK}, which needs none"
            ) from None
        stack.callback(_close, client, timeout=2)
        cluster = DaskCluster(
            client, address or "this machine", started=started is not None, patience=patience
        )
        cluster.check_workers()
        yield cluster


@dataclass(frozen=True, eq=False)
class DaskCluster:
    """The workers of a cluster.

    Attributes
    ----------
    client : distributed.Client
        The connection to the scheduler.
    where : str
        Where it is, for messages.
    started : bool
        Whether the cluster was started for this run alone.
    patience : float
        Seconds without any worker after which none is expected to come back.
    """

    client: Any
    where: str
    started: bool
    patience: float = PATIENCE

    @property
    def threads(self) -> int:
        """How many tasks can run at a time."""
        return sum(self.client.nthreads().values())

    def submit(self, work: Callable[..., Any], *args: Any) -> Any:
        """Submit a task; futures among its arguments are replaced by their results."""
        return self.client.submit(work, *args, pure=False, retries=_RETRIES)

    def broadcast(self, value: Any) -> Any:
        """Return a future for a large value: it is sent once, and again if it is lost."""
        return self.submit(_identity, value)

    def map(self, work: Callable[..., Any], items: Iterable[Any], *args: Any) -> list[Any]:
        """Submit a task for every item."""
        return [self.submit(work, item, *args) for item in items]

    def reduce(self, combine: Callable[..., Any], futures: Sequence[Any]) -> Any:
        """Combine results a few at a time, always the same ones, until one is left."""
        level = list(futures)
        while len(level) > 1:
            level = [
                self.submit(combine, *level[start : start + _FAN_IN])
                for start in range(0, len(level), _FAN_IN)
            ]
        return level[0]

    def result(
        self, future: Any, *, of: Sequence[Any] = (), report: Callable[[int], None] = lambda _: None
    ) -> Any:
        """Wait for a result, and report how many of the tasks behind it are done.

        Raises
        ------
        WorkerError
            When workers keep dying, when none is left or when the scheduler is gone. An error of
            the work itself is raised as it is.
        """
        last_seen = time.monotonic()
        with self._explain_errors():
            while True:
                try:
                    return future.result(timeout=_POLL_INTERVAL)
                except TimeoutError:
                    # The result may have arrived just now, or be an error of the work itself.
                    if future.done():
                        return future.result()
                report(sum(task.done() for task in of))
                if self.client.nthreads():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > self.patience:
                    raise WorkerError(
                        f"no worker is left at {self.where}; start some, and run again"
                    )

    def results(
        self, futures: Sequence[Any], *, report: Callable[[int], None] = lambda _: None
    ) -> list[Any]:
        """Wait for several results."""
        return [self.result(future, of=futures, report=report) for future in futures]

    def check_workers(self) -> None:
        """Refuse a cluster without workers, after waiting for those that are starting."""
        try:
            self.client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError:
            raise WorkerError(
                f"the Dask scheduler at {self.where} has no workers; start some with 'dask worker'"
            ) from None

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker:
            raise WorkerError(
                f"workers at {self.where} keep dying over the same work, as happens when memory "
                "runs out; give them more memory each, or use more of them"
            ) from None
        except (CancelledError, CommClosedError):
            raise WorkerError(
                f"the Dask scheduler at {self.where} is gone, and all unfinished work with it; "
                "start the cluster and the command again"
            ) from None


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError(
            f"{_WITH_DASK} needs Dask, which is not installed: pip install 'mhpc[dask]'"
        ) from None
    return distributed


@contextmanager
def _local_cluster() -> Iterator[Any]:
    import dask

    start_cluster, cluster = _import_distributed().LocalCluster, None
    others = set(multiprocessing.active_children())
    # A worker that is killed cannot remove the files it spilled to disk.
    with (
        temporary_folder("mhpc-dask-", for_others=True) as folder,
        dask.config.set({"temporary-directory": str(folder)}),
    ):
        try:
            with defer_interrupts():
                cluster = start_cluster(
                    n_workers=core_count(), threads_per_worker=1, processes=True,
                    dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
                )  # fmt: skip
            yield cluster
        finally:
            if cluster is not None:
                _close(cluster, timeout=5)
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()


def _close(connection: Any, *, timeout: float) -> None:
    """Close a client or a cluster; if that is slow, the error that ended the run is kept."""
    with suppress(TimeoutError):
        connection.close(timeout=timeout)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the messages of Dask off the terminal, and its advice on the size of tasks."""
    import dask

    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _identity(value: Any) -> Any:
    return value


def _shorten(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:120]
