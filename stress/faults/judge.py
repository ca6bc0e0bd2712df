"""The rules for every command, whatever was done to it."""

import hashlib
import json
import os
import re
import signal
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from mhpc.errors import INTERNAL_ERROR
from stress.faults.attack import End, Step

CODES = (0, 1, 2)
"""Done; the data are wrong; the usage is wrong."""

CODES_AFTER_SIGNAL = (*CODES, 130, 143)

CHATTER = re.compile(
    rf"{INTERNAL_ERROR}: |"
    r"Traceback|Exception ignored|Fatal|INTERNAL|Segmentation|core dumped|sys\.excepthook|"
    r"\b\w*Warning: |resource_tracker|nanobind|terminate called|Task exception|Future exception"
)
"""What no command prints on standard error: errors that nobody foresaw, and what libraries say."""

LIBRARY_ERROR = re.compile(
    r"\b(Binder|Catalog|Parser|Conversion|Invalid Input|Out of Range|Not implemented|Serialization|"
    r"Constraint|Invalid|TransactionContext) Error: |\[Errno |<class | at 0x"
)
"""How messages of libraries begin, which are not ours."""

ERROR = re.compile(r"^(?:mhpc: error|Error): (.*)$", re.MULTILINE)

MAX_MESSAGE = 3000
MAX_HASHED = 1 << 22


def judge(
    step: Step, end: End, before: Mapping[str, str], after: Mapping[str, str], folder: Path
) -> Iterator[str]:
    """Yield every rule that a command broke.

    Parameters
    ----------
    step : Step
        The command.
    end : End
        How it ended.
    before, after : mapping of str to str
        Snapshots of the files around the command, see `take_snapshot`.
    folder : Path
        Where it ran.
    """
    if end.hung:
        yield "hangs"
        return
    was_killed = step.kill_at_move is not None and end.status == -signal.SIGKILL
    # Before our handlers are installed, Python itself ends by a signal.
    is_early = step.signal is not None and end.status == -step.signal[0]
    if is_early:
        pass
    elif end.status < 0 and not was_killed:
        yield f"died of signal {-end.status}"
    elif not was_killed and end.status not in (CODES_AFTER_SIGNAL if step.signal else CODES):
        yield f"exit code {end.status}"
    if end.left:
        yield f"{len(end.left)} processes left"
    yield from find_wrong_messages(step, end)
    if not was_killed:
        yield from find_wrong_files(step, end.status, before, after)
    if end.status == 0:
        yield from _find_wrong_output(step, end, folder)


def find_wrong_messages(step: Step, end: End) -> Iterator[str]:
    """Yield what is wrong with standard error: exactly one error line after a failure, or none."""
    if found := CHATTER.search(end.stderr):
        yield f"{found[0].strip()!r} on standard error"
    errors = ERROR.findall(end.stderr)
    if end.status == 0 and errors:
        yield f"success with an error: {errors[0][:200]}"
    if len(errors) > 1:
        yield f"{len(errors)} error lines"
    # Without a command, the help is the message.
    is_silent = not errors and step.words and step.stderr == "captured" and not step.signal
    if end.status in (1, 2) and is_silent:
        yield f"exit code {end.status} without a message"
    for message in errors:
        if len(message.strip()) < 8 or re.fullmatch(r"\w*(Error|Exception)\W*", message.strip()):
            yield f"an error that says nothing: {message!r}"
        if len(message) > MAX_MESSAGE:
            yield f"an error of {len(message):,} characters"
        if found := LIBRARY_ERROR.search(message):
            yield f"the message of a library: {message[:300]}"


def find_wrong_files(
    step: Step, status: int, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[str]:
    """Yield files that a command lost, left or changed, except for its output if it succeeds."""
    # A complete output stays although its summary cannot be printed, or a signal comes after it.
    is_late = step.stdout not in ("captured", "null", "broken") or step.signal is not None
    may_write = status == 0 or is_late
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new or (may_write and _is_output(name, step.outputs)):
            continue
        what = "was left" if old is None else "was lost" if new is None else "was changed"
        yield f"{name} {what}" + ("" if status == 0 else " by a failure")
        return


def take_snapshot(*folders: Path) -> dict[str, str]:
    """Return what is in some folders: the hash of each file by its path."""
    return {
        os.path.relpath(path, folder): content
        for folder in folders
        for path, content in _walk(os.fspath(folder))
    }


def _walk(folder: str) -> Iterator[tuple[str, str]]:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        yield folder, f"unreadable: {error.errno}"
        return
    for entry in entries:
        if entry.is_symlink():
            yield entry.path, f"link to {Path(entry.path).readlink()}"
        elif entry.is_dir(follow_symlinks=False):
            yield entry.path, "folder"
            yield from _walk(entry.path)
        else:
            yield entry.path, _describe(entry)


def _describe(entry: "os.DirEntry[str]") -> str:
    state = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(state.st_mode):
        return f"special: {stat.S_IFMT(state.st_mode)}"
    if state.st_size > MAX_HASHED:
        return f"{state.st_size} bytes of {state.st_mtime_ns}"
    try:
        return hashlib.sha256(Path(entry.path).read_bytes()).hexdigest()
    except OSError as error:
        return f"unreadable: {error.errno}"


def _is_output(name: str, outputs: Any) -> bool:
    return any(fnmatchcase(name, each) or name.startswith(f"{each}/") for each in outputs)


def _find_wrong_output(step: Step, end: End, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a success."""
    if step.stdout != "captured":
        return
    is_whole = "--json" in step.words and "--help" not in step.words and step.words[-1] != "-h"
    if is_whole and end.stdout.strip() and not {"-o", "--output"} & {*step.words}:
        try:
            json.loads(end.stdout, parse_constant=_refuse)
        except ValueError as error:
            yield f"standard output is not JSON: {error}"
    if step.check:
        yield from step.check(folder, end.stdout)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
