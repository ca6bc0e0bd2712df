"""Faults of files: damaged binary formats, declared encodings, edited run folders, huge JSON."""

import csv
import encodings.aliases
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from stress.faults.attack import Attack, Step
from stress.faults.checks import Check, same_labels, same_table, scores_in_range
from stress.faults.runner import Place
from stress.faults.samples import BINARY_VOTES
from tests.fixtures.damaged_files import (
    EDITED_VALUES,
    REMOVED,
    TROUBLESOME_BYTES,
    UNEXPECTED_VALUES,
)
from tests.fixtures.saved_files import change_array

CHECKED = ("votes.csv.gz", "votes.zip", "votes.xlsx", "votes.ods")
"""Formats with a checksum: what is still read must be right."""


def binary(place: Place, rng: random.Random) -> Attack:
    """Draw damage to a file of a binary format: flipped bytes, cuts, splices."""
    name = rng.choice((*BINARY_VOTES, "OUT-sa/scores.parquet", "OUT-auto/model.npz"))
    damaged, what = damage_bytes(place.read(name), rng)
    if name.startswith("OUT"):
        run = name.split("/")[0]
        place.copy(run, "votes.csv")
        (place.folder / name).write_bytes(damaged)
        return Attack(f"{name}: {what}", _read_run(run, rng))
    (place.folder / name).write_bytes(damaged)
    steps = [Step(["inspect", name])]
    is_checked = name in CHECKED and what.startswith("flip")
    check = same_table(place.read("votes.csv"), 3) if is_checked else None
    steps.append(Step(["convert", name, "-", "--to", "csv", "--what", "votes"], check=check))
    return Attack(f"{name}: {what}", steps)


