"""The report page as a file: embedded facts, security policy and atomic writing."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mhpc.errors import UnwritableError
from mhpc.report.html import dump_json, render_page, write_report
from tests.fixtures.report_facts import sample_facts

PACKED = re.compile(r'<script id="facts" type="application/gzip\+base64">([^<]*)</script>')
LIMIT = 3_000_000


def unpack(page: str) -> Any:
    (packed,) = PACKED.findall(page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@given(st.recursive(st.text() | st.integers() | st.none() | st.booleans(), st.lists))
def test_embedded_facts_are_unchanged_and_never_markup(value: Any) -> None:
    page = render_page({"format": 1, "value": value})
    assert unpack(page) == {"format": 1, "value": value}
    assert PACKED.sub("", page) == PACKED.sub("", render_page({}))


def test_the_same_facts_give_the_same_page() -> None:
    assert render_page(sample_facts()) == render_page(sample_facts())


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump_json({"score": float("nan")})


def test_a_page_of_10000_instances_and_5000_labels_is_below_3_mb() -> None:
    facts = sample_facts(labels=5_000, sources=60, instances=10_000, conflicts=1_000)
    assert len(render_page(facts).encode()) < LIMIT


def test_the_page_allows_only_its_own_script_and_style() -> None:
    page = render_page({})
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("default-src") == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]{44}'", rules.pop("script-src"))
    assert re.fullmatch(r"'sha256-[\w+/=]{44}'", rules.pop("style-src"))
    assert rules == {"img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    assert not re.findall(r'<[^>]+ (?:src|href)="(?!data:|#)[^"]*"', page)


def test_both_files_are_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    facts = sample_facts(hostile=True)
    write_report(tmp_path, facts)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.html", "report.json"]
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == facts
    assert unpack((tmp_path / "report.html").read_text(encoding="utf-8")) == facts


def test_an_interrupt_leaves_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(tmp_path, sample_facts())
    before = (tmp_path / "report.html").read_bytes()

    def interrupted(self: Path, *_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(tmp_path, sample_facts(labels=10))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.html", "report.json"]
    assert (tmp_path / "report.html").read_bytes() == before


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableError, match="file/report.html cannot be written"):
        write_report(tmp_path / "file", sample_facts())
