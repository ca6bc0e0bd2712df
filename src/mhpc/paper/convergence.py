"""Figure 5 of the paper: what iterating does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mhpc.datasets.yeast import YEAST, largest_split
from mhpc.errors import pluralize
from mhpc.paper.cells import VIEWS, Cell, Measured, Variant, YeastVotes
from mhpc.paper.experiment import METRIC_ORDER, Row, format_value, only, select, tabulate
from mhpc.paper.published import published, published_lambda
from mhpc.paper.render import (
    METRIC_NAMES,
    ExperimentReport,
    Table,
    label_axes,
    legend_below,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALL_SIGMA = 0.01


@dataclass(frozen=True)
class Convergence:
    """The metrics and the spread after every iteration, for two update rules."""

    name: ClassVar[str] = "convergence"
    title: ClassVar[str] = "Convergence: the metrics after every iteration"
    figure_text: ClassVar[str] = (
        "Ranking loss, micro-AUC, coverage error and the spread between instances against the "
        "iteration: one line per data set, one column per update rule"
    )

    sets: tuple[str, ...] = YEAST
    sources: int = 4
    iterations: int = 10
    max_seeds: int = 3

    def cells(self, seeds: Sequence[int]) -> list[Cell]:
        """Return a cell for every set and seed."""
        return [
            Cell(
                YeastVotes(name, largest_split(name), self.sources, seed),
                self._updates(name),
                every_iteration=True,
            )
            for name in self.sets
            for seed in seeds[: self.max_seeds]
        ]

    def _updates(self, set_: str) -> tuple[Variant, ...]:
        # No early stopping: the later iterations are the point.
        common = (("lam", published_lambda(set_)), ("tol", 0.0), ("max_iter", self.iterations))
        previous = (*common, ("anchor", "previous"), ("average", "all-sources"))
        return (
            Variant("mhpc, the paper's update, sigma=0.3", "mhpc", (*previous, ("sigma", 0.3))),
            Variant(
                f"mhpc, the paper's update, sigma={SMALL_SIGMA:g}", "mhpc",
                (*previous, ("sigma", SMALL_SIGMA)),
            ),
            Variant("mhpc, anchored to the mean, sigma=0.3", "mhpc", (*common, ("sigma", 0.3))),
        )  # fmt: skip

    def rows(self, measured: Sequence[Measured]) -> list[Row]:
        """Return the table, with the spread and the change of each iteration."""
        rows = tabulate(measured, lambda cell, record: {"iteration": record["iteration"]})
        beside = {}
        for name in ("spread", "change"):
            means: dict[tuple[str, str, int], list[float]] = {}
            for result in measured:
                for record in result.records:
                    if "variant" in record:
                        method = result.cell.variants[record["variant"]].label
                        key = (result.cell.votes.set, method, record["iteration"])
                        means.setdefault(key, []).append(record[name])
            beside[name] = {key: sum(group) / len(group) for key, group in means.items()}
        return [
            Row(
                row.set, row.method, row.sources, row.view, row.metric, row.values, row.published,
                {
                    **row.axes,
                    **{
                        name: means[row.set, row.method, row.axes["iteration"]]
                        for name, means in beside.items()
                    },
                },
            )
            for row in rows
        ]  # fmt: skip

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Draw one column per update rule and one row per metric, the spread last."""
        updates = list(dict.fromkeys(row.method for row in rows))
        figure = new_figure(len(METRIC_ORDER) + 1, len(updates), height=9)
        for column, update in enumerate(updates):
            for line, metric in enumerate((*METRIC_ORDER, "spread")):
                axes = figure.axes[line * len(updates) + column]
                measured = "ranking_loss" if metric == "spread" else metric
                for name in self.sets:
                    points = select(rows, set=name, method=update, view="specific", metric=measured)
                    axes.plot(
                        [row.axes["iteration"] for row in points],
                        [
                            row.axes["spread"] if metric == "spread" else row.value
                            for row in points
                        ],
                        label=name, **_line(name, self.sets),
                    )  # fmt: skip
                axes.set_xticks(range(0, self.iterations + 1, 2))
                if metric in METRIC_NAMES:
                    label_axes(axes, x="iteration", metric=metric)
                else:
                    axes.set_xlabel("iteration")
                    axes.set_ylabel("spread between instances\n(1: as in the votes, 0: all equal)")
                if line == 0:
                    axes.set_title(update.removeprefix("mhpc, "))
        _share_scales(figure, len(METRIC_ORDER) + 1, len(updates))
        legend_below(figure, figure.axes[0], columns=8)
        return figure

    def report(self, rows: Sequence[Row], measured: Sequence[Measured]) -> ExperimentReport:
        """Report whether iterating helps."""
        settings = published()["settings"]
        seeds = len(rows[0].values)
        setting = (
            f"Eight yeast sets, {self.sources} sources generated with alpha_vague = "
            f"{settings['alpha_vague']:g} and alpha_noise = {settings['alpha_noise']:g}, the "
            f"paper's lambda for each set, {pluralize(seeds, 'seed')}; "
            "iteration 0 is the first closed-form solve. The figure shows the specific view. "
            "The paper shows curves without figures and says that all three metrics keep "
            "improving as the iteration goes on. "
            "expr is its test split (the archive has no train split); its genes have the labels "
            "of gasch2."
        )
        return ExperimentReport(setting, self._findings(rows), self._tables(rows))

    def _findings(self, rows: Sequence[Row]) -> list[str]:
        updates = list(dict.fromkeys(row.method for row in rows))
        return [self._finding(rows, update) for update in updates]

    def _finding(self, rows: Sequence[Row], update: str) -> str:
        def mean(iteration: int, what: str) -> float:
            points = select(
                rows, method=update, iteration=iteration, view="specific", metric="ranking_loss"
            )
            values = [row.axes["spread"] if what == "spread" else row.value for row in points]
            return sum(values) / len(values)

        losses = [mean(iteration_number, "loss") for iteration_number in range(self.iterations + 1)]
        best = min(range(len(losses)), key=losses.__getitem__)
        last = self.iterations
        direction = (
            "converges" if abs(losses[last] / losses[0] - 1) < 0.05
            else "gets worse" if losses[last] > losses[0]
            else "improves"
        )  # fmt: skip
        return (
            f"{update}: {direction}. Ranking loss, mean of the sets: {losses[0]:.4f} after the "
            f"first solve, {losses[last]:.4f} after {last} iterations (best {losses[best]:.4f} "
            f"after {best}); spread {mean(0, 'spread'):.3f}, then {mean(last, 'spread'):.3f}."
        )

    def _tables(self, rows: Sequence[Row]) -> list[Table]:
        ends = (0, 1, 2, self.iterations)
        return [
            Table(
                f"{update}, {view} truth, {metric}, after iteration",
                ["set", *map(str, ends)],
                [
                    [
                        name,
                        *(
                            format_value(metric, only(
                                rows, set=name, method=update, view=view, metric=metric,
                                iteration=iteration_number,
                            ).value)
                            for iteration_number in ends
                        ),
                    ]
                    for name in self.sets
                ],
            )
            for update in dict.fromkeys(row.method for row in rows)
            for view in VIEWS
            for metric in METRIC_ORDER
        ]  # fmt: skip


def _line(name: str, sets: Sequence[str]) -> dict[str, Any]:
    return {**style(name, sets), "markersize": 3}


def _share_scales(figure: "Figure", lines: int, columns: int) -> None:
    """Give all axes of a row the same scale, so that columns can be compared."""
    for line in range(lines):
        row = figure.axes[line * columns : (line + 1) * columns]
        low = min(axes.get_ylim()[0] for axes in row)
        high = max(axes.get_ylim()[1] for axes in row)
        for axes in row:
            axes.set_ylim(low, high)
