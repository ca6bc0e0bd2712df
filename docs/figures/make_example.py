"""Draw the picture of the README: python docs/figures/make_example.py [FILE].

One photograph of the bundled example: the labels in question as a tree, the votes of each person,
and the consolidated scores and label set.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import mhpc
from mhpc.numerics.arrays import FloatArray, dense
from mhpc.result import Result

PHOTOGRAPH = "photo-073"
ROW, TOP, LEFT, TREE, COLUMN, BAR = 26, 118, 24, 210, 46, 150
INK, QUIET, ACCENT = "#1f2933", "#7b8794", "#0b7285"
FONT = "font-family='Helvetica, Arial, sans-serif'"
KEY = "● vote  ·  ○ ancestor of a vote  ·  bold: in the result  ·  true: shown here, not used"


def main(target: Path) -> None:
    """Write the picture as SVG."""
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy)
    truth = {
        garden.truth.labels[k]
        for i, k in zip(garden.truth.instance, garden.truth.label, strict=True)
        if garden.truth.instances[i] == PHOTOGRAPH
    }
    target.write_text(draw(result, truth), encoding="utf-8")


def draw(result: Result, truth: set[str]) -> str:
    """Return the picture: a line per label, a column per person, a bar per score."""
    panel = result.panel
    row = panel.instances.positions[PHOTOGRAPH]
    answers = [a for a in range(len(panel.instance)) if panel.instance[a] == row]
    labels = labels_in_question(result, answers)
    bars = LEFT + TREE + COLUMN * len(answers) + 30
    width, height = bars + BAR + 80, TOP + ROW * len(labels) + 46
    raw, augmented = dense(panel.raw[answers]), dense(panel.augmented[answers])
    scores = dense(result.consolidation.score[row : row + 1])[0]
    elements = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img' aria-label='Votes on one photograph and "
        f"the consolidated result'>",
        f"<rect width='{width}' height='{height}' fill='#ffffff'/>",
    ]
    for column, answer in enumerate(answers):
        source = panel.sources[panel.source[answer]]
        elements.append(text(column_x(column), TOP - 14, source, rotate=-40))
    elements.append(text(bars, TOP - 14, "consolidated score", weight="bold"))
    chosen = set(result.labels[PHOTOGRAPH])
    for line, k in enumerate(labels):
        y = TOP + ROW * line + 14
        name, is_chosen = panel.taxonomy.names[k], panel.taxonomy.names[k] in chosen
        indent = 18 * (int(panel.taxonomy.depth[k]) - 1)
        weight, ink = ("bold", INK) if is_chosen else ("normal", QUIET)
        elements.append(text(LEFT + indent, y + 4, name, weight=weight, colour=ink))
        elements.extend(draw_votes(y, raw[:, k], augmented[:, k]))
        colour, length = ACCENT if is_chosen else QUIET, BAR * scores[k]
        size = f"width='{length:.1f}' height='16'"
        elements.append(f"<rect x='{bars}' y='{y - 8}' {size} fill='{colour}'/>")
        caption = f"{scores[k]:.2f}{' true' if name in truth else ''}"
        elements.append(text(bars + length + 8, y + 4, caption, colour=colour))
    elements.append(text(LEFT, height - 14, KEY, colour="#52606d"))
    return "\n".join([*elements, "</svg>\n"])


def labels_in_question(result: Result, answers: list[int]) -> list[int]:
    """Return the labels of all votes with their ancestors, children below their parents."""
    panel = result.panel
    named = set(panel.augmented[answers].indices.tolist())

    def subtree(label: int) -> list[int]:
        children = [int(k) for k in panel.taxonomy.children_of(label) if int(k) in named]
        return [label, *(k for child in children for k in subtree(child))]

    return [k for root in panel.taxonomy.roots if root in named for k in subtree(int(root))]


def draw_votes(y: float, raw: FloatArray, augmented: FloatArray) -> Iterator[str]:
    """Yield a dot for each vote and a circle for each label that a vote implies."""
    for column, (vote, implied) in enumerate(zip(raw, augmented, strict=True)):
        centre = f"cx='{column_x(column)}' cy='{y}'"
        if vote:
            yield f"<circle {centre} r='6' fill='{INK}'/>"
        elif implied:
            yield f"<circle {centre} r='5' fill='none' stroke='{QUIET}' stroke-width='1.5'/>"


def column_x(column: int) -> int:
    """Return where the column of a person stands."""
    return LEFT + TREE + COLUMN * column + 20


def text(
    x: float, y: float, words: str, *, weight: str = "normal", colour: str = INK, rotate: int = 0
) -> str:
    """Return one line of text."""
    rotation = f" transform='rotate({rotate} {x} {y})'" if rotate else ""
    return (
        f"<text x='{x:g}' y='{y:g}' {FONT} font-size='13' font-weight='{weight}' "
        f"fill='{colour}'{rotation}>{escape(words)}</text>"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "example.svg")
