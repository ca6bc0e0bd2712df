from typing import Any

import pytest

from mhpc.errors import DataError, MissingColumnError, ParameterError
from mhpc.numerics.hash_table import HashTable
from mhpc.read.columns import (
    ALIASES,
    MAX_ENUM_IDS,
    Cells,
    check_not_empty,
    find_columns,
    number_ids,
    read_cells,
)
from mhpc.read.tables import open_table

VOTES = ("instance", "source", "label")


def find(
    present: list[str], chosen: dict[str, str] | None = None, cure: str = "rename one"
) -> dict[str, str]:
    return find_columns(
        present, ALIASES, required=VOTES, chosen=chosen, origin="votes.csv", cure=cure
    )


@pytest.mark.parametrize("instance", ALIASES["instance"])
@pytest.mark.parametrize("source", ALIASES["source"][:3])
@pytest.mark.parametrize("label", ALIASES["label"])
def test_columns_are_known_by_their_usual_names(instance: str, source: str, label: str) -> None:
    names = [instance, source, label]
    assert find(names) == dict(zip(VOTES, names, strict=True))


def test_case_and_spaces_do_not_matter() -> None:
    assert find(["Task", "WORKER ", "Label"]) == {
        "instance": "Task", "source": "WORKER ", "label": "Label",
    }  # fmt: skip


def test_the_first_name_takes_precedence_over_its_aliases() -> None:
    assert find(["answer", "task", "instance", "worker", "label"])["instance"] == "instance"
    assert find(["answer", "task", "instance", "worker", "label"])["label"] == "label"


def test_a_score_column_is_optional() -> None:
    assert find([*VOTES, "Confidence"])["score"] == "Confidence"
    assert "score" not in find(list(VOTES))


def test_the_choice_of_the_user_takes_precedence() -> None:
    assert find([*VOTES, "photo"], {"instance": "photo"})["instance"] == "photo"


def test_a_missing_column_is_reported_with_those_present_and_what_would_help() -> None:
    with pytest.raises(MissingColumnError) as error:
        find(["instance", "source", "color"], cure="use --column")
    message = str(error.value)
    assert message.startswith("votes.csv: no column 'label' (nor 'value', 'answer', 'choice', ")
    assert message.endswith("it has 'instance', 'source', 'color'; use --column")


@pytest.mark.parametrize("name", ["annotator_id", "Annotator ID", "annotator-id", "AnnotatorID"])
def test_the_spelling_of_a_name_does_not_matter(name: str) -> None:
    assert find(["instance", name, "label"])["source"] == name


def test_an_id_is_the_instance_only_if_nothing_else_is() -> None:
    assert find(["id", "task", "worker", "label"])["instance"] == "task"
    assert find(["id", "worker", "label"])["instance"] == "id"


def test_a_missing_chosen_column_names_the_nearest() -> None:
    with pytest.raises(MissingColumnError, match=r"no column 'fhoto' \(nearest: 'photo'\)"):
        find([*VOTES, "photo"], {"instance": "fhoto"})


def test_an_unknown_role_is_refused_with_the_roles() -> None:
    with pytest.raises(ParameterError, match="no column role 'lable'; the roles are 'instance'"):
        find(list(VOTES), {"lable": "label"})


def read(columns: dict[str, list[str | None]], *, max_enum_ids: int = MAX_ENUM_IDS) -> Cells:
    with open_table(columns) as table:
        return read_cells(
            table, {name: name for name in columns}, tuple(columns), max_enum_ids=max_enum_ids
        )


def test_ids_are_numbered_in_order_of_appearance() -> None:
    cells = read({"label": ["wasp", "bee", "wasp", "ant"]})
    assert cells.rows == 4
    assert cells.index["label"].ids == ("wasp", "bee", "ant")
    assert cells.position["label"].tolist() == [0, 1, 0, 2]


def test_empty_cells_have_no_id() -> None:
    cells = read({"label": [None, "bee", ""]})
    assert cells.index["label"].ids == ("bee",)
    assert cells.position["label"].tolist() == [-1, 0, -1]


def test_many_rows_keep_their_order() -> None:
    names = [f"{n * 7919 % 100_003}" for n in range(100_000)]
    cells = read({"label": list(names)})
    assert cells.index["label"].ids == tuple(names)
    assert cells.position["label"].tolist() == list(range(100_000))


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(DataError, match="the table: a header but no rows"):
        read({"label": []})


def test_an_id_too_long_to_be_one_is_refused_by_row() -> None:
    with pytest.raises(DataError, match="row 2 has a label of 10,001 characters; the most is 10,"):
        read({"label": ["x" * 10_000, "x" * 10_001]})


def test_empty_ids_are_refused_with_the_first_row_and_their_number() -> None:
    cells = read({"label": ["bee", None, None, None]})
    with pytest.raises(DataError, match="votes: row 2 has an empty label, as have 2 more;"):
        check_not_empty(cells, "label", "votes")
    check_not_empty(read({"label": ["bee"]}), "label", "votes")


def test_many_ids_are_numbered_like_few(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: dict[str, list[str | None]] = {
        "instance": [f"i{n * 37 % 101}" if n % 7 else None for n in range(1000)],
        "label": [None, "?", "", "é", "?"] * 200,
    }
    by_enum = read(columns)
    by_hash = read(columns, max_enum_ids=0)
    # If two texts ever share a hash, ids are numbered in the slower way.
    monkeypatch.setattr(HashTable, "has_duplicates", True)
    colliding = read(columns, max_enum_ids=0)
    for cells in (by_hash, colliding):
        for role in columns:
            assert cells.index[role].ids == by_enum.index[role].ids
            assert cells.position[role].tolist() == by_enum.position[role].tolist()
    assert by_enum.index["label"].ids == ("?", "é")
    assert by_enum.position["label"].tolist()[:5] == [-1, 0, -1, 1, 0]


def test_a_column_of_empty_cells_has_no_ids() -> None:
    cells = read({"label": [None, ""]})
    assert cells.index["label"].ids == ()
    assert cells.position["label"].tolist() == [-1, -1]


@pytest.mark.parametrize(
    "ids", [["b", None, "", "a", "b"], [None, None], ["x"], [3, 10**30, 3, -1], [""]]
)
def test_ids_in_memory_are_numbered_like_those_of_a_table(ids: list[Any]) -> None:
    index, position = number_ids(ids)
    cells = read({"label": ids})
    assert index.ids == cells.index["label"].ids
    assert position.tolist() == cells.position["label"].tolist()
