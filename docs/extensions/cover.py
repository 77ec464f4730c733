"""Draw the picture of mean penalties and blocking pairs by method that opens the README and the
site:

python docs/extensions/cover.py

A thousand jobs on 500 processors: the mean penalty and the blocking pairs of each policy, beside
the two that are proved.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import cotenant

FILE = Path(__file__).resolve().parent.parent / "static" / "cooper-1000.svg"

METHODS = ("optimal", "stable", "SR", "SMR", "SMP", "GR", "CO", "threshold")

WIDTH, TOP, ROW, LEFT, RIGHT = 480, 84, 26, 84, 340
"""Of the picture; where the first row begins; a row's height; where bars begin and end."""

STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif }
text { fill: #1f2328 } .soft { fill: #59636e } .policy { fill: #9aa7b4 } .proved { fill: #0b5cad }
line { stroke: #0b5cad; stroke-dasharray: 4 3 } .big { font-size: 15px; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  svg { background: #14171c } text { fill: #e6e8eb } .soft { fill: #a3adb8 }
  .policy { fill: #5d6874 } .proved { fill: #6cb2ff } line { stroke: #6cb2ff }
}
"""
"""A picture that is loaded as a file does not see the page: it brings paper and ink of its own."""


def measured() -> dict[str, tuple[float, float]]:
    """Mean penalty and number of blocking pairs of each method, in order of mean penalty."""
    jobs = cotenant.read("colocation/cooper-1000")
    found = {name: cotenant.solve(jobs, name, seed=0, time_limit=20) for name in METHODS}
    assert all(found[name].gap == 0 for name in ("optimal", "stable"))
    values = {
        name: (result.metrics["penalty"], result.metrics["blocking_pairs"])
        for name, result in found.items()
    }
    return dict(sorted(values.items(), key=lambda item: item[1][0]))


def described(values: dict[str, tuple[float, float]]) -> str:
    """Alternative text of the picture: what it shows, in words."""
    parts = [f"{name} {100 * cost:.2f} %, {pairs:,.0f}" for name, (cost, pairs) in values.items()]
    return f"Mean penalty and blocking pairs: {'; '.join(parts)}."


def drawn(values: dict[str, tuple[float, float]]) -> str:
    """Picture of the measured values as SVG."""
    most = max(cost for cost, _ in values.values())
    scale = (RIGHT - LEFT - 52) / most
    bottom = TOP + ROW * len(values)
    title = "1,000 jobs on 500 processors: who runs beside whom?"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 46}" role="img">',
        f"<title>{title}</title><desc>{escape(described(values))}</desc><style>{STYLE}</style>",
        f'<text class="big" x="10" y="24">{title}</text>',
        f'<text class="soft" x="{LEFT}" y="52">throughput lost, mean</text>',
        f'<text class="soft" x="{WIDTH - 10}" y="52" text-anchor="end">pairs of jobs that</text>',
        f'<text class="soft" x="{WIDTH - 10}" y="68" text-anchor="end">would rather share</text>',
    ]
    for place, (name, (cost, pairs)) in enumerate(values.items()):
        y = TOP + ROW * place
        kind = "proved" if name in ("optimal", "stable") else "policy"
        end = LEFT + scale * cost
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{name}</text>',
            f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{scale * cost:.1f}" height="19"/>',
            f'<text x="{end + 6:.1f}" y="{y + 14}">{100 * cost:.2f} %</text>',
            f'<text x="{WIDTH - 10}" y="{y + 14}" text-anchor="end">{pairs:,.0f}</text>',
        ]
    for name in ("optimal", "stable"):
        x = LEFT + scale * values[name][0]
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
    notes = (
        "Proved: no pairing loses less than optimal, and no pairing with 0 such",
        "pairs loses less than stable. The others are published policies.",
    )
    for place, note in enumerate(notes):
        parts.append(f'<text class="soft" x="10" y="{bottom + 16 + 18 * place}">{note}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Measure the methods and write the picture into `docs/static`."""
    FILE.write_text(drawn(measured()), encoding="utf-8")
    print(FILE, f"{FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
