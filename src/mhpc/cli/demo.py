"""``mhpc demo``: the main job on the bundled example."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mhpc.cli.options import print_rich, progress_option
from mhpc.cli.progress import Show, StderrProgress

if TYPE_CHECKING:
    from mhpc.data.panel import Panel
    from mhpc.data.scorecard import Scorecard
    from mhpc.datasets.garden import Dataset
    from mhpc.result import Result


@click.command(short_help="Consolidate the bundled example.")
@click.option(
    "-o", "--output", default=Path("mhpc-demo"), show_default=True,
    type=click.Path(path_type=Path), metavar="OUT/",
    help="Folder for the result; an earlier one is replaced.",
)  # fmt: skip
@progress_option
def demo(output: Path, show_progress: Show) -> None:
    """Consolidate the bundled example and compare the result with the truth.

    People name what they see in photographs of plants and animals, with labels from four levels
    between "plant" and "monarda". Nobody tells the methods the truth; it serves to compare them
    at the end.
    """
    from mhpc.api import consolidate
    from mhpc.datasets.garden import garden_folder, load_garden
    from mhpc.report.run_summary import render_summary
    from mhpc.report.terminal import render_scorecards
    from mhpc.run import run
    from mhpc.settings import RunSettings

    garden, folder = load_garden(), garden_folder()
    settings = RunSettings(
        votes=str(folder / "votes.csv"), taxonomy=str(folder / "taxonomy.csv"), top="all",
        report=True,
    )  # fmt: skip
    with StderrProgress(show_progress) as progress:
        summary = run(settings, output=output, force=True, progress=progress)
        result = consolidate(garden.votes, garden.taxonomy, progress=progress)
    click.echo(
        f"{len(garden.votes.sources)} people name what they see in {len(garden.votes.instances)} "
        f"photographs, with {len(garden.taxonomy)} labels from 'plant' down to 'monarda'.\n"
        "Some are vague, some confuse siblings, most are silent most of the time."
    )
    _heading("The photograph that most of them saw: what they said, and what comes of it")
    _tell_one_case(garden, result)
    _heading("All photographs")
    print_rich(render_summary(summary))
    _heading("Against the truth, which no method saw: labels with their ancestors, closed view")
    print_rich(render_scorecards(_compare(garden, result)))
    _heading(f"Written to {output}/")
    click.echo("report.html     all of this to look at: open it in a browser")
    click.echo("report.json     its facts")
    click.echo("labels.csv      the label set of every photograph")
    click.echo("scores.parquet  a score for every label")
    click.echo("sources.csv     a row a person")
    click.echo("taxonomy.csv    the hierarchy")
    click.echo("model.npz       what was learnt, to score further votes by (--apply)")
    click.echo("run.json        settings, versions, timings and trace: what it takes to repeat it")
    click.echo(f"\nNext: mhpc inspect {folder / 'votes.csv'} --taxonomy {folder / 'taxonomy.csv'}")


def _heading(text: str) -> None:
    click.secho(f"\n{text}\n", bold=True)


def _tell_one_case(garden: "Dataset", result: "Result") -> None:
    """Show the photograph with the most answers."""
    panel, votes = result.panel, garden.votes
    case = int(panel.answers_per_instance.argmax())
    for m, source in enumerate(votes.sources):
        rows = (votes.instance == case) & (votes.source == m)
        said = [votes.labels[k] if k >= 0 else "none of these" for k in votes.label[rows]]
        if said:
            click.echo(f"  {source:16} {', '.join(said)}")
    photograph = panel.instances[case]
    true = garden.truth.label[
        garden.truth.instances.locate([photograph])[0] == garden.truth.instance
    ]
    click.echo(f"  {'result':16} {', '.join(_deepest(result, case))}")
    click.echo(f"  {'truth':16} {', '.join(garden.truth.labels[k] for k in true)}")


def _deepest(result: "Result", case: int) -> list[str]:
    """Return the decided labels that have no decided label below them."""
    chosen, taxonomy = result.decision.reason[[case]].indices, result.panel.taxonomy
    above = {int(parent) for label in chosen for parent in taxonomy.parents_of(label)}
    return [taxonomy.labels[label] for label in chosen if label not in above]


def _compare(garden: "Dataset", result: "Result") -> list[tuple[str, "Scorecard"]]:
    """Return scorecards of the best single person, simple averaging and the default."""
    from mhpc.api import evaluate
    from mhpc.methods.averaging import SA

    panel, averaging = result.panel, SA(votes="augmented")

    def alone(m: int) -> "Panel":
        return panel.select_answers(panel.source == m)

    single = {
        source: evaluate(averaging.consolidate(alone(m)), garden.truth)
        for m, source in enumerate(panel.sources)
    }
    best = min(single, key=lambda source: single[source]["ranking_loss"])
    return [
        (f"best single source ({best})", single[best]),
        ("sa, votes=augmented", evaluate(averaging.consolidate(panel), garden.truth)),
        ("auto, the default", evaluate(result, garden.truth)),
    ]
