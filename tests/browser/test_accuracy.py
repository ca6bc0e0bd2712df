"""The accuracy of the rest in the page, and the same equations as in Python."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from mhpc.metrics.accuracy import answers_needed, estimate_share
from tests.browser.conftest import Open
from tests.fixtures.report_facts import sample_facts

WEB = Path(__file__).parents[2] / "web"

SCRIPT = """
const ts = require('typescript');
const source = require('fs').readFileSync('src/lib/accuracy.ts', 'utf8');
const options = { compilerOptions: { module: 'commonjs', target: 'es2022' } };
const module_ = { exports: {} };
new Function('module', 'exports', ts.transpileModule(source, options).outputText)(
  module_, module_.exports);
const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(cases.map((c) =>
  [module_.exports.estimate(...c), module_.exports.estimateCurve(...c)])));
"""


def estimate_in_page(cases: list[tuple[list[dict[str, Any]], int, float]]) -> Any:
    """Run the page's own functions; without node or the packages of web/, skip."""
    if shutil.which("node") is None or not (WEB / "node_modules" / "typescript").exists():
        pytest.skip("node and web/node_modules are needed to run TypeScript; run make page")
    run = subprocess.run(
        ["node", "-e", SCRIPT], cwd=WEB, input=json.dumps(cases), capture_output=True, text=True,
        check=True, env={**os.environ, "NODE_OPTIONS": ""},
    )  # fmt: skip
    return json.loads(run.stdout)


def make_case(
    k: int, population: int, share: float, seed: int
) -> tuple[list[dict[str, Any]], int, float]:
    rng = np.random.default_rng(seed)
    predicted = rng.random(population)
    right = rng.random(population) < share * (0.5 + predicted)
    answers = [{"right": bool(right[i]), "predicted": float(predicted[i])} for i in range(k)]
    return answers, population, float(predicted.mean())


CASES = [
    make_case(k, population, share, seed)
    for seed, (k, population, share) in enumerate(
        [(0, 90, 0.5), (1, 40, 0.5), (2, 40, 0.9), (3, 40, 0.5), (20, 1000, 0.7), (30, 500, 2.0),
         (30, 500, 0.0), (60, 61, 0.6), (50, 50, 0.5), (200, 20_000, 0.9), (7, 9, 0.5)]
    )
]  # fmt: skip


def test_the_page_estimates_what_python_does() -> None:
    for (answers, population, mean), (found, curve) in zip(
        CASES, estimate_in_page(CASES), strict=True
    ):
        right = np.array([answer["right"] for answer in answers], dtype=bool)
        predicted = np.array([answer["predicted"] for answer in answers], dtype=float)
        others = population - len(answers)
        others_mean = (population * mean - predicted.sum()) / others if others else 0.0
        expected = estimate_share(right, predicted, others=others, others_predicted=others_mean)
        names = ("low", "high", "power")
        assert [found[name] for name in names] == pytest.approx(
            [getattr(expected, name) for name in names], abs=1e-9
        )
        if expected.value == expected.value:
            assert found["value"] == pytest.approx(expected.value, abs=1e-9)
        else:
            assert found["value"] is None
        assert found["needed"] == answers_needed(expected)
        assert curve[-1:] == ([found] if answers else [])


def facts_with_accuracy() -> dict[str, Any]:
    point = {"value": 0.71, "interval": [0.58, 0.81], "measured": 60, "population": 1264,
             "power": 1.2}  # fmt: skip
    first = {**point, "measured": 1, "value": 1.0, "interval": [0.2, 1.0]}
    levels = [{**point, "level": 1}, {**point, "level": 2, "value": 0.5, "interval": [0.4, 0.6]}]
    accuracy = {
        **point, "levels": levels, "needed": 430, "left_out": 3, "curve": [first, point],
    }  # fmt: skip
    return {**sample_facts(), "accuracy": accuracy}


def test_the_accuracy_of_the_rest_is_shown_with_what_it_would_take(show: Open) -> None:
    page = show(facts_with_accuracy())
    section = page.locator("#accuracy")
    expect(section).to_contain_text("71\u00a0% of the other 1,204 instances")
    expect(section).to_contain_text("58 to 81\u00a0%")
    expect(section).to_contain_text("430 more random answers")
    name = section.get_by_role("img").get_attribute("aria-label") or ""
    assert name.startswith("Accuracy of the rest: 71")
    assert section.locator("path.projected").count() == 2
    section.get_by_text("As a table").click()
    expect(section.locator("details tbody tr")).to_have_count(2)
    expect(page.get_by_role("link", name="Accuracy", exact=True)).to_be_visible()


def test_without_random_gold_labels_there_is_no_such_section(show: Open) -> None:
    page = show({**sample_facts(), "accuracy": None})
    expect(page.locator("#overview")).to_be_visible()
    expect(page.locator("#accuracy")).to_have_count(0)


def test_axe_finds_nothing_wrong_with_the_section(show: Open) -> None:
    page = show(facts_with_accuracy())
    page.locator("#accuracy").get_by_text("As a table").click()
    found = Axe().run(page, context="#accuracy")
    assert found.response["violations"] == []
