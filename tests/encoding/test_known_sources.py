"""The sources of votes, numbered as in the earlier run whose model is applied to them."""

import numpy as np
import pytest
from scipy import sparse

from mhpc.data.index import Index
from mhpc.data.panel import Panel
from mhpc.encoding.gold import append_gold_source, encode_truth
from mhpc.encoding.known_sources import KnownSources, align_sources
from mhpc.errors import DataError, MhpcWarning
from mhpc.numerics.arrays import dense
from mhpc.read.truth import read_truth
from tests.fixtures.build import GARDEN, Row, panel_of

NEW_ROWS: list[Row] = [("p", "bob", "oak"), ("p", "ann", "monarda"), ("q", "bob", "finch")]


def with_gold(panel: Panel) -> Panel:
    truth = read_truth({"instance": ["q"], "label": ["finch"]})
    return append_gold_source(panel, encode_truth(truth, panel.taxonomy, panel.instances))


def test_sources_are_numbered_as_in_the_earlier_run() -> None:
    earlier = Index(("ann", "cid", "bob"))
    panel = align_sources(panel_of(NEW_ROWS), KnownSources(earlier))
    assert panel.sources.ids == earlier.ids
    assert panel.scope is None
    assert panel.gold is None
    # The answers to an instance are in the order of their sources: ann is 0, bob is 2.
    assert panel.instance.tolist() == [0, 0, 1]
    assert panel.source.tolist() == [0, 2, 2]
    labels = [GARDEN.labels[k] for k in panel.raw.indices]
    assert labels == ["monarda", "oak", "finch"]
    np.testing.assert_array_equal(dense(panel.augmented).sum(axis=1), [3, 3, 3])


def test_the_scope_is_that_of_the_earlier_run() -> None:
    scope = panel_of(NEW_ROWS, scope="used").scope
    assert scope is not None
    aligned = align_sources(panel_of(NEW_ROWS), KnownSources(Index(("bob", "ann")), scope))
    np.testing.assert_array_equal(dense(aligned.scope), dense(scope))


def test_a_source_that_the_earlier_run_does_not_know_is_refused() -> None:
    with pytest.raises(DataError, match=r"source 'ann' has no answers.*new_sources='prior'"):
        align_sources(panel_of(NEW_ROWS), KnownSources(Index(("bob", "anne"))))


def test_the_answers_of_new_sources_can_be_ignored() -> None:
    with pytest.warns(MhpcWarning, match="'ann'"):
        panel = align_sources(panel_of(NEW_ROWS), KnownSources(Index(("bob",)), new="ignore"))
    assert panel.sources.ids == ("bob",)
    assert panel.instance.tolist() == [0, 1]
    assert panel.source.tolist() == [0, 0]
    assert len(panel.instances) == 2


def test_votes_of_new_sources_only_cannot_be_ignored() -> None:
    with pytest.raises(DataError, match="no source of these votes"):
        align_sources(panel_of(NEW_ROWS), KnownSources(Index(("cid",)), new="ignore"))


def test_new_sources_come_after_the_known_ones_and_can_give_all_labels() -> None:
    scope = sparse.csr_array(np.eye(2, len(GARDEN)))
    known = KnownSources(Index(("cid", "bob")), scope, new="prior")
    panel = align_sources(panel_of(NEW_ROWS), known)
    assert panel.sources.ids == ("cid", "bob", "ann")
    assert panel.source.tolist() == [1, 2, 1]
    expected = np.vstack([np.eye(2, len(GARDEN)), np.ones(len(GARDEN))])
    np.testing.assert_array_equal(dense(panel.scope), expected)


def test_labels_that_the_earlier_taxonomy_did_not_have_are_in_every_scope() -> None:
    scope = sparse.csr_array((2, len(GARDEN) - 1))
    panel = align_sources(panel_of(NEW_ROWS), KnownSources(Index(("bob", "ann")), scope))
    assert dense(panel.scope)[:, -1].tolist() == [1, 1]
    assert not dense(panel.scope)[:, :-1].any()


def test_the_source_of_earlier_gold_labels_stays_last_and_is_no_source() -> None:
    known = KnownSources(Index(("bob", "gold")), has_gold=True, new="prior")
    panel = align_sources(panel_of([*NEW_ROWS, ("p", "gold", "oak")]), known)
    # A source that happens to be called gold is a new one.
    assert panel.sources.ids == ("bob", "ann", "gold", "gold*")
    assert panel.gold is not None
    assert not len(panel.gold.rows)
    assert not panel.is_gold.any()


@pytest.mark.parametrize("had_gold", [True, False])
def test_gold_labels_among_new_votes_are_known(had_gold: bool) -> None:
    names = ("bob", "ann", "gold") if had_gold else ("bob", "ann")
    known = KnownSources(Index(names), has_gold=had_gold)
    panel = align_sources(with_gold(panel_of(NEW_ROWS)), known)
    assert panel.sources.ids == ("bob", "ann", "gold")
    assert panel.is_gold.tolist() == [False, False, False, True]
