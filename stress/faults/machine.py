"""Faults of the machine: standard streams, resource limits, paths, killed runs, addresses."""

import os
import random
import signal
from collections.abc import Sequence

from stress.faults.attack import Attack, Step
from stress.faults.checks import same_labels
from stress.faults.listeners import LISTENERS, listen
from stress.faults.runner import Place

# Python itself does not start with a folder as a standard stream.
STDIN = ("null", "closed", "writing", "ended", "file:votes.csv", "zero", "full")
STDOUT = ("captured", "closed", "full", "broken", "reading", "null")
STDERR = ("captured", "closed", "full", "broken", "reading", "null")

DASK = "dask="

CLUSTER_SECONDS = 120.0
"""Seconds after which a command hangs that starts a cluster, which takes long on a busy machine."""

ADDRESS_SECONDS = 20.0
"""Seconds after which a command hangs that gets no answer; it should take half as long."""


def any_command(rng: random.Random, *, votes: str = "votes.csv") -> tuple[list[str], list[str]]:
    """Return a valid command on the samples, and what it writes."""
    out = rng.choice(("OUT-sa", "OUT-majority"))
    consolidate = ["consolidate", votes, "--taxonomy", "taxonomy.csv", "--method", "sa"]
    commands: Sequence[tuple[list[str], list[str]]] = (
        ([*consolidate, "-o", "OUT"], ["OUT"]),
        ([*consolidate, "-o", "OUT", "--report", "--json"], ["OUT"]),
        ([*consolidate, "-o", "OUT-sa", "--force"], ["OUT-sa"]),
        (["inspect", votes, "--taxonomy", "taxonomy.csv"], []),
        (["inspect", votes, "--json"], []),
        (["compare", votes, "--taxonomy", "taxonomy.csv", "--method", "sa"], []),
        (["evaluate", out, "--truth", "truth.csv"], []),
        (["evaluate", out, "--truth", "truth.csv", "--json"], []),
        (["explain", out, "photo-001"], []),
        (["conflicts", out], []),
        (["conflicts", out, "--json"], []),
        (["sources", out], []),
        (["report", out], [f"{out}/report.html", f"{out}/report.json"]),
        (["convert", out, "-", "--to", rng.choice(("csv", "jsonl", "parquet", "cafa"))], []),
        (["convert", votes, "-", "--to", rng.choice(("csv", "tsv", "xlsx"))], []),
        (["convert", "taxonomy.csv", "made.jsonl", "--what", "taxonomy"], ["made.jsonl"]),
        (["methods"], []),
        (["methods", "--json"], []),
        (["--version"], []),
        (["--help"], []),
        ([rng.choice(("consolidate", "report", "review", "demo", "sources")), "--help"], []),
        (["simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "-o", "-"], []),
        (["nothing"], []),
        ([], []),
    )
    return rng.choice(commands)


def _copy_all(place: Place) -> None:
    place.copy("votes.csv", "taxonomy.csv", "truth.csv", "OUT-sa", "OUT-majority")


def streams(place: Place, rng: random.Random) -> Attack:
    """Draw a command with closed, full, broken or wrong standard streams."""
    _copy_all(place)
    words, outputs = any_command(rng, votes=rng.choice(("votes.csv", "-")))
    stdin, stdout, stderr = (rng.choice(each) for each in (STDIN, STDOUT, STDERR))
    step = Step(words, outputs, stdin, stdout, stderr, fresh=True)
    return Attack(f"stdin {stdin}, stdout {stdout}, stderr {stderr}", [step])


def limits(place: Place, rng: random.Random) -> Attack:
    """Draw a command with little memory, few files, short files or a small stack."""
    _copy_all(place)
    votes = rng.choice(("votes.csv", "votes.csv", "votes.xlsx", "votes.parquet", "votes.arrow"))
    place.copy(*{votes} - {"votes.csv"})
    words, outputs = any_command(rng, votes=votes)
    drawn = (
        # Every size has the same chance relative to itself, and low ones matter most.
        ("RLIMIT_AS", _draw_size(rng, 60, 900)),
        ("RLIMIT_AS", _draw_size(rng, 900, 4000)),
        ("RLIMIT_DATA", _draw_size(rng, 40, 2000)),
        ("RLIMIT_NOFILE", rng.randint(8, 200)),
        ("RLIMIT_FSIZE", rng.choice((0, 1, 100, 4096, 20_000, 100_000))),
        ("RLIMIT_STACK", _draw_size(rng, 0.25, 64)),
        ("RLIMIT_CORE", 0),
    )
    chosen = dict(rng.sample(drawn, rng.choice((1, 1, 1, 2))))
    timeout = None
    if words[:1] == ["consolidate"] and rng.random() < 0.2:
        words, timeout = [*words, "--engine", "dask"], CLUSTER_SECONDS
    elif words[:1] == ["consolidate"] and rng.random() < 0.3:
        words = [*words, "--method", rng.choice(("auto", "channel", "mhpc", "dawid-skene"))]
    # The user may ask for more threads than there is memory for.
    threads = {"OPENBLAS_NUM_THREADS": rng.choice(("1", "2", "16", "64"))}
    environment = threads if rng.random() < 0.3 else {}
    step = Step(words, outputs, limits=chosen, environment=environment, timeout=timeout, fresh=True)
    return Attack(", ".join(f"{name} of {value:,}" for name, value in chosen.items()), [step])


def _draw_size(rng: random.Random, least: float, most: float) -> int:
    """Draw a number of bytes between two numbers of megabytes, uniformly on a log scale."""
    return int(least * (most / least) ** rng.random() * (1 << 20))


def paths(place: Place, rng: random.Random) -> Attack:
    """Draw an unusual path for an output or an input."""
    _copy_all(place)
    make, name = rng.choice(_PATHS), ""
    name = make(place, rng)
    out = name if rng.random() < 0.5 else f"{name}/{rng.choice(('x', '.', '..', 'a/b'))}"
    shapes = (
        ["consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o", out],
        ["convert", "votes.csv", out, "--to", "csv"],
        ["convert", "OUT-sa", out, "--to", "jsonl"],
        ["sources", "OUT-sa", "-o", out],
        ["simulate", "truth.csv", "--taxonomy", "taxonomy.csv", "-o", out],
        ["inspect", "votes.csv", "--taxonomy", out],
        ["inspect", out],
        ["inspect", "votes.csv", "--write-map", out],
        ["consolidate", out, "--method", "sa", "-o", "OUT"],
        ["consolidate", "votes.csv", "--config", out, "-o", "OUT"],
        ["consolidate", "votes.csv", "--apply", out, "-o", "OUT"],
        ["report", out], ["explain", out, "photo-001"], ["conflicts", out], ["convert", out, "-"],
        ["evaluate", "OUT-sa", "--truth", out], ["report", "OUT-sa", "--show", out],
    )  # fmt: skip
    words = rng.choice(shapes)
    if rng.random() < 0.5 and words[0] in ("consolidate", "convert", "sources", "simulate"):
        words = [*words, "--force"]
    root = os.path.normpath(out).split("/")[0]
    # What a link points to is written too.
    outputs = ["OUT", root, "target", "OUT-sa/report.html", "OUT-sa/report.json"]
    return Attack(f"the path {out[:80]!r}", [Step(words, outputs)])


def _link(place: Place, rng: random.Random) -> str:
    target = rng.choice(
        ("link", "other", "OUT-sa", "target", ".", "/dev/null", "link/x", "votes.csv")
    )
    (place.folder / "link").symlink_to(target)
    if target == "other":
        (place.folder / "other").symlink_to("link")
    if rng.random() < 0.5 and target == "target":
        place.folder.joinpath("target").mkdir()
    return "link"


def _long(_: Place, rng: random.Random) -> str:
    parts = [rng.choice(("x", "é", "🦋")) * rng.choice((60, 200, 250, 256, 5000))]
    return "/".join(parts * rng.choice((1, 2, 20)))


def _device(_: Place, rng: random.Random) -> str:
    return rng.choice(("/dev/null", "/dev/full", "/dev/stdin", "/dev/fd/9", "/proc/self/mem",
                       "/proc/self/x", "/proc", "/dev/zero/x", "/dev/urandom",
                       "/sys/kernel"))  # fmt: skip


def _strange(_: Place, rng: random.Random) -> str:
    return rng.choice((
        "", " ", "~", "~nobody", "-", "--", "a\nb", "a\tb", "\x1b[2J", "a*", "[x]", "{a,b}", "%s",
        "a:b",
        "x.xlsx:S", "file:///x", "http://localhost/x", "s3://b/x", "C:\\x", "..", "../..", "/", ".",
        "$HOME", "a'b", 'a"b', ";", "x.gz", "x.zip", "x.parquet", "x\u202ey", "é", "e\u0301",
    ))  # fmt: skip


def _fifo(place: Place, rng: random.Random) -> str:
    path = place.folder / "pipe"
    if rng.random() < 0.5:
        path.mkdir()
        return "pipe"
    path.touch(rng.choice((0o000, 0o400, 0o644)))
    return "pipe"


_PATHS = (_link, _link, _long, _device, _strange, _strange, _fifo)


def moves(place: Place, rng: random.Random) -> Attack:
    """Draw a kill between two moves where folders cannot be exchanged, and a next command."""
    place.copy("votes.csv", "taxonomy.csv", "truth.csv")
    place.copy("OUT-sa")
    (place.folder / "OUT-sa").rename(place.folder / "OUT")
    consolidate = ["consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT", "--force"]
    killed = Step([*consolidate, "--method", "sa"], ["OUT"], kill_at_move=rng.randint(1, 6))
    hidden = [".OUT-*", "OUT"]
    following = rng.choice((
        ["report", "OUT"], ["explain", "OUT", "photo-001"], ["conflicts", "OUT"], ["sources",
        "OUT"], ["report", "OUT/../OUT"],
        ["inspect", "votes.csv", "--taxonomy", "OUT/taxonomy.csv"],
        ["convert", "OUT", "-"], ["evaluate", "OUT", "--truth", "truth.csv"],
        [*consolidate, "--method", "sa"], ["consolidate", "votes.csv", "--apply", "OUT", "-o",
        "NEW"],
    ))  # fmt: skip
    last = Step(following, [*hidden, "NEW"], check=same_labels(place, "sa"))
    return Attack(f"killed before move {killed.kill_at_move}", [killed, last])


def addresses(place: Place, rng: random.Random) -> Attack:
    """Draw an address of a Dask scheduler where nobody listens, or somebody else, or that is none.

    All must be refused within seconds.
    """
    place.copy("votes.csv", "taxonomy.csv")
    host = rng.choice(
        (
            "127.0.0.1",
            "localhost",
            "[::1]",
            "",
            "x",
            "é",
            "256.1.1.1",
            "::",
            "a b",
            "*",
            "x.invalid",
        )
    )
    scheme = rng.choice(("tcp://", "tls://", "", "http://", "ws://", "inproc://", "unix://",
                         "ucx://", "://", "TCP://", "tcp:", "file://", "garbage"))  # fmt: skip
    port = rng.choice(
        (":1", ":0", ":65536", "", ":-1", ":x", ":99999999999", ":1/x", ":1:1", ":1 ")
    )
    address, what = f"{scheme}{host}{port}", "no scheduler"
    if rng.random() < 0.4:
        what = rng.choice(tuple(LISTENERS))
        address = f"{rng.choice(('tcp://', 'tcp://', 'tls://', ''))}127.0.0.1:{listen(what)}"
    words = ["consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "--method", "sa", "-o",
             "OUT", "--engine", f"{DASK}{address}"]  # fmt: skip
    return Attack(what, [Step(words, ["OUT"], timeout=ADDRESS_SECONDS, fresh=rng.random() < 0.3)])


def signals(place: Place, rng: random.Random) -> Attack:
    """Draw a signal at a random moment of a run, and a run after it."""
    place.copy("votes.csv", "taxonomy.csv", "truth.csv")
    number = rng.choice((signal.SIGINT, signal.SIGTERM))
    words = [
        "consolidate",
        "votes.csv",
        "--taxonomy",
        "taxonomy.csv",
        "--method",
        "sa",
        "-o",
        "OUT",
    ]
    fresh = rng.random() < 0.2
    # The start of Python itself cannot be guarded.
    moment = rng.uniform(0.3 if fresh else 0.0, 0.9)
    first = Step(words, ["OUT"], signal=(number, moment), fresh=fresh)
    last = Step([*words, "--force"], ["OUT"], check=same_labels(place, "sa"))
    return Attack(f"signal {int(number)}", [first, last])
