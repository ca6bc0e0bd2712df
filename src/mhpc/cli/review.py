"""``mhpc review``: review a run in the browser, and consolidate again."""

from pathlib import Path

import click

from mhpc.cli.messages import say
from mhpc.cli.options import progress_option, setting, votes_option
from mhpc.cli.progress import Display, StderrProgress
from mhpc.errors import pluralize


@click.command(short_help="Review instances of a run in the browser.")
@click.argument("folder", metavar="OUT/", type=click.Path(path_type=Path))
@votes_option
@setting("show")
@setting("embed_images")
@click.option(
    "--reviews", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where answers are saved.  [default: OUT-review/ beside OUT/]",
)  # fmt: skip
@click.option(
    "--host", default="127.0.0.1", metavar="HOST", show_default=True,
    help="The interface to listen on. Anything else than this machine lets others on the network "
    "reach the page, unencrypted; they still need the token.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT",
    help="The port to listen on.  [default: a free one]",
)  # fmt: skip
@click.option(
    "--open/--no-open", "in_browser", default=False, show_default=True, help="Open the page."
)
@progress_option
def review(
    folder: Path,
    votes: tuple[str, ...],
    show: str | None,
    embed_images: str | None,
    reviews: Path | None,
    host: str,
    port: int,
    in_browser: bool,
    display: Display,
) -> None:
    """Serve the page of OUT/ to reviewers, and save their answers as they are given.

    Print the address of the page, with a secret token in it; whoever has it can answer. Answers are
    saved in OUT-review/: reviews.csv, all answers as votes, and gold.csv, the instances on which
    all reviewers agree. The page can consolidate again with these as gold labels, into
    OUT-review/result/, and shows what that changes. OUT/ itself stays as it is. Stop with Ctrl+C;
    start again to continue.
    """
    from mhpc.read.show import find_show
    from mhpc.review.consolidation import load_reviewed_run
    from mhpc.review.files import open_review_folder
    from mhpc.review.server import Address, is_loopback, serve
    from mhpc.review.session import Session

    def announce(address: Address) -> None:
        click.echo(address.url)
        say(f"Answers are saved in {session.folder.reviews}; stop with Ctrl+C")
        if not is_loopback(host):
            say(
                f"mhpc: warning: others on the network can reach this page at {address.host}; it "
                "is not encrypted, and whoever has the address with its token can read and answer"
            )
        if in_browser:
            click.launch(address.url)

    with open_review_folder(folder, reviews) as review_folder:
        with StderrProgress(display) as progress:
            progress("reading the run", 0, 0)
            source = find_show(folder, show, embed_images)
            run = load_reviewed_run(folder, votes=votes, show=source)
            session = Session(run, review_folder)
        try:
            serve(session, host=host, port=port, ready=announce)
        finally:
            say(
                f"{pluralize(len(session.reviews.answers), 'answer')} "
                f"({pluralize(len(session.reviews.settle()), 'settled instance')}) saved in "
                f"{review_folder.path}"
            )
            session.wait()
