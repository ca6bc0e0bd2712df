"""``mhpc reproduce``: the paper's tables and figures beside the published ones."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mhpc.cli.options import as_json, progress_option, show
from mhpc.cli.progress import Show, StderrProgress

if TYPE_CHECKING:
    from mhpc.paper.run import Reproduced


@click.command(short_help="Run the paper's experiments.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
    help="Folder that holds yeast_funcat/. Unless given, the folder that the environment "
    "variable MHPC_DATA names, or else a download that is kept.",
)  # fmt: skip
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="OUT/",
    help="Folder for tables, figures and pages. It also keeps what is finished: the same command "
    "goes on where it was interrupted.",
)  # fmt: skip
@click.option(
    "--seeds", default=5, show_default=True, type=click.IntRange(min=1),
    help="How often sources are generated anew; figures are means. convergence and lambda use 3 at "
    "most, sensitivity 2: their many cells differ by less than they show.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="The first seed."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), show_default="one a core",
    help="Processes. The figures do not depend on it.",
)  # fmt: skip
@progress_option
@as_json
def reproduce(
    names: tuple[str, ...],
    data: Path | None,
    output: Path,
    seeds: int,
    seed: int,
    jobs: int | None,
    show_progress: Show,
    as_json: bool,
) -> None:
    """Run the paper's experiments and lay the published figures beside ours.

    NAME is sources, convergence, lambda, sensitivity, methods, medical or all, the default. Each
    writes a tidy table NAME.csv, a figure NAME.svg and NAME.png, and a page NAME.html.
    """
    from mhpc.paper.run import reproduce as run
    from mhpc.paper.run import select_experiments
    from mhpc.system.parallel import core_count

    with StderrProgress(show_progress) as progress:
        done = run(
            select_experiments(names), output, data=data, seeds=range(seed, seed + seeds),
            jobs=jobs or core_count(), progress=progress,
        )  # fmt: skip
    show(done, lambda found: _told(found, output), as_json=as_json)


def _told(done: "list[Reproduced]", output: Path) -> str:
    parts = []
    for each in done:
        findings = "\n".join(f"- {finding}" for finding in each.report.findings)
        files = ", ".join(each.files)
        parts.append(f"{each.title}\n{findings}\n{files} in {output}/\n")
    return "\n".join(parts)
