"""What is shown beside instances when they are reviewed: texts, links and pictures from a table."""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from mhpc.errors import DataError, MhpcWarning, ParameterError, option, pluralize, warn
from mhpc.read.columns import ALIASES, find_columns, normalize_name
from mhpc.read.files import STDIN, split_sheet
from mhpc.read.inputs import is_lasting
from mhpc.read.run_folder import read_run_document
from mhpc.read.tables import Table, open_table, text_sql
from mhpc.system.database import identifier
from mhpc.system.memory import format_size, parse_size

ROLES = ("text", "url", "image")
"""The columns that a page shows in a way of their own; others are shown by their names."""

IMAGE_FILE = "image file"
"""The column with the paths or addresses of images that are not embedded."""

MAX_TEXT = 5_000
"""The most characters of a cell that are shown."""

MAX_COLUMNS = 12
"""The most columns that are shown."""

MAX_IMAGE = 2_000_000
"""The largest image that is embedded, in bytes."""

_ALIASES = {"instance": tuple(name for name in ALIASES["instance"] if name not in ROLES)}
"""Names of the column with the ids; ``image`` and ``url`` mean something else here."""


@dataclass(frozen=True)
class ShowTable:
    """Cells by column and instance; cells that are empty are left out.

    Attributes
    ----------
    columns : mapping of str to mapping of str to str
        ``columns["text"]["photo-1"]`` is a text; images are data URIs.
    """

    columns: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class ShowSource:
    """A table with a column of instances, to be read for those that a page lists.

    Attributes
    ----------
    path : str
        Any table that can be read as votes.
    embed_images : str or None
        How much of the images to embed in all, such as ``"20MB"``; None: none of them.
    """

    path: str
    embed_images: str | None = None

    def check(self) -> None:
        """Refuse a table that cannot be read or has no instances, before a run takes its time."""
        self._parse_limit()
        if self.path != STDIN:
            with open_table(self.path, lazy=True) as table:
                _find_columns(table)

    def read(
        self,
        instances: Sequence[str],
        *,
        max_text: int = MAX_TEXT,
        max_image: int = MAX_IMAGE,
    ) -> ShowTable:
        """Read what is shown beside these instances.

        Where an instance has several rows, the first cell that is not empty counts.
        """
        limit = self._parse_limit()
        with open_table(self.path) as table:
            instance, roles = _find_columns(table)
            if len(roles) > MAX_COLUMNS:
                _warn(f"{table.origin}: {MAX_COLUMNS} of its {len(roles)} columns are shown")
                roles = dict(list(roles.items())[:MAX_COLUMNS])
            columns = _read_columns(table, instance, roles, instances, max_text)
            origin = table.origin
        images = columns.pop("image", {})
        return ShowTable({**columns, **self._embed(images, origin, limit, max_image)})

    def _embed(
        self, images: Mapping[str, str], origin: str, limit: int | None, max_image: int
    ) -> dict[str, Mapping[str, str]]:
        """Return the columns of the images that are embedded, and of those that are not."""
        if not images:
            return {}
        if limit is None:
            advice = option("embed_images", "20MB", command="report")
            _warn(f"{origin}: its images are shown as paths; embed them with {advice}")
            return {IMAGE_FILE: images}
        folder = Path() if self.path == STDIN else split_sheet(self.path)[0].parent
        embedded, others, skipped = embed_all(images, folder, limit, max_image=max_image)
        if skipped:
            _warn(f"{origin}: {_describe_skipped(skipped, max_image, limit)}")
        columns = {"image": embedded, IMAGE_FILE: others}
        return {name: cells for name, cells in columns.items() if cells}

    def _parse_limit(self) -> int | None:
        return parse_size(self.embed_images, name="embed_images", example="20MB")


def find_show(
    folder: Path, path: str | None = None, embed_images: str | None = None
) -> ShowSource | None:
    """Return the table to show beside instances: the one given, or the one that the run had."""
    settings = read_run_document(folder).settings
    if path is None and settings.show is not None:
        if is_lasting(Path(settings.show)):
            path, embed_images = settings.show, embed_images or settings.embed_images
        else:
            warn(
                f"{settings.show}, which {folder} shows beside instances, is not there any more; "
                f"say where it is with {option('show', 'FILE', command='report')}",
                MhpcWarning,
                stacklevel=2,
            )
    return make_show_source(path, embed_images)


def make_show_source(path: str | None, embed_images: str | None) -> ShowSource | None:
    """Return a table to show, if one is given."""
    if path is not None:
        return ShowSource(path, embed_images)
    if embed_images is not None:
        raise ParameterError(
            f"{option('embed_images', command='report')} needs a table that names images; give "
            f"{option('show', 'FILE', command='report')}"
        )
    return None


