"""Files damaged on purpose: bytes flipped, cut, repeated, spliced, or swapped for odd ones."""

import json
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

ODD = (
    b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff", b"\xed\xa0\x80", b"\xc3", b"\r",
    b"\r\n", b"\n\n", b"\x0b", b"\x1b[31m", b"\x7f", b'"', b'""', b"'", b"`", b"\\", b"\\u0000",
    b"\\ud800", b"\\", b",", b";", b"\t", b"|", b"#", b"%", b"@", b"&amp;", b"&x;", b"<", b"<!--",
    b"<![CDATA[", b"]]>", b"{", b"}", b"[", b"]", b"[[", b"{}", b"[]", b"null", b"true", b"NaN",
    b"Infinity", b"-Infinity", b"nan", b"inf", b"-0", b"1e999", b"1e-999", b"-1", b"0.5", b"2",
    b"9" * 40, b"9" * 400, b"0x10", b"1_000", "\u2028".encode(), "\u202e".encode(), "🦋".encode(),
    "ﬁ".encode(), "İ".encode(), "é".encode(), b"\x01", b"\x1a", b"$", b"${x}", b"%s", b"../", b"/",
    b" > ", b"::", b"=1+1", b"[red]", b"<script>", b"--", b"!", b": ", b":", b" ", b"a" * 300,
    b"[" * 300, b"{\"a\":" * 300, b"<a>" * 300, b"\"children\":", b"parent", b"label", b"id",
)  # fmt: skip
"""What has broken readers before: marks of encodings, quotes, brackets, numbers that are none."""

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, 10**30, 1e308, "", "x", "0", "\x00", "\ud800", "[", [],
    [[]], [None], ["x"], [["x"]], [["x", None]], {}, [{}], {"x": {}}, {"": []}, {"id": None},
    {"value": "x"}, [0, 1], [[[["x"]]]], {"choices": "x"}, {"taxonomy": ["x"]}, {"choices": [{}]},
)  # fmt: skip
"""What may stand in JSON where something else should."""

MAX_LENGTH = 1 << 16
"""Repeating what was repeated must not grow without end."""


def mutated(content: bytes, rng: random.Random, *, others: Sequence[bytes] = ()) -> bytes:
    """Return a file with one to four kinds of damage; `others` are files to take pieces from."""
    ways: list[Callable[[bytes, random.Random], bytes]] = [*_WAYS]
    if others:
        ways.append(partial(_spliced, others=others))
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = rng.choice(ways)(content, rng)[:MAX_LENGTH]
    return content


def _span(content: bytes, rng: random.Random, most: int = 40) -> tuple[int, int]:
    begin = rng.randint(0, len(content))
    return begin, min(len(content), begin + rng.randint(1, most))


def _flipped(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def _without(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    return content[:begin] + content[end:]


def _repeated(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng, 200)
    return content[:end] + content[begin:end] * rng.choice((1, 2, 50)) + content[end:]


def _inserted(content: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(content))
    return content[:at] + rng.choice(ODD) + content[at:]


def _replaced(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng, 12)
    return content[:begin] + rng.choice(ODD) + content[end:]


def _swapped_everywhere(content: bytes, rng: random.Random) -> bytes:
    """Swap a character for something odd wherever it occurs: another delimiter, another quote."""
    if not content:
        return content
    at = rng.randrange(len(content))
    return content.replace(content[at : at + 1], rng.choice(ODD), rng.choice((-1, 5)))


def _word_swapped(content: bytes, rng: random.Random) -> bytes:
    """Give one word, or quoted text, the place of another."""
    words = content.replace(b'"', b" ").replace(b",", b" ").replace(b":", b" ").split()
    if not words:
        return content
    other = rng.choice((*words, *ODD))
    return content.replace(rng.choice(words), other, rng.choice((1, -1)))


def _lines_shuffled(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if len(lines) > 1:
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def _recoded(content: bytes, rng: random.Random) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-8-sig", "latin-1", "cp1252")), "replace")


def _other_line_ends(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n\r")))


def _json_changed(content: bytes, rng: random.Random) -> bytes:
    """Put something else in one place of a JSON document, or of one of its lines."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    for whole, where in ((content, None), (lines[at], at)):
        try:
            changed = json.dumps(tree_changed(json.loads(whole), rng)).encode()
        except (ValueError, RecursionError):
            continue
        return changed if where is None else b"\n".join([*lines[:at], changed, *lines[at + 1 :]])
    return content


def tree_changed(document: Any, rng: random.Random) -> Any:
    """Return a document of mappings and lists with one place in it removed or made odd."""
    if not isinstance(document, dict | list) or not document or rng.random() < 0.05:
        return rng.choice(ODD_VALUES)
    key: Any = rng.choice([*document] if isinstance(document, dict) else range(len(document)))
    changed = document.copy()
    if rng.random() < 0.1:
        del changed[key]
    elif rng.random() < 0.1 and isinstance(changed, dict):
        changed[rng.choice(["", "id", "label", "\x00", "a.b", "~1/"])] = changed.pop(key)
    else:
        changed[key] = tree_changed(document[key], rng)
    return changed


def _spliced(content: bytes, rng: random.Random, *, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    begin, end = _span(other, rng, 400)
    at = rng.randint(0, len(content))
    return content[:at] + other[begin:end] + content[at:]


_WAYS = (
    _flipped, _cut, _without, _repeated, _inserted, _inserted, _replaced, _replaced,
    _json_changed, _json_changed, _swapped_everywhere, _word_swapped, _word_swapped,
    _lines_shuffled, _recoded, _other_line_ends,
)  # fmt: skip
