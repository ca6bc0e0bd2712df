"""Wrong input gives a one-line error and an exit code, and leaves no files."""

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from tests.fixtures.commands import Mhpc

CONSOLIDATE = ("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT")
EVALUATE = ("evaluate", "OUT", "--truth", "truth.csv")
HEADER = "instance,source,label\n"
GRADED = "instance,source,label,score\n"
MANY_ROWS = "".join(f"{n},ann,bee\n" for n in range(20_000))
"""More than the 64 kB that are checked before DuckDB reads the file."""


@dataclass(frozen=True)
class Case:
    """The content of files, further arguments, and parts of the message."""

    message: tuple[str, ...]
    votes: str | bytes | None = None
    taxonomy: str | bytes | None = None
    truth: str | bytes | None = None
    scope: str | bytes | None = None
    config: str | bytes | None = None
    args: tuple[str, ...] = ()
    command: tuple[str, ...] = CONSOLIDATE
    code: int = 1

    def write(self, folder: Path) -> None:
        contents = {
            "votes.csv": self.votes,
            "taxonomy.csv": self.taxonomy,
            "truth.csv": self.truth,
            "scope.csv": self.scope,
            "settings.toml": self.config,
        }
        for name, content in contents.items():
            if content is not None:
                data = content.encode() if isinstance(content, str) else content
                (folder / name).write_bytes(data)


