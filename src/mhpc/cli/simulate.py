"""``mhpc simulate``: votes of imperfect sources, made from a truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mhpc.cli.options import check_taxonomy_options, given_settings, progress_option, setting
from mhpc.cli.progress import Display, show_stage
from mhpc.parameters import MAX_SEED
from mhpc.settings import RunSettings
from mhpc.system.files import STDOUT, check_target

if TYPE_CHECKING:
    from mhpc.data.taxonomy import Taxonomy
    from mhpc.data.votes import Truth


MAX_SOURCES = 1_000_000
"""The largest number of sources that can be asked for."""


@click.command(short_help="Simulate votes from a truth.")
@click.argument("truth")
@click.option("--taxonomy", metavar="FILE", help="The taxonomy; an ARFF file already contains one.")
@setting("taxonomy_format")
@setting("columns")
@setting("separator")
@click.option(
    "--sources", default=4, show_default=True, type=click.IntRange(1, MAX_SOURCES),
    help="Number of sources.",
)  # fmt: skip
@click.option(
    "--vague", "--specificity", "specificity", default=0.8, show_default=True,
    type=click.FloatRange(0, 1),
    help="The paper's alpha_vague: a label on level l is given as it is with probability "
    "alpha ** l, so that smaller values make vaguer sources.",
)  # fmt: skip
@click.option(
    "--noise", "--accuracy", "accuracy", default=0.5, show_default=True,
    type=click.FloatRange(0, 1),
    help="The paper's alpha_noise: the probability that a label is not replaced by one of its "
    "siblings, so that smaller values make noisier sources.",
)  # fmt: skip
@click.option(
    "--coverage", default=1.0, show_default=True, type=click.FloatRange(0, 1),
    help="The probability that a source answers an instance.",
)  # fmt: skip
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0, MAX_SEED),
    help="The random seed.",
)
@click.option(
    "-o", "--output", default="-", show_default=True, metavar="FILE",
    help="CSV file for the votes; - is standard output.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@progress_option
def simulate(
    truth: str,
    taxonomy: str | None,
    sources: int,
    specificity: float,
    accuracy: float,
    coverage: float,
    seed: int,
    output: str,
    force: bool,
    display: Display,
    **values: Any,
) -> None:
    """Simulate the votes of imperfect sources from TRUTH (Algorithm 2 of the paper).

    TRUTH is a table with the columns instance and label, or a Clus HMC ARFF file, plain or gzipped.
    """
    from mhpc.simulation.sources import Profile
    from mhpc.simulation.sources import simulate as simulate_votes
    from mhpc.write.formats import format_from_suffix
    from mhpc.write.tables import write_file

    if output != STDOUT:
        check_target(Path(output), force=force)
    if truth == taxonomy == "-":
        raise click.UsageError("only one of TRUTH and --taxonomy can be standard input")
    profile = Profile(specificity=specificity, accuracy=accuracy, coverage=coverage)
    settings = given_settings({"taxonomy": taxonomy, **values})
    check_taxonomy_options(settings)
    with show_stage("simulating", display):
        true_labels, labels = _read(truth, RunSettings(votes="-", **settings))
        votes = simulate_votes(true_labels, labels, [profile] * sources, seed=seed)
    write_file(output, votes, "votes", format=format_from_suffix(output) or "csv", force=force)


def _read(truth: str, settings: RunSettings) -> "tuple[Truth, Taxonomy]":
    from mhpc.read.arff import read_arff
    from mhpc.read.files import local_file
    from mhpc.read.taxonomy import read_taxonomy
    from mhpc.read.truth import read_truth_as

    if settings.taxonomy is not None:
        taxonomy = read_taxonomy(
            settings.taxonomy,
            columns=settings.columns_of("taxonomy"),
            format=settings.taxonomy_format,
        )
        return read_truth_as(truth, settings.read_options("truth")), taxonomy
    with local_file(truth) as file:
        if file.format != "arff":
            raise click.UsageError(
                f"--taxonomy FILE is missing; only an ARFF file contains a taxonomy, and "
                f"{file.name} is not one"
            )
        dataset = read_arff(file)
    return dataset.truth, dataset.taxonomy
