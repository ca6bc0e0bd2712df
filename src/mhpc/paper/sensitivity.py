"""Figure 7 of the paper: sensitivity to vague and noisy sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mhpc.paper.cells import VIEWS, Cell, Measured, YeastVotes
from mhpc.paper.experiment import (
    METRIC_ORDER,
    PAPER_METHODS,
    Row,
    all_methods,
    better,
    count_seeds,
    format_value,
    only,
    select,
    tabulate,
)
from mhpc.paper.published import published_lambda
from mhpc.paper.render import METRIC_NAMES, ExperimentReport, Table, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mhpc.numerics.arrays import FloatArray


@dataclass(frozen=True)
class Sensitivity:
    """All methods over a grid of vagueness and noise."""

    name: ClassVar[str] = "sensitivity"
    title: ClassVar[str] = "Sensitivity to vagueness and noise"
    figure_text: ClassVar[str] = (
        "Ranking loss, micro-AUC and coverage error over the grid of alpha_vague and "
        "alpha_noise, one column per method; lighter is better"
    )

    set: str = "church"
    sources: int = 4
    alphas: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    max_seeds: int = 2

    def cells(self, seeds: Sequence[int]) -> list[Cell]:
        """Return a cell for every pair of alphas and seed."""
        return [
            Cell(
                YeastVotes(
                    self.set, "train", self.sources, seed, specificity=vague, accuracy=noise
                ),
                tuple(v for v in all_methods(self.set) if v.method in PAPER_METHODS),
            )
            for vague in self.alphas
            for noise in self.alphas
            for seed in seeds[: self.max_seeds]
        ]

    def rows(self, measured: Sequence[Measured]) -> list[Row]:
        """Return the table, with both alphas beside."""
        return tabulate(
            measured,
            lambda cell, record: {
                "alpha_vague": getattr(cell.votes, "specificity", None),
                "alpha_noise": getattr(cell.votes, "accuracy", None),
            },
        )

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Draw one map per metric and method, with one scale per metric; lighter is better."""
        methods = list(PAPER_METHODS)
        figure = new_figure(len(METRIC_ORDER), len(methods), width=2.1 * len(methods), height=6.4)
        for line, metric in enumerate(METRIC_ORDER):
            maps = {method: self._map(rows, method, "specific", metric) for method in methods}
            low = min(float(values.min()) for values in maps.values())
            high = max(float(values.max()) for values in maps.values())
            row = figure.axes[line * len(methods) : (line + 1) * len(methods)]
            for column, (axes, method) in enumerate(zip(row, methods, strict=True)):
                # Only the lightness changes, so that the maps survive black-and-white print.
                colours = "gray" if metric == "micro_auc" else "gray_r"
                image = axes.imshow(
                    maps[method], origin="lower", cmap=colours, vmin=low, vmax=high, aspect="equal"
                )
                axes.grid(visible=False)
                positions = range(0, len(self.alphas), 3)
                ticks = [f"{self.alphas[t]:g}" for t in positions]
                axes.set_xticks(positions, ticks)
                axes.set_yticks(positions, ticks if column == 0 else [""] * len(ticks))
                if line == 0:
                    axes.set_title(method)
                if line == len(METRIC_ORDER) - 1:
                    axes.set_xlabel("alpha_noise")
                if column == 0:
                    axes.set_ylabel("alpha_vague")
            figure.colorbar(image, ax=row, label=METRIC_NAMES[metric], shrink=0.85)
        return figure

    def report(self, rows: Sequence[Row], measured: Sequence[Measured]) -> ExperimentReport:
        """Report which method is best where."""
        setting = (
            f"{self.set}, train split, {self.sources} generated sources, lambda = "
            f"{published_lambda(self.set):g}, alpha_vague and alpha_noise from "
            f"{self.alphas[0]:g} to {self.alphas[-1]:g}; means over {count_seeds(rows)}. "
            "A larger alpha means less vagueness or noise: a label on level l is reported as it is "
            "with probability alpha_vague ^ l, and is not swapped with probability alpha_noise "
            "(the paper's text says the opposite of its Algorithm 2, which is followed here). "
            "The figure shows the specific view. The paper shows surfaces of wa, mpc-u and mhpc "
            "without figures."
        )
        tables = [self._best(rows, view) for view in VIEWS]
        tables += [self._corners(rows, view, metric) for view in VIEWS for metric in METRIC_ORDER]
        return ExperimentReport(setting, self._findings(rows), tables)

    def _findings(self, rows: Sequence[Row]) -> list[str]:
        shares = {
            metric: self._wins(rows, ("wa", "mpc-u", "mhpc"), "specific", metric)["mhpc"]
            for metric in METRIC_ORDER
        }
        best = {
            metric: self._wins(rows, PAPER_METHODS, "specific", metric) for metric in METRIC_ORDER
        }
        first = max(best["ranking_loss"], key=best["ranking_loss"].__getitem__)
        cells = len(self.alphas) ** 2
        swing = {
            method: float(
                np.ptp(self._map(rows, method, "specific", "ranking_loss"), axis=1).mean()
            )
            for method in ("wa", "mpc-u", "mhpc")
        }
        return [
            "The paper says that mhpc outperforms wa and mpc-u consistently. Here it is the best "
            "of the three, specific truth, in "
            + ", ".join(f"{count} of {cells} cells ({metric})" for metric, count in shares.items())
            + ".",
            f"Of all the paper's methods, {first} has the lowest ranking loss most often: in "
            f"{best['ranking_loss'][first]} of {cells} cells (mhpc: "
            f"{best['ranking_loss']['mhpc']}).",
            "The paper says that mhpc is the least sensitive to noise. Over the range of "
            "alpha_noise, the ranking loss changes by "
            + ", ".join(f"{value:.3f} ({method})" for method, value in swing.items())
            + " in the mean.",
        ]

    def _map(self, rows: Sequence[Row], method: str, view: str, metric: str) -> "FloatArray":
        """Return values by alpha_vague (down) and alpha_noise (across)."""
        values = {
            (row.axes["alpha_vague"], row.axes["alpha_noise"]): row.value
            for row in select(rows, method=method, view=view, metric=metric)
        }
        return np.array([[values[v, n] for n in self.alphas] for v in self.alphas])

    def _wins(
        self, rows: Sequence[Row], methods: Sequence[str], view: str, metric: str
    ) -> dict[str, int]:
        """Count in how many cells each method is strictly the best."""
        maps = {method: self._map(rows, method, view, metric) for method in methods}
        counts = dict.fromkeys(methods, 0)
        for cell in np.ndindex(len(self.alphas), len(self.alphas)):
            for method in methods:
                counts[method] += all(
                    better(metric, float(maps[method][cell]), float(maps[other][cell]))
                    for other in methods
                    if other != method
                )
        return counts

    def _best(self, rows: Sequence[Row], view: str) -> Table:
        lines = []
        for metric in METRIC_ORDER:
            wins = self._wins(rows, list(PAPER_METHODS), view, metric)
            lines.append([metric, *(str(count) for count in wins.values())])
        return Table(
            f"In how many of {len(self.alphas) ** 2} cells a method is best, {view} truth",
            ["metric", *PAPER_METHODS],
            lines,
        )

    def _corners(self, rows: Sequence[Row], view: str, metric: str) -> Table:
        low, high = self.alphas[0], self.alphas[-1]
        middle = self.alphas[len(self.alphas) // 2]
        pairs = [(low, low), (low, high), (middle, middle), (high, low), (high, high)]
        lines = [
            [
                f"{vague:g}, {noise:g}",
                *(
                    format_value(metric, only(
                        rows, method=method, view=view, metric=metric, alpha_vague=vague,
                        alpha_noise=noise,
                    ).value)
                    for method in PAPER_METHODS
                ),
            ]
            for vague, noise in pairs
        ]  # fmt: skip
        return Table(
            f"{metric}, {view} truth, corners and middle",
            ["alpha_vague, alpha_noise", *PAPER_METHODS],
            lines,
        )
