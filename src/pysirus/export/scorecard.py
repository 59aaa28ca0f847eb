"""A model of two classes in, a scorecard out as text, workbook, page or SQL; ``_card`` says what the points are.

The page is to read or print: no script, no network, all text escaped; three columns fit a phone. The workbook has the
card on its first sheet: change points there, and the totals and probabilities on "Predict" follow.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from html import escape
from typing import Any

from pysirus._model.model import Model
from pysirus._text.format import one_line, text_table
from pysirus._text.message import InPython
from pysirus.export._card import Card, make_card
from pysirus.export._conditions import ExportError
from pysirus.export.excel import FONT, Workbook, content_of, rows_of, write_text

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
        shares = f"<small>{_text(card.label)}: {inside} if so, {outside} if not</small>" if inside else ""
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


FIRST = 5  # the row of the start; rules stand below it
EVEN, DOUBLES = "Scorecard!$H$1", "Scorecard!$H$2"


class CardWorkbook(Workbook):
    """The workbook of the total, with points from the card."""

    def __init__(self, card: Card) -> None:
        super().__init__(card.total)
        self.card = card
        self.sheet = self.book.create_sheet("Scorecard", 0)

    def _sum_names(self) -> list[str]:
        return ["points"]

    def _answers(self, sums: list[str]) -> list[tuple[str, str]]:
        return [(f"probability of {self.card.label}", f"={self._probability(sums[0])}")]

    def _probability(self, points: str) -> str:
        return f"1/(1+EXP(MIN(({EVEN}-{points})*LN(2)/{DOUBLES},700)))"

    def _write_rules(self) -> None:
        """Outputs are cells of the card."""
        super()._write_rules()
        self.rules.cell(1, self.first_part, f"=Scorecard!$D${FIRST}")
        for r in range(len(self.card.points)):
            for column, letter in ((3, "D"), (4, "E"), (7, "D"), (8, "E")):
                self.rules.cell(4 + r, column, f"=Scorecard!${letter}${FIRST + 1 + r}")

    def write_card(self) -> None:
        """The sheet that people read."""
        from openpyxl.styles import Alignment, Font, PatternFill

        card, sheet = self.card, self.sheet
        bold, grey = Font(name=FONT, bold=True), PatternFill("solid", fgColor="E7ECF3")
        write_text(sheet["A1"], one_line(f"Scorecard of {card.model.target}: points for {card.label}"))
        sheet["A1"].font = Font(name=FONT, bold=True, size=14)
        header = ["rule", f"share of {card.label} if so", "if not", "points if so", "if not"]
        for c, name in enumerate(header, start=1):
            write_text(sheet.cell(FIRST - 1, c), one_line(name))
        write_text(sheet.cell(FIRST, 1), "start")
        sheet.cell(FIRST, 4, card.start)
        sheet.cell(FIRST, 5, f"=$D${FIRST}")
        rows = zip(card.model.rules, card.means(), card.points.tolist())
        for r, (rule, means, points) in enumerate(rows, start=FIRST + 1):
            write_text(sheet.cell(r, 1), one_line(rule.condition_text))
            sheet.cell(r, 1).alignment = Alignment(wrap_text=True, vertical="top")
            for c, mean in enumerate(means, start=2):
                sheet.cell(r, c, mean[card.positive]).number_format = "0%"
            for c, value in enumerate(points, start=4):
                sheet.cell(r, c, value)
                sheet.cell(r, c).font = Font(name=FONT, bold=value != 0)
        for cell in sheet[FIRST - 1][:5]:
            cell.font, cell.fill, cell.alignment = bold, grey, Alignment(wrap_text=True, vertical="top")
        sheet.row_dimensions[FIRST - 1].height = 15 * math.ceil((len(header[1]) + 1) / 11)
        self._write_meaning(bold, grey)
        sheet.column_dimensions["A"].width = 60
        for letter, width in zip("BCDEFGH", (12, 9, 9, 9, 3, 26, 14)):
            sheet.column_dimensions[letter].width = width
        sheet.freeze_panes = sheet.cell(FIRST, 1)
        sheet.page_setup.orientation, sheet.page_setup.fitToHeight = "landscape", 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True

    def _write_meaning(self, bold: Any, grey: Any) -> None:
        """What the points stand for: right of the card, and in sentences below it."""
        from openpyxl.styles import Alignment

        card, sheet = self.card, self.sheet
        for row, name, value in ((1, "points at even odds", card.offset), (2, "points that double the odds", None)):
            write_text(sheet.cell(row, 7), name)
            sheet.cell(row, 8, card.factor * math.log(2.0) if value is None else value).number_format = "0.0"
        for c, name in ((7, "points"), (8, f"probability of {card.label}")):
            cell = sheet.cell(FIRST - 1, c)
            write_text(cell, one_line(name))
            cell.font, cell.fill, cell.alignment = bold, grey, Alignment(wrap_text=True, vertical="top")
        for r, (total, _) in enumerate(card.steps(), start=FIRST):
            sheet.cell(r, 7, total)
            sheet.cell(r, 8, f"={self._probability(f'$G{r}')}").number_format = "0.0%"
        for r, line in enumerate(card.words(), start=FIRST + 2 + len(card.points)):
            write_text(sheet.cell(r, 1), one_line(line))
            sheet.merge_cells(start_row=r, end_row=r, start_column=1, end_column=5)
            sheet.cell(r, 1).alignment = Alignment(wrap_text=True, vertical="top")
            sheet.row_dimensions[r].height = 15 * math.ceil(len(line) / 110)


def card_workbook(card: Card, X: Any) -> bytes:
    """The bytes of the workbook."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ImportError("Excel workbooks need openpyxl: pip install pysirus[excel].") from error
    workbook = CardWorkbook(card)
    workbook.fill(None if X is None else rows_of(card.total, X))
    workbook.write_card()
    workbook.book.active = 0
    return content_of(workbook)


