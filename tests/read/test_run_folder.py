import json
import math
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import mhpc
from mhpc.cli import main
from mhpc.data.profiles import Proportion
from mhpc.errors import DataError, MissingColumnError, UnreadableError
from mhpc.numerics.arrays import dense
from mhpc.read.run_folder import one_run, read_labelled_scores, read_run, read_run_document
from mhpc.read.taxonomy import read_taxonomy
from mhpc.run import run
from mhpc.settings import RunSettings


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ids that a careless reader would change."""
    tmp_path = tmp_path_factory.mktemp("run")
    (tmp_path / "votes.csv").write_text(
        "instance,source,label\n007,ann,#bee\n007,bob,animal\n1e5,ann,\n2020-01-01,bob,plant\n"
    )
    (tmp_path / "taxonomy.csv").write_text(
        'label,parent,name\nanimal,,fauna\n#bee,animal,"bee, or\nso"\nplant,,\n'
    )
    settings = RunSettings(
        votes=str(tmp_path / "votes.csv"), taxonomy=str(tmp_path / "taxonomy.csv"), method="sa"
    )
    run(settings, output=tmp_path / "OUT")
    return tmp_path / "OUT"


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    return Path(shutil.copytree(original, tmp_path / "OUT"))


def test_a_run_is_read_back_as_it_was(folder: Path) -> None:
    run = read_run(folder)
    assert run.instances.ids == ("007", "1e5", "2020-01-01")
    assert run.taxonomy.labels.ids == ("animal", "#bee", "plant")
    assert run.taxonomy.names == ("fauna", "bee, or\nso", "plant")
    scores = [[0.5, 0.5, 0], [0, 0, 0], [0, 0, 1]]
    assert dense(run.score).tolist() == dense(run.specific).tolist() == scores
    assert (run.method, run.converged) == ("sa", True)
    assert run.parameters == {"votes": "raw", "average": "answers"}


def test_a_run_from_before_words_for_abstaining_were_recorded_is_read(folder: Path) -> None:
    document = json.loads((folder / "run.json").read_text())
    del document["settings"]["abstain"]
    (folder / "run.json").write_text(json.dumps(document))
    assert read_run_document(folder).settings.abstain == ()


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="is not the output of a run: it has no run.json"):
        read_run(tmp_path)


@pytest.mark.parametrize("content", ["{}", "[]", "3", '{"settings": {}}'])
def test_a_run_json_of_something_else_is_refused(folder: Path, content: str) -> None:
    (folder / "run.json").write_text(content)
    with pytest.raises(UnreadableError, match="run.json is not the run.json of a run"):
        read_run_document(folder)


def test_a_broken_run_json_is_refused(folder: Path) -> None:
    (folder / "run.json").write_text("{")
    with pytest.raises(
        UnreadableError, match="run.json, line 1: not JSON, at character 2: Expecting property"
    ):
        read_run(folder)


@pytest.mark.parametrize("name", ["scores.parquet", "taxonomy.csv"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(UnreadableError, match=f"{name}: no such file"):
        read_run(folder)


def test_scores_without_the_score_column_are_refused(folder: Path) -> None:
    duckdb.execute(
        f"COPY (SELECT '007' AS instance, 'animal' AS label) TO '{folder}/scores.parquet'"
    )
    with pytest.raises(MissingColumnError, match="scores.parquet: no column 'score'; it has "):
        read_run(folder)


def test_scores_of_another_taxonomy_are_refused(folder: Path) -> None:
    (folder / "taxonomy.csv").write_text("label,parent\nanimal,\nplant,\n")
    with pytest.raises(UnreadableError, match="label '#bee' of scores.parquet is not in taxonomy"):
        read_run(folder)


def test_the_run_document_has_the_content_of_run_json(folder: Path) -> None:
    document: dict[str, Any] = json.loads((folder / "run.json").read_text())
    assert read_run_document(folder).content == document


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["method"], 3, "'method': input should be a valid string"),
        (["trace"], {}, "'trace': input should be a valid"),
        (["conflicts"], None, "'conflicts': input should be"),
        (["conflicts", "disputed"], None, "'conflicts > disputed': input should be a valid int"),
        (["sources", 0, "answers"], "many", "'sources > 0 > answers': input should be a valid int"),
        (["settings", "top"], [], "'settings > top"),
        (["inputs", "votes"], "x", "'inputs > votes': input should be an object"),
        (["counts"], {}, "'counts > instances': field required"),
        (["decision", "rule"], None, "'decision > rule': input should be a valid string"),
    ],
)
def test_an_error_in_run_json_is_reported_with_its_place(
    folder: Path, place: list[Any], value: object, message: str
) -> None:
    document = json.loads((folder / "run.json").read_text())
    inside = document
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    (folder / "run.json").write_text(json.dumps(document))
    with pytest.raises(
        UnreadableError, match=f"run.json is damaged, or of another version: {message}"
    ):
        read_run_document(folder)


def test_a_share_of_nothing_is_null_in_run_json(folder: Path) -> None:
    document = json.loads((folder / "run.json").read_text())
    document["sources"][0] |= {"mean_depth": None, "wrong": [None, None, None]}
    (folder / "run.json").write_text(json.dumps(document))
    source = read_run_document(folder).summary.sources[0]
    assert math.isnan(source.mean_depth)
    assert all(map(math.isnan, source.wrong))
    assert source.accurate == Proportion(*document["sources"][0]["accurate"])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_infinite_numbers_in_json_are_refused(folder: Path, number: str) -> None:
    text = (folder / "run.json").read_text().replace('"seed": 0', f'"seed": {number}', 1)
    (folder / "run.json").write_text(text)
    with pytest.raises(UnreadableError, match="run.json: not JSON: "):
        read_run_document(folder)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("'007', 'animal', NULL, 1.0", "row 1 has no number in column 'score'"),
        ("'007', 'animal', 1.0, 'nan'::DOUBLE", "row 1 has no number in column 'specific'"),
        ("'007', 'animal', 'high', 1.0", "row 1 has no number in column 'score'"),
        ("'007', '', 1.0, 1.0", "row 1 has an empty label"),
        ("NULL, 'animal', 1.0, 1.0", "row 1 has an empty instance"),
    ],
)
def test_damaged_scores_are_refused(folder: Path, row: str, message: str) -> None:
    duckdb.execute(
        f"COPY (SELECT * FROM (VALUES ({row})) AS v(instance, label, score, specific)) "
        f"TO '{folder}/scores.parquet'"
    )
    with pytest.raises((DataError, UnreadableError), match=f"scores.parquet: {message}"):
        read_run(folder)


def test_damaged_labels_are_refused(folder: Path) -> None:
    for content, message in (
        (b"instance,label,score\n,animal,1\n", "row 1 has an empty instance"),
        (b"instance,label,score\n007,animal,high\n", "row 1 has no number"),
        (b"instance,label,score\n\xff,animal,1\n", "byte 0xff is not UTF-8"),
    ):
        (folder / "labels.csv").write_bytes(content)
        with pytest.raises((DataError, UnreadableError), match=f"labels.csv.*{message}"):
            read_labelled_scores(folder)
    (folder / "labels.csv").unlink()
    with pytest.raises(UnreadableError, match="labels.csv cannot be read"):
        read_labelled_scores(folder)


@pytest.fixture
def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    """The outputs of two runs on other instances; the second is to replace the first."""
    for name, ids in (("OUT", "12345"), ("other", "45678")):
        votes = [(n, source, "bee" if n in "15" else "ant") for n in ids for source in ("ann", "b")]
        mhpc.consolidate(votes, ["bee", "ant"], method="sa").save(tmp_path / name)
    return tmp_path / "OUT", tmp_path / "other"


def replace_folder(old: Path, new: Path) -> None:
    shutil.rmtree(old)
    new.rename(old)


def test_a_folder_that_is_replaced_while_it_is_read_is_refused(two_runs: tuple[Path, Path]) -> None:
    """Whether what was read contradicts itself or not."""
    folder, other = two_runs
    with (  # noqa: PT012 - the error that it raises is replaced
        pytest.raises(UnreadableError, match="OUT was replaced while it was read; run again"),
        one_run(folder),
    ):
        replace_folder(folder, other)
        raise ValueError("index and data must have the same length")
    shutil.copytree(folder, other)
    with pytest.raises(UnreadableError, match="was replaced"), one_run(folder):
        replace_folder(folder, other)


def test_the_error_of_a_folder_that_stays_is_kept(two_runs: tuple[Path, Path]) -> None:
    with pytest.raises(KeyError), one_run(two_runs[0]):
        raise KeyError("bee")
    with one_run(two_runs[0]):
        # A page in it does not make it another run.
        (two_runs[0] / "report.html").touch()


def test_a_model_is_not_read_from_the_folder_of_another_run(two_runs: tuple[Path, Path]) -> None:
    result = mhpc.load_run(two_runs[0])
    replace_folder(*two_runs)
    with pytest.raises(UnreadableError, match="was replaced"):
        mhpc.explain(result, "1")


@pytest.mark.parametrize(
    "words",
    [("evaluate", "OUT", "--truth", "truth.csv"), ("explain", "OUT", "4"), ("sources", "OUT"),
     ("convert", "OUT", "-"), ("report", "OUT")],
    ids=lambda words: words[0],
)  # fmt: skip
def test_no_command_mixes_two_runs(
    words: tuple[str, ...],
    two_runs: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, other = two_runs
    monkeypatch.chdir(folder.parent)
    Path("truth.csv").write_text("instance,label\n4,ant\n5,bee\n")

    def replace_before(path: Path) -> Any:
        if other.exists():
            replace_folder(folder, other)
        return read_taxonomy(path)

    monkeypatch.setattr("mhpc.read.run_folder.read_taxonomy", replace_before)
    with pytest.raises(SystemExit) as end:
        main([*words])
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (1, "")
    assert "OUT was replaced while it was read" in err
    assert not (folder / "report.html").exists()
