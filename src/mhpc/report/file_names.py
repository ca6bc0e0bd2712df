"""Files by their names only: a page is sent to people whom the sender's folders do not concern."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_FILES = ("votes", "taxonomy", "truth", "gold", "map", "scope", "apply", "update")
"""The settings that name files or folders."""


def shorten_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run with file names in place of paths.

    >>> shorten_settings({"votes": "/home/ann/votes.csv", "scope": "all", "seed": 0})
    {'votes': 'votes.csv', 'scope': 'all', 'seed': 0}
    """
    known = list_paths(settings)
    return {
        name: _shorten_setting(value) if name in _FILES else remove_folders(value, known)
        for name, value in settings.items()
    }


def list_paths(settings: Mapping[str, Any]) -> list[str]:
    """Return the paths in the settings of a run, the longest first, as given and as absolute."""
    given = {path for name in _FILES for path in _as_list(settings.get(name))}
    absolute = {str(Path(path).absolute()) for path in given if Path(path).name}
    return sorted(given | absolute, key=len, reverse=True)


def remove_folders(value: Any, paths: Iterable[str]) -> Any:
    """Return texts, and lists and mappings of texts, with the names of these paths instead.

    >>> remove_folders(["/data/v.csv: 2 rows left out"], ["/data/v.csv"])
    ['v.csv: 2 rows left out']
    """
    if isinstance(value, str):
        for path in paths:
            if "/" in path or "\\" in path:
                value = value.replace(path, file_name(path))
        return value
    if isinstance(value, Mapping):
        return {key: remove_folders(entry, paths) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [remove_folders(entry, paths) for entry in value]
    return value


def file_name(path: str) -> str:
    """Return the last part of a path of any system, with the sheet of a spreadsheet.

    >>> file_name("/data/v.csv"), file_name("/data/v.xlsx:Sheet 2"), file_name("OUT/")
    ('v.csv', 'v.xlsx:Sheet 2', 'OUT')
    """
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or path


def _shorten_setting(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [file_name(path) for path in value]
    return file_name(value) if isinstance(value, str) else value


def _as_list(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return (
        [path for path in value if isinstance(path, str)] if isinstance(value, list | tuple) else []
    )
