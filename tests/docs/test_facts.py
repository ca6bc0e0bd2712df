"""Tables and numbers of the pages are those of the code; so are all names in code."""

import ast
import csv
import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

import mhpc
from mhpc.cli import main
from mhpc.data.decision import RULE_SAMPLE
from mhpc.data.disagreement import MAX_RANKED, MAX_RECORDED_LABELS
from mhpc.data.spelling import ABSTAIN_WORDS, NONE_WORDS
from mhpc.data.votes import MAX_FEW
from mhpc.datasets.garden import garden_folder
from mhpc.engines import dask, dask_cluster
from mhpc.explanation.disagreement import MIN_GAIN
from mhpc.explanation.queries import AGREEMENT_SAMPLE, MAX_CONFUSED_PAIRS
from mhpc.explanation.source_groups import CORRELATED, NEAR_DUPLICATE
from mhpc.methods import used_labels
from mhpc.methods.channel.em import NOISE_SAMPLE
from mhpc.methods.dawid_skene import N_FIRST
from mhpc.methods.mhpc import MAX_EXACT
from mhpc.methods.registry import METHODS, method_class
from mhpc.metrics.scorecard import METRICS, SET_METRICS
from mhpc.paper.run import EXPERIMENTS
from mhpc.read import archives, files, json_xml, show, spreadsheets, tables, taxonomy
from mhpc.read.columns import ALIASES, TAXONOMY_ALIASES
from mhpc.read.taxonomy_formats import TAXONOMY_FORMATS
from mhpc.read.vote_formats import VOTE_FORMATS
from mhpc.read.yaml_documents import MAX_YAML
from mhpc.review.files import GOLD_COLUMNS, REVIEW_COLUMNS
from mhpc.review.server import MAX_BODY
from mhpc.rules.registry import RULES, rule_class
from mhpc.selection import auto, cross_validation, scope_test
from mhpc.settings import RunSettings
from mhpc.steps import make_default_rule
from mhpc.system import child_process
from mhpc.write.formats import WRITE_FORMATS, format_class
from stress.faults.__main__ import CLASSES as FAULT_CLASSES
from tests.docs.mentions import SOURCES, TEXT_PAGES, inline_code, parameters, parse
from tests.docs.pages import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def page(name: str) -> str:
    """Return the text of a page."""
    file = ROOT / name if (ROOT / name).exists() else ROOT / "docs" / name
    return file.read_text(encoding="utf-8")


def table(name: str, header: str) -> list[list[str]]:
    """Return the cells of the rows of a table that begins with this header."""
    (body,) = re.findall(rf"^\| {re.escape(header)}.*\n\|[-:|]+\n((?:\|.*\n)+)", page(name), re.M)
    rows = [re.split(r"(?<!\\)\|", row)[1:-1] for row in body.splitlines()]
    return [[cell.strip() for cell in row] for row in rows]


def names(cells: list[str]) -> list[str]:
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]


def first_names(rows: list[list[str]]) -> list[str]:
    return names([row[0] for row in rows])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("facts")
    lines = (garden_folder() / "truth.csv").read_text(encoding="utf-8").splitlines()
    rows = [lines[0] + ",drawn", *(f"{line},random" for line in lines[1:60])]
    (folder / "gold.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    votes, labels, truth = (
        str(garden_folder() / f"{name}.csv") for name in ("votes", "taxonomy", "truth")
    )
    with pytest.raises(SystemExit) as end:
        main([
            "consolidate", votes, "--taxonomy", labels, "--gold", str(folder / "gold.csv"),
            "--truth", truth, "--report", "-o", str(folder / "OUT"),
        ])  # fmt: skip
    assert end.value.code == 0
    return folder / "OUT"


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


# Tables.


def test_the_columns_of_sources_are_described_in_their_order(run: Path) -> None:
    described = [name for row in table("explain.md", "column") for name in row[0].split(", ")]
    columns = [name for name in header(run / "sources.csv") if name != "source"]
    bounds = {f"{name}_{end}" for name in described for end in ("low", "high")}
    assert set(described) == set(columns) - bounds


def test_the_fields_of_the_report_are_described(run: Path) -> None:
    facts = json.loads((run / "report.json").read_text(encoding="utf-8"))
    rows = {name: row[1] for row in table("report.md", "field") for name in names([row[0]])}
    assert set(rows) == set(facts)
    for name, value in facts.items():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, dict) and name not in ("settings", "versions", "inputs", "scorecards"):
            missing = [key for key in first if not re.search(rf"\b{key}s?\b", rows[name])]
            assert not missing, name