def damage_bytes(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return a damaged copy, and what was done to it."""
    changed, kind = (
        bytearray(content),
        rng.choice(("flip", "flip", "flip", "cut", "splice", "ends")),
    )
    if kind == "flip":
        # Headers and footers are where formats keep their structure.
        region = rng.choice(
            ((0, 64), (0, len(content)), (max(0, len(content) - 600), len(content)))
        )
        count = rng.choice((1, 1, 2, 8, 40))
        for _ in range(count):
            at = rng.randrange(region[0], min(region[1], len(content)))
            changed[at] = rng.choice(
                (changed[at] ^ 1 << rng.randrange(8), 0, 255, rng.randrange(256))
            )
        return bytes(changed), f"flip {count} bytes"
    if kind == "cut":
        length = rng.randrange(len(content))
        return content[:length], f"cut after {length}"
    if kind == "splice":
        start, at = rng.randrange(len(content)), rng.randrange(len(content))
        piece = content[start : start + rng.choice((1, 4, 64, 1000))]
        keep = at + (len(piece) if rng.random() < 0.5 else 0)
        return content[:at] + piece + content[keep:], f"splice at {at}"
    extra = rng.choice((b"\0" * 10, content, rng.choice(TROUBLESOME_BYTES), rng.randbytes(50)))
    return rng.choice((content + extra, extra + content)), "something before or after"


def encodings_declared(place: Place, rng: random.Random) -> Attack:
    """Draw an encoding that a file declares, or is written in."""
    names = [*encodings.aliases.aliases, *encodings.aliases.aliases.values(), "utf-7", "idna",
             "punycode", "unicode_escape", "raw_unicode_escape", "mbcs", "undefined", "x-none", "",
             "UTF-8 ", "utf8;", "\u00e9", "a" * 500, "../x", "ascii", "utf-16",
             "utf-32"]  # fmt: skip
    encoding = rng.choice(names)
    name = rng.choice(("skos.rdf", "config.xml", "taxonomy.csv"))
    text = place.read(name).decode()
    if name != "taxonomy.csv":
        extra = rng.choice(("", "", ' standalone="yes"'))
        quote = rng.choice("'\"")
        text = f'<?xml version="1.0" encoding={quote}{encoding}{quote}{extra}?>\n{text}'
    try:
        written = encoding if rng.random() < 0.5 else rng.choice(("utf-8", "utf-16", "utf-8-sig"))
        content = text.encode(written)
    except (LookupError, ValueError, TypeError):
        content, written = text.encode(), "utf-8"
    if rng.random() < 0.1:
        content = damage_bytes(content, rng)[0]
    (place.folder / name).write_bytes(content)
    place.copy("votes.csv")
    steps = [
        Step(["convert", name, "-", "--to", "csv", "--what", "taxonomy"]),
        Step(["inspect", "votes.csv", "--taxonomy", name]),
    ]
    return Attack(f"{name} declares {encoding[:20]!r}, written in {written[:20]!r}", steps)


def run_folders(place: Place, rng: random.Random) -> Attack:
    """Draw an edit of one field of run.json, of a cell, column or row of a table, or of an array.

    Where the model is as it was, applying it gives the labels that it gave, or is refused.
    """
    run = rng.choice(("OUT-sa", "OUT-auto", "OUT-auto"))
    place.copy(run, "votes.csv", "truth.csv")
    tables = ("labels.csv", "items.csv", "sources.csv", "taxonomy.csv")
    is_applied_alike: Check | None = same_labels(place, run.removeprefix("OUT-"), "APPLIED")
    if rng.random() < 0.6:
        path = place.folder / run / "run.json"
        document, what = _edit_field(json.loads(path.read_bytes()), rng)
        path.write_text(json.dumps(document), encoding="utf-8")
    elif rng.random() < 0.6:
        name = rng.choice(tables)
        what = f"{name}: {_edit_table(place.folder / run / name, rng)}"
    elif rng.random() < 0.8:
        change_array(place.folder / run / "model.npz", rng)
        what, is_applied_alike = "an array of model.npz", None
    else:
        name = rng.choice((*tables, "run.json", "model.npz", "scores.parquet"))
        (place.folder / run / name).unlink()
        what = f"{name} removed"
    apply = Step(
        ["consolidate", "votes.csv", "--apply", run, "-o", "APPLIED"], ["APPLIED"],
        check=is_applied_alike,
    )  # fmt: skip
    show = Step(["convert", "APPLIED", "-", "--what", "scores"], check=scores_in_range)
    return Attack(f"{run}: {what}", [*_read_run(run, rng), apply, show])


def _edit_field(document: Any, rng: random.Random) -> tuple[Any, str]:
    """Change one field, wherever it is; every level is equally likely."""
    node, place = document, []
    while True:
        key: Any = rng.choice([*node] if isinstance(node, dict) else range(len(node)))
        place.append(str(key))
        below = node[key]
        if not isinstance(below, dict | list) or not below or rng.random() < 0.15:
            break
        node = below
    what = rng.choice(
        ("remove", "replace", "replace", "replace", "rename", "repeat", "near", "near")
    )
    if what == "remove":
        del node[key]
    elif what == "rename" and isinstance(node, dict):
        node[f"{key}x"] = node.pop(key)
    elif what == "repeat" and isinstance(node, list):
        node.append(below)
    elif what == "near":
        node[key] = _near(below, rng)
    else:
        what, node[key] = "replace", rng.choice(_REPLACEMENTS)
    return document, f"{what} {'.'.join(place)}" + (
        f": {json.dumps(node[key])[:60]}" if what in ("replace", "near") else ""
    )


_REPLACEMENTS = [value for value in (*UNEXPECTED_VALUES, *EDITED_VALUES) if value is not REMOVED]


def _near(value: Any, rng: random.Random) -> Any:
    """Return a value of the same type, which is harder to notice."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice((-1, 0, 1, value + 1, -value, value * 1e6, 10**18, 1e300, float("nan"),
                           float("inf"), int(value), value + 0.5))  # fmt: skip
    if isinstance(value, str):
        return rng.choice(("", value + "\0", value * 2, value.upper(), "../" + value, value[:-1],
            "é",
                           "/dev/zero", ".", "9" * 5000, "votes.csv"))  # fmt: skip
    if isinstance(value, list):
        return rng.choice((value[1:], value * 2, [value], value[::-1], [*value, None]))
    if isinstance(value, dict):
        return rng.choice(({}, dict(list(value.items())[1:]), {**value, "x": 1}, [value]))
    return rng.choice((0, "", [], {}, "x", 1.5))


