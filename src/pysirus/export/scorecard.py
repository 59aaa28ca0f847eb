"""A model of classes in, a scorecard out as text, workbook, page or SQL; ``_card`` says what the points are.

The page is to read or print: no script, no network, all text escaped; three columns fit a phone. The workbook has the
card on its first sheet: change points there, and the totals and probabilities on "Predict" follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from pysirus._model.model import Model
from pysirus._terms.listing import RuleSet
from pysirus._text.format import one_line, text_table
from pysirus._text.message import InPython
from pysirus.export._card import Card, make_cards, words
from pysirus.export._card_book import Entry, card_workbook, entries_of, header_of, meaning_of, title_of
from pysirus.export._conditions import ExportError

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


def _page_row(entry: Entry, shares: Sequence[str]) -> str:
    """A row of the page: shares stand below the rule, so that the table stays narrow."""
    if entry.is_title:
        return f'<tr class="start"><td colspan="99">{_text(entry.text)}</td></tr>'
    start = ' class="start"' if entry.line is None else ""
    cells = "".join(f'<td class="given">{own}</td>' if own != "0" else "<td>0</td>" for own in entry.cells)
    told = f"<small>{' '.join(map(_text, shares))}</small>" if any(shares) else ""
    return f"<tr{start}><td>{_text(entry.text)}{told}</td>{cells}</tr>"


def card_page(cards: Sequence[Card]) -> str:
    """The scorecard as one HTML page."""
    first, header = cards[0], header_of(cards)
    title, told = f"Scorecard of {_text(first.model.target)}", f"More points: {_text(first.label)} is more likely."
    rows = []
    for entry in entries_of(cards):
        shares: list[str] = []
        if header[0] == "rule" and len(cards) == 1:
            inside, outside = entry.cells[:2]
            shares = [f"{first.label}: {inside} if so, {outside} if not"] if inside else []
            entry = replace(entry, cells=entry.cells[2:])
        rows.append(_page_row(entry, shares))
    names = header if header[0] == "attribute" or len(cards) > 1 else ["rule", "points if so", "if not"]
    meaning, steps = meaning_of(cards)

    def table(names: Sequence[str], rows: Sequence[str], kind: str = "") -> str:
        head = "".join(f"<th>{_text(name[:1].upper() + name[1:])}</th>" for name in names)
        return f"<table{kind}><thead><tr>{head}</tr></thead><tbody>\n{chr(10).join(rows)}\n</tbody></table>"

    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        f"<p>Add up the points of all {'rules' if names[0] == 'rule' else 'blocks'}, and the start. "
        f"{told if len(cards) == 1 else 'The class with the most points is the most likely.'}</p>",
        table(names, rows),
        f"<h2>From points to {'probability' if len(cards) == 1 else 'odds'}</h2>",
        table(meaning, [f"<tr><td>{_text(a)}</td><td>{_text(b)}</td></tr>" for a, b in steps], ' class="steps"'),
        "<h2>About these points</h2>",
        f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in words(cards))}</ul>",
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


ENDINGS = {
    "text": (".txt",),
    "excel": (".xlsx",),
    "html": (".html", ".htm"),
    "sql": (".sql",),
    "markdown": (".md",),
    "latex": (".tex",),
}


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """What the ending of a file name asks for."""
    name = os.fspath(path).lower()
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), None)


def _to_text(cards: Sequence[Card], options: dict[str, Any]) -> str:
    header, rows = header_of(cards), []
    for entry in entries_of(cards):
        if entry.is_title:
            rows.append([""] * len(header))  # a block begins
        else:
            rows.append([entry.text, *entry.cells])
    tables = [text_table(header, rows), text_table(*meaning_of(cards))]
    return "\n".join([one_line(title_of(cards)), "", tables[0], "", tables[1], "", *map(one_line, words(cards)), ""])


def _to_markdown(cards: Sequence[Card], options: dict[str, Any]) -> str:
    from pysirus.export.lists import escape_markdown

    def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        cells = [header, *rows]
        lines = [f"| {' | '.join(map(escape_markdown, own))} |" for own in cells]
        return [lines[0], f"|:---|{'---:|' * (len(header) - 1)}", *lines[1:], ""]

    header = header_of(cards)
    rows = [[own.text, *(own.cells or [""] * (len(header) - 1))] for own in entries_of(cards)]
    lines = [f"# {escape_markdown(title_of(cards))}", "", *table(header, rows), *table(*meaning_of(cards))]
    return "\n".join([*lines, *(f"- {escape_markdown(line)}" for line in words(cards)), ""])


def _to_latex(cards: Sequence[Card], options: dict[str, Any]) -> str:
    from pysirus.export.lists import escape_latex

    header = [name.removeprefix("points for ") for name in header_of(cards)]  # the caption says that they are points
    caption = f"{title_of(cards)}{', points' if len(cards) > 1 else ''}"
    rows = []
    for own in entries_of(cards):
        text = rf"\emph{{{escape_latex(own.text)}}}" if own.is_title else escape_latex(own.text)
        rows.append(" & ".join([text, *map(escape_latex, own.cells or [""] * (len(header) - 1))]) + r" \\")
    lines = [
        "% needs \\usepackage{array,booktabs,longtable,textcomp}",
        rf"\begin{{longtable}}{{>{{\raggedright\arraybackslash}}p{{0.5\linewidth}}{'r' * (len(header) - 1)}}}",
        rf"  \caption{{{escape_latex(caption)}}} \\",
        r"  \toprule",
        f"  {' & '.join(map(escape_latex, header))} " + r"\\",
        r"  \midrule \endhead",
        *(f"  {row}" for row in rows),
        r"  \bottomrule",
        r"\end{longtable}",
        *(f"{escape_latex(line)}\n" for line in words(cards)),
    ]
    return "\n".join(lines) + "\n"


def _to_sql(cards: Sequence[Card], options: dict[str, Any]) -> str:
    from pysirus.export.sql import whole_sql

    header, lines = header_of(cards), [title_of(cards), *words(cards)]
    for own in entries_of(cards)[1:]:
        named = zip(header[1:], own.cells)
        lines.append("; ".join([own.text, *(f"{name} {cell}" for name, cell in named if cell)]))
    comments = "".join(f"-- {one_line(line)}\n" for line in lines)
    name = options.pop("prediction", "points")
    names = [name] if len(cards) == 1 else [f"{name}_{card.label}" for card in cards]
    return comments + whole_sql({own: _counting(card) for own, card in zip(names, cards)}, **options)


def _counting(card: Card) -> Model:
    """The model of the total without lines that give no points."""
    kept = [rule for rule, points in zip(card.total.rules, card.points) if points.any()]
    return replace(card.total, selected=RuleSet(kept))


def _to_html(cards: Sequence[Card], options: dict[str, Any]) -> str:
    return card_page(cards)


def _to_excel(cards: Sequence[Card], options: dict[str, Any]) -> bytes:
    return card_workbook(cards, options.get("X"))


WRITERS: dict[str, Callable[[Sequence[Card], dict[str, Any]], str | bytes]] = {
    "text": _to_text,
    "excel": _to_excel,
    "html": _to_html,
    "sql": _to_sql,
    "markdown": _to_markdown,
    "latex": _to_latex,
}
SQL_OPTIONS = ("table", "dialect", "prediction")


def to_scorecard(
    model: Model,
    *,
    kind: str = "text",
    by: str = "rule",
    pdo: float = 20.0,
    base_score: float = 600.0,
    base_odds: float | None = None,
    positive: Any = None,
    X: Any = None,
    y: Any = None,
    table: str | None = None,
    dialect: str | None = None,
    prediction: str | None = None,
) -> str | bytes:
    """A scorecard of a model of classes with likelihood weights.

    Parameters
    ----------
    model : Model
        The model.
    kind : {"text", "excel", "html", "sql", "markdown", "latex"}, default="text"
        What is written; where a path is given, by its ending (.txt, .xlsx, .html, .sql, .md, .tex).
    by : {"rule", "attribute"}, default="rule"
        Points for each rule, where it applies and elsewhere, or for each attribute: the ranges between the cuts of a
        column, or its categories. Rules of the same several columns become one grid of their attributes.
    pdo : float, default=20
        Points that double the odds.
    base_score, base_odds : float, default=600 and 50
        The score at which the odds of the positive class are ``base_odds`` to one. With ``base_odds=1``,
        ``base_score`` is where both classes are equally likely. With several classes ``base_score`` stands for a score
        of 0, and there are no base odds.
    positive : label, optional
        Of two classes the one that more points speak for; by default the model's positive class, else the second.
        Several classes each have their own points.
    X : data frame or array, optional
        Rows over which rounding is to lose least, and on which the loss is measured; they fill the workbook. By default
        rules are taken as independent, each with its share of the training rows.
    y : array, optional
        Their classes: AUC and log loss before and after rounding are printed.
    table, dialect, prediction : str, optional
        Options of the SQL export.

    Returns
    -------
    content : str or bytes
    """
    if kind not in WRITERS:
        raise ExportError(f"kind must be one of {', '.join(WRITERS)}, got {kind!r}.")
    given = dict(zip(SQL_OPTIONS, (table, dialect, prediction)))
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if options and kind != "sql":
        in_python = InPython(" (kind='sql')")
        raise ExportError(f"{', '.join(options)}: only a scorecard in SQL takes this option{in_python}.")
    scale = {"pdo": pdo, "base_score": base_score, "base_odds": base_odds, "positive": positive}
    cards = make_cards(model, by=by, X=X, y=y, **scale)
    return WRITERS[kind](cards, options if kind == "sql" else {"X": X})
