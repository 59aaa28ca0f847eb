"""A scorecard in, a page out to read or print: no script, no network, all text escaped; three columns fit a phone."""

from __future__ import annotations

from html import escape

from pysirus._plain import one_line
from pysirus.export._card import Card

STYLE = """
:root { color-scheme: light dark; --line: #8885; --soft: #8882; }
body { font: 16px/1.45 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .45rem .5rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
th { font-weight: 600; border-bottom-width: 2px; }
td { font-variant-numeric: tabular-nums; }
td.given { font-weight: 600; }
small { display: block; opacity: .7; }
tr.start td { background: var(--soft); }
ul { padding-left: 1.2rem; }
.steps { max-width: 24rem; }
@media (max-width: 30rem) { body { margin: 1rem auto; } th, td { padding: .4rem .3rem; } }
@media print { body { margin: 0; max-width: none; } tr { break-inside: avoid; } }
"""


def _text(value: object) -> str:
    return escape(one_line(str(value)))


def _cell(points: int) -> str:
    return f'<td class="given">{points}</td>' if points else "<td>0</td>"


def _rule_rows(card: Card) -> list[str]:
    lines = []
    for rule, (inside, outside), (a, b) in zip(card.model.rules, card.shares(), card.points.tolist()):
        shares = f"<small>{_text(card.label)}: {inside} if so, {outside} if not</small>"
        lines.append(f"<tr><td>{_text(rule.condition_text)}{shares}</td>{_cell(a)}{_cell(b)}</tr>")
    return lines


def card_page(card: Card) -> str:
    """The scorecard as one HTML page."""
    title = f"Scorecard of {_text(card.model.target)}"
    steps = [f"<tr><td>{total}</td><td>{100 * p:.1f}%</td></tr>" for total, p in card.steps()]
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        f"<p>Add up the points of all rules, and the start. More points: {_text(card.label)} is more likely.</p>",
        "<table><thead><tr><th>Rule</th><th>Points if so</th><th>if not</th></tr></thead><tbody>",
        f'<tr class="start"><td>Start</td><td colspan="2" class="given">{card.start}</td></tr>',
        *_rule_rows(card),
        "</tbody></table>",
        "<h2>From points to probability</h2>",
        '<table class="steps"><thead>',
        f"<tr><th>Points</th><th>Probability of {_text(card.label)}</th></tr></thead><tbody>",
        *steps,
        "</tbody></table>",
        "<h2>About these points</h2>",
        f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in card.words())}</ul>",
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"
