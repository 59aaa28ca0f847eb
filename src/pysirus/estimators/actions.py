"""What can be done with a fitted model: each method hands it to the module of that name.

The modules come later in the flow than the model, so a method imports its module when it is called.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pysirus._model.model import RuleModel
    from pysirus._rules.rule import Rule
    from pysirus._use.diff import Diff
    from pysirus._use.explain import Explanation


class Actions:
    """Methods that rule models and estimators share."""

    @abstractmethod
    def _as_model(self) -> RuleModel:
        """The rule model to act on."""

    def explain(self, X: Any) -> Explanation:
        """Which rules fired in each row, and what each rule adds to its prediction.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows to explain.

        Returns
        -------
        explanation : Explanation
            Its baseline and contributions sum to the prediction.
        """
        from pysirus._use.explain import explain

        return explain(self._as_model(), X)

    def feature_importance(self, backend: str | None = None) -> Any:
        """How much of the model each feature carries.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; by default the first of these that is installed.

        Returns
        -------
        frame : DataFrame or Table
            Columns ``feature``, ``frequency`` and ``gap``, each share summing to one; see
            ``explain`` in docs/export.md.
        """
        from pysirus._use.explain import feature_importance

        return feature_importance(self._as_model(), backend)

    def export(self, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Write the model in the language of another system.

        Parameters
        ----------
        format : {"sql", "python", "excel", "latex", "markdown", "html", "json", "pmml", "onnx"}
            The target.
        path : str or path, optional
            The file to write.
        **options
            What the format takes besides, for example ``dialect`` for SQL; docs/export.md lists them.

        Returns
        -------
        text : str or bytes
            What was, or would be, written.
        """
        from pysirus.export import export

        return export(self._as_model(), format, path, **options)

    def report(self, path: str | os.PathLike[str] | None = None, X: Any = None, **options: Any) -> str:
        """Write a report: one HTML file that needs no network.

        Parameters
        ----------
        path : str or path, optional
            The file to write.
        X : data frame or array, optional
            Rows to look up in the report, each with its waterfall.
        **options
            ``y``, ``labels``, ``title``, ``data`` and ``max_rows``; see ``pysirus.report.report``.

        Returns
        -------
        page : str
            The HTML text.
        """
        from pysirus.report import report

        return report(self, path, X, **options)

    def without(self, rules: Rule | int | Sequence[Rule | int]) -> RuleModel:
        """Strike rules that make no sense and fit the weights of the others again.

        Parameters
        ----------
        rules : Rule, int, or a list of these
            The rules, as such or by their number in the list of rules of positive weight (the first is 0).

        Returns
        -------
        model : RuleModel
            The outputs of the remaining rules are what they were. Its facts name what was struck.
        """
        from pysirus._use.edit import without

        return without(self._as_model(), rules)

    def with_rules(self, n_rules: int) -> RuleModel:
        """The model of the ``n_rules`` most frequent rules, with the weights that a fit of such a list would give.

        Parameters
        ----------
        n_rules : int
            From 0 (the mean) to the number of selected rules; of a tuned model, to the longest list of its path.

        Returns
        -------
        model : RuleModel
            Of a tuned model the ``facts`` hold the out-of-fold ``cv_error`` and ``cv_stability`` of such lists.
        """
        from pysirus._use.edit import with_rules

        return with_rules(self._as_model(), n_rules)

    def diff(self, new: Any) -> Diff:
        """Compare with a newer model: which rules stayed, moved, came and went.

        Parameters
        ----------
        new : RuleModel or fitted estimator
            The newer model.

        Returns
        -------
        diff : Diff
            Prints as a one-screen answer.
        """
        from pysirus._use.diff import diff

        return diff(self, new)
