"""Damaged files of every format are either read or refused with a good message."""

import json
import random
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mhpc.read.taxonomy_formats import TAXONOMY_FORMATS
from mhpc.read.vote_formats import VOTE_FORMATS
from tests.fixtures.damaged_files import UNEXPECTED_VALUES, damage
from tests.fixtures.valid_files import (
    ValidInput,
    find_faults,
    make_valid_inputs,
    read_or_refuse,
)

with tempfile.TemporaryDirectory() as _folder, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    INPUTS = {valid.name: valid for valid in make_valid_inputs(Path(_folder))}
CONTENTS = [content for valid in INPUTS.values() for content in valid.files.values()]

few_examples = settings(
    max_examples=12, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _share_database() -> Iterator[None]:
    """Give every reader a connection to one database, because creating one is slow."""
    with pytest.MonkeyPatch.context() as patch, duckdb.connect(config={"threads": 1}) as base:
        patch.setattr(duckdb, "connect", lambda *_, **__: base.cursor())
        yield


@pytest.fixture(autouse=True)
def _ignore_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_message(valid: ValidInput, which: str, content: bytes, *, name_format: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = valid.write(Path(folder), which, content)
        message = read_or_refuse(valid, path, name_format=name_format)
    assert not message or not list(find_faults(message, path)), message


def test_every_format_has_a_valid_input() -> None:
    formats = {(valid.reader, valid.format) for valid in INPUTS.values()}
    in_memory = {"networkx", "icd-10-cm"}
    assert {format_ for reader, format_ in formats if reader == "votes"} - {None} == set(
        VOTE_FORMATS
    )
    assert {format_ for reader, format_ in formats if reader == "taxonomy"} == (
        set(TAXONOMY_FORMATS) - in_memory
    )


@pytest.mark.parametrize("name", INPUTS)
def test_valid_inputs_are_read(name: str, tmp_path: Path) -> None:
    valid = INPUTS[name]
    assert read_or_refuse(valid, valid.write(tmp_path), name_format=True) == ""


@pytest.mark.parametrize("name", INPUTS)
@few_examples
@given(rng=st.randoms(use_true_random=False), name_format=st.booleans())
def test_damaged_files_are_read_or_refused(
    name: str, rng: random.Random, name_format: bool
) -> None:
    valid = INPUTS[name]
    which = rng.choice([*valid.files])
    check_message(
        valid, which, damage(valid.files[which], rng, donors=CONTENTS), name_format=name_format
    )


contents = (
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.sampled_from(UNEXPECTED_VALUES).map(lambda value: json.dumps(value).encode())
)


@settings(few_examples, max_examples=150)
@given(name=st.sampled_from(list(INPUTS)), content=contents, name_format=st.booleans())
def test_files_with_any_content_are_read_or_refused(
    name: str, content: bytes, name_format: bool
) -> None:
    valid = INPUTS[name]
    check_message(valid, next(iter(valid.files)), content, name_format=name_format)
