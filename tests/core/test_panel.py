import numpy as np
import pytest

from mhpc.core.arrays import dense
from tests.build import GARDEN, Row, panel_of

FLOWER, MONARDA, OAK = (GARDEN.labels.positions[name] for name in ("flower", "monarda", "oak"))

ROWS: list[Row] = [
    ("p1", "ann", "monarda"),
    ("p1", "bob", "flower"),
    ("p1", "cid", None),
    ("p2", "ann", "oak"),
]


def test_mean_divides_by_the_answers_that_an_instance_got() -> None:
    mean = dense(panel_of(ROWS).mean("raw", "answers"))
    assert mean[0, MONARDA] == pytest.approx(1 / 3)
    assert mean[1, OAK] == 1.0


def test_mean_over_all_sources_divides_by_m_as_the_paper_does() -> None:
    mean = dense(panel_of(ROWS).mean("raw", "all-sources"))
    assert mean[1, OAK] == pytest.approx(1 / 3)


def test_mean_of_augmented_votes_counts_a_vote_for_its_ancestors() -> None:
    mean = dense(panel_of(ROWS).mean("augmented", "answers"))
    assert mean[0, FLOWER] == pytest.approx(2 / 3)
    assert mean[0, MONARDA] == pytest.approx(1 / 3)


def test_silence_outside_a_scope_is_not_a_no() -> None:
    # cid can only speak about trees, so only ann and bob were asked about flowers.
    scope = {"cid": ("oak",)}
    mean = dense(panel_of(ROWS, scope=scope).mean("raw", "answers"))
    assert mean[0, MONARDA] == pytest.approx(1 / 2)
    assert mean[1, OAK] == 1.0


def test_trials_of_a_label_are_the_answers_of_sources_who_can_say_it() -> None:
    panel = panel_of(ROWS, scope={"cid": ("oak",)})
    assert panel.answers_per_label[MONARDA] == 3
    assert panel.answers_per_label[OAK] == 4
    assert panel_of(ROWS).answers_per_label[MONARDA] == 4


def test_a_panel_of_some_answers_keeps_instances_and_sources() -> None:
    panel = panel_of(ROWS)
    alone = panel.only(panel.source == panel.sources.positions["bob"])
    assert alone.instances.ids == panel.instances.ids
    assert alone.answers_per_instance.tolist() == [1, 0]
    assert np.flatnonzero(dense(alone.mean("raw", "answers"))[0]).tolist() == [FLOWER]


def test_the_size_of_an_answer_counts_only_who_could_have_said_a_label() -> None:
    # monarda brings 3 labels, flower 2, oak 3; cid says nothing.
    assert panel_of(ROWS).labels_per_answer == pytest.approx(8 / 4)
    # cid can speak about oak, tree and plant alone: flower and monarda have 3 trials, not 4.
    scoped = panel_of(ROWS, scope={"cid": ("oak",)})
    assert scoped.labels_per_answer == pytest.approx(3 / 4 + 2 / 3 + 1 / 3 + 1 / 4 + 1 / 4)
