"""``mhpc report``: a run as an HTML page."""

import sys
from pathlib import Path

import click

from mhpc.cli.messages import to_one_line
from mhpc.cli.options import progress_option, setting, votes_option
from mhpc.cli.progress import Display, StderrProgress


@click.command(short_help="Make an HTML page of a run.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@votes_option
@setting("show")
@setting("embed_images")
@progress_option
def report(
    folder: Path,
    votes: tuple[str, ...],
    show: str | None,
    embed_images: str | None,
    display: Display,
) -> None:
    """Write OUT/report.html, and the data that it shows as OUT/report.json.

    The page is one file that loads nothing from the network: it can be opened from disk and shared.
    It shows the labels and why they were chosen, the taxonomy, the sources, and the instances to
    review. The votes that OUT/ was made from are read again.
    """
    from mhpc.read.run_folder import one_run
    from mhpc.read.show import find_show
    from mhpc.report.html import write_report
    from mhpc.run import page_data_of_run

    with StderrProgress(display) as progress:
        progress("writing the report", 0, 0)
        source = find_show(folder, show, embed_images)
        with one_run(folder):
            facts = page_data_of_run(folder, votes=votes, show=source)
        write_report(folder, facts)
    page = folder / "report.html"
    # The exact name is for programs.
    click.echo(to_one_line(page) if sys.stdout.isatty() else page)
