"""Calls in forked and spawned processes give what they give here, and never wait forever."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from mhpc.process import SharedSetting, fork_safe_lock
from mhpc.system.files import OPEN_FOLDERS, temporary_folder

BEGINNING = """
import faulthandler, multiprocessing, os, sys, threading, time
from concurrent.futures import ProcessPoolExecutor
import mhpc

VOTES = [(f"i{i}", source, "bee" if i % k else "ant") for i in range(9)
         for k, source in enumerate(("ann", "bob", "cid"), 2)]
TAXONOMY = {"insect": ["bee", "ant"], "plant": ["rose"]}

def call(method="majority"):
    result = mhpc.consolidate(VOTES, TAXONOMY, method=method)
    return result.labels, result.scores["score"].tobytes()

def fork():
    # A child that waits forever ends, and says where it waited.
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            found = call()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(2)
        os._exit(0 if len(found[0]) == 9 else 3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def run_script(folder: Path, script: str) -> str:
    path = folder / "script.py"
    path.write_text(BEGINNING + textwrap.dedent(script))
    # Python warns of forks in a process with several threads, which is what is tested here.
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", path],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_fork_while_other_threads_are_within_calls_does_not_wait_for_them(folder: Path) -> None:
    script = """
    def work(method):
        while True:
            call(method)
    call()
    for method in ("majority", "mhpc", "auto"):
        threading.Thread(target=work, args=(method,), daemon=True).start()
    print([fork() for _ in range(8)])
    os._exit(0)
    """
    assert run_script(folder, script).strip() == str([0] * 8)


def test_a_fork_while_another_thread_imports_the_package_does_not_wait(folder: Path) -> None:
    script = """
    thread = threading.Thread(target=call)
    thread.start()
    while "mhpc.api" not in sys.modules:
        time.sleep(0.001)
    print(fork())
    thread.join()
    """
    assert run_script(folder, script).strip() == "0"


def test_every_kind_of_process_gives_the_same_result(folder: Path) -> None:
    script = """
    def result(method):
        return mhpc.consolidate(VOTES, TAXONOMY, method=method)

    if __name__ == "__main__":
        expected = {method: call(method) for method in ("auto", "mhpc")}
        for kind in ("fork", "spawn", "forkserver"):
            context = multiprocessing.get_context(kind)
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                assert dict(zip(expected, pool.map(call, expected))) == expected
                # Results come back whole.
                assert pool.submit(result, "auto").result().labels == expected["auto"][0]
        print("done")
    """
    assert run_script(folder, script).strip() == "done"


def exit_code_of_fork(check: str, **names: object) -> int:
    """Fork, and return 0 if an expression is true in the new process."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if eval(check, names) else 1)  # noqa: S307 - written in this file
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_what_its_own_thread_needs_only() -> None:
    applied: list[int] = []
    setting = SharedSetting(lambda: applied.append(1), applied.clear)
    has_entered, may_leave = threading.Event(), threading.Event()

    def stay() -> None:
        with setting.in_force():
            has_entered.set()
            may_leave.wait(30)

    thread = threading.Thread(target=stay)
    thread.start()
    has_entered.wait(30)
    assert exit_code_of_fork("not applied", applied=applied) == 0
    with setting.in_force():
        assert exit_code_of_fork("applied", applied=applied) == 0
    may_leave.set()
    thread.join()
    assert not applied


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_lock_is_free_in_a_forked_process() -> None:
    lock = fork_safe_lock()
    has_acquired = threading.Event()

    def hold() -> None:
        with lock:
            has_acquired.set()
            # Long enough for the fork to begin.
            threading.Event().wait(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    has_acquired.wait(30)
    assert exit_code_of_fork("lock.acquire(timeout=20)", lock=lock) == 0
    thread.join()
    assert lock.acquire(timeout=20)
    lock.release()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_remove_the_folders_of_its_parent(folder: Path) -> None:
    pid = -1
    with temporary_folder("mhpc-", inside=folder) as temporary:
        (temporary / "file").touch()
        pid = os.fork()
        if pid:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            assert (temporary / "file").exists()
            assert temporary in OPEN_FOLDERS
    if not pid:
        os._exit(0 if (temporary / "file").exists() and not OPEN_FOLDERS else 1)
    assert not temporary.exists()