def test_the_formats_are_those_that_can_be_read() -> None:
    votes = first_names(table("formats.md", "name | recognized by | instance"))
    assert sorted(votes) == sorted(VOTE_FORMATS)
    rows = table("formats.md", "name | recognized by | labels")
    assert sorted(first_names(rows)) == sorted(TAXONOMY_FORMATS)
    assert set(names([row[-1] for row in rows])) <= set(EXTRAS)


def test_names_of_columns_are_recognized() -> None:
    for role, cell in ((row[0], row[1]) for row in table("formats.md", "role")):
        assert set(names([cell])) <= set(ALIASES[role]), role
    for role in re.findall(r"taxonomy\.(\w+)=NAME", page("formats.md")):
        assert role in TAXONOMY_ALIASES
        RunSettings(votes="-", columns={f"taxonomy.{role}": "x"}).columns_of("taxonomy")


def test_words_for_silence_are_understood() -> None:
    rows = {row[0]: row[1] for row in table("formats.md", "the source has")}
    dont_know = rows['an answer "did not know"'].partition(";")[0]
    nothing = rows['an answer "none of these"'].partition("an empty list")[0]
    assert set(names([dont_know])) <= set(ABSTAIN_WORDS)
    assert set(names([nothing])) <= set(NONE_WORDS)


def test_every_way_to_treat_unknown_labels_is_described() -> None:
    described = [
        cell.split(", the default")[0] for cell in first_cells("formats.md", "`--unknown`")
    ]
    choices = parameters()["consolidate"]["--unknown"].type
    assert isinstance(choices, click.Choice)
    assert sorted(names(described)) == sorted(choices.choices)


def first_cells(name: str, start: str) -> list[str]:
    return [row[0] for row in table(name, start)]


def test_the_rules_and_their_parameters_are_described() -> None:
    rows = table("deciding.md", "rule | in Python")
    assert first_names(rows) == list(RULES)
    for row in rows:
        rule = rule_class(names([row[0]])[0])
        (called,) = names([row[1]])
        assert called.startswith(f"{rule.__name__}(")
        assert set(re.findall(r"(\w+)=", called)) == set(rule.model_fields) - {"depth_bias"}


def test_the_default_rule_of_every_method_is_described() -> None:
    (text,) = re.findall(r"\*\*The default\*\* is .*?\n\n", page("deciding.md"), re.S)
    lists = re.findall(r"\(((?:`[\w-]+`(?:, )?)+)\)", " ".join(text.split()))
    probabilities, one_truth, own_threshold = (set(names([one])) for one in lists)
    garden = mhpc.load_garden()
    for name in METHODS:
        scores = mhpc.consolidate(garden.votes, garden.taxonomy, method=name).consolidation
        rule = make_default_rule(scores).name
        assert (rule == "expected-f") == (name in probabilities), name
        assert (rule == "one-path") == (name in one_truth), name
        has_threshold = rule == "threshold" and scores.threshold is not None
        assert has_threshold == (name in own_threshold), name


def test_the_metrics_of_label_sets_are_described() -> None:
    described: list[str] = []
    for name in first_names(table("deciding.md", "metric")):
        described.append(described[-1].rpartition("_")[0] + name if name[0] == "_" else name)
    assert described == [metric.name for metric in SET_METRICS]


@pytest.mark.parametrize(
    ("section", "name"), [("## Label Studio", "label-studio"), ("## Argilla", "argilla")]
)
def test_the_defaults_of_formats_are_those_of_the_code(section: str, name: str) -> None:
    text = page("giving-back.md").split(section)[1].split("\n## ")[0]
    fields = {field["name"]: field for field in format_class(name).describe()}
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.*?) \| (.*) \|$", text, re.M)
    assert sorted(names([row[0] for row in rows])) == sorted(fields)
    for parameter, default, meaning in rows:
        shown = names([default])
        for field in names([parameter]):
            declared = fields[field]["default"]
            assert declared is None or declared in shown or len(shown) < len(names([parameter]))
            allowed = fields[field]["range"]
            if "|" in allowed:
                assert set(names([default, meaning])) - {"text", "path"} <= {
                    *allowed.replace("|", " ").split(), "A > B > C", "to_list(flatten=True)",
                }  # fmt: skip


