"""A model of classes in, a scorecard out as text, workbook, page or SQL; ``_card`` says what the points are.

The page is to read or print: no script, no network, all text escaped; three columns fit a phone. The workbook has the
card on its first sheet: change points there, and the totals and probabilities on "Predict", which adds them up, follow.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from pysirus._model.model import Model
from pysirus._terms.listing import RuleSet
from pysirus._text.format import one_line, text_table
from pysirus._text.message import InPython
from pysirus.export._addends import Listing, listing_of
from pysirus.export._card import Card, make_cards, words
from pysirus.export._conditions import ExportError
from pysirus.export.excel import FONT, Workbook, content_of, letters, rows_of, write_text


@dataclass(frozen=True)
class Entry:
    """A row of the table of a card: the start, the title of a block, or a line with its numbers."""

    text: str
    cells: tuple[str, ...] = ()
    line: int | None = None  # its number

    @property
    def is_title(self) -> bool:
        """Whether it only names a block."""
        return not self.cells


def header_of(cards: Sequence[Card]) -> list[str]:
    """The names of the columns of its table."""
    first = cards[0]
    if first.lines.by == "attribute":
        return ["attribute", *([f"points for {own.label}" for own in cards] if len(cards) > 1 else ["points"])]
    if len(cards) == 1:
        return ["rule", f"share of {first.label}: if so", "if not", "points: if so", "if not"]
    return ["rule", *(name for own in cards for name in (f"points for {own.label}: if so", "if not"))]


def entries_of(cards: Sequence[Card]) -> list[Entry]:
    """The rows of its table."""
    first, lines = cards[0], cards[0].lines
    whole = lines.by == "attribute"
    titles = {block.first: block.title for block in lines.blocks} if whole else {}
    sides = 1 if whole else 2
    starts = [str(own.start) for own in cards for _ in range(sides)]
    found = [Entry("start", (*([] if whole or len(cards) > 1 else ["", ""]), *starts))]
    for line, (text, shares) in enumerate(zip(lines.texts, first.shares())):
        if line in titles:
            found.append(Entry(titles[line]))
        points = [str(value) for own in cards for value in own.points[line, :sides].tolist()]
        found.append(Entry(text, (*([] if whole or len(cards) > 1 else shares), *points), line))
    return found


def meaning_of(cards: Sequence[Card]) -> tuple[list[str], list[list[str]]]:
    """From points to probabilities; of several classes from points that one has more than another to odds."""
    if len(cards) == 1:
        steps = [[f"{total}", f"{100 * p:.1f}%"] for total, p in cards[0].steps()]
        return ["points", f"probability of {cards[0].label}"], steps
    doubles = cards[0].factor * math.log(2.0)
    return ["points more", "odds"], [[f"{k * doubles / 2:g}", f"{2 ** (k / 2):.3g} to 1"] for k in range(9)]


def title_of(cards: Sequence[Card]) -> str:
    """What it is a card of."""
    told = f": points for {cards[0].label}" if len(cards) == 1 else ""
    return f"Scorecard of {cards[0].model.target}{told}"


FIRST = 5  # the row of the start; lines stand below it


class CardWorkbook(Workbook):
    """The workbook of the totals, with points from the card."""

    def __init__(self, cards: Sequence[Card]) -> None:
        super().__init__(cards[0].total)
        self.cards, self.lines = cards, cards[0].lines
        listings = [listing_of(card.total) for card in cards]
        branches = [
            replace(own[0], inside=tuple(b.inside[0] for b in own), outside=tuple(b.outside[0] for b in own))
            for own in zip(*(listing.branches for listing in listings))
        ]
        self.listing = Listing(tuple(float(card.start) for card in cards), tuple(branches))
        self.parts = [f"points for {card.label}" for card in cards]
        self.labels = tuple(card.label for card in cards)
        self.sheet = self.book.create_sheet("Scorecard", 0)
        self.entries, self.header = entries_of(cards), header_of(cards)
        self.row_of = {own.line: row for row, own in enumerate(self.entries, start=FIRST) if not own.is_title}
        self.sides = 1 if self.lines.by == "attribute" else 2
        self.first_points = len(self.header) + 1 - self.sides * len(cards)
        self.right = len(self.header) + 2  # where the meaning stands
        self.even, self.doubles = (f"Scorecard!${letters(self.right + 1)}${row}" for row in (1, 2))

    def _sum_names(self) -> list[str]:
        return ["points"] if len(self.cards) == 1 else self.parts

    def _answers(self, sums: list[str]) -> list[tuple[str, str]]:
        if len(self.cards) == 1:
            return [(f"probability of {self.cards[0].label}", f"={self._probability(sums[0])}")]
        odds = [[f"({other}-{own})*LN(2)/{self.doubles}" for other in sums if other != own] for own in sums]
        return self.shares(odds)

    def _probability(self, points: str) -> str:
        return f"1/(1+EXP(MIN(({self.even}-{points})*LN(2)/{self.doubles},700)))"

    def _place(self, line: int | None, k: int, side: int) -> str:
        """The cell of the card with the points of a line for a class, as a formula; of the start without a line."""
        return f"=Scorecard!${letters(self.first_points + self.sides * k + side)}${self.row_of[line]}"

    def _write_rules(self) -> None:
        """Outputs are cells of the card."""
        super()._write_rules()
        for k in range(len(self.cards)):
            self.rules.cell(1, self.first_part + 2 * k, self._place(None, k, 0))
        for line in range(len(self.lines.rules)):
            for k in range(len(self.cards)):
                for side in (0, 1):
                    value = self._place(line, k, side) if side < self.sides else 0
                    self.rules.cell(4 + line, 7 + 2 * k + side, value)
                    if len(self.cards) == 1:
                        self.rules.cell(4 + line, 3 + side, value)
            if len(self.cards) > 1:
                for column in (3, 4):
                    self.rules.cell(4 + line, column).value = None

    def write_card(self) -> None:
        """The sheet that people read."""
        from openpyxl.styles import Alignment, Font, PatternFill

        sheet = self.sheet
        bold, grey = Font(name=FONT, bold=True), PatternFill("solid", fgColor="E7ECF3")
        write_text(sheet["A1"], one_line(title_of(self.cards)))
        sheet["A1"].font = Font(name=FONT, bold=True, size=14)
        for c, name in enumerate(self.header, start=1):
            write_text(sheet.cell(FIRST - 1, c), one_line(name))
        means = self.cards[0].means()
        for row, entry in enumerate(self.entries, start=FIRST):
            write_text(sheet.cell(row, 1), one_line(entry.text))
            sheet.cell(row, 1).alignment = Alignment(wrap_text=True, vertical="top")
            if entry.is_title:
                sheet.cell(row, 1).font = bold
            for c, text in enumerate(entry.cells, start=2):
                if c >= self.first_points:
                    sheet.cell(row, c, int(text)).font = Font(name=FONT, bold=text != "0")
                elif text and entry.line is not None:
                    sheet.cell(row, c, means[entry.line][c - 2][self.cards[0].positive]).number_format = "0%"
        if self.sides == 2:
            for k in range(len(self.cards)):  # both cells of the start are one
                c = self.first_points + 2 * k
                sheet.cell(FIRST, c + 1, f"=${letters(c)}${FIRST}")
        for cell in sheet[FIRST - 1][: len(self.header)]:
            cell.font, cell.fill, cell.alignment = bold, grey, Alignment(wrap_text=True, vertical="top")
        longest = max(len(name) for name in self.header[1:])
        sheet.row_dimensions[FIRST - 1].height = 15 * math.ceil((longest + 1) / 11)
        self._write_meaning(bold, grey)
        sheet.column_dimensions["A"].width = 60
        widths = [12 if c < 2 else 9 for c in range(len(self.header) - 1)]
        for c, width in enumerate([*widths, 3, 26, 14], start=2):
            sheet.column_dimensions[letters(c)].width = width
        sheet.freeze_panes = sheet.cell(FIRST, 1)
        sheet.page_setup.orientation, sheet.page_setup.fitToHeight = "landscape", 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True

    def _write_meaning(self, bold: Any, grey: Any) -> None:
        """What the points stand for: right of the card, and in sentences below it."""
        from openpyxl.styles import Alignment

        card, sheet, right = self.cards[0], self.sheet, self.right
        even = "points at even odds" if len(self.cards) == 1 else "points at a score of 0"
        doubles = card.factor * math.log(2.0)
        for row, name, value in ((1, even, card.offset), (2, "points that double the odds", doubles)):
            write_text(sheet.cell(row, right), name)
            sheet.cell(row, right + 1, value).number_format = "0.0"
        names, steps = meaning_of(self.cards)
        for c, name in enumerate(names, start=right):
            cell = sheet.cell(FIRST - 1, c)
            write_text(cell, one_line(name))
            cell.font, cell.fill, cell.alignment = bold, grey, Alignment(wrap_text=True, vertical="top")
        for r, (points, told) in enumerate(steps, start=FIRST):
            sheet.cell(r, right, float(points) if "." in points else int(points))
            if len(self.cards) == 1:
                sheet.cell(r, right + 1, f"={self._probability(f'${letters(right)}{r}')}").number_format = "0.0%"
            else:
                write_text(sheet.cell(r, right + 1), told)
                sheet.cell(r, right + 1).alignment = Alignment(horizontal="right")
        for r, line in enumerate(words(self.cards), start=FIRST + 1 + len(self.entries)):
            write_text(sheet.cell(r, 1), one_line(line))
            sheet.merge_cells(start_row=r, end_row=r, start_column=1, end_column=len(self.header))
            sheet.cell(r, 1).alignment = Alignment(wrap_text=True, vertical="top")
            sheet.row_dimensions[r].height = 15 * math.ceil(len(line) / (60 + 9 * len(self.header)))


def card_workbook(cards: Sequence[Card], X: Any) -> bytes:
    """The bytes of the workbook."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ImportError("Excel workbooks need openpyxl: pip install pysirus[excel].") from error
    workbook = CardWorkbook(cards)
    workbook.fill(None if X is None else rows_of(cards[0].total, X))
    workbook.write_card()
    workbook.book.active = 0
    return content_of(workbook)


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
        With two classes, the class that higher scores favour; by default the model's positive class.
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
