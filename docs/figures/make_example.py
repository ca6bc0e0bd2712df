"""Draw README's picture: python docs/figures/make_example.py [FILE].

One photograph of the bundled example: the labels in question as a tree, what each person said,
and the scores and the set that come of it.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

import mhpc
from mhpc.numerics.arrays import dense
from mhpc.result import Result

PHOTOGRAPH = "photo-073"
ROW, TOP, LEFT, COLUMN, BAR = 26, 118, 24, 46, 150
INK, QUIET, ACCENT = "#1f2933", "#7b8794", "#0b7285"
FONT = "font-family='Helvetica, Arial, sans-serif'"


def main(target: Path) -> None:
    """Write the picture as SVG."""
    garden = mhpc.load_garden()
    result = mhpc.consolidate(garden.votes, garden.taxonomy)
    truth = {
        garden.truth.labels[k]
        for i, k in zip(garden.truth.instance, garden.truth.label, strict=True)
        if garden.truth.instances[i] == PHOTOGRAPH
    }
    target.write_text(_picture(result, truth), encoding="utf-8")


def _picture(result: Result, truth: set[str]) -> str:
    panel = result.panel
    case = panel.instances.positions[PHOTOGRAPH]
    answers = [a for a in range(len(panel.instance)) if panel.instance[a] == case]
    labels = _in_question(result, case, answers)
    tree_width = 210
    bars = LEFT + tree_width + COLUMN * len(answers) + 30
    width, height = bars + BAR + 80, TOP + ROW * len(labels) + 46
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img' aria-label='Votes on one photograph and "
        f"the consolidated result'>",
        f"<rect width='{width}' height='{height}' fill='#ffffff'/>",
    ]
    for n, a in enumerate(answers):
        x = LEFT + tree_width + COLUMN * n + 20
        name = panel.sources[panel.source[a]]
        parts.append(_text(x, TOP - 14, name, rotate=-40))
    parts.append(_text(bars, TOP - 14, "consolidated score", weight="bold"))
    chosen = set(result.labels[PHOTOGRAPH])
    raw, augmented = dense(panel.raw[answers]), dense(panel.augmented[answers])
    scores = dense(result.consolidation.score[case : case + 1])[0]
    for line, k in enumerate(labels):
        y = TOP + ROW * line + 14
        name = panel.taxonomy.names[k]
        indent = 18 * (int(panel.taxonomy.depth[k]) - 1)
        parts.append(
            _text(
                LEFT + indent, y + 4, name,
                weight="bold" if name in chosen else "normal",
                colour=INK if name in chosen else QUIET,
            )
        )  # fmt: skip
        for n in range(len(answers)):
            x = LEFT + tree_width + COLUMN * n + 20
            if raw[n, k]:
                parts.append(f"<circle cx='{x}' cy='{y}' r='6' fill='{INK}'/>")
            elif augmented[n, k]:
                parts.append(
                    f"<circle cx='{x}' cy='{y}' r='5' fill='none' stroke='{QUIET}' "
                    "stroke-width='1.5'/>"
                )
        colour = ACCENT if name in chosen else QUIET
        parts.append(
            f"<rect x='{bars}' y='{y - 8}' width='{BAR * scores[k]:.1f}' height='16' "
            f"fill='{colour}'/>"
        )
        mark = f"{scores[k]:.2f}{' true' if name in truth else ''}"
        parts.append(_text(bars + BAR * scores[k] + 8, y + 4, mark, colour=colour))
    key = "● said  ·  ○ implied by what was said  ·  bold: in the result  ·  true: shown, not used"
    parts.append(_text(LEFT, height - 14, key, colour="#52606d"))
    parts.append("</svg>\n")
    return "\n".join(parts)


def _in_question(result: Result, case: int, answers: list[int]) -> list[int]:
    """Return the labels that someone said or implied, children below their parents."""
    panel = result.panel
    said = set(panel.augmented[answers].indices.tolist())

    def below(label: int) -> list[int]:
        lower = [below(int(k)) for k in panel.taxonomy.children_of(label) if int(k) in said]
        return [label, *(k for group in lower for k in group)]

    return [k for root in panel.taxonomy.roots if root in said for k in below(int(root))]


def _text(
    x: float, y: float, text: str, *, weight: str = "normal", colour: str = INK, rotate: int = 0
) -> str:
    turned = f" transform='rotate({rotate} {x} {y})'" if rotate else ""
    return (
        f"<text x='{x:g}' y='{y:g}' {FONT} font-size='13' font-weight='{weight}' "
        f"fill='{colour}'{turned}>{escape(text)}</text>"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "example.svg")
