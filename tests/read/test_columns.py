import pytest

from mhpc.errors import MissingColumnError, ParameterError
from mhpc.read.columns import ALIASES, find_columns

VOTES = ("instance", "source", "label")


def found(
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
    assert found(names) == dict(zip(VOTES, names, strict=True))


def test_case_and_spaces_do_not_matter() -> None:
    assert found(["Task", "WORKER ", "Label"]) == {
        "instance": "Task", "source": "WORKER ", "label": "Label",
    }  # fmt: skip


def test_the_canonical_name_goes_before_an_alias() -> None:
    assert found(["answer", "task", "instance", "worker", "label"])["instance"] == "instance"
    assert found(["answer", "task", "instance", "worker", "label"])["label"] == "label"


def test_a_score_is_found_where_there_is_one() -> None:
    assert found([*VOTES, "Confidence"])["score"] == "Confidence"
    assert "score" not in found(list(VOTES))


def test_the_users_word_goes_before_the_aliases() -> None:
    assert found([*VOTES, "photo"], {"instance": "photo"})["instance"] == "photo"


def test_a_missing_column_is_told_with_those_present_and_what_would_do() -> None:
    with pytest.raises(MissingColumnError) as error:
        found(["instance", "source", "tag"], cure="use --column")
    assert str(error.value) == (
        "votes.csv: no column 'label' (nor 'value', 'answer', 'choice', 'relation'); "
        "it has 'instance', 'source', 'tag'; use --column"
    )


def test_a_chosen_column_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(MissingColumnError, match=r"no column 'fhoto' \(nearest: 'photo'\)"):
        found([*VOTES, "photo"], {"instance": "fhoto"})


def test_an_unknown_role_is_refused_with_the_roles() -> None:
    with pytest.raises(ParameterError, match="no column role 'lable'; the roles are 'instance'"):
        found(list(VOTES), {"lable": "label"})
