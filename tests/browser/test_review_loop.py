"""The whole loop on a real set: settle by keyboard, reload, download, consolidate with it."""

import csv
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

import mhpc
from benchmarks.data import read_set
from mhpc.datasets.garden import Dataset
from mhpc.result import page_data
from tests.browser.conftest import Open

SETTLED = 20


def settle_by_keyboard(page: Page, data: Dataset, result: mhpc.Result) -> None:
    """Give the true labels of the instance on screen with the keyboard alone, and accept."""
    instance = page.locator("dialog h2").inner_text()
    truth, taxonomy = data.truth, result.panel.taxonomy
    true = truth.label[truth.instance == truth.instances.locate([instance])[0]]
    labels = {truth.labels[label] for label in true if label >= 0}
    positions = taxonomy.labels.locate(labels)
    closed = taxonomy.with_ancestors(positions)
    leaves = set(closed.tolist()) - {int(p) for k in closed for p in taxonomy.parents_of(k)}
    if not leaves:
        page.keyboard.press("n")
        return
    while page.locator("dialog li[data-label]").count():
        page.keyboard.press("Backspace")
    for label in sorted(leaves):
        page.keyboard.press("/")
        page.keyboard.type(taxonomy.names[label])
        page.keyboard.press("Enter")
    page.keyboard.press("Enter")


def f_of(result: mhpc.Result, truth: mhpc.Truth, instances: list[str]) -> float:
    rows = [
        (truth.instances[i], truth.labels[k] if k >= 0 else "")
        for i, k in zip(truth.instance, truth.label, strict=True)
    ]
    wanted = set(instances)
    table = {instance: [label for i, label in rows if i == instance] for instance in wanted}
    return mhpc.evaluate(result, table)["hierarchical_f"]


def test_twenty_instances_of_a_real_set_are_settled_and_the_others_get_no_worse(
    show: Open, data_folder: Path
) -> None:
    data = read_set(data_folder / "chexpert")
    result = mhpc.consolidate(data.votes, data.taxonomy)
    page = show(page_data(result), "#review")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Start reviewing").focus()
    page.keyboard.press("Enter")
    progress = page.locator("dialog .progress").first
    for number in range(1, SETTLED + 1):
        settle_by_keyboard(page, data, result)
        expect(progress).to_contain_text(f"{number} reviewed")
        if number == SETTLED // 2:
            page.reload()
            page.wait_for_selector(".waiting", state="detached")
            expect(progress).to_contain_text(f"{number} reviewed")
    with page.expect_download() as download:
        page.locator("dialog").get_by_role("button", name="Download gold.csv").focus()
        page.keyboard.press("Enter")
    path = Path(download.value.path())
    with path.open(newline="", encoding="utf-8") as file:
        settled = list(dict.fromkeys(row["instance"] for row in csv.DictReader(file)))
    # The page asks in the order of mhpc.conflicts.
    assert settled == [case.instance for case in mhpc.conflicts(result, top=SETTLED).instances]
    again = mhpc.consolidate(data.votes, data.taxonomy, gold=mhpc.read_truth(path))
    assert np.isin(again.panel.instances.locate(settled), again.panel.gold.rows).all()  # type: ignore[union-attr]
    others = [each for each in data.truth.instances if each not in set(settled)]
    assert f_of(again, data.truth, others) >= f_of(result, data.truth, others) - 1e-9
