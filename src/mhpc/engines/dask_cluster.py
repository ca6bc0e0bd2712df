"""DaskCluster: connect to workers or start them, submit tasks, and wait for results.

What tasks need is read by tasks, or is an argument that the scheduler keeps. So everything that a
worker holds can be computed again when the worker is lost.
"""

import asyncio
import gc
import logging
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from mhpc.errors import MissingExtraError, ParameterError, WorkerError, option
from mhpc.system.files import temporary_folder
from mhpc.system.limits import check_limits, cluster_needs, explain_exhaustion
from mhpc.system.network import Address, check_reachable, parse_address
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

ANSWER_TIMEOUT = 3.0
"""Seconds in which somebody must listen at an address, and again in which a scheduler answers."""

_TALKATIVE = ("distributed", "tornado", "asyncio")
"""The loggers of Dask, and of what it is made with."""

_CLIENT_TIMEOUT = 10.0
"""Seconds in which a scheduler that has answered once must answer again."""


@contextmanager
def connect(
    address: str | None, *, patience: float = PATIENCE, timeout: float = ANSWER_TIMEOUT
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
        Seconds in which somebody must listen, and again in which a scheduler must answer.
    """
    place = None if address is None else parse_address(address)
    _check_installed()
    check_limits(cluster_needs(core_count() if place is None else 0), _WITH_DASK)
    if place is not None:
        # Before Dask is imported, which takes a second.
        _check_listening(place, timeout=timeout)
    # It brings settings, some of which are changed for this run.
    import distributed  # noqa: F401

    with ExitStack() as stack:
        stack.enter_context(_quiet())
        if place is not None:
            _check_scheduler(place, timeout=timeout)
        started = stack.enter_context(_local_cluster()) if place is None else None
        where = "this machine" if place is None else str(place)
        client = _make_client(where if started is None else started, where)
        stack.callback(_close, client, timeout=2)
        cluster = DaskCluster(client, where, started=started is not None, patience=patience)
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
        with self._explain_errors(), ExitStack() as stack:
            fetched = self._fetch(future, stack)
            while True:
                if wait([fetched], timeout=_POLL_INTERVAL).done:
                    try:
                        return fetched.result()
                    except CancelledError:
                        if future.cancelled() or self.client.status != "running":
                            raise
                    # The worker that held the result was lost; another one computes it again.
                    fetched = self._fetch(future, stack)
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
        except OSError:
            raise self._lost() from None

    def _fetch(self, future: Any, stack: ExitStack) -> Future[Any]:
        """Begin to wait for a result and to fetch it, until the stack is closed.

        Waiting for some time only, as Dask's futures can, would break off what arrives slowly.
        """
        coroutine = self.client.gather(future, asynchronous=True)
        fetched = asyncio.run_coroutine_threadsafe(coroutine, self.client.loop.asyncio_loop)
        stack.callback(fetched.cancel)
        return fetched

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
            raise self._lost() from None

    def _lost(self) -> WorkerError:
        return WorkerError(
            f"the Dask scheduler at {self.where} is gone, and all unfinished work with it; "
            "start the cluster and the command again"
        )


def _check_installed() -> None:
    if find_spec("distributed") is None:
        raise MissingExtraError(
            f"{_WITH_DASK} needs Dask, which is not installed: pip install 'mhpc[dask]'"
        )


def _check_listening(address: Address, *, timeout: float) -> None:
    try:
        check_reachable(address, timeout=timeout)
    except OSError as error:
        raise _no_scheduler(address, error.strerror or _shorten(error)) from None


def _check_scheduler(address: Address, *, timeout: float) -> None:
    """Refuse an address where somebody listens who is not a Dask scheduler.

    A client of Dask would wait forever for one who is silent, and one that fails to connect may be
    closed with a traceback much later. So it is not made before this succeeds.
    """
    from distributed.security import Security

    settings = Security().get_connection_args("client")
    if address.scheme == "tls" and settings.get("ssl_context") is None:
        raise ParameterError(
            f"{address} needs a certificate; set distributed.comm.tls in the configuration of Dask"
        )
    reason = _find_fault(address, settings, timeout)
    if reason is not None:
        # Connections that Dask has not closed are closed now, not later with a warning.
        gc.collect()
        raise _no_scheduler(address, reason)


def _find_fault(address: Address, settings: Any, timeout: float) -> str | None:
    """Return why who listens is not a scheduler, None if it is one.

    Errors end here: the one that is kept keeps its connection.
    """
    try:
        # There may be a running event loop in this thread.
        with ThreadPoolExecutor(1) as pool:
            kind = pool.submit(asyncio.run, _ask_for_kind(address, settings, timeout)).result()
    except TimeoutError:
        return f"no answer in {timeout:g} seconds"
    except Exception:  # noqa: BLE001 - who listens may send anything
        other = ", or the certificates do not match" if address.scheme == "tls" else ""
        return f"another program listens there{other}"
    return None if kind == "Scheduler" else f"a {_shorten(kind)} of Dask listens there"


async def _ask_for_kind(address: Address, settings: Any, timeout: float) -> Any:
    """Return what kind of server of Dask listens."""
    from distributed.comm import connect
    from distributed.core import send_recv

    async def ask() -> Any:
        comm = await connect(str(address), timeout=timeout, **settings)
        try:
            return (await send_recv(comm, op="identity"))["type"]
        finally:
            comm.abort()

    return await asyncio.wait_for(ask(), timeout)


def _make_client(scheduler: Any, where: str) -> Any:
    """Connect a client; one that fails is closed at once, not later with a warning."""
    from distributed import Client

    client: Any = Client.__new__(Client)
    try:
        client.__init__(scheduler, timeout=_CLIENT_TIMEOUT, set_as_default=False, name="mhpc")
    except Exception as error:
        _close(client, timeout=1)
        client.status = "closed"
        if explain_exhaustion(error) is not None:
            raise
        # It is gone, or its version of Dask is too different; or it only seemed to be one.
        expected = isinstance(error, OSError | ValueError | ImportError)
        reason = _shorten(error) if expected else "another program listens there"
        raise _no_scheduler(where, reason) from None
    return client


def _no_scheduler(where: object, reason: str) -> WorkerError:
    return WorkerError(
        f"no Dask scheduler answers at {where} ({reason}); start one with 'dask scheduler', or use "
        f"{_WITH_DASK}, which needs none"
    )


@contextmanager
def _local_cluster() -> Iterator[Any]:
    import dask

    cluster = None
    others = set(multiprocessing.active_children())
    # A worker that is killed cannot remove the files it spilled to disk.
    with (
        temporary_folder("mhpc-dask-", for_others=True) as folder,
        dask.config.set({"temporary-directory": str(folder)}),
    ):
        try:
            cluster = _start_cluster()
            yield cluster
        finally:
            if cluster is not None:
                _close(cluster, timeout=5)
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()


def _start_cluster() -> Any:
    """Start workers on this machine, and again if one dies before it is ready."""
    from distributed import LocalCluster

    reason: BaseException | None = None
    for _ in range(1 + _RETRIES):
        try:
            with defer_interrupts():
                return LocalCluster(
                    n_workers=core_count(), threads_per_worker=1, processes=True,
                    dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
                )  # fmt: skip
        except (RuntimeError, TimeoutError) as error:
            if error.__cause__ is None:
                # This process itself has failed.
                raise
            reason = error
    while reason and reason.__cause__:
        reason = reason.__cause__
    raise WorkerError(
        f"workers on this machine die before they are ready ({_shorten(reason)}), as happens when "
        f"memory runs out; use {option('engine', 'local', command='consolidate')}, which needs none"
    )


def _close(connection: Any, *, timeout: float) -> None:
    """Close a client or a cluster; if that is slow, the error that ended the run is kept."""
    with suppress(TimeoutError):
        connection.close(timeout=timeout)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the messages of Dask off the terminal, and its advice on the size of tasks."""
    import dask

    names = [name for name in logging.root.manager.loggerDict if name.startswith(_TALKATIVE)]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        # Dask reports what it cannot read as critical.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _identity(value: Any) -> Any:
    return value


def _shorten(error: object) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:120]
