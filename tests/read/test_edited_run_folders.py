"""A ``run.json`` in which any field was edited is read, or refused in one line."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mhpc.cli.explain import load_conflicts
from mhpc.data.profiles import SourceProfiles
from mhpc.earlier import join_earlier, recorded_settings
from mhpc.errors import MhpcError, UnreadableError
from mhpc.read.run_folder import read_labelled_scores, read_run_document
from mhpc.report.html import render_page
from mhpc.report.run_summary import render_summary
from mhpc.report.terminal import render_conflicts
from mhpc.run import page_data_of_run, run
from mhpc.settings import RunSettings, read_settings
from tests.fixtures.damaged_files import EDITED_VALUES, edit_field, list_fields

VALUES_PER_FIELD = int(os.environ.get("MHPC_EDITS", "3"))
"""How many values, drawn at random, are put into every field; 23 are all of them."""

READ_BY_ALL = 7 * VALUES_PER_FIELD
"""How many of the edited documents that are accepted are read by everything that reads them."""

TAXONOMY = "label,parent,name\nanimal,,fauna\nbee,animal,\nant,animal,\nplant,,\n"
LABELS = ("bee", "ant", "plant", "animal")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with as many parts of run.json as there are: gold labels, a truth, disagreements."""
    home = tmp_path_factory.mktemp("edited")
    votes = [
        f"{instance},{source},{LABELS[(instance * step) % 4]}"
        for instance in range(12)
        for step, source in enumerate(("ann", "bob", "cy"), start=1)
    ]
    (home / "votes.csv").write_text("\n".join(["instance,source,label", *votes, ""]))
    (home / "taxonomy.csv").write_text(TAXONOMY)
    (home / "gold.csv").write_text("instance,label\n" + "".join(f"{i},bee\n" for i in range(6)))
    settings = RunSettings(
        votes=str(home / "votes.csv"), taxonomy=str(home / "taxonomy.csv"),
        gold=str(home / "gold.csv"), truth=str(home / "gold.csv"), method="auto",
    )  # fmt: skip
    run(settings, output=home / "OUT")
    return home / "OUT"


def show_conflicts(folder: Path) -> None:
    str(render_conflicts(load_conflicts(folder, 3)))


def show_summary(folder: Path) -> None:
    summary = read_run_document(folder).summary
    render_summary(summary)
    str(SourceProfiles(summary.sources))


def update(folder: Path) -> None:
    votes = str(folder.parent / "votes.csv")
    join_earlier(RunSettings(votes=votes, update=str(folder)))


READERS: tuple[Callable[[Path], Any], ...] = (
    show_conflicts,
    show_summary,
    recorded_settings,
    update,
    read_labelled_scores,
    lambda folder: render_page(page_data_of_run(folder)),
)


def is_refused(read: Callable[[Path], Any], path: Path, what: object) -> bool:
    try:
        read(path)
    except MhpcError as error:
        if "\n" in str(error):
            raise AssertionError(f"{what}: {error}") from None
        return True
    except Exception as error:
        raise AssertionError(f"{what}: {error!r}") from error
    return False


def test_every_field_can_be_edited_without_a_traceback(folder: Path) -> None:
    path = folder / "run.json"
    content = path.read_text()
    document = json.loads(content)
    rng = random.Random(20)
    edits = [
        (place, value)
        for place in list_fields(document)
        for value in rng.sample(EDITED_VALUES, VALUES_PER_FIELD)
    ]
    assert len(edits) > 150 * VALUES_PER_FIELD
    accepted = []
    for place, value in edits:
        path.write_text(json.dumps(edit_field(document, place, value)))
        refused = is_refused(read_run_document, folder, (place, value))
        if not refused or place[0] == "settings":
            is_refused(read_settings, path, (place, value))
        if not refused:
            accepted.append((place, value))
    assert len(accepted) < len(edits) / 2
    rng.shuffle(accepted)
    for place, value in accepted[:READ_BY_ALL]:
        path.write_text(json.dumps(edit_field(document, place, value)))
        for read in READERS:
            is_refused(read, folder, (read, place, value))
    path.write_text(content)


@pytest.mark.parametrize("name", ["votes", "gold", "truth", "taxonomy", "show", "map", "scope"])
def test_a_nul_in_a_setting_is_reported(folder: Path, name: str) -> None:
    path = folder / "run.json"
    content = path.read_text()
    try:
        edited = edit_field(json.loads(content), ("settings", name), "a\0b")
        path.write_text(json.dumps(edited))
        with pytest.raises(UnreadableError, match="run.json is damaged: .* NUL"):
            read_run_document(folder)
        with pytest.raises(UnreadableError, match=f"'{name}' has a NUL character"):
            read_settings(path)
    finally:
        path.write_text(content)
