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
        """Which rules apply to each row, and the contribution of each rule to the prediction.

        Contributions are measured from the average training row: a rule that adds to this row what it adds on average
        contributes nothing.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows to explain.
        raw : bool, default=False
            Whether contributions are weight times output instead, from the intercept on.
        coverage : float, optional
            Also the interval of the target, or the set of classes, that has it in this share of rows; needs
            ``calibrate``, ``keep_folds=True`` or ``load_folds``.

        Returns
        -------
        explanation : Explanation
            Its baseline and contributions add up to the prediction; under a link, to the score behind it.
        """
        from pysirus._use.explain import explain

        found = explain(self._as_model(), X, raw=raw)
        return found if coverage is None else replace(found, uncertainty=self._sure(X, coverage))

    def feature_importance(self, backend: str | None = None) -> Any:
        """The importance of each feature.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``feature``, ``frequency`` and ``gap``; the last two sum to one. See docs/export.md.
        """
        from pysirus._use.explain import feature_importance

        return feature_importance(self._as_model(), backend)

    def export(self, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Export the model to another system.

        Parameters
        ----------
        format : {"sql", "python", "excel", "latex", "markdown", "html", "json", "pmml", "onnx", "scorecard"}
            The target.
        path : str or path, optional
            The file to write.
        **options
            Options of the format, for example ``dialect`` for SQL; see docs/export.md.

        Returns
        -------
        text : str or bytes
            The content of the file.
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
            Rows to look up in the report, each with an explanation.
        y : array, optional
            Their targets, shown next to the predictions.
        **options
            ``sample_weight``, ``labels``, ``title``, ``data``, ``max_rows``, ``by`` (groups), ``change`` (what would
            have changed decisions), ``evidence`` and ``time``; see ``pysirus.report.report``.

        Returns
        -------
        page : str
            The HTML text.
        """
        from pysirus.report import report

        return report(self, path, X, y, **options)

    def widget(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, language: str = "en") -> Any:
        """The list in a cell of a notebook, to edit: its length, which rules it has, and what they add.

        It is the editor of ``report(edit=True)``, in Jupyter, VS Code, Colab and marimo (``pip install
        pysirus[widget]``). All weights are fitted again in the browser at every change.

        Parameters
        ----------
        X : data frame, array or path, optional
            The training rows. Squared error needs none; classes, counts and amounts do, up to 20,000.
        y : array of shape (n_rows,) or str, optional
            Their targets, or the name of their column.
        sample_weight : array of shape (n_rows,), optional
            Their weights.
        language : {"en", "de"}, default="en"
            The language to begin with.

        Returns
        -------
        widget : anywidget.AnyWidget
            Its ``model`` is the list as it was edited, ``decisions`` the log of decisions as text, ``file`` the model
            file as JSON. ``widget.observe(function, "file")`` calls a function after each edit.
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
    ) -> RuleModel:
        """Remove rules, and fit the weights of the others again.

        Weights for regression are fitted exactly. Classes, counts and amounts keep a quadratic approximation of their
        likelihood: their weights are approximate, and ``facts`` says so, unless the training rows are given again.
        Times to an event need them. On other rows everything is estimated anew; see ``adding``.

        Parameters
        ----------
        rules : Rule, int, str or a list of these
            The rules, their numbers in the printed list (from 1), or their text as it prints.
        X : data frame, array or path, optional
            The training rows, to fit the weights exactly.
        y : array of shape (n_rows,) or str, optional
            Their targets, or the name of their column; for survival the names of times and events in a tuple.
        sample_weight : array of shape (n_rows,), optional
            Their weights; those of ``class_weight`` included.
        note, by : str, optional
            Why the rules are removed, and who says so, for the trail of edits.

        Returns
        -------
        model : RuleModel
            On the training rows, or without rows, the outputs of the remaining rules do not change. Its ``facts`` list
            the removed rules, and ``edits``.
        """
        from pysirus._use.edit import Note, without
        from pysirus.estimators.door import in_memory

        model = self._as_model()
        return self._keep_recipe(without(model, rules, *in_memory(model, X, y, sample_weight), Note(note, by)))

    def adding(
        self, rules: Any, X: Any, y: Any, sample_weight: Any = None, *, note: str | None = None, by: str | None = None
    ) -> RuleModel:
        """Add rules, and fit all weights again.

        On the training rows the outputs of the other rules do not change. Other rows are recognised: by their number,
        or because a rule holds in another number of them or has another mean there. Then everything is estimated on
        them, with a warning: outputs and counts of all rules, the mean and all weights. Only what rules ask and their
        frequencies stay. ``facts["estimated_on"]`` is the number of these rows.

        A rule that breaks a constraint of the model, is in the list already or is a combination of other rules on these
        rows is an error. A rule stays listed if its weight is 0.

        Parameters
        ----------
        rules : str, Rule or a list of these
            The rules, as text such as ``"age < 25 & sport = True"`` or, with a fixed effect, ``"+2 if age < 25"``
            (docs/constraints.md has the grammar).
        X : data frame, array or path
            The training rows.
        y : array of shape (n_rows,) or str
            Their targets, or the name of their column; for survival the names of times and events in a tuple.
        sample_weight : array of shape (n_rows,), optional
            Their weights; those of ``class_weight`` included.
        note, by : str, optional
            Why the rules are added, and who says so, for the trail of edits.

        Returns
        -------
        model : RuleModel
            Its ``facts`` have the trail, ``edits``, with the error on these rows before and after.
        """
        from pysirus._use.edit import Note, adding
        from pysirus.estimators.door import in_memory

        model = self._as_model()
        return self._keep_recipe(adding(model, rules, *in_memory(model, X, y, sample_weight), Note(note, by)))

    def with_rules(self, n_rules: int, X: Any = None, y: Any = None, sample_weight: Any = None) -> RuleModel:
        """The model of the ``n_rules`` most frequent rules, with the weights that a fit with ``n_rules`` gives.

        A tuned model has these weights ready. Else those of classes with likelihood weights are approximate, as in
        ``without``, unless X and y are given.

        Parameters
        ----------
        n_rules : int
            From 0 (the mean) to the number of selected rules; for a tuned model, to the longest list on its path.
        X, y, sample_weight : optional
            The training rows, as in ``without``.

        Returns
        -------
        model : RuleModel
            For a tuned model, ``facts`` has the held-out ``cv_error`` and ``cv_stability`` of lists of this size.
        """
        from pysirus._use.edit import with_rules
        from pysirus.estimators.door import in_memory

        model = self._as_model()
        return self._keep_recipe(with_rules(model, n_rules, *in_memory(model, X, y, sample_weight)), n_rules)

    def coverage(self, X: Any) -> Coverage:
        """How the rules share rows out: how many each covers, which fire together, which contradict each other.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.

        Returns
        -------
        coverage : Coverage
            Prints as a table; ``to_frame`` is a data frame, ``counts == 0`` are the rows that no rule covers.
        """
        from pysirus._use.groups import coverage

        model = self._as_model()
        return coverage(model, model.align(X))

    def predict_to(
        self, X: Any, output: str | os.PathLike[str], *, keep: Sequence[str] = (), probabilities: bool = False
    ) -> int:
        """Write predictions to a file, batch by batch, of rows that need not fit into memory.

        Parameters
        ----------
        X : data frame, path, query or stream
            The rows, as ``fit`` takes them.
        output : str or path
            A .parquet or .csv file: a column ``prediction``, in the order of the rows. It appears as a whole or not at
            all.
        keep : list of str, optional
            Columns of X to write before the prediction, such as an id.
        probabilities : bool, default=False
            Of classes, whether to write a column ``probability_<label>`` for each.

        Returns
        -------
        n_rows : int
            How many rows were written.
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
        """How well rows are predicted: accuracy, AUC, log loss and more for classes, R² and errors for regression.

        Counts and amounts (``loss="poisson"``, ``"gamma"`` and ``"tweedie"``) have deviances and D² instead of R².

        Parameters
        ----------
        X : data frame, array, path, query or stream
            Rows that the model was not fitted on.
        y : array of shape (n_rows,) or str
            Their targets, or the name of their column.
        sample_weight : array of shape (n_rows,) or str, optional
            Their weights, or the name of their column.
        by : str or array of shape (n_rows,), optional
            A column of X, which need not be a feature, or a value for each row: compares groups of rows.
        time : str or array of shape (n_rows,), optional
            Of a model that was tuned with ``cv="forward"`` the times of the rows, by default its column of times where
            a table X has it. The metrics of rows that are later than all training rows are then given too.

        Returns
        -------
        score : Score
            Prints as a table; ``score["auc"]`` is one metric, ``score.metrics`` has standard errors too. With ``by`` a
            ``GroupMetrics``: these metrics, the selection rate and the calibration of each group with intervals,
            differences between groups, and the terms that make them.
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
        """How well rows are predicted, in one number.

        R² for regression, D² for counts and amounts, accuracy for classes, concordance for survival times.
        ``metrics`` has more, with standard errors.
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