def _edit_table(path: Path, rng: random.Random) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    what = rng.choice(("cell", "cell", "column", "header", "row", "rows", "reverse", "short"))
    y, x = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
    if what == "cell":
        rows[y][x] = rng.choice(
            ("", "x", "nan", "inf", "-1", "1e400", "é", "\0", "a,b", rows[y][x] * 2)
        )
    elif what == "column":
        rows = [row[:x] + row[x + 1 :] for row in rows]
    elif what == "header":
        rows[0][x] = rng.choice(("", "x", rows[0][0], rows[0][x].upper()))
    elif what == "row":
        rows.insert(y, rows[rng.randrange(len(rows))])
    elif what == "rows":
        rows = rows[: rng.randrange(len(rows))]
    elif what == "reverse":
        rows[1:] = rows[:0:-1]
    else:
        rows[y] = rows[y][:x]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return f"{what}, row {y}, column {x}"


def _read_run(run: str, rng: random.Random) -> list[Step]:
    """Return some of the commands that read a run folder."""
    page = [f"{run}/report.html", f"{run}/report.json"]
    steps = [
        Step(["report", run], page),
        Step(["report", run, "--votes", "votes.csv"], page),
        Step(["explain", run, "photo-001"]),
        Step(["explain", run, "photo-001", "plant", "--json"]),
        Step(["conflicts", run]),
        Step(["conflicts", run, "--json"]),
        Step(["sources", run]),
        Step(["sources", run, "--json"]),
        Step(["evaluate", run, "--truth", "truth.csv"]),
        Step(["convert", run, "-", "--what", rng.choice(("labels", "scores", "wide", "items"))]),
        Step(["convert", run, "-", "--what", rng.choice(("sources", "conflicts"))]),
        Step(["convert", run, "-", "--to", rng.choice(("label-studio", "argilla", "cafa"))]),
        Step(["consolidate", "votes.csv", "--update", run, "-o", "UPDATED"], ["UPDATED"]),
        Step(["consolidate", "--config", f"{run}/run.json", "-o", "AGAIN"], ["AGAIN"]),
        Step(["inspect", run]),
    ]
    return rng.sample(steps, 5)


def documents(place: Place, rng: random.Random) -> Attack:
    """Draw a wide or deep JSON document as votes, taxonomy or settings."""
    size = rng.choice((10, 1000, 5000, 20_000, 100_000))
    name = rng.choice(("d.json", "d.jsonl", "d.yaml"))
    text = rng.choice(_DOCUMENTS)(size, rng)
    (place.folder / name).write_text(text, encoding="utf-8")
    place.copy("votes.csv", "OUT-sa")
    words = rng.choice((
        ["inspect", name], ["inspect", "votes.csv", "--taxonomy", name], ["convert", name, "-"],
        ["consolidate", "votes.csv", "--config", name, "-o", "OUT"],
        ["consolidate", name, "--method", "sa", "-o", "OUT"],
        ["convert", "OUT-sa", "-", "--to", "label-studio", "--tasks", name],
        ["evaluate", "OUT-sa", "--truth", name],
    ))  # fmt: skip
    return Attack(f"{name} of size {size:,}", [Step(words, ["OUT"])])


def _wide(size: int, rng: random.Random) -> str:
    value: object = rng.choice((1, "x", None, [], {}, {"a": 1}))
    return json.dumps({f"k{n}": value for n in range(size)})


