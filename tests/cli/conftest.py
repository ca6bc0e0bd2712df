"""A folder with small tables, and a function that runs commands in it."""

import re
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from mhpc.cli import main
from tests.docs.mentions import options_in, parameters
from tests.fixtures.commands import Mhpc, shows_bug

TAXONOMY = """\
label,parent
plant,
flower,plant
monarda,flower
fuchsia,flower
animal,
bee,animal
"""

VOTES = """\
instance,source,label
1,ann,monarda
1,bob,flower
2,ann,bee
2,bob,animal
3,ann,
"""

TRUTH = """\
instance,label
1,monarda
2,bee
3,
"""


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with votes.csv, taxonomy.csv and truth.csv."""
    for name, content in (("taxonomy", TAXONOMY), ("votes", VOTES), ("truth", TRUTH)):
        (tmp_path / f"{name}.csv").write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mhpc(garden: Path, capsys: pytest.CaptureFixture[str]) -> Mhpc:
    """Run a command in the garden, in this process."""

    def run(*args: Any) -> CompletedProcess[str]:
        words = [str(arg) for arg in args]
        with pytest.raises(SystemExit) as exit_info:
            main(words)
        out, err = capsys.readouterr()
        code = exit_info.value.code
        assert isinstance(code, int)
        assert not shows_bug(err), err
        check_advice(words, err)
        return CompletedProcess(words, code, out, err)

    return run


def check_advice(words: list[str], messages: str) -> None:
    """Check that a command has the options that its errors and warnings name."""
    command = next((word for word in words if word in parameters()), None)
    for line in messages.splitlines() if command else ():
        if line.startswith(("mhpc: error", "mhpc: warning", "Error: ")):
            # What the user wrote is quoted; click 8.1 does not quote unknown options.
            advice = re.sub(r"'[^']*'|\"[^\"]*\"|No such option: \S+", "", line)
            for mention in options_in(advice):
                assert mention.flag in parameters()[mention.command or command or ""], line
