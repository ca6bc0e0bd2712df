"""What is shown beside instances: texts, links and images from a table."""

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from mhpc.errors import DataError, MhpcWarning, MissingColumnError, ParameterError
from mhpc.read.show import ShowSource, embed_all
from mhpc.report.show import add_show

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
ROWS = [
    {"item_id": 1, "image": "a.png", "Text": "A bee", "url": "https://example.org/1", "place": "x"},
    {"item_id": 2, "image": "", "Text": None, "url": "javascript:alert(1)", "place": "<b>y</b>"},
    {"item_id": 2, "image": None, "Text": "second row", "url": "other", "place": "z"},
    {"item_id": 4, "image": "b.png", "Text": "not listed", "url": "", "place": ""},
]


def read(
    path: Path, instances: Sequence[str] = ("1", "2", "3"), **options: object
) -> dict[str, object]:
    with pytest.warns(MhpcWarning, match="shown as paths"):
        return {**ShowSource(str(path)).read(instances, **options).columns}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["items.csv", "items.parquet", "items.xlsx", "items.jsonl"])
def test_any_table_can_be_shown(tmp_path: Path, name: str) -> None:
    frame, path = pd.DataFrame(ROWS), tmp_path / name
    if name.endswith("csv"):
        frame.to_csv(path, index=False)
    elif name.endswith("parquet"):
        frame.to_parquet(path)
    elif name.endswith("xlsx"):
        frame.to_excel(path, index=False)
    else:
        path.write_text("\n".join(json.dumps(row) for row in ROWS))
    assert read(path) == {
        "text": {"1": "A bee", "2": "second row"},
        "url": {"1": "https://example.org/1", "2": "javascript:alert(1)"},
        "place": {"1": "x", "2": "<b>y</b>"},
        "image file": {"1": "a.png"},
    }


def test_facts_have_one_list_per_column_aligned_with_the_instances(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("instance,text\nb,second\na,first\n")
    facts = {"instances": {"id": ["a", "c", "b"]}, "review": {"population": 3}}
    table = ShowSource(str(tmp_path / "items.csv")).read(facts["instances"]["id"])  # type: ignore[arg-type]
    shown = add_show(facts, table)
    assert shown["review"] == {"population": 3, "show": {"text": ["first", None, "second"]}}
    assert facts["review"] == {"population": 3}
    assert add_show({"instances": facts["instances"]}, table)["review"].keys() == {"show"}


def test_long_texts_are_truncated(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(f"instance,text\na,{'x' * 5000}\nb,{'y' * 5001}\n")
    columns = ShowSource(str(tmp_path / "items.csv")).read(["a", "b"]).columns
    assert columns["text"] == {"a": "x" * 5000, "b": "y" * 5000 + "…"}


def test_at_most_twelve_columns_are_shown_among_them_those_with_a_role(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(14)]
    (tmp_path / "items.csv").write_text(f"instance,{','.join(names)},text\na{',1' * 15}\n")
    with pytest.warns(MhpcWarning, match="12 of its 15 columns"):
        columns = ShowSource(str(tmp_path / "items.csv")).read(["a"]).columns
    assert list(columns) == ["text", *names[:11]]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("image,url,text\na.png,b,c\n", MissingColumnError, "no column 'instance'"),
        ("instance\na\n", DataError, "nothing to show"),
        ("instance,text\nz,c\n", DataError, "none of the instances of the run .*'z'.*'1'"),
    ],
)
def test_a_table_that_fits_no_run_is_refused(
    tmp_path: Path, content: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "items.csv").write_text(content)
    with pytest.raises(error, match=message):
        ShowSource(str(tmp_path / "items.csv")).read(["1", "2"])


def test_a_limit_that_is_no_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="embed_images = 'much'"):
        ShowSource(str(tmp_path / "items.csv"), "much").check()


def test_images_are_embedded_by_their_content(tmp_path: Path) -> None:
    images = {"png": PNG, "jpg": b"\xff\xd8\xff\xe0", "gif": b"GIF89a", "webp": b"RIFF1234WEBPVP8 "}
    (tmp_path / "pictures").mkdir()
    for name, content in images.items():
        (tmp_path / "pictures" / name).write_bytes(content)
    embedded, others, skipped = embed_all(
        {name: f"pictures/{name}" for name in images}, tmp_path, 1000
    )
    assert embedded["png"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert [uri.partition(";")[0] for uri in embedded.values()] == [
        "data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp",
    ]  # fmt: skip
    assert (others, skipped.total()) == ({}, 0)


def test_only_images_in_the_folder_of_the_table_are_read(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside.png"
    folder.mkdir()
    for path in (outside, folder / "inside.png"):
        path.write_bytes(PNG)
    (folder / "link.png").symlink_to(outside)
    (folder / "up").symlink_to(tmp_path)
    (folder / "good-link.png").symlink_to("inside.png")
    (folder / "page.svg").write_text("<svg onload='alert(1)'/>")
    (folder / "large.png").write_bytes(PNG + bytes(100))
    os.mkfifo(folder / "pipe.png")
    images = [
        "../outside.png", str(outside), "link.png", "up/outside.png", "folder/../../outside.png",
        "C:\\outside.png", "..\\outside.png", "file.png", "pipe.png", "page.svg", "large.png",
        "nul\0.png", "https://example.org/a.png", "file:///etc/passwd", "good-link.png",
        "inside.png",
    ]  # fmt: skip
    embedded, others, skipped = embed_all(
        {str(number): name for number, name in enumerate(images)}, folder, 1000, max_image=50
    )
    assert {images[int(number)] for number in embedded} == {"inside.png", "good-link.png"}
    assert set(others.values()) == set(images[:-2])
    assert skipped == {"outside": 7, "missing": 3, "type": 1, "large": 1}


def test_the_limit_holds_for_all_images_together(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("instance,image\n1,a.png\n2,b.png\n3,c.png\n")
    for name in "abc":
        (tmp_path / f"{name}.png").write_bytes(PNG)
    source = ShowSource(str(tmp_path / "items.csv"), f"{2 * len(PNG)}B")
    with pytest.warns(MhpcWarning, match="1 image not embedded: 1 beyond the limit of 30 bytes"):
        columns = source.read(["1", "2", "3"]).columns
    assert columns["image"].keys() == {"1", "2"}
    assert columns["image file"] == {"3": "c.png"}