CASES = {
    # Unreadable files.
    "missing file": Case(
        ("vots.csv: no such file (nearest: 'votes.csv')",),
        command=("consolidate", "vots.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT"),
    ),
    "missing taxonomy": Case(
        ("taxonomi.csv: no such file (nearest: 'taxonomy.csv'",),
        command=("consolidate", "votes.csv", "--taxonomy", "taxonomi.csv", "-o", "OUT"),
    ),
    "missing truth": Case(
        ("nowhere/truth.csv: no such file; there is no folder",),
        args=("--truth", "nowhere/truth.csv"),
    ),
    "a directory": Case(
        ("nowhere: no such file",),
        command=("consolidate", "nowhere/", "--taxonomy", "taxonomy.csv", "-o", "OUT"),
    ),
    "empty file": Case(("votes.csv is empty",), votes=""),
    "header only": Case(("votes.csv: a header but no rows",), votes=HEADER),
    "binary data": Case(("votes.csv is binary data",), votes=bytes(range(256))),
    "UTF-16": Case(("votes.csv is UTF-16 text; save it as UTF-8",), votes=HEADER.encode("utf-16")),
    "latin-1 near the start": Case(
        ("votes.csv, line 3: byte 0xe9 is not UTF-8",),
        votes=f"{HEADER}1,ann,bee\n2,ann,caf\u00e9\n".encode("latin-1"),
    ),
    "latin-1 far from the start": Case(
        ("votes.csv, line 20,002: not UTF-8 text; save the file as UTF-8",),
        votes=f"{HEADER}{MANY_ROWS}2,ann,caf\u00e9\n".encode("latin-1"),
    ),
    "truncated gzip": Case(
        ("votes.csv starts like gzip but does not decompress",),
        votes=gzip.compress(f"{HEADER}1,ann,bee\n".encode())[:-10],
    ),
    "gzip truncated far from the start": Case(
        ("votes.csv: ", "end of GZIP stream"),
        votes=gzip.compress(f"{HEADER}{MANY_ROWS}".encode())[:-1000],
    ),
    # Malformed tables.
    "missing column": Case(
        ("votes.csv: no column 'label'", "it has 'instance', 'source', 'color'", "--column ROLE="),
        votes="instance,source,color\n1,ann,bee\n",
    ),
    "missing column of the taxonomy": Case(
        ("taxonomy.csv: no column 'label'", "it has 'species', 'parent'; rename one"),
        taxonomy="species,parent\nbee,\n",
    ),
    "column twice": Case(
        ("votes.csv: the header names column 'label' twice",),
        votes="instance,source,label,label\n1,ann,bee,bee\n",
    ),
    "chosen column that is not there": Case(
        ("votes.csv: no column 'lable' (nearest: 'label')",), args=("--column", "label=lable")
    ),
    "too few columns": Case(
        ("votes.csv, line 3: '2,ann' has 2 cells where the header has 3",),
        votes=f"{HEADER}1,ann,bee\n2,ann\n",
    ),
    "too many columns": Case(
        ("votes.csv, line 2: '1,ann,bee,wasp' has 4 cells where the header has 3",),
        votes=f"{HEADER}1,ann,bee,wasp\n",
    ),
    "unclosed quote": Case(
        ("votes.csv, line 2: '1,ann,\"bee' opens a quote",),
        votes=f'{HEADER}1,ann,"bee\n2,ann,bee\n',
    ),
    "invalid JSON line": Case(
        ("votes.csv, line 2: '{\"instance\": 2,' is not a JSON object",),
        votes='{"instance": 1, "source": "ann", "label": "bee"}\n{"instance": 2,\n',
    ),
    "million-character cell": Case(
        ("votes.csv: row 2 has a label of 1,000,000 characters", "is a quote left open?"),
        votes=f"{HEADER}1,ann,bee\n2,ann,{'x' * 1_000_000}\n",
    ),
    "empty instance": Case(
        ("votes.csv: row 2 has an empty instance",), votes=f"{HEADER}1,ann,bee\n,ann,bee\n"
    ),
    "empty source": Case(
        ("votes.csv: row 1 has an empty source",), votes=f"{HEADER}1,,bee\n2,ann,bee\n"
    ),
    # Invalid scores.
    "score NaN": Case(
        ("votes.csv, row 1: score 'NaN' for label 'bee' of source 'ann'", "from 0 to 1"),
        votes=f"{GRADED}1,ann,bee,NaN\n",
    ),
    "negative score": Case(
        ("row 1: score '-0.5'", "--negative score"), votes=f"{GRADED}1,ann,bee,-0.5\n"
    ),
    "score over 1": Case(("row 1: score '1.5'", "--score-max 5"), votes=f"{GRADED}1,ann,bee,1.5\n"),
    "score that is no number": Case(
        ("row 1: score 'high'",), votes=f"{GRADED}1,ann,bee,high\n"
    ),
    "scores of two kinds": Case(
        ("row 2: score '0.5'", "others in the column end with %"),
        votes=f"{GRADED}1,ann,bee,50%\n2,ann,bee,0.5\n",
    ),
    # Invalid hierarchies.
    "cycle": Case(
        ("taxonomy.csv: the parents form a cycle: 'a' > 'b' > 'c' > 'a'",),
        taxonomy="label,parent\na,b\nb,c\nc,a\n",
    ),
    "dangling parent": Case(
        ("taxonomy.csv: 'animl', named as parent of 'bee', is not a label (nearest: 'animal')",),
        taxonomy="label,parent\nanimal,\nbee,animl\n",
    ),
    "own parent": Case(
        ("taxonomy.csv: label 'bee' is its own parent",), taxonomy="label,parent\nbee,bee\nfly,\n"
    ),
    "taxonomy of one label": Case(
        ("taxonomy.csv has one label, 'bee'",), taxonomy="label,parent\nbee,\n"
    ),
    "empty label in the taxonomy": Case(
        ("taxonomy.csv: row 1 has an empty label",), taxonomy="label,parent\n,bee\nbee,\n"
    ),
    # Tables that do not fit together.
    "unknown label": Case(
        ("votes.csv: label 'mondara' is not in the taxonomy (nearest: 'monarda'", "'ann'", "'1'",
         "--unknown drop", "--unknown graft"),
        votes=f"{HEADER}1,ann,mondara\n",
    ),
    "unknown label in the truth": Case(
        ("truth.csv: label 'bea' is not in the taxonomy (nearest: 'bee')",),
        truth="instance,label\n1,bea\n", args=("--truth", "truth.csv"),
    ),
    "truth of an unknown instance": Case(
        ("truth.csv: instance '4' has no votes", "--unknown drop"),
        truth="instance,label\n1,bee\n4,bee\n", args=("--truth", "truth.csv"),
    ),
    "truth that shares no instance": Case(
        ("truth.csv: none of its instances has votes", "'photo-1'", "are the ids the same?"),
        truth="instance,label\nphoto-1,bee\nphoto-2,bee\n",
        args=("--truth", "truth.csv", "--unknown", "drop"),
    ),
    "scope of an unknown source": Case(
        ("scope.csv names source 'anne', which has no answers (nearest: 'ann')",),
        scope="source,label\nanne,bee\n", args=("--scope", "scope.csv"),
    ),
    "vote outside the scope": Case(
        ("source 'ann' votes for", "which its scope leaves out"),
        scope="source,label\nann,bee\n", args=("--scope", "scope.csv"),
    ),
    "unknown label in the scope": Case(
        ("the scope: label 'bea' is not in the taxonomy (nearest: 'bee')", "source 'ann'",),
        scope="source,label\nann,bea\n", args=("--scope", "scope.csv"),
    ),
    # Usage.
    "unknown method": Case(
        ("no method 'mhcp' (nearest: 'mhpc'", "'sa'"), args=("--method", "mhcp"), code=2
    ),
    "unknown parameter": Case(
        ("no parameter 'lamb' (nearest: 'lam')",),
        args=("--method", "mhpc", "--set", "lamb=1"),
        code=2,
    ),
    "parameter out of range": Case(
        ("lam = '-1' is not allowed; give number >= 0",),
        args=("--method", "mhpc", "--set", "lam=-1"),
        code=2,
    ),
    "unknown column role": Case(
        ("no column role 'lable'", "'instance', 'source', 'label', 'score'"),
        args=("--column", "lable=label"), code=2,
    ),
    "top that is no number": Case(
        ("top = 'few' is not allowed; give integer >= 1 or all",), args=("--top", "few"), code=2
    ),
    "output in a file": Case(
        ("votes.csv/OUT cannot be created", "votes.csv is a file"),
        command=(*CONSOLIDATE[:-1], "votes.csv/OUT"), code=2,
    ),
    "malformed settings": Case(
        ("settings settings.toml: ", "line 2"),
        config="top = 3\nmethod = = 'sa'\n", args=("--config", "settings.toml"),
    ),
    "unknown key in the settings": Case(
        ("settings settings.toml: ", "'metod' (nearest: 'method')"),
        config="metod = 'sa'\n", args=("--config", "settings.toml"), code=2,
    ),
    "value of the wrong kind in the settings": Case(
        ("settings settings.toml: ", "votes = 3 is not allowed; give string"),
        config="votes = 3\n", args=("--config", "settings.toml"), code=2,
    ),
    "missing settings": Case(
        ("settings nowhere.toml cannot be read: No such file",), args=("--config", "nowhere.toml")
    ),
    "settings that are no text": Case(
        ("settings settings.toml are not UTF-8 text",),
        config=b"\xff", args=("--config", "settings.toml"),
    ),
    # Other commands.
    "evaluate: no run": Case(
        ("OUT is not the output of a run: it has no run.json",), command=EVALUATE
    ),
    "evaluate: missing truth": Case(
        ("OUT is not the output of a run",),
        command=("evaluate", "OUT", "--truth", "truth.csv"),
    ),
    "inspect: missing file": Case(
        ("vote.csv: no such file (nearest: 'votes.csv')",),
        command=("inspect", "vote.csv", "--taxonomy", "taxonomy.csv"),
    ),
    "inspect: cycle": Case(
        ("the parents form a cycle",),
        taxonomy="label,parent\na,b\nb,a\n",
        command=("inspect", "votes.csv", "--taxonomy", "taxonomy.csv"),
    ),
    "simulate: unknown label": Case(
        ("truth.csv: label 'bea' is not in the taxonomy (nearest: 'bee')",),
        truth="instance,label\n1,bea\n",
        command=("simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "-o", "new.csv"),
    ),
    "simulate: no folder": Case(
        ("nowhere/new.csv: there is no folder 'nowhere'",),
        command=("simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "-o", "nowhere/new.csv"),
        code=2,
    ),
    "simulate: the output is the truth": Case(
        ("truth.csv is there already; choose another, or replace it with --force",),
        command=("simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "-o", "truth.csv"),
        code=2,
    ),
}  # fmt: skip


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_wrong_input_gives_one_line_and_leaves_no_files(
    garden: Path, mhpc: Mhpc, case: Case
) -> None:
    case.write(garden)
    before = names(garden)
    done = mhpc(*case.command, *case.args)
    assert done.returncode == case.code
    assert done.stdout == ""
    assert done.stderr.startswith("mhpc: error: ")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 600
    for part in case.message:
        assert part in done.stderr
    assert names(garden) == before


USAGE = {
    "unknown command": (("consolidat",), "no command 'consolidat' (nearest: 'consolidate'"),
    "no output": (CONSOLIDATE[:-2], "Missing option '-o'"),
    "no votes": (("consolidate", "--taxonomy", "taxonomy.csv", "-o", "OUT"), "VOTES is missing"),
    "columns of no taxonomy": (
        ("consolidate", "votes.csv", "-o", "OUT", "--column", "taxonomy.label=x"),
        "needs a taxonomy; give --taxonomy FILE",
    ),
    "set without equals": ((*CONSOLIDATE, "--set", "lam"), "'lam' is not KEY=VALUE"),
    "set without a key": ((*CONSOLIDATE, "--set", "=3"), "'=3' is not KEY=VALUE"),
    "unknown choice": ((*CONSOLIDATE, "--unknown", "x"), "'x' is not one of 'auto', 'error'"),
    "unknown option": ((*CONSOLIDATE, "--metod", "sa"), "--method"),
    "standard input twice": (
        (*CONSOLIDATE, "--truth", "-", "--scope", "-"), "can be standard input"
    ),
    "format of no taxonomy": (
        ("inspect", "votes.csv", "--taxonomy-format", "table"), "--taxonomy-format needs a taxonomy"
    ),
    "evaluate without a truth": (("evaluate", "OUT"), "--truth FILE is missing"),
    "simulate without a taxonomy": (
        ("simulate", "truth.csv"), "--taxonomy FILE is missing; only an ARFF file contains"
    ),
    "simulate out of range": (
        ("simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "--noise", "2"), "0<=x<=1"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("args", "message"), USAGE.values(), ids=USAGE)
def test_wrong_usage_points_to_the_help(
    garden: Path, mhpc: Mhpc, args: tuple[str, ...], message: str
) -> None:
    before = names(garden)
    done = mhpc(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    *_, last = done.stderr.splitlines()
    assert last.startswith("Error: ")
    assert message in last
    assert "--help" in done.stderr
    assert names(garden) == before


def test_unknown_labels_can_be_dropped(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text(f"{HEADER}1,ann,hornet\n1,bob,bee\n2,ann,hornet\n")
    done = mhpc(*CONSOLIDATE, "--unknown", "drop")
    assert done.returncode == 0
    assert "warning: " in done.stderr
    assert "1 label not in the taxonomy, left out: 'hornet'" in done.stderr
    assert "hornet" not in (garden / "OUT" / "taxonomy.csv").read_text()


def test_unknown_labels_can_be_added(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text(f"{HEADER}1,ann,hornet\n1,bob,hornet\n")
    done = mhpc(*CONSOLIDATE, "--unknown", "graft")
    assert done.returncode == 0
    assert "1 label not in the taxonomy, added to the taxonomy: 'hornet'" in done.stderr
    assert "hornet,,hornet\n" in (garden / "OUT" / "taxonomy.csv").read_text()
    assert "1,hornet," in (garden / "OUT" / "labels.csv").read_text()


def test_labels_that_are_almost_right_give_the_result_of_the_right_ones(
    garden: Path, mhpc: Mhpc
) -> None:
    (garden / "votes.csv").write_text(
        f"{HEADER}1,ann,monarda\n1,bob,bee\n2,ann,animal\n2,bob,bee\n"
    )
    assert mhpc(*CONSOLIDATE).returncode == 0
    expected = (garden / "OUT" / "labels.csv").read_text()
    (garden / "votes.csv").write_text(
        f"{HEADER}1,ann,Monarda \n1,bob,ANIMAL/bee\n2,ann,animal/wasp\n2,bob,bee\n2,cat,dunno\n"
    )
    options = ("--unknown", "ancestor", "--abstain", "dunno", "--force", "--report")
    done = mhpc(*CONSOLIDATE, *options)
    assert done.returncode == 0
    assert (garden / "OUT" / "labels.csv").read_text() == expected
    assert done.stderr.count("warning: ") >= 3
    # The votes are read again, in the same way.
    assert mhpc("explain", "OUT", "2").returncode == 0


def test_repeated_rows_count_once(garden: Path, mhpc: Mhpc) -> None:
    (garden / "votes.csv").write_text(f"{HEADER}1,ann,bee\n1,ann,bee\n")
    done = mhpc(*CONSOLIDATE)
    assert done.returncode == 0
    assert done.stderr.startswith("mhpc: warning: ")
    assert "votes.csv: 1 row repeated" in done.stderr


def test_unknown_instances_of_a_truth_can_be_dropped(garden: Path, mhpc: Mhpc) -> None:
    (garden / "truth.csv").write_text("instance,label\n1,monarda\n4,bee\n")
    done = mhpc(*CONSOLIDATE, "--truth", "truth.csv", "--unknown", "drop")
    assert done.returncode == 0
    assert "truth.csv: 1 instance without votes left out (first: '4')" in done.stderr


def test_ids_may_be_numbers_in_one_file_and_text_in_the_other(garden: Path, mhpc: Mhpc) -> None:
    duckdb.execute(f"COPY (SELECT 1 AS instance, 'bee' AS label) TO '{garden}/truth.parquet'")
    done = mhpc(*CONSOLIDATE, "--truth", "truth.parquet")
    assert done.returncode == 0
    assert "with the truth" in done.stdout


def test_an_existing_output_is_refused_without_force(garden: Path, mhpc: Mhpc) -> None:
    assert mhpc(*CONSOLIDATE).returncode == 0
    before = (garden / "OUT" / "run.json").read_bytes()
    done = mhpc(*CONSOLIDATE, "--method", "sa")
    assert done.returncode == 2
    assert done.stderr == (
        "mhpc: error: OUT is there already; choose another, or replace it with --force\n"
    )
    assert (garden / "OUT" / "run.json").read_bytes() == before


def test_force_replaces_an_earlier_run(garden: Path, mhpc: Mhpc) -> None:
    assert mhpc(*CONSOLIDATE).returncode == 0
    (garden / "OUT" / "report.html").write_text("of the old run")
    assert mhpc(*CONSOLIDATE, "--method", "sa", "--force").returncode == 0
    assert not (garden / "OUT" / "report.html").exists()
    assert '"method": "sa"' in (garden / "OUT" / "run.json").read_text()


def test_force_does_not_replace_a_folder_that_is_not_a_run(garden: Path, mhpc: Mhpc) -> None:
    (garden / "OUT").mkdir()
    (garden / "OUT" / "thesis.tex").write_text("years of work")
    done = mhpc(*CONSOLIDATE, "--force")
    assert done.returncode == 2
    assert done.stderr.startswith("mhpc: error: OUT is not an output of mhpc (it has no run.json)")
    assert names(garden / "OUT") == {"thesis.tex"}


def test_a_read_only_folder_is_refused(
    garden: Path, mhpc: Mhpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    (garden / "locked").mkdir(mode=0o555)
    if os.access(garden / "locked", os.W_OK):
        # Root may write anywhere; simulate what another user gets.
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked")
    done = mhpc(*CONSOLIDATE[:-1], "locked/OUT")
    assert done.returncode == 2
    assert "locked/OUT cannot be created" in done.stderr


def test_a_run_folder_that_is_damaged_is_refused(garden: Path, mhpc: Mhpc) -> None:
    (garden / "OUT").mkdir()
    (garden / "OUT" / "run.json").write_text("{}")
    done = mhpc(*EVALUATE)
    assert done.returncode == 1
    assert done.stderr.startswith("mhpc: error: OUT/run.json is not the run.json of a run")


def test_debug_shows_the_traceback(
    garden: Path, mhpc: Mhpc, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OSError, match="nowhere.csv: no such file"):
        mhpc("--debug", "inspect", "nowhere.csv", "--taxonomy", "taxonomy.csv")


@pytest.mark.parametrize("options", [("-o", "loop"), ("-o", "loop", "--force"), ("-o", "loop/x")])
def test_an_output_in_a_loop_of_links_is_one_line(
    options: tuple[str, ...], garden: Path, mhpc: Mhpc
) -> None:
    (garden / "loop").symlink_to("loop")
    done = mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", *options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Too many levels of symbolic links" in done.stderr


def test_settings_that_never_end_are_refused(garden: Path, mhpc: Mhpc) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero")
    done = mhpc("consolidate", "votes.csv", "--config", "/dev/zero", "-o", "OUT")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        # A column that is not recognized, of every table that a command reads.
        ("foo,bar\n1,bee\n", ("evaluate", "OUT", "--truth", "x.csv")),
        ("foo,bar\n1,bee\n", ("sources", "OUT", "--gold", "x.csv")),
        ("foo,bar\n1,bee\n", ("simulate", "x.csv", "--taxonomy", "taxonomy.csv")),
        ("foo,bar,rest\n1,2,3\n", ("simulate", "truth.csv", "--taxonomy", "x.csv")),
        ("foo,bar,rest\n1,2,3\n", ("convert", "x.csv", "y.csv", "--what", "taxonomy")),
        ("foo,bar,rest\n1,2,3\n", ("inspect", "votes.csv", "--taxonomy", "x.csv")),
        # A label that is not in the taxonomy.
        ("instance,label\n1,!bee\n", ("evaluate", "OUT", "--truth", "x.csv")),
        ("instance,label\n1,bee;monarda\n", ("evaluate", "OUT", "--truth", "x.csv")),
        ("instance,label\n1,bees\n", ("sources", "OUT", "--gold", "x.csv")),
        ("instance,label\n1,bee;monarda\n", ("sources", "OUT", "--gold", "x.csv")),
        ("instance,label\n1,bee;monarda\n", ("simulate", "x.csv", "--taxonomy", "taxonomy.csv")),
    ],
)
def test_a_command_has_the_options_that_it_advises(
    garden: Path, mhpc: Mhpc, table: str, words: tuple[str, ...]
) -> None:
    if "OUT" in words:
        mhpc(
            "consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", "OUT"
        )
    (garden / "x.csv").write_text(table)
    failed = mhpc(*words)  # which checks the options
    assert failed.returncode in (1, 2)
    assert failed.stderr.startswith("mhpc: error: ")


def test_the_advised_columns_are_taken(garden: Path, mhpc: Mhpc) -> None:
    mhpc("consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", "OUT")
    (garden / "x.csv").write_text("foo,bar\n1,monarda\n")
    (garden / "y.csv").write_text("foo,bar,rest\nmonarda,,1\nbee,,1\n")
    gold = ("--column", "gold.instance=foo", "--column", "gold.label=bar")
    truth = ("--column", "truth.instance=foo", "--column", "truth.label=bar")
    columns = ("--column", "taxonomy.label=foo", "--column", "taxonomy.parent=bar")
    for words in (
        ("sources", "OUT", "--gold", "x.csv", *gold),
        ("evaluate", "OUT", "--truth", "x.csv", *truth),
        ("simulate", "x.csv", "--taxonomy", "taxonomy.csv", *truth),
        ("convert", "y.csv", "z.csv", *columns),
    ):
        assert mhpc(*words).returncode == 0, words


STRANGE = "a\n\x1b[2J b"


def test_names_with_line_ends_and_escapes_are_shown_in_one_line(garden: Path, mhpc: Mhpc) -> None:
    both = ("votes.csv", "--taxonomy", "taxonomy.csv")
    done = mhpc("consolidate", *both, "-o", STRANGE)
    assert done.stderr.splitlines()[-2].startswith(r"Written to a \x1b[2J b/: items.csv")
    assert done.stderr.splitlines()[-1].startswith(r"Next: mhpc report 'a \x1b[2J b', ")
    for words in (
        ("inspect", *both, "--write-map", f"{STRANGE}.csv"),
        ("conflicts", STRANGE, "-o", f"{STRANGE}.conflicts.csv"),
        ("sources", STRANGE, "-o", f"{STRANGE}.sources.csv"),
        ("methods", STRANGE),
    ):
        done = mhpc(*words)
        assert r"a \x1b[2J b" in done.stderr.splitlines()[-1]
        assert "\x1b" not in done.stderr
