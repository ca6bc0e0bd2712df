"""``mhpc demo``: the main job on the bundled example."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mhpc.cli.messages import to_one_line
from mhpc.cli.options import print_rich, progress_option
from mhpc.cli.progress import Display, StderrProgress

if TYPE_CHECKING:
    from mhpc.data.scorecard import Scorecard
    from mhpc.datasets.garden import Dataset
    from mhpc.result import Result

_FILES = {
    "report.html": "everything above and more, as a page: open it in a browser",
    "report.json": "the data behind the page",
    "items.csv": "one row per photograph: its most specific labels, and how much to trust them",
    "labels.csv": "the labels of each photograph, with their ancestors",
    "scores.parquet": "the score of every label for each photograph",
    "sources.csv": "one row per person: coverage, accuracy, dependence on others",
    "taxonomy.csv": "the taxonomy",
    "model.npz": "the fitted model, to score new votes with --apply",
    "run.json": "settings, versions and timings: all that is needed to repeat the run",
}


@click.command(short_help="Consolidate the bundled example.")
@click.option(
    "-o", "--output", default=Path("mhpc-demo"), show_default=True,
    type=click.Path(path_type=Path), metavar="OUT/",
    help="Folder for the result; that of an earlier demo is replaced.",
)  # fmt: skip
@progress_option
def demo(output: Path, display: Display) -> None:
    """Consolidate the bundled example and compare the result with the truth.

    People name what they see in photographs of plants and animals, with labels on four levels, from
    "plant" down to "monarda". The methods do not see the truth; it is only used to compare them at
    the end.
    """
    from mhpc.api import consolidate
    from mhpc.datasets.garden import garden_folder, load_garden
    from mhpc.report.run_summary import render_summary
    from mhpc.report.terminal import render_scorecards
    from mhpc.run import run
    from mhpc.settings import RunSettings

    garden, folder = load_garden(), garden_folder()
    votes, taxonomy = folder / "votes.csv", folder / "taxonomy.csv"
    settings = RunSettings(votes=str(votes), taxonomy=str(taxonomy), top="all", report=True)
    with StderrProgress(display) as progress:
        summary = run(settings, output=output, force=True, progress=progress)
        result = consolidate(garden.votes, garden.taxonomy, progress=progress)
    click.echo(
        f"{len(garden.votes.sources)} people named what they saw in {len(garden.votes.instances)} "
        f"photographs, with {len(garden.taxonomy)} labels from 'plant' down to 'monarda'.\n"
        "Some answers are vague, some confuse similar species, and most people answered only some "
        "of the photographs."
    )
    _print_heading("One photograph: the answers, the result and the truth")
    _print_example(garden, result)
    _print_heading("All photographs")
    print_rich(render_summary(summary))
    _print_heading("Compared with the truth, which no method saw (labels with their ancestors)")
    print_rich(render_scorecards(_compare(garden, result)))
    _print_heading(to_one_line(f"Written to {output}/"))
    for name, content in _FILES.items():
        click.echo(f"{name:15} {content}")
    click.echo(f"\nNext: mhpc inspect {votes} --taxonomy {taxonomy}")


def _print_heading(text: str) -> None:
    click.secho(f"\n{text}\n", bold=True)


def _print_example(garden: "Dataset", result: "Result") -> None:
    """Print the answers, the result and the truth of the photograph with the most answers."""
    votes, truth = garden.votes, garden.truth
    row = int(result.panel.answers_per_instance.argmax())
    for source, name in enumerate(votes.sources):
        labels = votes.label[(votes.instance == row) & (votes.source == source)]
        if len(labels):
            names = (votes.labels[label] if label >= 0 else "none of these" for label in labels)
            click.echo(f"  {name:16} {', '.join(names)}")
    photograph = truth.instances.locate([result.panel.instances[row]])[0]
    true = truth.label[truth.instance == photograph]
    click.echo(f"  {'result':16} {', '.join(_most_specific(result, row))}")
    click.echo(f"  {'truth':16} {', '.join(truth.labels[label] for label in true)}")


def _most_specific(result: "Result", row: int) -> list[str]:
    """Return the labels of an instance that have no other of its labels below them."""
    chosen, taxonomy = result.decision.reason[[row]].indices, result.panel.taxonomy
    parents = {int(parent) for label in chosen for parent in taxonomy.parents_of(label)}
    return [taxonomy.labels[label] for label in chosen if label not in parents]


def _compare(garden: "Dataset", result: "Result") -> list[tuple[str, "Scorecard"]]:
    """Return the scorecards of the best single source, of simple averaging and of the default."""
    from mhpc.api import evaluate
    from mhpc.methods.averaging import SA

    panel, average = result.panel, SA(votes="augmented")
    alone = {
        name: evaluate(
            average.consolidate(panel.select_answers(panel.source == source)), garden.truth
        )
        for source, name in enumerate(panel.sources)
    }
    best = min(alone, key=lambda name: alone[name]["ranking_loss"])
    return [
        (f"best single source ({best})", alone[best]),
        ("average of all sources (sa)", evaluate(average.consolidate(panel), garden.truth)),
        ("default method (auto)", evaluate(result, garden.truth)),
    ]