def _deep(size: int, rng: random.Random) -> str:
    opening, closing = rng.choice(
        (("[", "]"), ('{"a":', "}"), ('{"children":[', "]}"), ('[{"a":', "}]"))
    )
    return opening * size + "1" + closing * size


def _many(size: int, rng: random.Random) -> str:
    keys = rng.choice((1, 3, 50))
    rows = [{f"k{n * keys + k}": "x" for k in range(keys)} for n in range(size // keys)]
    return rng.choice((json.dumps(rows), "\n".join(map(json.dumps, rows))))


def _mixed(size: int, rng: random.Random) -> str:
    rows = [
        {
            "instance": n,
            "source": rng.choice(UNEXPECTED_VALUES),
            "label": rng.choice(UNEXPECTED_VALUES),
        }
        for n in range(min(size, 2000))
    ]
    return json.dumps(rows)


def _votes(size: int, rng: random.Random) -> str:
    value: Any = rng.choice((lambda n: f"l{n}", lambda n: ["a"] * 5, lambda n: {"a": {f"b{n}": 1}}))
    rows = [{"instance": f"i{n}", "source": "s", "label": value(n)} for n in range(size)]
    return "\n".join(map(json.dumps, rows))


_DOCUMENTS: tuple[Callable[[int, random.Random], str], ...] = (_wide, _deep, _many, _mixed, _votes)


def labels(place: Place, rng: random.Random) -> Attack:
    """Draw a tree of labels that look like something else, in one of the forms of a taxonomy."""
    names = rng.sample([f"{a}{mark}{b}" for mark in _MARKS for a, b in ("xy", "1z", "ab")], 8)
    parents = {
        name: rng.choice([None, *names[:number]]) if number else None
        for number, name in enumerate(names)
    }
    # Without a second level, an outline would be a column of labels.
    parents[names[1]] = names[0]
    name, text = rng.choice(_FORMS)(parents)
    (place.folder / name).write_text(text, encoding="utf-8", newline="")

    def check(_: Path, stdout: str) -> Iterator[str]:
        _header, *rows = csv.reader(io.StringIO(stdout, newline=""))
        if {(label, parent) for label, parent, *_ in rows} != {
            (label, parent or "") for label, parent in parents.items()
        }:
            yield "another taxonomy than the file has"

    words = ["convert", name, "-", "--to", "csv", "--what", "taxonomy"]
    return Attack(f"{name} with {names}", [Step(words, check=check)])


Parents = Mapping[str, str | None]

_MARKS = (
    "\u2028", "\x85", "\x0b", "\x0c", "\u200b", "'", "#", "%", "&amp;", "<", " ", "\u00a0", "=",
    "\u00e9", "e\u0301", "\U0001f600", "\u05d0", "{", "]", "*", "null", "NaN",
)  # fmt: skip


def _as_rows(parents: Parents) -> tuple[str, str]:
    text = io.StringIO()
    csv.writer(text).writerows([("label", "parent"), *parents.items()])
    return "t.csv", text.getvalue()


def _as_nodes(parents: Parents) -> tuple[str, str]:
    def below(parent: str | None) -> list[dict[str, Any]]:
        return [
            {"name": x, "children": below(x)} for x, above in parents.items() if above == parent
        ]

    return "t.json", json.dumps(below(None))


def _as_keys(parents: Parents) -> tuple[str, str]:
    def below(parent: str | None) -> dict[str, Any]:
        return {x: below(x) for x, above in parents.items() if above == parent}

    return "t.json", json.dumps(below(None), ensure_ascii=False)


def _as_outline(parents: Parents) -> tuple[str, str]:
    def below(parent: str | None, depth: int) -> str:
        inside = (x for x, above in parents.items() if above == parent)
        return "".join("\t" * depth + x + "\n" + below(x, depth + 1) for x in inside)

    return "t.txt", below(None, 0)


_FORMS: tuple[Callable[[Parents], tuple[str, str]], ...] = (
    _as_rows,
    _as_nodes,
    _as_keys,
    _as_outline,
)
