"""A model and what can be done with it: each method hands the model to the module of that name.

A method imports its module when it is called, so that fitting and predicting do not wait for exports and reports.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from pysirus._model.file import model_to_json, write_document
from pysirus._model.model import Model
from pysirus._parameters import ParameterError
from pysirus._text.message import setting
from pysirus.estimators.actions import Lifecycle

if TYPE_CHECKING:
    from pysirus._terms.fitted import FittedTerm
    from pysirus._use.explain import Explanation
    from pysirus._use.groups import Coverage, GroupMetrics
    from pysirus._use.score import Score


class Actions(Lifecycle):
    """Methods that rule models and estimators share."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Let Python's own errors say ``fit()``, and not which private class it is of."""
        super().__init_subclass__(**given)
        own = [base for base in cls.__mro__ if base.__module__.startswith("pysirus.")]
        for name, method in ((name, method) for base in own for name, method in vars(base).items()):
            if isinstance(method, FunctionType) and not name.startswith("_"):
                method.__qualname__ = name

    @abstractmethod
    def _as_model(self) -> RuleModel:
        """The rule model to act on."""

    def _sure(self, X: Any, coverage: float) -> tuple[dict[str, Any], ...]:
        """The interval or the set of each row, of estimators that have them."""
        raise ParameterError(f"This model has no intervals: calibrate it, or tune with {setting('keep_folds', True)}.")

    def explain(self, X: Any, *, raw: bool = False, coverage: float | None = None) -> Explanation:
        """Explain predictions: which rules apply to each row, and what each rule contributes.

        Contributions are relative to the average training row: a rule contributes nothing if it adds its average.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows to explain.
        raw : bool, default=False
            Whether contributions are weight times output, relative to the intercept, instead.
        coverage : float, optional
            If given, also show a prediction interval, or a set of classes, with this coverage. Needs ``calibrate``,
            ``keep_folds=True`` or ``load_folds``.

        Returns
        -------
        explanation : Explanation
            Its baseline and contributions add up to the prediction or, for models with a link function, to the score.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
        >>> print(model.explain(X[:1]))
        Contributions to O3, from the average training row
        #  applies  rule                    input                    O3
                    average                                       11.78
        1      yes  temp < 66               temp = 40             -1.16
        2      yes  ibt < 189               ibt = 87              -1.39
        3       no  temp >= 66 & vis < 150  temp = 40, vis = 250  -2.15
        4      yes  vh < 5840               vh = 5710             -0.53
                    prediction                                     6.55
        """
        from pysirus._use.explain import explain

        found = explain(self._as_model(), X, raw=raw)
        return found if coverage is None else replace(found, uncertainty=self._sure(X, coverage))

    def feature_importance(self, backend: str | None = None) -> Any:
        """Compute the importance of each feature.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the data frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``feature``, ``frequency`` and ``gap``; each of the last two sums to 1. See docs/export.md.
        """
        from pysirus._use.explain import feature_importance

        return feature_importance(self._as_model(), backend)

    def export(self, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Export the model to another system.

        Parameters
        ----------
        format : str
            "sql", "python", "javascript", "excel", "latex", "markdown", "html", "json", "pmml", "onnx", "monitor" or
            "scorecard".
        path : str or path, optional
            The file to write.
        **options
            Options of the format, for example ``dialect`` for SQL; see docs/export.md.

        Returns
        -------
        text : str or bytes
            The content of the file.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
        >>> sql = model.export("sql", dialect="snowflake", table="days")
        """
        from pysirus.export import export

        return export(self._as_model(), format, path, **options)

    def report(self, path: str | os.PathLike[str] | None = None, X: Any = None, y: Any = None, **options: Any) -> str:
        """Write a report: one HTML file that makes no network requests.

        Parameters
        ----------
        path : str or path, optional
            The file to write.
        X : data frame or array, optional
            Rows that readers can look up in the report, each with an explanation.
        y : array, optional
            Their targets, shown next to the predictions.
        **options
            ``sample_weight``, ``labels``, ``title``, ``data``, ``max_rows``, ``by`` (groups to compare), ``change``
            (changes that would reverse a decision), ``evidence`` and ``time``. See docs/report.md.

        Returns
        -------
        page : str
            The HTML text.
        """
        from pysirus.report import report

        return report(self, path, X, y, **options)

    def widget(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, language: str = "en") -> Any:
        """Edit the list in a notebook cell: its length, its rules and what they add.

        This is the editor of ``report(edit=True)`` for Jupyter, VS Code, Colab and marimo (``pip install
        pysirus[widget]``). The browser refits all weights after every change.

        Parameters
        ----------
        X : data frame, array or path, optional
            The training rows. Models fitted by squared error do not need them; classification, counts and amounts do
            (at most 20,000 rows).
        y : array of shape (n_rows,) or str, optional
            Their targets, or the name of their column.
        sample_weight : array of shape (n_rows,), optional
            Their weights.
        language : {"en", "de"}, default="en"
            The initial language.

        Returns
        -------
        widget : anywidget.AnyWidget
            ``model`` is the edited list, ``decisions`` the log of edits as text, and ``file`` the model file as JSON.
            ``widget.observe(function, "file")`` calls a function after each edit.
        """
        from pysirus.estimators.door import in_memory
        from pysirus.report._editing import widget_of

        model = self._as_model()
        rows = (None, None, None) if X is None else in_memory(model, X, y, sample_weight)
        return widget_of(model, rows, language, lambda own: self._keep_recipe(RuleModel.of(own)))

    def without(
        self,
        rules: FittedTerm | int | str | Sequence[FittedTerm | int | str],
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        note: str | None = None,
        by: str | None = None,
        date: str | None = None,
    ) -> RuleModel:
        """Remove rules and refit the weights of the others.

        For regression, the refitted weights are exact. For classification, counts and amounts they come from a
        quadratic approximation of the likelihood, which ``facts`` records, unless you pass the training rows. Survival
        models need the training rows. If you pass other rows, everything is estimated on them; see ``adding``.

        Parameters
        ----------
        rules : Rule, int, str or a list of these
            The rules, their numbers in the printed list (from 1), or their printed text.
        X : data frame, array or path, optional
            The training rows, for exact weights.
        y : array of shape (n_rows,) or str, optional
            Their targets, or the name of their column; for survival, a tuple with the names of the time and event
            columns.
        sample_weight : array of shape (n_rows,), optional
            Their weights, including those of ``class_weight``.
        note, by, date : str, optional
            Why the rules are removed, by whom and when, for the log of edits.

        Returns
        -------
        model : RuleModel
            The new model. ``facts`` lists the removed rules and the ``edits``. The outputs of the other rules do not
            change, unless you pass rows other than the training rows.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
        >>> edited = model.without(2, note="not measured any more", by="A. Smith")
        >>> len(model.rules_), len(edited.rules_)
        (4, 3)
        """
        from pysirus._use.edit import Note, without
        from pysirus.estimators.door import in_memory

        model = self._as_model()
        return self._keep_recipe(without(model, rules, *in_memory(model, X, y, sample_weight), Note(note, by, date)))

    def adding(
        self,
        rules: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        note: str | None = None,
        by: str | None = None,
        date: str | None = None,
    ) -> RuleModel:
        """Add rules and refit all weights.

        If X contains the training rows, the outputs of the other rules do not change. pysirus recognises other rows by
        their number and by the counts and means of the rules. It then estimates the outputs and counts of all rules,
        the mean and all weights on the new rows, with a warning; only conditions and frequencies are kept.
        ``facts["estimated_on"]`` is the number of these rows.

        It is an error to add a rule that violates a constraint of the model, is already in the list, or is a linear
        combination of other rules on these rows. Added rules stay listed even if their weight is 0.

        Parameters
        ----------
        rules : str, Rule or a list of these
            The rules, as text such as ``"age < 25 & sport = True"`` or, with a fixed effect, ``"+2 if age < 25"``. The
            grammar is in docs/constraints.md.
        X : data frame, array or path
            The training rows.
        y : array of shape (n_rows,) or str
            Their targets, or the name of their column; for survival, a tuple with the names of the time and event
            columns.
        sample_weight : array of shape (n_rows,), optional
            Their weights, including those of ``class_weight``.
        note, by, date : str, optional
            Why the rules are added, by whom and when, for the log of edits.

        Returns
        -------
        model : RuleModel
            The new model. ``facts["edits"]`` is the log of edits, with the error on these rows before and after.
        """
        from pysirus._use.edit import Note, adding
        from pysirus.estimators.door import in_memory

        model = self._as_model()
        return self._keep_recipe(adding(model, rules, *in_memory(model, X, y, sample_weight), Note(note, by, date)))

    def with_rules(self, n_rules: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> RuleModel:
        """Keep the ``n_rules`` most frequent rules, with the weights of a fit with that number of rules.

        Tuned models store these weights. For other models with likelihood weights they are approximate, as in
        ``without``, unless you pass the training rows.

        Parameters
        ----------
        n_rules : int
            From 0 (the mean model) to the number of selected rules; for a tuned model, up to the longest list on its
            path.
        X, y, sample_weight : optional
            The training rows, as in ``without``.

        Returns
        -------
        model : RuleModel
            The shorter or longer model. For a tuned model, ``facts`` has the held-out ``cv_error`` and ``cv_stability``
            of lists of this size.
        """
        from pysirus._use.edit import with_rules
        from pysirus.estimators.door import in_memory

        model = self._as_model()
        return self._keep_recipe(with_rules(model, n_rules, *in_memory(model, X, y, sample_weight)), n_rules)

    def coverage(self, X: Any) -> Coverage:
        """Count the rows that each rule covers, and find rules that overlap or pull in opposite directions.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.

        Returns
        -------
        coverage : Coverage
            Prints as a table. ``to_frame()`` returns a data frame, and ``counts`` is the number of rules that apply to
            each row.
        """
        from pysirus._use.groups import coverage

        model = self._as_model()
        return coverage(model, model.align(X))

    def predict_to(
        self, X: Any, output: str | os.PathLike[str], *, keep: Sequence[str] = (), probabilities: bool = False
    ) -> int:
        """Write predictions to a file in batches, for tables that need not fit into memory.

        Parameters
        ----------
        X : data frame, path, query or stream
            The rows, from any source that ``fit`` takes.
        output : str or path
            A .parquet or .csv file. It gets a column ``prediction``, in the order of the rows, and is renamed into
            place when it is complete.
        keep : list of str, optional
            Columns of X to write in front of the prediction, such as an id.
        probabilities : bool, default=False
            Whether to write a column ``probability_<label>`` for each class.

        Returns
        -------
        n_rows : int
            The number of rows written.
        """
        from pysirus.estimators.door import write_predictions

        return write_predictions(self._as_model(), X, output, keep, probabilities)

    @overload
    def metrics(self, X: Any, y: Any, sample_weight: Any = None, *, time: Any = None) -> Score: ...
    @overload
    def metrics(self, X: Any, y: Any, sample_weight: Any = None, *, by: Any) -> GroupMetrics: ...
    def metrics(
        self, X: Any, y: Any, sample_weight: Any = None, *, by: Any = None, time: Any = None
    ) -> Score | GroupMetrics:
        """Compute metrics: accuracy, AUC, log loss and others for classification; R² and errors for regression.

        For counts and amounts (``loss="poisson"``, ``"gamma"`` or ``"tweedie"``), deviances and D² replace R².

        Parameters
        ----------
        X : data frame, array, path, query or stream
            Rows that the model was not fitted on.
        y : array of shape (n_rows,) or str
            Their targets, or the name of their column.
        sample_weight : array of shape (n_rows,) or str, optional
            Their weights, or the name of their column.
        by : str or array of shape (n_rows,), optional
            Groups of rows to compare: a column of X, which need not be a feature, or a value for each row.
        time : str or array of shape (n_rows,), optional
            For models tuned with ``cv="forward"``, the time of each row; by default, the column of times used in
            training. Metrics of the rows later than all training rows are then reported as well.

        Returns
        -------
        score : Score
            Prints as a table. ``score["auc"]`` is one metric; ``score.metrics`` has standard errors as well. With
            ``by``, a ``GroupMetrics`` with the metrics, selection rate and calibration of each group, with intervals,
            the differences between groups, and the terms that cause them.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=10, random_state=0).fit(X[::2], y[::2])
        >>> round(model.metrics(X[1::2], y[1::2])["r2"], 2)
        0.68
        """
        from pysirus._use.groups import group_metrics
        from pysirus.estimators.door import in_memory, score_anywhere

        if by is not None:
            return group_metrics(self._as_model(), *in_memory(self._as_model(), X, y, sample_weight), by)
        return score_anywhere(self._as_model(), X, y, sample_weight, time)


@dataclass(frozen=True, repr=False)
class RuleModel(Actions, Model):
    __doc__ = Model.__doc__

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Measure predictions by one number.

        R² for regression, D² for counts and amounts, accuracy for classification, and concordance for survival.
        ``metrics`` has more metrics, with standard errors.
        """
        from pysirus._use.score import one_number

        return one_number(self, self.metrics(X, y, sample_weight))

    @classmethod
    def of(cls, model: Model) -> RuleModel:
        """The same model, with everything that can be done with it."""
        return model if isinstance(model, cls) else cls(**{f.name: getattr(model, f.name) for f in fields(Model)})

    def _as_model(self) -> RuleModel:
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file that ``pysirus.load`` reads."""
        write_document(path, model_to_json(self))
