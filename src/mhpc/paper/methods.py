"""Every method on every yeast set, with ranks as the paper prints them and a paired test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mhpc.datasets.yeast import YEAST, largest_split
from mhpc.paper.cells import VIEWS, Cell, Measured, YeastVotes
from mhpc.paper.experiment import (
    COMPARED,
    METRIC_ORDER,
    Row,
    all_methods,
    better,
    count_seeds,
    format_mean,
    format_value,
    only,
    ranks,
    select,
    tabulate,
)
from mhpc.paper.published import published
from mhpc.paper.render import (
    PUBLISHED_STYLE,
    ExperimentReport,
    Table,
    label_axes,
    legend_below,
    log_scale,
    new_figure,
    plot_side_by_side,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Methods:
    """All methods on all sets, four sources."""

    name: ClassVar[str] = "methods"
    title: ClassVar[str] = "All methods on the yeast sets"
    figure_text: ClassVar[str] = (
        "Ranking loss, micro-AUC and coverage error of every method on every yeast set, with "
        "the standard deviation between seeds; a cross where the paper prints a figure"
    )

    sets: tuple[str, ...] = YEAST
    sources: int = 4

    def cells(self, seeds: Sequence[int]) -> list[Cell]:
        """Return a cell for every set and seed."""
        return [
            Cell(YeastVotes(name, largest_split(name), self.sources, seed), all_methods(name))
            for name in self.sets
            for seed in seeds
        ]

    def rows(self, measured: Sequence[Measured]) -> list[Row]:
        """Return the table."""
        return tabulate(measured)

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Draw a mark for every method, side by side at each set."""
        figure = new_figure(len(VIEWS), len(METRIC_ORDER), width=10, height=6)
        for panel_number, (view, metric) in enumerate((v, m) for v in VIEWS for m in METRIC_ORDER):
            axes = figure.axes[panel_number]
            series = {
                method: [
                    (row.value, row.sd)
                    for name in self.sets
                    for row in select(rows, set=name, method=method, view=view, metric=metric)
                ]
                for method in COMPARED
            }
            plot_side_by_side(axes, self.sets, series)
            published_points = [
                (self.sets.index(row.set), row.published)
                for row in select(rows, view=view, metric=metric)
                if row.published is not None
            ]
            if published_points:
                axes.plot(
                    *zip(*published_points, strict=True), label="mhpc, published", **PUBLISHED_STYLE
                )
            if metric != "micro_auc":
                log_scale(axes)
            label_axes(axes, x="", metric=metric)
            axes.set_title(f"{view} truth")
        legend_below(figure, figure.axes[0])
        return figure

    def report(self, rows: Sequence[Row], measured: Sequence[Measured]) -> ExperimentReport:
        """Report how the methods rank, and whether differences exceed chance."""
        settings = published()["settings"]
        setting = (
            f"Eight yeast sets, {self.sources} sources generated with alpha_vague = "
            f"{settings['alpha_vague']:g} and alpha_noise = {settings['alpha_noise']:g}, the "
            f"paper's lambda for each set, sigma = 0.3; mean ± standard deviation over "
            f"{count_seeds(rows)}, the rank in brackets. The paper prints such a table "
            "for its medical data only; of these sets it prints only mhpc on cellcycle. expr "
            "is its test split, and its genes have the labels of gasch2, so the sets are not eight "
            "independent draws: read the paired test as a summary, not as proof."
        )
        tables = [self._table(rows, view, metric) for view in VIEWS for metric in METRIC_ORDER]
        tables.append(self._tests(rows))
        return ExperimentReport(setting, self._findings(rows), tables)

    def _findings(self, rows: Sequence[Row]) -> list[str]:
        findings = []
        for view in VIEWS:
            mean = {
                method: sum(self._rank(rows, name, view, metric)[method]
                            for name in self.sets for metric in METRIC_ORDER)
                / (len(self.sets) * len(METRIC_ORDER))
                for method in COMPARED
            }  # fmt: skip
            order = sorted(mean, key=mean.__getitem__)
            findings.append(
                f"{view} truth, mean rank over sets and metrics: "
                + ", ".join(f"{method} {mean[method]:.1f}" for method in order)
                + "."
            )
        return findings + [
            f"Ranking loss of mhpc on {row.set}: {row.published:.3f} as published, here "
            f"{format_mean(row)}."
            for row in rows
            if row.published is not None and row.metric == "ranking_loss"
        ]

    def _rank(self, rows: Sequence[Row], set_: str, view: str, metric: str) -> dict[str, int]:
        values = [
            only(rows, set=set_, method=method, view=view, metric=metric).value
            for method in COMPARED
        ]
        return dict(zip(COMPARED, ranks(metric, values), strict=True))

    def _table(self, rows: Sequence[Row], view: str, metric: str) -> Table:
        lines = []
        total = dict.fromkeys(COMPARED, 0)
        for name in self.sets:
            rank = self._rank(rows, name, view, metric)
            cells = [name]
            for method in COMPARED:
                row = only(rows, set=name, method=method, view=view, metric=metric)
                cells.append(f"{format_mean(row)} ({rank[method]})")
                total[method] += rank[method]
            lines.append(cells)
        means = [f"({total[method] / len(self.sets):.1f})" for method in COMPARED]
        return Table(f"{metric}, {view} truth", ["set", *COMPARED], [*lines, ["mean rank", *means]])

    def _tests(self, rows: Sequence[Row]) -> Table:
        """Compare mhpc with every other method, set by set."""
        from scipy.stats import wilcoxon

        lines = []
        for other in [method for method in COMPARED if method != "mhpc"]:
            for view in VIEWS:
                for metric in METRIC_ORDER:
                    ours, theirs = (
                        [only(rows, set=name, method=method, view=view, metric=metric).value
                         for name in self.sets]
                        for method in ("mhpc", other)
                    )  # fmt: skip
                    pairs = list(zip(ours, theirs, strict=True))
                    wins = sum(better(metric, a, b) for a, b in pairs)
                    same = all(a == b for a, b in pairs)
                    p = 1.0 if same else float(wilcoxon(ours, theirs).pvalue)
                    gap = sum(a - b for a, b in pairs) / len(pairs)
                    lines.append(
                        [other, view, metric, f"{wins} of {len(pairs)}", format_value(metric, gap),
                         f"{p:.3f}"]
                    )  # fmt: skip
        return Table(
            "mhpc against each other method, sets as pairs: Wilcoxon signed-rank test, two-sided",
            ["against", "view", "metric", "mhpc is better on", "mean difference", "p"],
            lines,
        )
