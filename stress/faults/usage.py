"""Faults of usage: shapes of taxonomies, parameters at their limits, random options, any order."""

import random
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from mhpc.cli import COMMANDS, LazyCommands, cli
from mhpc.methods.registry import METHODS, method_class
from mhpc.rules.registry import RULES
from stress.faults.attack import Attack, Step
from stress.faults.checks import same_labels, scores_in_range
from stress.faults.runner import Place
from tests.fixtures.unusual_tables import IDS

CHEAP = ("sa", "wa", "majority", "wawa", "inat")

Edges = Iterator[tuple[str, str]]


def taxonomies(place: Place, rng: random.Random) -> Attack:
    """Draw a taxonomy of a difficult shape, with votes for a few of its labels."""
    shape, size = rng.choice(_SHAPES), rng.choice((10, 100, 1000, 5000, 20_000))
    edges = [*shape(size, rng)]
    rng.shuffle(edges)
    rows = ["label,parent", *(f"{label},{parent}" for label, parent in edges)]
    (place.folder / "taxonomy.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    labels = sorted({label for label, _ in edges})
    used = rng.sample(labels, min(len(labels), rng.choice((1, 5, 50))))
    votes = ["instance,source,label"]
    for n in range(rng.choice((1, 10, 100))):
        votes += [f"i{n},s{s},{rng.choice(used)}" for s in range(3)]
    (place.folder / "votes.csv").write_text("\n".join(votes) + "\n", encoding="utf-8")
    # Methods that compute with all pairs of labels are refused by their memory, or take longer.
    methods = [*CHEAP, *(METHODS if size <= 1000 else ())]
    words = ["votes.csv", "--taxonomy", "taxonomy.csv"]
    out = ["consolidate", *words, "--method", rng.choice(methods), "-o", "OUT"]
    steps = [
        Step(["inspect", *words]),
        Step(out, ["OUT"], check=_check_closed(edges)),
        Step(["report", "OUT"], ["OUT"]),
    ]
    return Attack(f"{shape.__name__.strip('_')} of {size:,}", steps[: 2 + (rng.random() < 0.3)])


def _check_closed(edges: Sequence[tuple[str, str]]) -> Callable[..., Iterator[str]]:
    """Return a check that every chosen label comes with all its ancestors."""
    parents: dict[str, set[str]] = {}
    for label, parent in edges:
        parents.setdefault(label, set()).update({parent} - {""})

    def check(folder: Any, _: str) -> Iterator[str]:
        chosen: dict[str, set[str]] = {}
        for line in (folder / "labels.csv").read_text(encoding="utf-8").splitlines()[1:]:
            instance, label, _ = line.split(",")
            chosen.setdefault(instance, set()).add(label)
        for instance, labels in chosen.items():
            for label in labels:
                if missing := parents.get(label, set()) - labels:
                    yield f"{instance} has {label} without {min(missing)}"
                    return

    return lambda folder, stdout: check(folder / "OUT", stdout)


def _chain(size: int, rng: random.Random) -> Edges:
    length = rng.choice((50, 900, 1000, 1001, size))
    yield from ((f"n{n}", "" if n % length == 0 else f"n{n - 1}") for n in range(size))


def _star(size: int, rng: random.Random) -> Edges:
    yield "root", ""
    yield from ((f"n{n}", "root") for n in range(size))
    if rng.random() < 0.5:
        yield from ((f"m{n}", f"n{n}") for n in range(size))


def _comb(size: int, rng: random.Random) -> Edges:
    spine = rng.choice((10, 500, 990))
    yield from ((f"n{n}", f"n{n - 1}" if n else "") for n in range(spine))
    yield from ((f"t{n}", f"n{n % spine}") for n in range(size))


def _dense(size: int, rng: random.Random) -> Edges:
    n_labels = max(2, min(int((2 * size) ** 0.5), 300))
    yield "n0", ""
    yield from ((f"n{a}", f"n{b}") for a in range(n_labels) for b in range(a))


def _diamonds(size: int, rng: random.Random) -> Edges:
    yield "t0", ""
    for n in range(min(size, 400)):
        for k in range(rng.choice((2, 2, 5))):
            yield f"d{n}-{k}", f"t{n}"
            yield f"t{n + 1}", f"d{n}-{k}"


def _layers(size: int, rng: random.Random) -> Edges:
    width = rng.choice((2, 10, 30))
    for n in range(max(1, size // width**2)):
        for a in range(width):
            if n == 0:
                yield f"l0-{a}", ""
            for b in range(width if n else 0):
                yield f"l{n}-{a}", f"l{n - 1}-{b}"


def _cycles(size: int, rng: random.Random) -> Edges:
    length = rng.choice((1, 2, 3, size))
    yield from ((f"n{n}", f"n{n - n % length + (n + 1) % length}") for n in range(size))


def _forest(size: int, rng: random.Random) -> Edges:
    yield from ((f"n{n}", "") for n in range(size))


_SHAPES = (_chain, _chain, _star, _comb, _dense, _diamonds, _layers, _cycles, _forest)


def parameters(place: Place, rng: random.Random) -> Attack:
    """Draw parameters of a method at and beyond the limits of their ranges."""
    place.copy("votes.csv", "taxonomy.csv")
    method = rng.choice([*METHODS])
    fields = method_class(method).model_fields
    words = [
        "consolidate",
        "votes.csv",
        "--taxonomy",
        "taxonomy.csv",
        "--method",
        method,
        "-o",
        "OUT",
    ]
    for name in rng.sample([*fields], min(len(fields), rng.choice((1, 1, 2)))):
        words += ["--set", f"{name}={_value(fields[name], rng)}"]
    for option in rng.sample(_NUMBERS, rng.choice((0, 0, 1, 2))):
        words += [option, _number(rng)]
    if rng.random() < 0.3:
        words += ["--rule", rng.choice([*RULES])]
    scores = Step(["convert", "OUT", "-", "--what", "scores"], check=scores_in_range)
    has_run = Step(words, ["OUT"])
    return Attack(" ".join(words[6:]), [has_run, scores])


_NUMBERS = ["--threshold", "--depth-bias", "--top", "--seed", "--memory", "--score-max"]


def _number(rng: random.Random) -> str:
    value = rng.choice((
        "0", "-0", "1", "-1", "0.5", "2", "1e-308", "5e-324", "1e308", "1.7976931348623157e308",
        "1e309",
        "nan", "inf", "-inf", "-1e308", "none", "", "x", "9" * 70, "2147483648",
        "9223372036854775808",
        "1e-9", "0.9999999999999999", "1.0000000000000002", "1e16", "true", "½", "1_000", "0x10",
        "1e5",
    ))  # fmt: skip
    return value + rng.choice(("", "", "", "MB", "TB", "%"))


def _value(field: Any, rng: random.Random) -> str:
    """Return a value for a parameter: at a limit, next to it, or any number."""
    limits = [
        getattr(each, name)
        for each in field.metadata
        for name in ("gt", "ge", "lt", "le")
        if getattr(each, name, None) is not None
    ]
    if not limits or rng.random() < 0.4:
        return _number(rng).rstrip("MBT%") or "0"
    limit = float(rng.choice(limits))
    near = (limit, limit + 1e-308, limit - 1e-308, limit * (1 + 1e-15), limit + 1e-16,
        limit - 1e-16,
            limit + 1e-9, limit - 1e-9, limit + 1, limit - 1)  # fmt: skip
    value = rng.choice(near)
    return str(int(value)) if value == int(value) and rng.random() < 0.7 else repr(value)


def options(place: Place, rng: random.Random) -> Attack:
    """Draw a command and options from the declaration of the command line."""
    place.copy("votes.csv", "taxonomy.csv", "truth.csv", "OUT-sa", "votes.parquet", "votes.xlsx")
    name = rng.choice([*COMMANDS])
    if not isinstance(cli, LazyCommands):
        raise TypeError(cli)
    command = cli.get_command(click.Context(cli), name)
    if command is None:
        raise LookupError(name)
    words = [name]
    declared = [each for each in command.params if isinstance(each, click.Option)]
    chosen = rng.sample(declared, min(len(declared), rng.choice((0, 1, 2, 3, 6))))
    chosen += [each for each in declared if each.required and rng.random() < 0.95]
    outputs = ["OUT", "OUT-sa", "OUT-sa-review", "mhpc-demo", "new.csv"]
    for option in dict.fromkeys(chosen):
        words += _option(option, rng)
    for argument in (each for each in command.params if isinstance(each, click.Argument)):
        words += _argument(argument.name or "", rng)
    # Servers and the experiments of the paper run for long.
    sent = (signal.SIGINT, 4.0) if name in ("review", "reproduce", "demo") else None
    # A second input may be written over on purpose.
    if "--force" in words:
        outputs += ["votes.csv", "taxonomy.csv", "truth.csv"]
    step = Step(
        words, outputs, signal=sent, environment={"MHPC_DATA": "/nowhere", "BROWSER": "true"}
    )
    return Attack(f"options of {name}", [step])


def _option(option: click.Option, rng: random.Random) -> list[str]:
    flag = rng.choice([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return [flag]
    name, kind = option.name or "", option.type
    if isinstance(kind, click.Choice):
        value = rng.choice([*map(str, kind.choices), "x"])
    elif isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        value = _number(rng) if rng.random() < 0.5 else str(rng.randrange(3))
    elif name in ("output", "write_map"):
        value = rng.choice(("OUT", "OUT", "new.csv", "-", "OUT-sa"))
    else:
        value = rng.choice([*_VALUES, *_VALUES, *IDS, _number(rng), *METHODS, *RULES])
    return [flag, value]


_VALUES = (
    "votes.csv", "taxonomy.csv", "truth.csv", "OUT-sa", "votes.parquet", "votes.xlsx", "no.csv",
    "all",
    "used", "local", "dask", "label=label", "truth.label=label", "instance=source", "lam=1",
    "max_iter=0",
    ";", "20MB", "long", "wide", "icd-10-cm", "phone app=1", "127.0.0.1",
)  # fmt: skip


def _argument(name: str, rng: random.Random) -> list[str]:
    if rng.random() < 0.05:
        return []
    near: dict[str, Sequence[str]] = {
        "votes": ("votes.csv", "votes.parquet", "votes.xlsx"),
        "truth": ("truth.csv",),
        "instance": ("photo-001", "photo-002"),
        "label": ("plant", "sage"),
        "target": ("new.csv", "-"),
    }
    choices = near.get(name, ("OUT-sa", "OUT-sa", "votes.csv"))
    value = rng.choice(choices if rng.random() < 0.8 else (*_VALUES, *IDS))
    return [value] if not value.startswith("-") or value == "-" else ["--", value]


def sequences(place: Place, rng: random.Random) -> Attack:
    """Draw an order of commands on one folder, some of them interrupted."""
    place.copy("votes.csv", "taxonomy.csv", "truth.csv")
    consolidate = ["consolidate", "votes.csv", "--taxonomy", "taxonomy.csv", "-o", "OUT"]
    steps = []
    for _ in range(rng.randint(3, 8)):
        method = rng.choice(("sa", "majority"))
        writes = [*consolidate, "--method", method, "--force", *rng.choice(([], ["--report"]))]
        stops = None
        if rng.random() < 0.3:
            stops = (rng.choice((signal.SIGINT, signal.SIGTERM)), rng.uniform(0, 0.4))
        steps += [
            rng.choice(
                (
                    Step(writes, ["OUT"], signal=stops),
                    Step([*consolidate, "--method", method], ["OUT"], signal=stops),
                    Step(["report", "OUT"], ["OUT/report.html", "OUT/report.json"], signal=stops),
                    Step(["explain", "OUT", "photo-001"]),
                    Step(["conflicts", "OUT"]),
                    Step(
                        ["sources", "OUT", "-o", "worth.csv", "--force"],
                        ["worth.csv"],
                        signal=stops,
                    ),
                    Step(["evaluate", "OUT", "--truth", "truth.csv"]),
                    Step(
                        ["convert", "OUT", "labels.jsonl", "--force"],
                        ["labels.jsonl"],
                        signal=stops,
                    ),
                    Step(
                        ["consolidate", "votes.csv", "--apply", "OUT", "-o", "OUT", "--force"],
                        ["OUT"],
                    ),
                    Step(
                        ["consolidate", "--config", "OUT/run.json", "-o", "OUT", "--force"], ["OUT"]
                    ),
                )
            )
        ]
    method = rng.choice(("sa", "majority"))
    last = Step([*consolidate, "--method", method, "--force"], ["OUT"],
                check=same_labels(place, method))  # fmt: skip
    return Attack(f"{len(steps)} commands, then {method}", [*steps, last])
