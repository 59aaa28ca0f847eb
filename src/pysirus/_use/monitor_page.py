"""What has changed in, one HTML page out, with a picture of each rule and column by period; it loads nothing."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pysirus._text.format import format_number
from pysirus._use.drift import column_test

if TYPE_CHECKING:
    from pysirus._use.monitoring import Monitoring

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1c2430; --soft: #5b6675; --line: #d9dee6; --first: #1f5fa8;
  --second: #b06a00; --mark: #fdf1dc; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161c; --ink: #e7ebf1; --soft: #9aa6b6; --line: #2f3947;
  --first: #7db2ee; --second: #f0b45c; --mark: #3a2c12; } }
html { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 0 auto; padding: 1.5rem; } h1 { font-size: 1.5rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
p.verdict { border-left: .4rem solid var(--first); padding: .4rem .8rem; }
p.alarm { border-color: var(--second); background: var(--mark); } .note { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 5rem; }
tr.alarm { background: var(--mark); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; } figcaption { font-size: .85rem; color: var(--soft); overflow-wrap: anywhere; min-height: 2.6em; }
svg { width: 100%; height: auto; } text { fill: var(--soft); font-size: 11px; } .axis { stroke: var(--line); }
.s0 { stroke: var(--first); fill: var(--first); } .s1 { stroke: var(--second); fill: var(--second); }
.n0 { color: var(--first); } .n1 { color: var(--second); }
polyline { fill: none !important; stroke-width: 2; } line.then { stroke-dasharray: 4 3; }
"""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 320, 150, 48, 22, 10, 12
MOST_CHARTS = 24
NAMED = 3  # periods below a picture


class Series(NamedTuple):
    """A line of a picture: its name, a value for each period, and the value of the training rows."""

    name: str
    values: Sequence[float]
    then: float


def _labels(values: Sequence[float]) -> list[str]:
    """Numbers of an axis, in as few digits as tell them apart."""
    found = ([format_number(value, digits) for value in values] for digits in range(2, 17))
    return next((own for own in found if len(set(own)) == len(own)), [format_number(value, 17) for value in values])


def chart(
    title: str, periods: Sequence[str], series: Sequence[Series], least: float = 0.0, most: float = math.inf
) -> str:
    """A picture of some series by period, over a span of at least this and up to ``most``; dashed: as they were."""
    known = [v for own in series for v in (*own.values, own.then) if not math.isnan(v)]
    if not known:
        return ""
    low, high = min(known), max(known)
    middle, half = (low + high) / 2, max(high - low, least) / 2
    low, high = (middle - half, middle + half) if low >= 0 and middle >= half else (min(low, 0.0), max(high, 2 * half))
    room = 0.08 * (high - low) or 0.5 * abs(high) or 1.0
    low, high = (0.0 if low >= 0 and low < room * 4 else low - room), min(high + room, most)

    def x(k: int) -> float:
        step = (WIDTH - LEFT - RIGHT) / max(1, len(periods) - 1)
        return LEFT + (k * step if len(periods) > 1 else (WIDTH - LEFT - RIGHT) / 2)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    ends = (low, (low + high) / 2, high)
    parts = [
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{html.escape(label)}</text>'
        for v, label in zip(ends, _labels(ends))
    ]
    for i, own in enumerate(series):
        points = [(x(k), y(v)) for k, v in enumerate(own.values) if not math.isnan(v)]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline class="s{i}" points="{line}"/>')
        parts += [f'<circle class="s{i}" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in points]
        if not math.isnan(own.then):
            at = f'y1="{y(own.then):.1f}" y2="{y(own.then):.1f}"'
            parts.append(f'<line class="s{i} then" x1="{LEFT}" x2="{WIDTH - RIGHT}" {at}/>')
    shown = sorted({round(k * (len(periods) - 1) / (NAMED - 1)) for k in range(NAMED)})
    for k in shown:
        anchor = "start" if k == 0 and len(periods) > 1 else "end" if k == len(periods) - 1 > 0 else "middle"
        name = html.escape(periods[k][:12])
        parts.append(f'<text x="{x(k):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{name}</text>')
    legend = " · ".join(f'<span class="n{i}">{html.escape(o.name)}</span>' for i, o in enumerate(series))
    said = "; ".join(
        f"{o.name}: {', '.join(format_number(v, 3) for v in o.values if not math.isnan(v))}" for o in series
    )
    return (
        f"<figure><figcaption>{html.escape(title)}<br>{legend}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(f"{title}. {said}")}">'
        f"{''.join(parts)}</svg></figure>"
    )


def monitor_page(found: Monitoring) -> str:
    """The page."""
    title = f"{found.model.target}: what has changed since the model was learned"
    parts = found.by_period()
    names = [period or "all rows" for period, _ in parts]
    sections = [_overall(found, names)]
    for head, own in (("Rules", _rules(found, names)), ("Columns", _columns(found, names))):
        more = f'<p class="note">The {MOST_CHARTS} worst.</p>' if len(own) > MOST_CHARTS else ""
        sections.append(f'<h2>{head}, worst first</h2>{more}<div class="charts">{"".join(own[:MOST_CHARTS])}</div>')
    notes = "".join(f'<p class="note">{html.escape(line)}</p>' for line in found.notes())
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>"
        f'<p class="verdict{" alarm" if found.alarm else ""}">{html.escape(found.verdict)}</p>{notes}'
        f'{"".join(sections)}<p class="note">Dashed: the training rows. Dots: new rows.</p></body></html>\n'
    )


