"""Scripts that are run in a process of their own, within limits of memory and time.

Libraries that read binary formats can end the process on damaged files, or run forever. What such
a library reads first in a child process cannot do that to this one.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MAX_SECONDS = 300.0
"""How long a child process may take; the largest files take seconds."""

MAX_MEMORY = 8 << 30
"""How many bytes it may use, where the system can limit that."""

FAILED = 4
"""The exit code of a script that says on standard output why it cannot read its file."""

_START = """
import runpy, sys
try:
    import resource
    for kind, most in ((resource.RLIMIT_AS, int(sys.argv[1])), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))
except (ImportError, ValueError, OSError):
    pass  # Not every system can limit memory.
del sys.argv[:2]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class ScriptError(Exception):
    """A script did not do its work: the message says why, in one line."""


def run_script(
    script: Path,
    arguments: Sequence[str],
    *,
    seconds: float = MAX_SECONDS,
    memory: int = MAX_MEMORY,
) -> tuple[int, bytes]:
    """Run a Python script in a child process, and return its exit code and standard output.

    Parameters
    ----------
    script : Path
        A file that imports nothing of this package, so that it starts quickly.
    arguments : sequence of str
        What it finds in ``sys.argv``.
    seconds : float
        The time after which it is stopped.
    memory : int
        How many bytes it may use.

    Raises
    ------
    ScriptError
        If the process was stopped, crashed, failed with `FAILED`, or could not be started.
    """
    # -P keeps the folder of the script, whose modules have common names, out of the search path.
    command = [sys.executable, "-P", "-c", _START, str(memory), str(script), *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - a script of this package
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise ScriptError(f"reading it takes more than {seconds:.0f} seconds") from None
    except OSError as error:
        raise ScriptError(f"no process could be started: {error.strerror}") from None
    if done.returncode == FAILED:
        raise ScriptError(" ".join(done.stdout.decode(errors="replace").split()))
    if done.returncode < 0 or done.returncode == 1:
        raise ScriptError("the library that reads it failed")
    return done.returncode, done.stdout
