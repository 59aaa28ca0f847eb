"""A model in, an Excel workbook out that computes its predictions by live formulas.

Sheet "Predict" has a column for each feature the rules look at, then the prediction, then for each rule whether it
fires. Sheets "Rules" and "Conditions" hold weights, outputs, thresholds and levels: change one there, and the
predictions follow. Thresholds are cells and not part of formulas, because Excel reads a number in a formula to 15
digits only. An empty cell is a missing value.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pysirus._data.derived import Derived
from pysirus._data.table import Feature, Table
from pysirus._data.written import DAY, WEEKDAYS
from pysirus._families.links import Form
from pysirus._model.model import Model
from pysirus._text.format import one_line
from pysirus._text.message import FEWER
from pysirus.export._addends import Branch, Line, listing_of, pair_of
from pysirus.export._conditions import ExportError, Test, column_of, date_of, level_type, used_features
from pysirus.export.lists import rule_rows

LONGEST_FORMULA = 8192
BLANK_ROWS = 100
FIRST_SLOPE = 7  # the column of Conditions in which slopes of lines begin
OWN_ROW = re.compile(r"(\$[A-Z]+)2\b")  # a cell of row 2 in a formula for that row: $AB2, while $AB$2 stays where it is
FIRST_DAY = 25_569  # 1970-01-01, as Excel counts days
LEAST_DAY = 61  # 1900-03-01; Excel takes 1900 for a leap year
PARTS = {"year": "YEAR({})", "month": "MONTH({})", "hour": "HOUR({})", "weekday": "(WEEKDAY({},2)-1)"}
_SUPPORT = ("rows", "share of rows", "returned in folds")
FONT = "Calibri"  # that of cells without one, so that bold cells have it too


def letters(column: int) -> str:
    """The letters of a column; the first is 1."""
    text = ""
    while column:
        column, digit = divmod(column - 1, 26)
        text = chr(65 + digit) + text
    return text


def write_text(cell: Any, value: Any) -> None:
    """Text stays text, even where it looks like a formula."""
    from openpyxl.utils.exceptions import IllegalCharacterError

    try:
        cell.value = value
    except IllegalCharacterError as error:
        raise ExportError(f"{value!r} holds a control character, which a workbook cannot hold. Rename it.") from error
    if isinstance(value, str):
        if len(value) > 32767:
            raise ExportError(f"{value[:40]!r}... is longer than the 32767 characters that a cell can hold.")
        cell.data_type = "s"
        cell.quotePrefix = True


def _threshold(value: float) -> float:
    """A threshold for a program that takes numbers for equal that agree to 15 digits.

    Where a value as it is typed (12 digits) agrees with the threshold but is below it, the threshold moves up by
    1e-13 of itself, so that the value is below it for the program too.
    """
    typed = float(f"{value:.12g}")
    if typed < value and value - typed <= 1e-14 * abs(value):
        return value + 1e-13 * abs(value)
    return value


def _serial(days: float, own: Derived) -> float:
    """A date as Excel counts days."""
    first = int(np.datetime64(own.since or "1970-01-01", "D").astype(np.int64))
    serial = days + first + FIRST_DAY
    if serial < LEAST_DAY:
        raise ExportError(f"A rule compares '{own.column}' with a date before March 1900, which Excel cannot hold.")
    return serial


def _check_levels(feature: Feature) -> None:
    """Reject text that a cell does not keep."""
    for level in feature.levels:
        if level == "":
            raise ExportError(f"Column '{feature.name}' has the empty text as a category; in Excel it means missing.")
        if isinstance(level, str) and "\r" in level:
            raise ExportError(f"{level!r} holds a carriage return, which a workbook turns into a line feed. Rename it.")
        if isinstance(level, str) and re.search("_x[0-9A-Fa-f]{4}_", level):
            raise ExportError(
                f"Column '{feature.name}' has the category {level!r}, a part of which Excel reads as a code."
            )
        if isinstance(level, int) and float(f"{level:.15g}") != level:
            raise ExportError(
                f"Column '{feature.name}' has the category {level}; Excel compares numbers to 15 digits. "
                "Fit with categories that are text."
            )


class Workbook:
    """The sheets as they are filled; ``Rules`` hands out addresses."""

    first_part: int  # the column of Rules where what rules add begins

    def __init__(self, model: Model) -> None:
        import openpyxl

        self.model = model
        self.book = openpyxl.Workbook()
        self.predict = self.book.active
        self.predict.title = "Predict"
        self.rules = self.book.create_sheet("Rules")
        self.tests = self.book.create_sheet("Conditions")
        self.features = used_features(model)
        self.inputs = list(dict.fromkeys(column_of(model, index) for index in self.features))
        self.listing = listing_of(model)
        self.slope_rows: list[int] = []  # of Conditions, in the order of lines
        self.labels = model.family.classes or ()
        self.parts = [label if self.labels else "prediction" for label in model.family.spoken_labels]  # what has a sum

    def fill(self, rows: list[list[Any]] | None) -> None:
        for index in self.features:
            _check_levels(self.model.features[index])
        self._write_rules()
        formulas = self._formulas()
        self._write_predict(formulas, rows)
        self._dress()

    # ------------------------------------------------------------------------------------------------------- Rules

    def _write_rules(self) -> None:
        """One row per rule, from row 4; its outputs for each sum from column G on, weight times output, its rows."""
        sheet, model = self.rules, self.model
        write_text(sheet["A1"], model.family.start_name if self.listing.weights is None else "mean")
        pairs = [f"{side}: {label}" for label in self.parts for side in ("adds inside", "adds outside")]
        outputs = [f"{side}: {label}" for label in self.parts for side in ("inside", "outside")]
        heads = ["#", "if", "then", "else", "frequency", "weight", *outputs, *pairs, *_SUPPORT]
        for c, name in enumerate(heads, start=1):
            write_text(sheet.cell(3, c), name)
        first = self.first_part = 7 + len(outputs)
        for k, start in enumerate(self.listing.start):
            sheet.cell(1, first + 2 * k, start)
        texts = dict(zip(model.rules, rule_rows(model)))
        rules = [own.rule for own in self.listing.branches]
        slopes = [rule for rule in model.rules if rule.line_values]  # below: their numbers are on Conditions
        for row, rule in enumerate((*rules, *slopes), start=4):
            own, often = texts[rule], rule.frequency_text if rule.given else rule.frequency
            values = [int(own.number), own.line or one_line(rule.condition_text), own.inside, own.outside, often]
            for c, value in enumerate([*values, rule.weight], start=1):
                if value == value:  # a frequency that is not known stays empty
                    write_text(sheet.cell(row, c), value)
            support = [rule.n_inside, rule.share_inside, rule.returned_text or None]
            for c, value in enumerate(support, start=first + len(pairs)):
                write_text(sheet.cell(row, c), value)
            sheet.cell(row, first + len(pairs) + 1).number_format = "0.0%"
        for row, branch in enumerate(self.listing.branches, start=4):
            for k in range(len(self.parts)):
                for side, output in enumerate(self._outputs(branch, k)):
                    sheet.cell(row, 7 + 2 * k + side, output)
                    cell = f"{letters(7 + 2 * k + side)}{row}"
                    sheet.cell(row, first + 2 * k + side, self._part(row, cell, first, side))

    def _outputs(self, branch: Branch, k: int) -> list[float]:
        """What a rule says to sum ``k`` inside and outside; with a link it is measured from its average."""
        rule = branch.rule
        if self.model.family.is_scored:
            weight = rule.weight or 1.0  # one that was given may have none: it adds 0
            return [branch.inside[k] / weight, branch.outside[k] / weight]
        return [float(o[k] if isinstance(o, tuple) else o) for o in (rule.inside, rule.outside) if o is not None]

    def _part(self, row: int, cell: str, first: int, side: int) -> str:
        """What a rule adds, inside (0) or outside (1): weight times output; by the mean, times its distance to it."""
        if self.listing.weights is None:
            return f"=$F{row}*{cell}"
        return f"=$F{row}*({cell}-${letters(first)}$1)" if side == 0 else "=0"

    # -------------------------------------------------------------------------------------------------- Conditions

    def _test_formula(self, test: Test, column: str) -> str:
        """What a condition asks of the cell of its feature, as a formula for row 2."""
        cell, missing = f"${column}2", "TRUE" if test.missing else "FALSE"
        own = date_of(self.model, test.index)
        value = cell if own is None else PARTS.get(own.take, "{}").format(cell)
        sheet = self.tests
        row = sheet.max_row + 1
        write_text(sheet.cell(row, 1), test.feature)
        write_text(sheet.cell(row, 2), test.kind)
        address = "Conditions!"
        if test.kind in ("known", "never"):
            known = "TRUE" if test.kind == "known" else "FALSE"
        elif test.kind == "interval":
            ends = []
            for c, (end, sign) in enumerate(((test.lower, ">="), (test.upper, "<")), start=3):
                if end is not None:
                    sheet.cell(row, c, _threshold(end if own is None or own.take in PARTS else _serial(end, own)))
                    ends.append(f"{value}{sign}{address}${letters(c)}${row}")
            known = ends[0] if len(ends) == 1 else f"AND({','.join(ends)})"
        else:
            for c, level in enumerate(test.levels, start=5):
                write_text(sheet.cell(row, c), level if own is None else WEEKDAYS.index(level))
            span = f"{address}$E${row}:${letters(4 + len(test.levels))}${row}"
            kind = level_type(self.model, test.index, "Excel")
            match = f"EXACT({value},{span})" if kind is str and own is None else f"({value}={span})"
            known = f"SUMPRODUCT(--{match}){'>' if test.kind == 'in' else '='}0"
        is_known = f"ISNUMBER({cell})" if test.numeric or own is not None else f'NOT({cell}="")'
        return f"IF({is_known},{known},{missing})"

    def _formulas(self) -> list[tuple[str, str]]:
        """Header and formula for row 2 of what stands right of the features."""
        sheet = self.tests
        for c, name in enumerate(["feature", "test", "at least", "below", "levels"], start=1):
            write_text(sheet.cell(1, c), name)
        column = {index: letters(1 + self.inputs.index(column_of(self.model, index))) for index in self.features}
        n_sums, n_answers = len(self.parts), len(self._answers([f"sum {k}" for k in range(len(self.parts))]))
        first_sum = len(self.inputs) + 1 + n_answers
        addends = [
            ADDENDS[type(addend)](self, addend, r, column) for r, addend in enumerate(self.listing.addends, start=1)
        ]
        sums = [(name, self._sum(k, first_sum + n_sums)) for k, name in enumerate(self._sum_names())]
        cells = [f"${letters(first_sum + k)}2" for k in range(n_sums)]
        return [*self._answers(cells), *sums, *addends]

    def branch(self, branch: Branch, r: int, column: dict[int, str]) -> tuple[str, str]:
        """Whether a rule fires."""
        tests = [self._test_formula(test, column[test.index]) for test in branch.tests]
        return f"rule {r}", f"=AND({','.join(tests)})" if tests else "=TRUE"

    def line(self, line: Line, r: int, column: dict[int, str]) -> tuple[str, str]:
        """A column within its limits, less its centre; the numbers, and slopes for the sums, stand on Conditions."""
        sheet, cell = self.tests, f"${column[line.index]}2"
        row = sheet.max_row + 1
        write_text(sheet.cell(row, 1), line.feature)
        write_text(sheet.cell(row, 2), "line: at least, at most, if missing, less, a unit adds")
        numbers = (line.lower, line.upper, line.missing, line.centre, *line.slopes)
        for c, number in enumerate(numbers, start=3):
            sheet.cell(row, c, number)
        lower, upper, missing, centre = (f"Conditions!${letter}${row}" for letter in "CDEF")
        date = date_of(self.model, line.index)
        own = cell if date is None else PARTS.get(date.take, "{}").format(cell)
        value = f"IF(ISNUMBER({cell}),MIN(MAX({own},{lower}),{upper}),{missing})"
        self.slope_rows.append(row)
        return f"line {line.feature}", f"={value}-{centre}" if line.centre else f"={value}"

    # ------------------------------------------------------------------------------------- what the sums stand for

    def _sum_names(self) -> list[str]:
        return self.model.family.names_of_sums

    def _answers(self, sums: list[str]) -> list[tuple[str, str]]:
        """What follows from the cells of the sums: the class, probabilities; exponents stay below where Excel fails."""
        return ANSWERS[self.model.family.form](self, sums)

    def largest(self, sums: list[str]) -> list[tuple[str, str]]:
        """The class of the largest sum."""
        first, span = self.class_row(), f"{sums[0]}:{sums[-1]}"
        labels = f"Rules!$A${first}:$A${first + len(self.labels) - 1}"
        return [("prediction", f"=INDEX({labels},MATCH(MAX({span}),{span},0))")]

    def shares(self, odds: list[list[str]]) -> list[tuple[str, str]]:
        """The probability of each class, from the log-odds of each other one against it."""
        totals = ["+".join(["1", *(f"EXP(MIN({gap},700))" for gap in each)]) for each in odds]
        return [(f"probability of {label}", f"=1/({total})") for label, total in zip(self.labels, totals)]

    def class_row(self) -> int:
        """Where the labels stand, below the rules."""
        first = len(self.model.rules) + 6
        write_text(self.rules.cell(first - 1, 1), "classes")
        for k, label in enumerate(self.labels):
            write_text(self.rules.cell(first + k, 1), label)
        return first

    def _sum(self, k: int, first_rule: int) -> str:
        inside, outside = letters(self.first_part + 2 * k), letters(self.first_part + 2 * k + 1)
        base, weights = f"Rules!${inside}$1", [repr(self.listing.root)]
        terms = [f"${letters(first_rule + r)}2" for r in range(len(self.listing.addends))]
        for r, fired in enumerate(terms[: len(self.listing.branches)]):
            terms[r] = f"IF({fired},Rules!${inside}${r + 4},Rules!${outside}${r + 4})"
            weights.append(f"IF({fired},Rules!$F${r + 4},0)")
        for r, row in enumerate(self.slope_rows, start=len(self.listing.branches)):
            terms[r] = f"Conditions!${letters(FIRST_SLOPE + k)}${row}*{terms[r]}"
        if self.listing.weights is not None:
            weight = "+".join(weights)
            return f"={base}+IF({weight}>0,({'+'.join(terms) or '0'})/({weight}),0)"
        return "=" + "+".join([base, *terms])

    # ----------------------------------------------------------------------------------------------------- Predict

    def _write_predict(self, formulas: list[tuple[str, str]], rows: list[list[Any]] | None) -> None:
        sheet = self.predict
        for name, formula in formulas:
            if len(formula) > LONGEST_FORMULA:
                raise ExportError(
                    f"The formula of '{name}' has {len(formula)} characters; Excel takes {LONGEST_FORMULA}. "
                    f"Export fewer rules{FEWER}."
                )
        for c, name in enumerate(self.inputs, start=1):
            write_text(sheet.cell(1, c), name)
        for c, (name, _) in enumerate(formulas, start=len(self.inputs) + 1):
            write_text(sheet.cell(1, c), name)
        for i in range(BLANK_ROWS if rows is None else len(rows)):
            for c, value in enumerate(rows[i] if rows is not None else [], start=1):
                if value is not None:
                    write_text(sheet.cell(i + 2, c), value)
            for c, (_, formula) in enumerate(formulas, start=len(self.inputs) + 1):
                sheet.cell(i + 2, c, OWN_ROW.sub(rf"\g<1>{i + 2}", formula))

    def _dress(self) -> None:
        from openpyxl.styles import Font, PatternFill

        bold, grey = Font(name=FONT, bold=True), PatternFill("solid", fgColor="E7ECF3")
        for sheet, header in ((self.predict, 1), (self.rules, 3), (self.tests, 1)):
            for cell in sheet[header]:
                cell.font, cell.fill = bold, grey
            sheet.freeze_panes = sheet.cell(header + 1, 1)
        for column in self.predict.columns:
            letters, title = column[0].column_letter, str(column[0].value)
            self.predict.column_dimensions[letters].width = min(40, max(10, len(title) + 2))
        self.rules.column_dimensions["A"].width = 12
        longest = max((len(rule.condition_text) for rule in self.model.rules), default=10)
        self.rules.column_dimensions["B"].width = min(80, longest + 2)


Formulas = list[tuple[str, str]]  # header and formula


def _nothing(book: Workbook, sums: list[str]) -> Formulas:
    return []


def _exponential(book: Workbook, sums: list[str]) -> Formulas:
    return [("prediction", f"=EXP(MIN({sums[0]},700))")]


def _softmax(book: Workbook, sums: list[str]) -> Formulas:
    odds = [[f"{other}-{own}" for other in sums if other != own] for own in sums]
    return [*book.largest(sums), *book.shares(odds)]


def _odds(book: Workbook, sums: list[str]) -> Formulas:
    (score,), pair, first = sums, pair_of(book.model.family), book.class_row()
    label = f"=IF({score}{pair.sign}{pair.cutoff!r},Rules!$A${first + pair.positive},Rules!$A${first + pair.other})"
    odds = [[score], [f"-{score}"]][:: 1 if pair.positive == 1 else -1]
    return [("prediction", label), *book.shares(odds)]


ADDENDS: dict[type, Callable[[Workbook, Any, int, dict[int, str]], tuple[str, str]]] = {
    Branch: Workbook.branch,
    Line: Workbook.line,
}
ANSWERS: dict[Form, Callable[[Workbook, list[str]], Formulas]] = {
    "sum": _nothing,
    "exp": _exponential,
    "shares": Workbook.largest,
    "softmax": _softmax,
    "odds": _odds,
}


def rows_of(model: Model, X: Any) -> list[list[Any]]:
    """The values of the columns in use, None for missing."""
    table = model.align(X)
    columns, seen = [], set()
    for index in used_features(model):
        own, name = date_of(model, index), column_of(model, index)
        if name in seen:
            continue
        seen.add(name)
        column = table.columns[index]
        if own is not None:
            columns.append(_moments(model, own, table))
        elif column.is_numeric:
            columns.append([None if v != v else v for v in column.values.tolist()])
        else:
            names = dict(enumerate(column.levels))
            # an unseen category is some other text
            columns.append([names.get(code, None if code == -1 else "(unseen)") for code in column.values.tolist()])
    return [list(row) for row in zip(*columns)] if columns else [[] for _ in range(table.n_rows)]


def _moments(model: Model, own: Derived, table: Table) -> list[Any]:
    """The dates of a column as the workbook holds them: by the clock of training."""
    every = {i: date_of(model, i) for i in range(len(model.features)) if column_of(model, i) == own.column}
    index, whole = next((i, found) for i, found in every.items() if found and found.take in ("date", "days"))
    start = datetime.datetime.fromisoformat(whole.since or "1970-01-01")
    days = table.columns[index].values.tolist()
    return [None if v != v else start + datetime.timedelta(microseconds=round(v * DAY)) for v in days]


def content_of(workbook: Workbook) -> bytes:
    """The .xlsx file."""
    file = io.BytesIO()
    workbook.book.save(file)
    return file.getvalue()


def to_excel(model: Model, *, X: Any = None) -> bytes:
    """A workbook with live formulas.

    Parameters
    ----------
    model : Model
        The model.
    X : data frame or array, optional
        Rows to fill in. By default 100 rows are left blank to type or paste into; copy formulas down for more.

    Returns
    -------
    content : bytes
        The .xlsx file.
    """
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ImportError("Excel workbooks need openpyxl: pip install pysirus[excel].") from error
    workbook = Workbook(model)
    workbook.fill(None if X is None else rows_of(model, X))
    return content_of(workbook)