def _overall(found: Monitoring, names: Sequence[str]) -> str:
    rows = found.period_rows()
    cells = "".join(
        f"<tr{' class=alarm' if row['alarm'] else ''}><td>{html.escape(row['period'])}</td><td>{row['n_rows']:,}</td>"
        f"<td>{'' if row['error'] is None else format_number(row['error'], 3)}</td>"
        f"<td>{row['n_alarms'] if row['tested'] else 'not tested'}</td></tr>"
        for row in rows
    )
    table = (
        '<div class="wide"><table><thead><tr><th>period</th><th>rows</th><th>mean squared residual</th>'
        f"<th>tests that raise the alarm</th></tr></thead><tbody>{cells}</tbody></table></div>"
    )
    if found.error is None:
        return table
    values = [math.nan if row["error"] is None else row["error"] for row in rows]
    picture = chart("error: mean squared residual", names, [Series("error", values, found.error[0])])
    return f'{table}<div class="charts" style="margin-top:1rem">{picture}</div>'


def _rules(found: Monitoring, names: Sequence[str]) -> list[str]:
    pictures = []
    for t in found.order("rule"):
        title = found.term_name(t)
        averages = [found.average(sums, t) for _, sums in found.by_period()]
        then = found.average(found.then, t)
        if found.model.watched_terms[t].is_binary:
            pictures.append(chart(title, names, [Series("share of rows", averages, then)], 0.2, 1.0))
        else:
            pictures.append(chart(title, names, [Series("mean", averages, then)]))
        sides = [found.sides(sums, t) for _, sums in found.by_period()]
        before = found.sides(found.then, t)
        if not all(math.isnan(side) for pair in sides for side in pair):
            ends = ("if so", "if not") if found.model.watched_terms[t].is_binary else ("mean + 1 sd", "mean − 1 sd")
            series = [Series(word, [s[k] for s in sides], before[k]) for k, word in enumerate(ends)]
            pictures.append(chart(f"{title}: outputs", names, series))
    return pictures


def _columns(found: Monitoring, names: Sequence[str]) -> list[str]:
    pictures = []
    for i in found.order("column"):
        if len(found.now[None].cells[i]):
            values = [column_test(found.then, sums, i)[1] for _, sums in found.by_period()]
            title = f"{found.model.features[i].name}: population stability index"
            pictures.append(chart(title, names, [Series("PSI", values, math.nan)], 0.25))
    return pictures
