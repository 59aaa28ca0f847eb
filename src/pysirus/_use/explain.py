"""A model and rows in, the part of each rule in each prediction out.

A prediction is a sum over rules, so its explanation is exact. Contributions are measured from the average row of
training: what a rule adds to this row, less what it adds on average. ``raw`` leaves them as the model adds them up,
weight times output, from the intercept on. Linear terms (RuleFit) come after the rules. A weighted mean (Node harvest)
is a sum too: of distances from the mean response, each by its share of the weight. Where the sum is a score,
contributions are points of it (log-odds, for classes), and the prediction, which the link makes of them, is also told
after each step. Every view (text, frame, JSON, figure) shows the same numbers, and names what they are measured from.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pysirus._data.table import Table
from pysirus._families.base import Base, Family
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._terms.listing import RuleSet
from pysirus._terms.term import LinearTerm
from pysirus._text.format import decimals_for, html_lines, html_table, make_frame, one_line, row_head, text_table
from pysirus._use.intervals import sure_text
from pysirus._use.reasons import input_text
from pysirus._use.score import decided, decided_text, decimals_apart

FROM: dict[Base, str] = {
    "average": "from the average training row",
    "mean": "from the mean of the training rows",
    "intercept": "weight times output, from the intercept",
}
WIDTH = 84  # characters of a rule; the other columns take the rest of a line
LINE = 120  # of a line with inputs; where it would be longer they stand below the table


@dataclass(frozen=True, repr=False)
class Explanation:
    """Predictions, decomposed into the contributions of rules and terms. Prints as a table.

    Attributes
    ----------
    rules : RuleSet
        The rules of the model, in the order of the columns below.
    terms : tuple of LinearTerm
        The linear terms, whose columns follow those of the rules.
    measured_from : {"average", "mean", "intercept"}
        The reference of the contributions: the average training row, the mean target (Node harvest), or the intercept
        (``raw``, where contributions are weight times output).
    baseline : float or ndarray of shape (n_classes,)
        The starting value of every row: the score of the average training row, the mean target or the intercept.
    contributions : ndarray of shape (n_rows, n_parts) or (n_rows, n_parts, n_classes)
        The contribution of each rule and term.
    fired : ndarray of bool of shape (n_rows, n_parts)
        Whether the rule applies to the row; always True for a linear term.
    outputs : ndarray of shape (n_rows, n_parts) or (n_rows, n_parts, n_classes)
        Weight times output of each rule and term.
    averages : ndarray of shape (n_parts,) or (n_parts, n_classes)
        The weighted mean of ``outputs`` over the training data.
    family : Family
        The kind of target, and the scale on which baseline and contributions add up.
    uncertainty : tuple of dict
        With ``coverage``, the ends of the interval or the set of classes of each row.
    table : Table
        The rows, whose values are shown beside the conditions.
    """

    rules: RuleSet
    intercept: Any
    outputs: NDArray[np.float64]
    fired: NDArray[np.bool_]
    averages: NDArray[np.float64]
    family: Family
    terms: tuple[LinearTerm, ...] = ()
    measured_from: Base = "average"
    uncertainty: tuple[dict[str, Any], ...] = ()  # of each row, where it was asked for
    table: Table | None = None  # the rows

    @property
    def target(self) -> str:
        """What is predicted."""
        return self.family.target

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels, for classification."""
        return self.family.classes

    @property
    def baseline(self) -> Any:
        """Where every row starts."""
        return self.intercept if self.measured_from != "average" else self.intercept + self.averages.sum(axis=0)

    @property
    def contributions(self) -> NDArray[np.float64]:
        """What each rule and term adds."""
        return self.outputs if self.measured_from != "average" else self.outputs - self.averages

    @property
    def names(self) -> list[str]:
        """The name of each column: the conditions of a rule, or a linear term."""
        return [term.condition_text for term in (*self.rules, *self.terms)]

    @property
    def _short_names(self) -> list[str]:
        """The same to look at."""
        return [term.folded(WIDTH) for term in (*self.rules, *self.terms)]

    def inputs(self, row: int) -> list[str]:
        """The values of a row that each rule and term reads: ``income = 41``."""
        if self.table is None:
            return [""] * len(self.names)
        columns = self.table.columns
        parts = (*self.rules, *self.terms)
        return [", ".join(input_text(columns[index], row) for index in part.columns) for part in parts]

    def __len__(self) -> int:
        return len(self.fired)

    def __getitem__(self, row: int | slice) -> Explanation:
        """The explanation of one row, or of a slice of rows."""
        if not isinstance(row, slice) and not -len(self) <= row < len(self):
            raise IndexError(f"There is no row {row}: the explanation has rows 0 to {len(self) - 1}.")
        rows = row if isinstance(row, slice) else slice(row, row + 1 or None)
        own = {name: getattr(self, name)[rows] for name in ("outputs", "fired", "uncertainty")}
        return replace(self, table=None if self.table is None else self.table.at(rows), **own)

    @property
    def scores(self) -> NDArray[np.float64]:
        """What baseline and contributions add up to: for each row a number, or one for each class."""
        total = np.repeat(np.asarray(self.intercept, dtype=np.float64)[None], len(self), axis=0)
        lines = [not term.is_binary for term in (*self.rules, *self.terms)]
        for r in np.argsort(lines, kind="stable"):  # one by one, as the model adds them, lines last: the same bits
            total += self.outputs[:, r]
        return total

    @property
    def prediction(self) -> NDArray[np.float64]:
        """The prediction for each row: a number, or class probabilities."""
        return self._respond(self.scores)

    @property
    def running(self) -> NDArray[np.float64]:
        """The prediction of the baseline alone and after each contribution.

        An array of shape (n_rows, n_parts + 1), for classes with one more dimension; the last is the prediction.
        """
        start = np.repeat(np.asarray(self.baseline, dtype=np.float64)[None, None], len(self), axis=0)
        steps = np.cumsum(np.concatenate([start, self.contributions], axis=1), axis=1)
        steps[:, -1] = self.scores
        return self._respond(steps)

    def centred(self) -> Explanation:
        """The explanation relative to the average training row, as ``explain`` returns it.

        The training average of each contribution is in the baseline. A contribution says how far the rule moves this
        row away from the average row.
        """
        return self if self.measured_from == "mean" else replace(self, measured_from="average")

    def raw(self) -> Explanation:
        """The explanation relative to the intercept, with weight times output of each rule."""
        if self.measured_from == "mean":
            raise ParameterError(
                "Raw contributions are weight times output, and add up to a sum of rules. This model predicts a "
                "weighted mean of rules (Node harvest): its contributions are measured from the mean."
            )
        return replace(self, measured_from="intercept")

    def _respond(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """What scores stand for; the last axis is that of classes, where there are some."""
        n_outputs = self.family.shape[0] if self.family.shape else 1
        return self.family.respond(scores.reshape(-1, n_outputs)).reshape(scores.shape)

    @property
    def scale(self) -> str:
        """What contributions add up to."""
        return self.family.sum_name

    @property
    def convention(self) -> str:
        """One line that says what contributions add up to, and what they are measured from."""
        return f"{self.family.parts_name}, {FROM[self.measured_from]}"

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame with a row for each table row, rule and class.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``row``, ``rule``, ``input`` (the values that it reads), ``fired``, ``class`` (for classes) and
            ``contribution``. The baseline appears as
            a rule that always fires, called ``(average)``, ``(mean)`` or ``(intercept)`` after what contributions are
            measured from. Where contributions are points of a score, of two classes the positive one (by default the
            second) stands for both, its contributions are log-odds, and ``prediction`` is what is predicted so far.
        """
        n, k = self.fired.shape
        labels, base, parts = self._points()
        names = [f"({self.measured_from})", *self.names]
        base = np.broadcast_to(base, (n, 1, len(labels)))
        fired = np.concatenate([np.ones((n, 1), dtype=bool), self.fired], axis=1)
        each = len(names) * len(labels)
        data: dict[str, list[Any]] = {
            "row": np.repeat(np.arange(n), each).tolist(),
            "rule": [name for name in names for _ in labels] * n,
            "input": [text for row in range(n) for text in ("", *self.inputs(row)) for _ in labels],
            "fired": np.repeat(fired.ravel(), len(labels)).tolist(),
        }
        if self.family.shape:
            data["class"] = list(labels) * (n * len(names))
        data["contribution"] = np.concatenate([base, parts], axis=1).ravel().tolist()
        if self.family.is_scored:
            running = self.running.reshape(n, k + 1, -1)
            own = [self.family.positive] if len(labels) == 1 else slice(None)
            data["prediction"] = running[:, :, own].ravel().tolist()
        return make_frame(data, backend)

    def to_dict(self) -> dict[str, Any]:
        """The explanation of one row as plain data, ready for JSON: contributions are points where there is a link.

        ``scale`` says what the baseline and the contributions add up to, ``measured_from`` where they start.
        """
        if len(self) != 1:
            raise ValueError(f"to_dict is of one row, and there are {len(self)}: take explanation[i].to_dict().")
        labels, base, parts = self._points()

        def plain(values: NDArray[np.float64]) -> Any:
            named = dict(zip(map(str, labels), values.tolist()))
            return named if self.family.shape else float(values[0])

        rules = [
            {"rule": name, "input": read, "fired": bool(fired), "contribution": plain(part)}
            for name, read, fired, part in zip(self.names, self.inputs(0), self.fired[0], parts[0])
        ]
        found = self.prediction[0]
        told = dict(zip(map(str, self.classes or ()), found.tolist())) if self.family.shape else float(found)
        said = {"target": self.target, "scale": self.scale, "measured_from": self.measured_from}
        sure = {"uncertainty": self.uncertainty[0]} if self.uncertainty else {}
        told_of = decided(self.family, found) if self.family.shape else {}
        return {**said, "prediction": told, **told_of, **sure, "baseline": plain(base), "rules": rules}

    def _numbered(self, row: int, *, with_inputs: bool = True) -> tuple[list[str], list[list[str]]]:
        """The table of a row, with the numbers of rules in front and inputs beside them: terms have no number."""
        header, lines = self._rows(row)
        n_rules, inputs = len(self.rules), dict(enumerate(self.inputs(row), start=1)) if with_inputs else {}
        header = ["#", *header[:2], *["input"] * with_inputs, *header[2:]]
        return header, [
            [str(i) if 1 <= i <= n_rules else "", *line[:2], *[inputs.get(i, "")] * with_inputs, *line[2:]]
            for i, line in enumerate(lines)
        ]

    def _text(self, row: int) -> str:
        """The table of a row; where inputs beside the rules make its lines too long, they stand below."""
        table = text_table(*self._numbered(row))
        if self.table is None or max(map(len, table.splitlines())) <= LINE:
            return table
        used = sorted({index for part in (*self.rules, *self.terms) for index in part.columns})
        said = [one_line(input_text(self.table.columns[index], row)).replace(" ", "\xa0") for index in used]
        lines = textwrap.wrap(f"inputs: {', '.join(said)}", LINE, break_long_words=False, break_on_hyphens=False)
        table = text_table(*self._numbered(row, with_inputs=False))
        return "\n".join([table, *(line.replace("\xa0", " ") for line in lines)])

    def _points(self) -> tuple[tuple[Any, ...], NDArray[np.float64], NDArray[np.float64]]:
        """The labels that contributions are of, the baseline [label] and the contributions [row, part, label]."""
        family, (n, k) = self.family, self.fired.shape
        n_outputs = family.shape[0] if family.shape else 1
        base = np.reshape(np.asarray(self.baseline, dtype=np.float64), n_outputs)
        parts = self.contributions.reshape(n, k, n_outputs)
        return family.spoken_labels, family.contributions(base), family.contributions(parts)

    def _score_rows(self, row: int) -> tuple[list[str], list[list[str]]]:
        """The points of each rule, and the prediction so far: of two classes that of the positive one."""
        family = self.family
        labels, base, parts = self._points()
        running = self.running[row].reshape(len(self.names) + 1, -1)
        k = family.positive if len(labels) == 1 else int(running[-1].argmax())
        texts = family.prediction_texts(running[:, k])
        decimals = decimals_apart(family, running[-1])

        def points(values: NDArray[np.float64]) -> list[str]:
            return [family.point_text(float(value), decimals) for value in values]

        def total(values: NDArray[np.float64]) -> list[str]:
            return points(values) if family.tells_totals else [""] * len(labels)

        lines = [["", self.measured_from, *total(base), texts[0]]]
        for name, fired, part, text in zip(self._short_names, self.fired[row], parts[row], texts[1:]):
            lines.append(["yes" if fired else "no", name, *points(part), text])
        lines.append(["", "prediction", *total(base + parts[row].sum(axis=0)), texts[-1]])
        if len(labels) > 1:
            lines.append(["", "probability", *family.prediction_texts(running[-1]), ""])
        return ["applies", "rule", *family.points_names, family.prediction_header(k)], lines

    def _rows(self, row: int) -> tuple[list[str], list[list[str]]]:
        if self.family.is_scored:
            return self._score_rows(row)
        labels = self.family.points_names
        parts = self.contributions[row].reshape(len(self.names), len(labels))
        base = np.reshape(self.baseline, len(labels))
        total = self.prediction[row].reshape(len(labels))
        decimals = max(decimals_for([float(v) for v in np.abs(total)], 0.0), decimals_apart(self.family, total))
        lines = [["", self.measured_from, *(f"{v:.{decimals}f}" for v in base)]]
        for name, fired, part in zip(self._short_names, self.fired[row], parts):
            lines.append(["yes" if fired else "no", name, *(f"{v:+.{decimals}f}" for v in part)])
        lines.append(["", "prediction", *(f"{v:.{decimals}f}" for v in total)])
        return ["applies", "rule", *labels], lines

    def _decided(self, row: int, form: str = "{}") -> str:
        """The decision of a row and the cut-off that made it; nothing where numbers are predicted."""
        return form.format(decided_text(self.family, self.prediction[row])) if self.family.shape else ""

    def __str__(self) -> str:
        shown = range(min(len(self), 5))
        blocks = [self._text(row) + self._decided(row, "\n{}") for row in shown]
        blocks = [f"{block}\n{sure_text(own)}" for block, own in zip(blocks, self.uncertainty)] or blocks
        if len(self) > 1:
            blocks = [f"{row_head(row)}\n{block}" for row, block in zip(shown, blocks)]
        if len(self) > len(blocks):
            blocks.append(f"and {len(self) - len(blocks)} more rows")
        return "\n".join([self.convention, "\n\n".join(blocks)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = range(min(len(self), 5))
        said = [self._decided(row) for row in shown]
        tables = [html_table(*self._numbered(row)) for row in shown]
        tables = [table + html_lines(text) if text else table for table, text in zip(tables, said)]
        tables = [table + html_lines(sure_text(own)) for table, own in zip(tables, self.uncertainty)] or tables
        if len(self) > 1:
            tables = [html_lines(row_head(row)) + table for row, table in enumerate(tables)]
        rest = len(self) - len(tables)
        return html_lines(self.convention) + "".join(tables) + (f"<p>and {rest} more rows</p>" if rest else "")


def explain(model: Model, X: Any, *, raw: bool = False) -> Explanation:
    """Explain the predictions of some rows.

    Parameters
    ----------
    model : Model
        The model.
    X : data frame or array of shape (n_rows, n_columns)
        The rows.
    raw : bool, default=False
        Whether contributions are weight times output, from the intercept on, instead of distances from what the rule
        adds to the average training row.

    Returns
    -------
    explanation : Explanation

    Examples
    --------
    >>> from pysirus import SirusRegressor
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=3, random_state=0).fit(X, y)
    >>> explanation = model.explain(X)
    >>> bool(abs(explanation.prediction - model.predict(X)).max() < 1e-9)
    True
    """
    table, family = model.align(X), model.family
    rules, terms = model.rules_on(table), model.terms
    parts = (*rules, *terms)
    values = np.array([part.values(table) for part in parts]).reshape(len(parts), table.n_rows)
    fired = np.array([part.fired(own) for part, own in zip(parts, values)], dtype=bool).reshape(values.shape).T
    outputs, averages = family.explained(parts, values.T)
    start = family.explained_from(model.intercept)
    found = Explanation(rules, start, outputs, fired, averages, family, terms, family.measured_from, (), table)
    return found.raw() if raw else found


def feature_importance(model: Model, backend: str | None = None) -> Any:
    """The importance of each feature, measured in two ways.

    ``frequency`` is the feature's part of the rule frequencies: how consistently the forest uses it. ``gap`` is its
    part of the absolute weight times the gap between the two outputs: how far it moves predictions. A rule counts
    equally for each of its features, and both columns sum to one. Features in no rule have zero. A linear term has no
    frequency; its gap is the one between its limits.

    Parameters
    ----------
    model : Model
        The model.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The library of the frame; by default the first that is installed.

    Returns
    -------
    frame : DataFrame or Table
        Columns ``feature``, ``frequency``, ``gap``, sorted by decreasing gap.
    """
    frequency, gap = _importances(model)
    order = np.argsort(-gap, kind="stable")
    data: dict[str, list[Any]] = {"feature": [model.features[i].name for i in order]}
    data |= {"frequency": frequency[order].tolist(), "gap": gap[order].tolist()}
    return make_frame(data, backend)


def _importances(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequency and gap of each feature, as parts of their sums."""
    frequency, gap = np.zeros(len(model.features)), np.zeros(len(model.features))
    for term in (*model.rules, *model.terms):
        for index in term.columns:
            frequency[index] += (0.0 if np.isnan(term.frequency) else term.frequency) / len(term.columns)
            gap[index] += abs(term.weight or 0.0) * term.gap / len(term.columns)
    totals = [values.sum() for values in (frequency, gap)]
    return frequency / (totals[0] or 1.0), gap / (totals[1] or 1.0)


def column_importances(model: Model) -> NDArray[np.float64]:
    """The gap of each column of the table, in their order; that of a column is the sum over what was made of it."""
    place = {name: i for i, name in enumerate(model.columns)}
    found = np.zeros(len(place))
    for feature, gap in zip(model.features, _importances(model)[1]):
        found[place[model.schema.column_of(feature)]] += gap
    return found