def test_the_extras_and_their_packages_are_described() -> None:
    rows = table("installation.md", "extra")
    for row in rows:
        packages = [re.split(r"[<>=]", package)[0] for package in EXTRAS[names([row[0]])[0]]]
        assert sorted(row[2].split(", ")) == sorted(packages)
    for_developers = {"docs", "fuzz", "mutate", "bench", "package", "dev"}
    assert set(first_names(rows)) == set(EXTRAS) - for_developers


def test_the_experiments_are_described() -> None:
    assert sorted(first_names(table("reproduction.md", "name | in the paper"))) == sorted(
        EXPERIMENTS
    )


def test_the_files_of_a_review_are_described() -> None:
    rows = {row[0]: row[1] for row in table("review.md", "file")}
    assert ",".join(REVIEW_COLUMNS) in rows["`OUT-review/reviews.csv`"]
    assert ",".join(GOLD_COLUMNS) in rows["`OUT-review/gold.csv`"]


# Numbers.


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("formats.md", f"a zip archive | {archives.MAX_MEMBERS:,} files; {files.MAX_RATIO} times"),
        ("formats.md", f"at most {archives.MAX_ARCHIVE_BYTES >> 30} GiB"),
        ("formats.md", f"{files.MAX_RATIO} times its own size, or {files.MAX_UNPACKED >> 30} GiB"),
        ("formats.md", f"{spreadsheets.MAX_SHEET_CELLS // 10**6} million cells per sheet"),
        ("formats.md", f"{child_process.MAX_MEMORY >> 30} GiB of memory and "
         f"{child_process.MAX_SECONDS / 60:.0f} minutes"),
        ("formats.md", f"YAML | {MAX_YAML >> 20} MiB, {json_xml.MAX_DEPTH} levels"),
        ("formats.md", f"other files or addresses, {json_xml.MAX_DEPTH} levels"),
        ("formats.md", f"a JSON object with votes | {json_xml.MAX_RECORD >> 20} MiB"),
        ("formats.md", f"{files.MAX_DOCUMENT >> 20} MiB; {json_xml.MAX_DEPTH} levels for nested"),
        ("formats.md", f"an id | {tables.MAX_CELL:,} characters"),
        ("formats.md", f"a taxonomy | {taxonomy.MAX_LEVELS:,} levels"),
        ("formats.md", f"at most {MAX_FEW:.0%}".replace("%", " %")),
        ("SECURITY.md", f"ids of more than {tables.MAX_CELL:,} characters, taxonomies of more than "
         f"{taxonomy.MAX_LEVELS:,} levels"),
        ("SECURITY.md", f"larger than {MAX_BODY // 10**6} MB"),
        ("SECURITY.md", f"over {show.MAX_IMAGE // 10**6} MB"),
        ("review.md", f"text, up to {show.MAX_TEXT:,} characters"),
        ("review.md", f"up to {show.MAX_IMAGE // 10**6} MB each"),
        ("review.md", f"at most {show.MAX_COLUMNS} columns"),
        ("explain.md", f"A run records {MAX_RANKED} disputed instances and {MAX_CONFUSED_PAIRS} "
         "pairs"),
        ("explain.md", f"once they have {MAX_RECORDED_LABELS:,} disputed labels"),
        ("explain.md", f"a gain of at least {MIN_GAIN}"),
        ("explain.md", f"a random sample of at most {AGREEMENT_SAMPLE:,} instances"),
        ("explain.md", f"from a dependence of {NEAR_DUPLICATE}; `correlated` above {CORRELATED}"),
        ("report.md", f"the expected gain is at least {MIN_GAIN}: if the expected F of its label "
         f"set is at most {1 - MIN_GAIN}"),
        ("size.md", f"are exact up to {MAX_EXACT:,} distinct instances"),
        ("size.md", f"consists of {method_class('mhpc-local').model_fields['landmarks'].default:,} "
         f"landmarks ({auto.N_LANDMARKS:,} in `auto`)"),
        ("size.md", f"of `channel` to {NOISE_SAMPLE:,} instances, `dawid-skene` to {N_FIRST:,}"),
        ("size.md", f"on a sample ({cross_validation.MAX_CELLS // 10**6} million instances"),
        ("methods/auto.md", f"at most {cross_validation.MAX_CELLS // 10**6} million instances"),
        ("methods/auto.md", f"clearly worse with it ({scope_test.MAX_INCREASE:.0%}"
         .replace("%", " %")),
        ("methods/auto.md", f"Of more than {MAX_EXACT:,} distinct instances, {auto.N_LANDMARKS:,} "
         "are in the graph"),
        ("cluster.md", f"partitions of up to {dask.MAX_ROWS // 10**6} million rows"),
        ("cluster.md", f"no worker is left for {dask_cluster.PATIENCE:.0f} s"),
        ("cluster.md", f"(up to {MAX_EXACT:,} instances"),
        ("cluster.md", f"uses a sample of {RULE_SAMPLE:,} instances"),
    ],
)  # fmt: skip
def test_numbers_are_those_of_the_code(name: str, phrase: str) -> None:
    assert phrase in " ".join(page(name).split())