ENDINGS = {"text": (".txt",), "excel": (".xlsx",), "html": (".html", ".htm"), "sql": (".sql",)}


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """What the ending of a file name asks for."""
    name = os.fspath(path).lower()
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), None)


def _title(card: Card) -> str:
    return f"Scorecard of {card.model.target}: points for {card.label}"


def _to_text(card: Card, options: dict[str, Any]) -> str:
    header = ["rule", f"share of {card.label}: if so", "if not", "points: if so", "if not"]
    rows = [["start", "", "", str(card.start), str(card.start)]]
    for rule, shares, (a, b) in zip(card.model.rules, card.shares(), card.points.tolist()):
        rows.append([rule.condition_text, *shares, str(a), str(b)])
    steps = [[f"{total}", f"{100 * p:.1f}%"] for total, p in card.steps()]
    table = text_table(["points", f"probability of {card.label}"], steps)
    return "\n".join(
        [one_line(_title(card)), "", text_table(header, rows), "", table, "", *map(one_line, card.words()), ""]
    )


def _to_sql(card: Card, options: dict[str, Any]) -> str:
    from pysirus.export.sql import whole_sql

    rules = zip(card.model.rules, card.points.tolist())
    lines = [_title(card), *card.words(), *(f"if {r.condition_text} then {a} points else {b}" for r, (a, b) in rules)]
    comments = "".join(f"-- {one_line(line)}\n" for line in lines)
    return comments + whole_sql(card.total, **{"prediction": "points", **options})


def _to_html(card: Card, options: dict[str, Any]) -> str:
    return card_page(card)


def _to_excel(card: Card, options: dict[str, Any]) -> bytes:
    return card_workbook(card, options.get("X"))


WRITERS: dict[str, Callable[[Card, dict[str, Any]], str | bytes]] = {
    "text": _to_text,
    "excel": _to_excel,
    "html": _to_html,
    "sql": _to_sql,
}
SQL_OPTIONS = ("table", "dialect", "prediction")


def to_scorecard(
    model: Model,
    *,
    kind: str = "text",
    pdo: float = 20.0,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    positive: Any = None,
    X: Any = None,
    y: Any = None,
    table: str | None = None,
    dialect: str | None = None,
    prediction: str | None = None,
) -> str | bytes:
    """A scorecard of a model of two classes with likelihood weights.

    Parameters
    ----------
    model : Model
        The model.
    kind : {"text", "excel", "html", "sql"}, default="text"
        What is written; where a path is given, by its ending (.txt, .xlsx, .html, .sql).
    pdo : float, default=20
        Points that double the odds.
    base_score, base_odds : float, default=600 and 50
        The score at which the odds of the positive class are ``base_odds`` to one. With ``base_odds=1``,
        ``base_score`` is where both classes are equally likely.
    positive : label, optional
        The class that more points speak for; by default the model's positive class, else the second.
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
    card = make_card(model, pdo=pdo, base_score=base_score, base_odds=base_odds, positive=positive, X=X, y=y)
    return WRITERS[kind](card, options if kind == "sql" else {"X": X})