def _find_columns(table: Table) -> tuple[str, dict[str, str]]:
    """Return the column of the instances, and the others by the name under which they are shown."""
    instance = find_columns(
        table.columns, _ALIASES, required=("instance",), origin=table.origin,
        cure="rename the column with the ids to instance",
    )["instance"]  # fmt: skip
    others = [column for column in table.columns if column != instance]
    # What has a role comes first, so that it is not left out.
    named = {normalize_name(column): column for column in reversed(others)}
    roles = {role: named[role] for role in ROLES if role in named}
    roles |= {column: column for column in others if column not in roles.values()}
    if not roles:
        raise DataError(f"{table.origin}: nothing to show beside the instances; add a column, "
                        "such as text, url or image")  # fmt: skip
    return instance, roles


def _read_columns(
    table: Table, instance: str, roles: Mapping[str, str], instances: Sequence[str], max_text: int
) -> dict[str, dict[str, str]]:
    cells = [f"left({text_sql(table, column)}, {max_text + 1})" for column in roles.values()]
    selected = ", ".join([f"{text_sql(table, instance)} AS id", *cells])
    table.connection.execute("CREATE TEMP TABLE wanted (id VARCHAR)")
    table.connection.execute("INSERT INTO wanted SELECT unnest(?)", [list(instances)])
    rows = table.connection.execute(
        f"SELECT * EXCLUDE ({identifier('row number')}) FROM (SELECT {selected}, "
        f"row_number() OVER () AS {identifier('row number')} FROM cells) "
        f"WHERE id IN (FROM wanted) ORDER BY {identifier('row number')}"
    ).fetchall()
    if not rows:
        first = table.connection.execute(
            f"SELECT {text_sql(table, instance)} FROM cells LIMIT 1"
        ).fetchone() or ("nothing",)
        raise DataError(
            f"{table.origin}: none of the instances of the run is in its column {instance!r} (it "
            f"has {first[0]!r}, the run has {next(iter(instances), '')!r}); are the ids the same?"
        )
    columns: dict[str, dict[str, str]] = {role: {} for role in roles}
    for id_, *texts in rows:
        for role, text in zip(roles, texts, strict=True):
            if text is not None and text.strip():
                shown = text if len(text) <= max_text else f"{text[:max_text]}…"
                columns[role].setdefault(id_, shown)
    return columns


def embed_all(
    images: Mapping[str, str], folder: Path, limit: int, *, max_image: int = MAX_IMAGE
) -> tuple[dict[str, str], dict[str, str], Counter[str]]:
    """Embed the images in a folder, up to a size in all.

    Returns
    -------
    tuple
        Data URIs by instance; the paths of the others; and how many were skipped, by reason.
    """
    embedded, others, skipped = dict[str, str](), dict[str, str](), Counter[str]()
    for instance, path in images.items():
        if "://" in path:
            # An address is shown as it is; nothing is loaded from it.
            others[instance] = path
            continue
        content = _read_image(folder, path, max_image)
        if isinstance(content, bytes) and len(content) > limit:
            content = "limit"
        if isinstance(content, str):
            skipped[content] += 1
            others[instance] = path
            continue
        limit -= len(content)
        encoded = base64.b64encode(content).decode()
        embedded[instance] = f"data:{_image_type(content)};base64,{encoded}"
    return embedded, others, skipped


def _read_image(folder: Path, name: str, max_image: int) -> bytes | str:
    """Return the content of an image within a folder, or why it is skipped."""
    kinds: tuple[PurePath, ...] = (PurePosixPath(name), PureWindowsPath(name))
    if any(path.is_absolute() or path.drive or ".." in path.parts for path in kinds):
        return "outside"
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            return "outside"
        if not path.is_file():
            return "missing"
        if path.stat().st_size > max_image:
            return "large"
        content = path.read_bytes()
    except (OSError, ValueError, RuntimeError):
        return "missing"
    return content if _image_type(content) else "type"


def _image_type(content: bytes) -> str | None:
    """Return the type of an image that all browsers show, by its content.

    >>> _image_type(b"GIF89a...")
    'image/gif'
    """
    beginnings = {
        b"\x89PNG\r\n\x1a\n": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF87a": "image/gif",
        b"GIF89a": "image/gif",
    }
    for beginning, kind in beginnings.items():
        if content.startswith(beginning):
            return kind
    is_webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return "image/webp" if is_webp else None


def _describe_skipped(skipped: Counter[str], max_image: int, limit: int) -> str:
    reasons = {
        "outside": "outside of the folder of the table",
        "missing": "not found",
        "large": f"larger than {format_size(max_image)}",
        "type": "not PNG, JPEG, GIF or WebP",
        "limit": f"beyond the limit of {format_size(limit)} in all",
    }
    counts = ", ".join(f"{skipped[key]:,} {text}" for key, text in reasons.items() if skipped[key])
    return f"{pluralize(skipped.total(), 'image')} not embedded: {counts}"


def _warn(message: str) -> None:
    warn(message, MhpcWarning, stacklevel=4)
