"""Table 5 of the paper, on a stand-in: consultations that are not public cannot be run again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mhpc.paper.cells import VIEWS, Cell, DepartmentVotes, Measured
from mhpc.paper.experiment import (
    COMPARED,
    METRIC_ORDER,
    PAPER_METHODS,
    Row,
    all_methods,
    count_seeds,
    describe_votes,
    format_mean,
    format_published,
    only,
    ranks,
    select,
    tabulate,
)
from mhpc.paper.published import published, published_lambda
from mhpc.paper.render import (
    ExperimentReport,
    Table,
    label_axes,
    legend_below,
    new_figure,
    plot_side_by_side,
)
from mhpc.simulation.departments import Department

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _printed(set_: str, method: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = published()["medical"]["values"]
    return next(row for row in rows if (row["set"], row["method"]) == (set_, method))


@dataclass(frozen=True)
class Medical:
    """All methods on six simulated departments."""

    name: ClassVar[str] = "medical"
    title: ClassVar[str] = "Sparse answers: six simulated departments beside the medical data"
    figure_text: ClassVar[str] = (
        "Ranking loss, micro-AUC and coverage error of every method: above as published for the "
        "medical data, below on six simulated departments"
    )

    patients: int = int(published()["medical"]["instances"])

    @property
    def departments(self) -> dict[str, Department]:
        """The stand-in of each medical set, with as many labels as its published figures suggest.

        Under plain averaging a true label that no doctor named ties with all others that nobody
        named, at the end of the ranking. It then costs about all of its pairs in ranking loss
        and all K labels in coverage, so that their ratio is about K.
        """
        facts = published()["medical"]
        names = list(dict.fromkeys(row["set"] for row in facts["values"]))
        return {
            name: Department(
                labels=round(
                    _printed(name, "sa")["coverage_error"] / _printed(name, "sa")["ranking_loss"]
                ),
                patients=self.patients,
                labels_per_answer=facts["labels_per_answer"],
                share_of_labels_given=facts["share_of_labels_given"],
            )
            for name in names
        }

    @property
    def stand_ins(self) -> dict[str, str]:
        """Names of the departments that nobody takes for the originals."""
        return {name: f"stand-in {number + 1}" for number, name in enumerate(self.departments)}

    def cells(self, seeds: Sequence[int]) -> list[Cell]:
        """Return a cell for every department and seed."""
        return [
            Cell(DepartmentVotes(self.stand_ins[name], department, seed), all_methods("medical"))
            for name, department in self.departments.items()
            for seed in seeds
        ]

    def rows(self, measured: Sequence[Measured]) -> list[Row]:
        """Return the table."""
        return tabulate(measured)

    def draw(self, rows: Sequence[Row]) -> "Figure":
        """Draw the published table above and ours, in both views, below."""
        figure = new_figure(1 + len(VIEWS), len(METRIC_ORDER), height=7.6)
        for column, metric in enumerate(METRIC_ORDER):
            published_series = {
                method: [(_printed(name, method)[metric], None) for name in self.departments]
                for method in PAPER_METHODS
            }
            plot_side_by_side(figure.axes[column], list(self.departments), published_series)
            label_axes(figure.axes[column], x="", metric=metric)
            figure.axes[column].set_title("published")
            for line, view in enumerate(VIEWS, start=1):
                axes = figure.axes[line * len(METRIC_ORDER) + column]
                series = {
                    method: [
                        (row.value, row.sd)
                        for name in self.stand_ins.values()
                        for row in select(rows, set=name, method=method, view=view, metric=metric)
                    ]
                    for method in COMPARED
                }
                plot_side_by_side(axes, list(self.stand_ins.values()), series)
                label_axes(axes, x="", metric=metric)
                axes.set_title(f"stand-in, {view} truth")
        legend_below(figure, figure.axes[len(METRIC_ORDER)])
        return figure

    def report(self, rows: Sequence[Row], measured: Sequence[Measured]) -> ExperimentReport:
        """Report what the stand-in and the published figures have in common."""
        facts = {name: describe_votes(measured, name) for name in self.stand_ins.values()}
        shares = [fact["share_of_labels_given"] for fact in facts.values()]
        per_answer = [fact["labels_per_answer"] for fact in facts.values()]
        true = [fact["true_labels"] for fact in facts.values()]
        setting = (
            "This is a stand-in, not a reproduction: the medical data MED.1 to 6 are not public, "
            "so six departments were simulated that pose the same kind of problem. Each has "
            f"{self.patients} patients and a hierarchy of three levels, as "
            "many labels as the published figures of sa suggest (coverage error divided by "
            f"ranking loss); doctors answer few patients, with {_mean(per_answer):.2f} labels "
            f"per answer, so that {100 * _mean(shares):.4f} % of the cube of patients, doctors "
            f"and labels is filled (published: about "
            f"{published()['medical']['labels_per_answer']:g} and "
            f"{100 * published()['medical']['share_of_labels_given']:.4f} %); patients have "
            f"{_mean(true):.1f} diseases, more than any doctor names. lambda = "
            f"{published_lambda('medical'):g} as in the paper, sigma = 0.3; means over "
            f"{count_seeds(rows)}. The last published set is printed as MED.7."
        )
        tables = [self._sizes(facts)]
        tables += [self._ours(rows, view) for view in VIEWS]
        tables.append(self._published())
        return ExperimentReport(setting, self._findings(rows), tables)

    def _findings(self, rows: Sequence[Row]) -> list[str]:
        published_ranks = {
            method: _mean([
                float(_printed(name, method)["ranks"][metric])
                for name in self.departments for metric in METRIC_ORDER
            ])
            for method in PAPER_METHODS
        }  # fmt: skip
        findings = [f"Mean rank over sets and metrics, published: {_in_order(published_ranks)}."]
        for view in VIEWS:
            ours = {
                method: _mean([
                    float(self._ranks(rows, name, view, metric, PAPER_METHODS)[method])
                    for name in self.stand_ins.values() for metric in METRIC_ORDER
                ])
                for method in PAPER_METHODS
            }  # fmt: skip
            findings.append(
                f"Mean rank of the same methods on the stand-in, {view} truth: {_in_order(ours)}."
            )
        worst = {
            method: _mean([
                only(rows, set=name, method=method, view="specific", metric="ranking_loss").value
                for name in self.stand_ins.values()
            ])
            for method in PAPER_METHODS
        }  # fmt: skip
        smooth = min(worst["mlcm"], worst["mpc-u"], worst["mhpc"])
        findings.append(
            "In common: averages cannot rank what no doctor named (ranking loss "
            f"{worst['sa']:.3f} for sa), methods that use similar patients can "
            f"({smooth:.3f} for the best of mlcm, mpc-u and mhpc)."
            if smooth < worst["sa"]
            else "Different: here averaging is not beaten by methods that use similar patients."
        )
        gap = abs(worst["mhpc"] - worst["mpc-u"])
        findings.append(
            f"Support weights make a difference of {gap:.4f} in ranking loss between mhpc and "
            "mpc-u here; the published difference is "
            f"""{
                _mean(
                    [
                        _printed(name, "mpc-u")["ranking_loss"]
                        - _printed(name, "mhpc")["ranking_loss"]
                        for name in self.departments
                    ]
                ):.3f} in the mean."""
        )
        return findings

    def _ranks(
        self, rows: Sequence[Row], set_: str, view: str, metric: str, methods: Sequence[str]
    ) -> dict[str, int]:
        values = [
            only(rows, set=set_, method=method, view=view, metric=metric).value
            for method in methods
        ]
        return dict(zip(methods, ranks(metric, values), strict=True))

    def _sizes(self, facts: dict[str, dict[str, float]]) -> Table:
        return Table(
            "The departments, mean over seeds",
            ["set", "labels", "doctors", "answers", "labels per answer", "cube filled, %",
             "diseases per patient"],
            [
                [
                    name, f"{fact['labels']:.0f}", f"{fact['sources']:.0f}",
                    f"{fact['answers']:.0f}", f"{fact['labels_per_answer']:.2f}",
                    f"{100 * fact['share_of_labels_given']:.4f}", f"{fact['true_labels']:.1f}",
                ]
                for name, fact in facts.items()
            ],
        )  # fmt: skip

    def _ours(self, rows: Sequence[Row], view: str) -> Table:
        lines = []
        for name in self.stand_ins.values():
            by_metric = {
                metric: self._ranks(rows, name, view, metric, list(COMPARED))
                for metric in METRIC_ORDER
            }
            for method in COMPARED:
                cells = [name, method]
                for metric in METRIC_ORDER:
                    row = only(rows, set=name, method=method, view=view, metric=metric)
                    cells.append(f"{format_mean(row)} ({by_metric[metric][method]})")
                lines.append(cells)
        return Table(f"On the stand-in, {view} truth", ["set", "method", *METRIC_ORDER], lines)

    def _published(self) -> Table:
        lines = [
            [
                name,
                method,
                *(
                    f"{format_published(row[metric])} ({row['ranks'][metric]})"
                    for metric in METRIC_ORDER
                ),
            ]
            for name in self.departments
            for method in PAPER_METHODS
            for row in [_printed(name, method)]
        ]
        return Table("As published, ranks as printed", ["set", "method", *METRIC_ORDER], lines)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _in_order(mean_rank: dict[str, float]) -> str:
    order = sorted(mean_rank, key=mean_rank.__getitem__)
    return ", ".join(f"{method} {mean_rank[method]:.1f}" for method in order)
