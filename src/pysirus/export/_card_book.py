"""Cards in, the rows of their tables out, and the workbook of them: change points there, and totals follow.

The card is on the first sheet. The sheet "Predict" adds its points up, so that totals and probabilities follow them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pysirus._text.format import one_line
from pysirus.export._addends import Listing, listing_of
from pysirus.export._card import Card, words
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
