"""Damaged files of every format: read, or refused in words of our own; never anything else."""

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
from tests.fixtures.damaged_files import ODD_VALUES, mutated
from tests.fixtures.sampling import all_samples
from tests.fixtures.valid_files import Sample, complaints, outcome_of

with tempfile.TemporaryDirectory() as _folder, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    SAMPLES = {sample.name: sample for sample in all_samples(Path(_folder))}
PIECES = [content for sample in SAMPLES.values() for content in sample.files.values()]

few = settings(
    max_examples=12, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _one_database() -> Iterator[None]:
    """Let every reader have its own connection to one database: making one takes longer."""
    with pytest.MonkeyPatch.context() as patch, duckdb.connect(config={"threads": 1}) as base:
        patch.setattr(duckdb, "connect", lambda *_, **__: base.cursor())
        yield


@pytest.fixture(autouse=True)
def _repeats_are_no_matter() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check(sample: Sample, which: str, content: bytes, *, insist: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = sample.write(Path(folder), which, content)
        message = outcome_of(sample, path, insist=insist)
    assert not message or not list(complaints(message, path)), message


def test_every_format_has_a_sample() -> None:
    read = {(sample.reader, sample.format) for sample in SAMPLES.values()}
    in_memory = {"networkx", "icd-10-cm"}
    assert {format_ for reader, format_ in read if reader == "votes"} == set(VOTE_FORMATS)
    assert {format_ for reader, format_ in read if reader == "taxonomy"} == (
        set(TAXONOMY_FORMATS) - in_memory
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_read(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    assert outcome_of(sample, sample.write(tmp_path), insist=True) == ""


@pytest.mark.parametrize("name", SAMPLES)
@few
@given(rng=st.randoms(use_true_random=False), insist=st.booleans())
def test_damaged_files_are_read_or_refused(name: str, rng: random.Random, insist: bool) -> None:
    sample = SAMPLES[name]
    which = rng.choice([*sample.files])
    check(sample, which, mutated(sample.files[which], rng, others=PIECES), insist=insist)


contents = (
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.sampled_from(ODD_VALUES).map(lambda value: json.dumps(value).encode())
)


@settings(few, max_examples=150)
@given(name=st.sampled_from(list(SAMPLES)), content=contents, insist=st.booleans())
def test_files_of_anything_are_read_or_refused(name: str, content: bytes, insist: bool) -> None:
    sample = SAMPLES[name]
    check(sample, next(iter(sample.files)), content, insist=insist)
