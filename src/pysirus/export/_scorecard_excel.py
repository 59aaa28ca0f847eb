"""A scorecard in, a workbook out: the card on its first sheet, whose points the formulas of the others read.

Change the points on "Scorecard", and the totals and probabilities on "Predict" follow.
"""

from __future__ import annotations

import math
from typing import Any

from pysirus._plain import one_line
from pysirus.export._card import Card
from pysirus.export.excel import FONT, Workbook, content_of, rows_of, write_text

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
        for r, (rule, points) in enumerate(zip(card.model.rules, card.points.tolist()), start=FIRST + 1):
            write_text(sheet.cell(r, 1), one_line(rule.condition_text))
            sheet.cell(r, 1).alignment = Alignment(wrap_text=True, vertical="top")
            for c, mean in enumerate(rule.means, start=2):
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