def test_words_for_numbers_are_those_of_the_code() -> None:
    assert auto.MIN_GOLD == 5
    assert "for five instances or more" in page("methods/auto.md")
    assert (used_labels.MAX_USED, used_labels.MIN_UNUSED) == (0.25, 1000)
    assert "more than three quarters of a taxonomy and at least a thousand" in page("size.md")
    assert dask_cluster._RETRIES == 3
    assert "it is tried three more times" in page("cluster.md")


# Names.

OTHER_NAMES = {
    # Python, the web, and other programs.
    "python3.11", "python3.12", "python3.14", "eval", "null", "false", "Host", "Origin", "cmd",
    "ensurepip", "zsh_source", "y", "clone",
    "get_params", "set_params", "check_estimator", "MajorityVote", "find_majority_vote",
    "ReadWriteMany", "EC2Cluster", "GCPCluster", "AzureVMCluster", "dask-cloudprovider",
    "label-studio-sdk", "LabelInterface.validate_prediction", "TaskValue", "PredictionRequest",
    "client.projects.import_predictions", "dataset.records.log", "dataset.records.to_json",
    "datasets.Dataset", "answers.json", "topic.responses", "meta", "meta.id",
    "ann_confidence",
    # Those that CONTRIBUTING proposes.
    "FittedX", "check_x", "shrinkage", "console", "sh", "xml",
    # The ends of names, and a name that is made from another.
    "_f", "_recall", "instance_",
    # cafaeval's names of our metrics.
    "pr", "rc", "pr_micro", "rc_micro", "f_micro",
}  # fmt: skip
"""Names in the pages that are not ours."""


@cache
def names_in_the_code() -> frozenset[str]:
    """Return the names that modules define, and the texts that are one name."""
    found: set[str] = set()
    for module in SOURCES:
        found |= {module.stem, ".".join(module.relative_to(ROOT / "src").with_suffix("").parts)}
        for node in ast.walk(parse(module)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                # Other languages quote names within a text.
                found |= {node.value, *re.findall(r"[\"'](\w+)[\"']", node.value)}
    return frozenset(found)


@cache
def files_of_the_repository() -> frozenset[str]:
    """Return the files and folders, by every end of their paths."""
    found = set()
    skipped = {".git", ".venv", "node_modules", "__pycache__", "_build"}
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if not skipped & set(parts):
            found |= {"/".join(parts[start:]) for start in range(len(parts))}
    return frozenset(found)


@pytest.mark.parametrize("file", TEXT_PAGES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_name_in_code_exists(file: Path, run: Path) -> None:
    known = names_in_the_code() | files_of_the_repository() | OTHER_NAMES | set(EXTRAS)
    known |= set(METHODS) | set(VOTE_FORMATS) | set(TAXONOMY_FORMATS) | set(WRITE_FORMATS)
    known |= set(FAULT_CLASSES) | {f"stress.{path.stem}" for path in (ROOT / "stress").iterdir()}
    known |= {metric.name for metric in METRICS} | set(parameters()) | set(dir(mhpc))
    known |= _keys(run / "run.json") | {path.name for path in run.iterdir()}
    known |= {re.split(r"[<>=]", package)[0] for extra in EXTRAS.values() for package in extra}
    text = file.read_text(encoding="utf-8")
    # Ids, columns and files of the page's own examples.
    examples = " ".join(re.findall(r"^ *```.*?^ *```|<!--.*?-->", text, re.S | re.M))
    for code in inline_code(text):
        if re.fullmatch(r"[A-Za-z_][\w-]*(\.\w+)*/?", code) and not code.isupper():
            name = code.rstrip("/")
            is_ours = {name, name.lower()} & known or all(part in known for part in name.split("."))
            is_example = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", examples)
            is_pattern = name.split(".")[0].isupper()
            assert is_ours or is_example or is_pattern, code


def _keys(path: Path) -> set[str]:
    found: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            found.update(value)
            for item in value.values():
                collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)

    collect(json.loads(path.read_text(encoding="utf-8")))
    return found
