"""Tests of what has changed since a model was learned in, frames, sentences, and a verdict out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np

from pysirus._model.model import Model
from pysirus._model.reference import Reference, list_mark, rules_of_few_rows
from pysirus._model.row_sums import RowSums
from pysirus._terms.term import Term
from pysirus._text.format import format_label, format_number, html_lines, html_table, make_frame, one_line, text_table
from pysirus._use.drift import FEW, LEAST_TESTED, Test, column_test, is_enough, mean_error

RULE_WIDTH = 60
SHOWN = 10  # lines of a printed table
HALF = 0.5
SLOPE_NOTE = (
    "a slope: the mean of its column instead of a share, and the outputs one standard deviation above and below it"
)
NOISE = 1e-9  # of the difference of two sides, below which a side is 0: sums are rounded


@dataclass(frozen=True)
class Finding:
    """One test: of which rule, column or of all rows, what was compared, in which period, and what was found.

    Attributes
    ----------
    part : {"rule", "column", "rows"}
        What it is about.
    index : int
        Which of them: the position among the terms or features of the model.
    what : {"share", "outputs", "moved", "beyond", "level", "error"}
        What was compared.
    period : str or None
        None where all rows were taken together.
    test : Test
        The logarithm of its p-value, and the size of the change.
    p : float
        The p-value, corrected for the number of tests.
    alarm : bool
        Whether that is small, and the change is not.
    """

    part: str
    index: int
    what: str
    period: str | None
    test: Test
    p: float
    alarm: bool


@dataclass(frozen=True)
class Monitoring:
    """What has changed since a model was fitted. Prints as tables.

    Attributes
    ----------
    alarm : bool
        Whether anything has changed by more than chance explains.
    verdict : str
        The result in one sentence.
    rules, columns, periods : DataFrame
        Rules and columns, those with the clearest changes first, and periods in order. ``to_frame`` returns them in
        another library.
    findings : tuple of Finding
        All tests.
    not_compared : tuple of str
        The comparisons that could not be made, and why.
    """

    model: Model
    then: RowSums
    now: Mapping[str | None, RowSums]  # by period; None: all rows
    findings: tuple[Finding, ...]
    not_compared: tuple[str, ...]
    optimism: float
    alpha: float

    @property
    def alarm(self) -> bool:
        """Whether anything has changed by more than chance explains."""
        return any(finding.alarm for finding in self.findings)

    # ------------------------------------------------------------------------------------------------------- numbers

    def _of(self, part: str, index: int, what: str) -> Finding | None:
        """The clearest test of a thing, over all periods."""
        found = [f for f in self.findings if (f.part, f.index, f.what) == (part, index, what)]
        return min(found, key=lambda finding: finding.test.log_p, default=None)

    def order(self, part: str) -> list[int]:
        """The terms (``part="rule"``) or features ("column") by number, the worst first: that of the clearest test."""
        n = len(self._terms if part == "rule" else self.model.features)
        clearest = dict.fromkeys(range(n), 0.0)
        for finding in self.findings:
            if finding.part == part:
                clearest[finding.index] = min(clearest.get(finding.index, 0.0), finding.test.log_p)
        return sorted(range(n), key=lambda i: (clearest[i], i))

    def _alarms(self, part: str) -> list[int]:
        """The things of a part that raise the alarm, the worst first."""
        own = {f.index for f in self.findings if f.alarm and f.part == part}
        return [i for i in self.order(part) if i in own]

    @property
    def _terms(self) -> tuple[Any, ...]:
        return self.model.watched_terms

    def _number(self, term: Term) -> int | None:
        """The number of a term in the printed list."""
        return next((i for i, rule in enumerate(self.model.rules, start=1) if rule.key == term.key), None)

    def average(self, sums: RowSums, t: int) -> float:
        """The share of rows to which a rule applies; of a slope the mean of its column, within its range."""
        return float(self._terms[t].average(sums.values[t, 0] / sums.weight))

    def sides(self, sums: RowSums, t: int) -> tuple[float, float]:
        """What came true: of a rule inside and outside, if both have ten rows; of a slope at either of its ends."""
        share = sums.values[t, 0] / sums.weight
        few = self._terms[t].is_binary and not min(share, 1 - share) * sums.effective >= FEW * (1 - 1e-6)
        if sums.truth is None or few:
            return math.nan, math.nan
        own, every = sums.truth[1 + t] / sums.weight, sums.truth[0] / sums.weight
        first, second = sums.values[t, :2] / sums.weight
        if not second > first * first:
            return math.nan, math.nan
        slope, family = (own - first * every) / (second - first * first), self.model.family
        mean, square = self.then.values[t, :2] / self.then.weight
        ends = self._terms[t].contrast(mean, math.sqrt(max(0.0, square - mean * mean)))
        inside, outside = (every + slope * (end - first) for end in ends)
        inside, outside = (np.where(np.abs(a) < NOISE * np.abs(slope), 0.0, a) for a in (inside, outside))
        return family.told_mean(inside, self._terms[t]), family.told_mean(outside, self._terms[t])

    def order_kept(self, t: int) -> dict[str | None, bool]:
        """By period, whether a rule's outputs are in the order of training: the larger one is the larger one still."""
        then = np.subtract(*self.sides(self.then, t))
        found: dict[str | None, bool] = {}
        for period, sums in self.by_period():
            inside, outside = self.sides(sums, t)
            if not math.isnan(inside - outside + then):
                found[period] = bool((inside - outside) * then >= 0)
        return found

    def by_period(self) -> list[tuple[str | None, RowSums]]:
        """The periods or, without, all rows."""
        return [own for own in self.now.items() if own[0] is not None] or list(self.now.items())

    # -------------------------------------------------------------------------------------------------------- frames

    @property
    def rules(self) -> Any:
        """The rules, the worst first."""
        return self.to_frame("rules")

    @property
    def columns(self) -> Any:
        """The columns, the worst first."""
        return self.to_frame("columns")

    @property
    def periods(self) -> Any:
        """The periods, in their order."""
        return self.to_frame("periods")

    def to_frame(self, part: str = "rules", backend: str | None = None) -> Any:
        """The rules, columns or periods as a data frame.

        Parameters
        ----------
        part : {"rules", "columns", "periods"}, default="rules"
            Which of them.
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
        """
        rows = {"rules": self._rule_rows, "columns": self._column_rows, "periods": self.period_rows}
        if part not in rows:
            raise ValueError(f"part must be 'rules', 'columns' or 'periods', got {part!r}.")
        found = rows[part]()
        return make_frame({name: [row[name] for row in found] for name in (found[0] if found else ())}, backend)

    def _rule_rows(self) -> list[dict[str, Any]]:
        now, found = self.now[None], []
        for t in self.order("rule"):
            share, outputs = self._of("rule", t, "share"), self._of("rule", t, "outputs")
            kept = self.order_kept(t)
            sides = [*self.sides(self.then, t), *self.sides(now, t)]
            found.append(
                {
                    "number": self._number(self._terms[t]),
                    "rule": self._terms[t].condition_text,
                    **self._averages(t),
                    "p_share": None if share is None else share.p,
                    **dict(zip(("inside_then", "outside_then", "inside_now", "outside_now"), map(known, sides))),
                    "p_outputs": None if outputs is None else outputs.p,
                    "order_kept": all(kept.values()) if kept else None,
                    "alarm": any(own is not None and own.alarm for own in (share, outputs)),
                }
            )
        return found

    def _averages(self, t: int) -> dict[str, float | None]:
        """Then and now: the share of a rule, the mean of a slope."""
        then, now = (self.average(sums, t) for sums in (self.then, self.now[None]))
        none = (None, None)
        shares, means = ((then, now), none) if self._terms[t].is_binary else (none, (then, now))
        return dict(zip(("share_then", "share_now", "mean_then", "mean_now"), (*shares, *means)))

    def _column_rows(self) -> list[dict[str, Any]]:
        now, found = self.now[None], []
        for i in self.order("column"):
            if not len(now.cells[i]):
                continue
            moved = self._of("column", i, "moved")
            beyond, outputs = self._of("column", i, "beyond"), self._of("column", i, "outputs")
            found.append(
                {
                    "column": self.model.features[i].name,
                    "psi": column_test(self.then, now, i)[1],
                    "p_moved": None if moved is None else moved.p,
                    "beyond": float(now.beyond[i] / now.weight),
                    "p_beyond": None if beyond is None else beyond.p,
                    "missing_then": _missing(self.then, i, self._reference),
                    "missing_now": _missing(now, i, self._reference),
                    "p_outputs": None if outputs is None else outputs.p,
                    "n_rules": sum(i in term.columns for term in self._terms),
                    "alarm": any(own is not None and own.alarm for own in (moved, beyond, outputs)),
                }
            )
        return found

    def period_rows(self) -> list[dict[str, Any]]:
        found = []
        for period, sums in self.by_period():
            alarms = [f for f in self.findings if f.period == period and f.alarm]
            residual = None if sums.residuals is None else float(sums.residuals[0, 0, -1] / sums.weight)
            told = {"error": self.error_of(sums), "mean_residual": residual if sums.n_rows >= FEW else None}
            own = {"period": period or "all", "n_rows": sums.n_rows, "tested": self.is_tested(sums), **told}
            found.append({**own, "n_alarms": len(alarms), "alarm": bool(alarms)})
        return found

    def is_tested(self, sums: RowSums) -> bool:
        """Whether there are enough rows, then and now."""
        return is_enough(self.then, sums)

    def error_of(self, sums: RowSums) -> float | None:
        """The mean squared residual of some rows; None where it is not known, or that of a few."""
        return None if sums.error is None or sums.n_rows < FEW else mean_error(sums)[0]

    @property
    def _reference(self) -> Reference:
        found = self.model.reference
        assert found is not None
        return found

    @property
    def error(self) -> tuple[float, float] | None:
        """The mean squared residual of the training rows, allowing for their optimism, and of the new rows."""
        now = self.error_of(self.now[None])
        if now is None or self.then.error is None:
            return None
        return self.optimism * mean_error(self.then)[0], now

    # --------------------------------------------------------------------------------------------------------- words

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        n_tests, now = len(self.findings), self.now[None]
        rows = f"{now.n_rows:,} row{'s' if now.n_rows != 1 else ''}"
        if not self.is_tested(now):
            return f"Nothing was tested: {self.too_few(now)}."
        if not self.alarm:
            least = min((finding.p for finding in self.findings), default=1.0)
            return f"No alarm: {rows} look like the training rows ({n_tests} tests, smallest corrected p {least:.2g})."
        sizes = {"rule": len(self._terms), "column": len(self.model.features)}
        found = [(len(self._alarms(part)), n, part) for part, n in sizes.items()]
        counted = [f"{k} of {n} {word}{'s' if n != 1 else ''}" for k, n, word in found if k]
        whole = {f.what for f in self.findings if f.alarm and f.part == "rows"}
        counted += [{"level": "the bias of the predictions", "error": "the error"}[what] for what in sorted(whole)]
        parts = " and ".join([", ".join(counted[:-1]), counted[-1]] if len(counted) > 1 else counted)
        return f"Alarm: {parts} changed in {rows}; {self._first()}."

    def too_few(self, now: RowSums) -> str:
        """Why some rows are not tested."""
        which, sums = ("training ", self.then) if not self.is_tested(self.then) else ("", now)
        weighted = f" (weighted, they count as {sums.effective:.1f})" if sums.effective < sums.n_rows - HALF else ""
        are = f"there {'is' if sums.n_rows == 1 else 'are'} {sums.n_rows:,} {which}row{'s' if sums.n_rows != 1 else ''}"
        return f"{are}{weighted}, and at least {LEAST_TESTED:.0f} are needed"

    def _first(self) -> str:
        """The clearest finding, in words."""
        first = min((f for f in self.findings if f.alarm), key=lambda f: f.test.log_p)
        when = "" if first.period is None else f" in {one_line(first.period)}"
        return f"first {self.words(first)}{when} (corrected p {first.p:.2g})"

    def words(self, finding: Finding) -> str:
        """What a test compared, with the numbers of then and now."""
        i, now = finding.index, self.now[finding.period]
        if finding.part == "rule":
            name = self.term_name(i)
            if finding.what == "share":
                then, own = (self._terms[i].average_text(self.average(sums, i)) for sums in (self.then, now))
                return f"{name}: {then} then and {own} now"
            sides = [format_number(value, 3) for sums in (self.then, now) for value in self.sides(sums, i)]
            return f"{name}: outputs {sides[0]} / {sides[1]} then and {sides[2]} / {sides[3]} now"
        if finding.part == "column":
            name = f"column '{one_line(self.model.features[i].name)}'"
            if finding.what == "moved":
                return f"{name}: population stability index {column_test(self.then, now, i)[1]:.2f}"
            if finding.what == "beyond":
                return f"{name}: {100 * now.beyond[i] / now.weight:.1f}% of the rows are outside what was seen"
            return f"{name}: what goes with it has changed"
        if finding.what == "level":
            return f"the bias of the predictions: the mean residual {self._residual_text(now)}"
        then, own = self.optimism * mean_error(self.then)[0], mean_error(now)[0]
        return f"the error: the mean squared residual is {format_number(own, 3)}, it was {format_number(then, 3)}"

    def _residual_text(self, sums: RowSums) -> str:
        """The mean residual; of several classes the largest one, with its class."""
        left = sums.residuals[0, 0] / sums.weight  # type: ignore[index]
        k = int(np.abs(left).argmax()) if len(left) > 1 else -1
        of = f"of {one_line(format_label(self.model.labels[k]))} " if self.model.classes else ""
        return f"{of}is {format_number(float(left[k]), 3)}"

    def term_name(self, t: int) -> str:
        """A term by its number in the printed list and its text."""
        term = self._terms[t]
        number = self._number(term)
        return ("" if number is None else f"rule {number}, ") + one_line(str(term.fold(RULE_WIDTH)))

    def to_html(self) -> str:
        """An HTML page with a plot of each rule and column by period, without network requests."""
        from pysirus._use.monitor_page import monitor_page

        return monitor_page(self)

    def __str__(self) -> str:
        tables = [line for grid in self._tables() for line in (text_table(*grid), "")]
        return "\n".join([self.verdict, "", *tables, *self.notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return html_lines(self.verdict) + "".join(starmap(html_table, self._tables())) + html_lines(*self.notes())

    def _tables(self) -> list[tuple[list[str], list[list[str]]]]:
        rows = [
            [
                str(own["number"] or ""),
                one_line(str(self._terms[t].fold(RULE_WIDTH))),
                *(self._terms[t].average_text(self.average(sums, t)) for sums in (self.then, self.now[None])),
                _p(own["p_share"]),
                *(_sides_text(own, when) for when in ("then", "now")),
                _p(own["p_outputs"]),
                "!" if own["alarm"] else "",
            ]
            for t, own in zip(self.order("rule")[:SHOWN], self._rule_rows())
        ]
        columns = [
            [
                one_line(own["column"]),
                f"{own['psi']:.3f}",
                _p(own["p_moved"]),
                f"{100 * own['beyond']:.1f}%",
                *("" if own[name] is None else f"{100 * own[name]:.1f}%" for name in ("missing_then", "missing_now")),
                _p(own["p_outputs"]),
                str(own["n_rules"]),
                "!" if own["alarm"] else "",
            ]
            for own in self._column_rows()[:SHOWN]
        ]
        of_rules = ["#", "rule", "share then", "now", "p", "outputs then", "now", "p", ""]
        of_columns = ["column", "PSI", "p", "not seen before", "missing then", "now", "p of outputs", "rules", ""]
        return [grid for grid in ((of_rules, rows), (of_columns, columns)) if grid[1]]

    def notes(self) -> list[str]:
        lines = []
        if self.error is not None:
            then, now = (format_number(value, 4) for value in self.error)
            of = f"training rows, times {self.optimism:.3f} for their optimism"
            of = "held-out rows" if self._reference.out_of_fold else of
            lines.append(f"mean squared residual: {then} then, {now} now (then of {of})")
        turned = [self._number(self._terms[t]) for t in range(len(self._terms)) if not all(self.order_kept(t).values())]
        if turned:
            which = f"rule{'s' if len(turned) > 1 else ''} {', '.join(map(str, turned))}"
            lines.append(f"{which}: the larger output has become the smaller one")
        if self.error is not None and self.model.classes:
            shown = {self.model.family.shown_class(term) for term in self._terms}
            own = one_line(format_label(self.model.labels[min(shown)])) if len(shown) == 1 else "the class of the rule"
            lines.append(f"outputs: the share of {own}")
        if self.error is not None and (few := rules_of_few_rows(self.model)):
            lines.append(f"outputs of {few} are not shown: they are of fewer than {FEW:.0f} training rows")
        if len(self.by_period()) > 1:
            rows = self.period_rows()
            told = [f"{row['period']}{' !' if row['alarm'] else '' if row['tested'] else ' *'}" for row in rows]
            lines.append(f"periods: {one_line(', '.join(told))}")
            if not all(row["tested"] for row in rows):
                lines.append(f"* fewer than {LEAST_TESTED:.0f} rows: shown, not tested")
        if not all(term.is_binary for term in self._terms):
            lines.append(SLOPE_NOTE)
        lines.append("p-values are corrected for the number of tests; ! marks what raises the alarm")
        return [*lines, *(f"not compared: {own}" for own in self.not_compared)]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "model": list_mark(self.model),
            "alarm": self.alarm,
            "verdict": self.verdict,
            "alpha": self.alpha,
            "n_rows_then": self.then.n_rows,
            "n_rows_now": self.now[None].n_rows,
            "error": None if self.error is None else {"then": self.error[0], "now": self.error[1]},
            "rules": self._rule_rows(),
            "columns": self._column_rows(),
            "periods": self.period_rows(),
            "not_compared": list(self.not_compared),
        }


def known(value: float) -> float | None:
    """A number for JSON, which has no NaN."""
    return None if math.isnan(value) else float(value)


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _sides_text(row: Mapping[str, Any], when: str) -> str:
    sides = [row[f"{side}_{when}"] for side in ("inside", "outside")]
    return "" if None in sides else " / ".join(format_number(value, 3) for value in sides)


def _missing(sums: RowSums, i: int, reference: Reference) -> float | None:
    """The share of missing values, where they are counted apart."""
    return float(sums.cells[i][-1, 0] / sums.weight) if reference.columns[i].missing else None
