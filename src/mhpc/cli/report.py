"""``mhpc report``: a run as a page."""

from pathlib import Path

import click

from mhpc.cli.options import progress_option, votes_option
from mhpc.cli.progress import Show, StderrProgress


@click.command(short_help="A run as a page to look at.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@votes_option
@progress_option
def report(folder: Path, votes: str | None, show_progress: Show) -> None:
    """Write OUT/report.html, and the facts that it shows as OUT/report.json.

    The page is one file that asks the network for nothing: it can be opened from disk and sent on.
    It shows what was decided and why, the hierarchy, the sources, and the instances worth a look.
    The votes that OUT/ was made of are read again.
    """
    from mhpc.report.html import write_report
    from mhpc.run import page_data_of_run

    with StderrProgress(show_progress) as progress:
        progress("reporting", 0, 0)
        write_report(folder, page_data_of_run(folder, votes=votes))
    click.echo(folder / "report.html")
