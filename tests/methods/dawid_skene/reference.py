"""EM one answer and one label at a time, and a panel with scores."""

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
from scipy.optimize import isotonic_regression

from mhpc.data.panel import Panel, drop_gold
from mhpc.methods.dawid_skene.score_scales import ScoreScales
from mhpc.numerics.arrays import FloatArray
from tests.fixtures.build import DAG, Row, panel_of


def scored_panel(seed: int = 1, *, scoped: bool = False, weighted: bool = False) -> Panel:
    """Return 40 instances on a DAG: two sources with 3 and 20 scores, one that says 0.9, one 1.

    Votes of the second source are enough for six grades.
    """
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for instance, label in enumerate(rng.choice(list(DAG), 40)):
        for source, right in enumerate((0.8, 0.6, 0.7, 0.7)):
            is_right = rng.random() < right
            answer = str(label) if is_right else str(rng.choice(["b", "c", "d"]))
            if source == 3 and answer not in ("b", "c", "d"):
                answer = "b"
            surer = int(is_right) + rng.random()
            score = (int(surer * 1.5 + 1) / 3, round(surer * 9 + 1) / 20, 0.9, 1.0)[source]
            rows.append((f"i{instance}", f"s{source}", answer, score))
    panel = panel_of(rows, DAG, scope={"s3": ("b", "c", "d")} if scoped else "all")
    return replace(panel, weight=rng.random(len(panel.instance)) + 0.2) if weighted else panel


def em_by_loops(
    panel: Panel, rounds: int, prior_answers: float = 1.0, scales: ScoreScales | None = None
) -> FloatArray:
    """Run EM one answer and one label at a time; `scales` has the borders between grades."""
    gold = panel.gold
    known = {} if gold is None else dict(zip(gold.rows, gold.closed.toarray(), strict=True))
    panel = drop_gold(panel)
    K, depth = len(panel.taxonomy), panel.taxonomy.depth
    scores = panel.augmented.toarray()
    n_grades = np.ones(len(panel.sources), dtype=int) if scales is None else scales.n_grades
    votes, start, grade = scores.copy(), scores.copy(), np.zeros(scores.shape, dtype=int)
    for a, k in zip(*np.nonzero(scores), strict=True):
        m = panel.source[a]
        if scales is not None and n_grades[m] > 1:
            grade[a, k] = sum(scores[a, k] >= border for border in scales.borders[m])
            votes[a, k], start[a, k] = 1.0, (grade[a, k] + 0.5) / n_grades[m]
    weight = np.ones(len(votes)) if panel.weight is None else panel.weight
    in_scope = np.ones((len(panel.sources), K)) if panel.scope is None else panel.scope.toarray()
    answers = list(zip(panel.instance, panel.source, votes, weight, grade, strict=True))
    prior, popularity = (
        [
            (sum(w * y[k] for y, w in zip(values, weight, strict=True)) + 0.5)
            / (sum(w * in_scope[m, k] for _, m, _, w, _ in answers) + 1)
            for k in range(K)
        ]
        for values in (scores, votes)
    )
    truth = np.zeros((len(panel.instances), K))
    for i in range(len(truth)):
        for k in range(K):
            about = [
                (answer[3], y[k])
                for answer, y in zip(answers, start, strict=True)
                if answer[0] == i and in_scope[answer[1], k]
            ]
            if any(y for _, y in about):
                truth[i, k] = sum(w * y for w, y in about) / sum(w for w, _ in about)
    affirmed = truth > 0
    for i, labels in known.items():
        truth[i] = labels
    for _ in range(rounds):
        hits, true, alarms, offered = (defaultdict[tuple[int, int], float](float) for _ in "1234")
        graded = np.zeros((len(panel.sources), n_grades.max(), 2))
        for i, m, y, w, g in answers:
            for k in range(K):
                if not in_scope[m, k]:
                    continue
                if y[k]:
                    graded[m, g[k]] += w * truth[i, k], w * (1 - truth[i, k])
                for owner in (m, -1):  # one source, and all sources
                    cell = (owner, depth[k])
                    hits[cell] += w * y[k] * truth[i, k]
                    true[cell] += w * truth[i, k]
                    alarms[cell] += w * y[k] * (1 - truth[i, k])
                    offered[cell] += w * popularity[k] * (1 - truth[i, k])
        evidence = [_weigh_grades(graded[m, : n_grades[m]]) for m in range(len(graded))]
        after = np.zeros_like(truth)
        for i, k in zip(*np.nonzero(affirmed), strict=True):
            logit = math.log(prior[k] / (1 - prior[k]))
            for j, m, y, w, g in answers:
                if j == i and in_scope[m, k]:
                    own, all_ = (m, depth[k]), (-1, depth[k])
                    mean = (hits[all_] + 0.5) / (true[all_] + 1)
                    s = (hits[own] + prior_answers * mean) / (true[own] + prior_answers)
                    mean = (alarms[all_] + 1) / (offered[all_] + 1)
                    r = (alarms[own] + prior_answers * mean) / (offered[own] + prior_answers)
                    s, f = min(max(s, 0.001), 0.999), min(max(r * popularity[k], 1e-9), 0.99)
                    logit += w * y[k] * (math.log(s / f) + evidence[m][g[k]])
                    logit += w * (1 - y[k]) * math.log((1 - s) / (1 - f))
            after[i, k] = 1 / (1 + math.exp(-logit))
        for i, labels in known.items():
            after[i] = labels
        truth = after
    for labels in reversed(panel.taxonomy.levels):
        for k in labels:
            for p in panel.taxonomy.parents_of(k):
                truth[:, p] = np.maximum(truth[:, p], truth[:, k])
    return truth


def _weigh_grades(counts: FloatArray) -> FloatArray:
    """Return the log likelihood ratio of each grade; `counts` are true and untrue votes, (G, 2)."""
    if len(counts) == 1:
        return np.zeros(1)
    true, untrue = (counts + 0.5).T
    share = isotonic_regression(true / (true + untrue), weights=true + untrue).x
    share = np.clip(share, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(share / (1 - share)) - math.log(true.sum() / untrue.sum()))
