"""``mhpc reproduce``: the paper's tables and figures beside the published ones."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mhpc.cli.options import json_option, progress_option, show
from mhpc.cli.progress import Display, StderrProgress
from mhpc.parameters import MAX_SEED

if TYPE_CHECKING:
    from mhpc.paper.run import Reproduced


@click.command(short_help="Run the experiments of the paper.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
    help="Folder that contains yeast_funcat/. Default: the folder named by the environment "
    "variable MHPC_DATA, otherwise the data are downloaded once.",
)  # fmt: skip
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="OUT/",
    help="Folder for tables, figures and pages. Finished parts are kept there: after an "
    "interruption, the same command resumes.",
)  # fmt: skip
@click.option(
    "--seeds", default=5, show_default=True, type=click.IntRange(min=1),
    help="How many times sources are simulated; results are means. convergence and lambda use at "
    "most 3, sensitivity at most 2, because their results vary little.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, MAX_SEED), help="The first seed."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), show_default="one per core",
    help="Number of processes. It does not change the results.",
)  # fmt: skip
@progress_option
@json_option
def reproduce(
    names: tuple[str, ...],
    data: Path | None,
    output: Path,
    seeds: int,
    seed: int,
    jobs: int | None,
    display: Display,
    as_json: bool,
) -> None:
    """Run the experiments of the paper, and show the published results beside ours.

    NAME is sources, convergence, lambda, sensitivity, methods, medical, or all (default: all). Each
    writes a table NAME.csv, a figure NAME.svg and NAME.png, and a page NAME.html.
    """
    from mhpc.paper.run import reproduce as run_experiments
    from mhpc.paper.run import select_experiments
    from mhpc.system.parallel import core_count

    with StderrProgress(display) as progress:
        experiments = run_experiments(
            select_experiments(names), output, data=data, seeds=range(seed, seed + seeds),
            jobs=jobs or core_count(), progress=progress,
        )  # fmt: skip
    show(experiments, lambda experiments: _render(experiments, output), as_json=as_json)


def _render(experiments: "list[Reproduced]", output: Path) -> str:
    parts = []
    for experiment in experiments:
        findings = "\n".join(f"- {finding}" for finding in experiment.report.findings)
        files = ", ".join(experiment.files)
        parts.append(f"{experiment.title}\n{findings}\n{files} in {output}/\n")
    return "\n".join(parts)
