"""Run a notebook and store its outputs: python -m tools.run_notebook examples/review.ipynb.

Only the standard library and what the notebook imports are needed. Each code cell may print text
and end with an expression, whose value is shown as text, as a table (HTML) or as a picture (PNG).
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def main(path: Path) -> None:
    """Run all cells and write the outputs into the file."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for count, (cell, outputs) in enumerate(run_cells(notebook), start=1):
        cell["execution_count"] = count
        cell["outputs"] = [
            {"execution_count": count, **output}
            if output["output_type"] == "execute_result"
            else output
            for output in outputs
        ]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run_cells(notebook: Json) -> list[tuple[Json, list[Json]]]:
    """Return every code cell with its outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [(cell, run_cell("".join(cell["source"]), names)) for cell in cells]


def run_cell(source: str, names: dict[str, Any]) -> list[Json]:
    """Run one cell and return what it shows: printed text, and the value of its last line."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "notebook", "exec"), names)  # noqa: S102 - our own file
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)  # noqa: S307 - our own file
    outputs: list[Json] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        shown = {"data": represent(value), "metadata": {}, "output_type": "execute_result"}
        outputs.append(shown)
    return outputs


def represent(value: Any) -> Json:
    """Return a value as text and, where it can be one, as a picture or a table."""
    data: Json = {}
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=72)
        data["image/png"] = base64.b64encode(picture.getvalue()).decode()
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return {**data, "text/plain": repr(value).splitlines(keepends=True)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
