"""What a model can be asked, and what is done with it in production: each method hands it to the module of that name.

Decisions and what people ask about them come first; then whether a model is still true, what new rows make of it, and
what is known of it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysirus._data.elsewhere import is_elsewhere
from pysirus.engine.given import MEMORY, Given

if TYPE_CHECKING:
    from pysirus._use.diff import Diff
    from pysirus._use.groups import GroupMetrics
    from pysirus._use.monitoring import Monitoring
    from pysirus._use.nearest_change import NearestChange
    from pysirus._use.reasons import Reasons
    from pysirus._use.refit import Refit
    from pysirus._use.score import Score
    from pysirus.estimators.rule_model import RuleModel
    from pysirus.report.card import Card


class Decisions(ABC):
    """Methods about decisions, shared by rule models and estimators."""

    @abstractmethod
    def _as_model(self) -> RuleModel:
        """The rule model to act on."""

    def _keep_recipe(self, changed: RuleModel, n_rules: int | None = None) -> RuleModel:
        """A changed model, which remembers how it was learned: ``refit`` repeats the fit and the changes."""
        return changed

    def reasons(
        self,
        X: Any,
        k: int = 4,
        *,
        direction: str | None = None,
        outcome: Any = None,
        reference: Any = "average",
        by: str = "rule",
    ) -> Reasons:
        """The terms that contribute most to the decision for each row, or most against it.

        Contributions are exact: together with ``base`` and ``rest`` they add up to the score.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.
        k : int, default=4
            Maximum number of reasons per row. Terms that contribute nothing, or in the other direction, are not listed.
        direction : {"for", "against", "both"}, optional
            Whether to list terms that raise the score, terms that lower it, or both, ordered by size. For
            classification, terms for or against the class. Default: "for" for classification, "both" otherwise.
        outcome : label, optional
            The class to give reasons for. Default: the predicted class. With two classes, contributions are to the
            score of the positive class, as in ``explain``, so reasons for the other class are negative.
        reference : {"average", "best"} or a row, default="average"
            The reference for contributions: the average training row; the best value that each term can take (the
            highest with ``direction="against"``, the lowest with "for"); or a row with the same columns.
        by : {"rule", "column"}, default="rule"
            Whether to list rules or to sum contributions by column. If a rule with several columns does not apply, its
            contribution is divided equally between the columns whose conditions fail. If it applies, the contribution
            is divided between all its columns or, if ``reference`` is a row, between those whose conditions fail there.

        Returns
        -------
        reasons : Reasons
            Prints row by row, with the decision, the cut-off and the input values. ``to_frame()`` has a row for each
            reason.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
        >>> reasons = model.reasons(X, k=2, direction="against", reference="best")
        >>> bool(abs(reasons.scores - model.predict(X)).max() < 1e-9)
        True
        """
        from pysirus._use.reasons import reasons

        return reasons(self._as_model(), X, k, direction=direction, outcome=outcome, reference=reference, by=by)

    def rows(self, X: Any) -> Any:
        """Read the columns that the model needs from a file, query or stream.

        Parameters
        ----------
        X : path, Arrow stream or query
            The source; see docs/sources.md.

        Returns
        -------
        rows : pyarrow.Table
            The rows, ready for ``explain``, ``reasons`` and ``nearest_change``.
        """
        import pyarrow as pa

        from pysirus.estimators.door import rows_of

        return pa.concat_tables(rows_of(self._as_model(), X))

    def nearest_change(
        self,
        row: Any,
        to: Any,
        *,
        fixed: Sequence[str] | str | None = None,
        directions: Mapping[str, str] | None = None,
        category_step: float = 0.25,
    ) -> NearestChange | None:
        """Find the smallest change to a row that changes its decision.

        The search is exact. It prefers changes to fewer columns, then smaller changes, measured in quantiles of the
        training rows. The model stores these quantiles, so the answer depends only on the model and the row.

        Parameters
        ----------
        row : data frame of one row, dict, or array of shape (1, n_columns)
            The row.
        to : label, or a range
            The wanted class or, for regression, the wanted range of predictions: ``">= 20"``, ``"<= 5.5"``, ``"20 to
            30"``, or a pair such as ``(20, None)``.
        fixed : list of str, optional
            Columns that must stay as they are, such as age.
        directions : dict, optional
            Columns that may only change in one direction, ``"up"`` or ``"down"``.
        category_step : float, default=0.25
            The distance, in quantiles, of changing a category or filling in a missing value.

        Returns
        -------
        change : NearestChange or None
            ``changes`` has the new values by column and ``row`` the changed row. None if no allowed change gives the
            wanted decision.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
        >>> change = model.nearest_change(X[:1], ">= 12")
        >>> bool(model.predict(change.row)[0] >= 12)
        True
        """
        from pysirus._use.nearest_change import nearest_change

        options: dict[str, Any] = {"fixed": fixed, "directions": directions, "category_step": category_step}
        return nearest_change(self._as_model(), row, to, **options)

    def decide(
        self,
        costs: Mapping[Any, float] | None = None,
        *,
        rate: float | None = None,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> RuleModel:
        """Set how the model decides between classes: by the costs of errors, or by a rate.

        The rule is stored in the model file. Without costs or a rate the model predicts the most likely class again.

        Parameters
        ----------
        costs : dict, optional
            The cost of misclassifying a row of each class. With ``{"good": 1, "bad": 5}``, classifying a bad row as
            good costs five times as much as the reverse.
        rate : float, optional
            With two classes: the share of rows to classify as positive.
        X, y : optional
            Rows that the model was not fitted on, used to choose the cut-off between two classes. By default it is
            chosen on the held-out rows of a tuned model; otherwise it follows from the costs alone.
        sample_weight : array of shape (n_rows,), optional
            Weights of these rows.

        Returns
        -------
        model : RuleModel
            The model with the new ``decision_rule``, which ``predict``, metrics, SQL, scorecards and the report use.

        Examples
        --------
        >>> from pysirus import SirusClassifier
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusClassifier(n_rules=5, random_state=0).fit(X, y > 14)
        >>> careful = model.decide({False: 1, True: 4})
        >>> careful.decision_rule.cutoff(1)
        0.2
        >>> bool(careful.predict(X).mean() > model.predict(X).mean())
        True
        """
        from pysirus._use.score import decide

        return self._keep_recipe(decide(self._as_model(), costs, rate, X, y, sample_weight))

    def with_reasons(self, texts: Mapping[Any, Any]) -> RuleModel:
        """Set the texts that rules show as reasons, such as reason codes. They are stored in the model file.

        Parameters
        ----------
        texts : dict
            Texts by rule. A key is a rule's number in the printed list (from 1), its text, or a Rule. A value is a
            text, a pair of texts (shown if the rule applies, and if it does not), or None to remove the text.

        Returns
        -------
        model : RuleModel

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=1, random_state=0).fit(X, y)
        >>> model = model.with_reasons({1: ("T1: a cool day", "T1: a warm day")})
        >>> model.reasons(X[:1]).to_frame("pandas")["text"][0]
        'T1: a cool day'
        """
        from pysirus._use.edit import with_reasons

        return self._keep_recipe(with_reasons(self._as_model(), texts))


class Lifecycle(Decisions):
    """Methods about a model in use, shared by rule models and estimators."""

    def monitor(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        time: Any = None,
        alpha: float = 0.01,
        tolerance: float = 0.02,
    ) -> Monitoring:
        """Compare new rows with the training rows: have the rules, columns, outputs or error changed?

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns), or anything else that ``fit`` takes
            The new rows. Files, queries and streams are read in batches; give ``y``, ``sample_weight`` and ``time`` as
            column names then.
        y : array of shape (n_rows,) or str, optional
            Their targets. Without them, only the shares of rows by rule and column are compared.
        sample_weight : array of shape (n_rows,) or str, optional
            Their weights.
        time : array of shape (n_rows,) or str, optional
            The period of each row: dates, which are grouped by month, or names of periods. Each period is compared
            separately as well.
        alpha : float, default=0.01
            Upper bound on the probability of an alarm if nothing has changed.
        tolerance : float, default=0.02
            Changes smaller than this, in standard deviations, never raise an alarm, even if they are significant.

        Returns
        -------
        monitoring : Monitoring
            Has ``alarm`` and ``verdict``, and data frames ``rules``, ``columns`` and ``periods``. See
            docs/monitoring.md.
        """
        from pysirus._use.monitor import monitor, monitor_parts

        if is_elsewhere(X):
            from pysirus.estimators.door import truth_of

            rows = truth_of(self._as_model(), X, y, sample_weight, time, every_column=True)
            return monitor_parts(self._as_model(), rows, alpha=alpha, tolerance=tolerance)
        return monitor(self._as_model(), X, y, sample_weight, time=time, alpha=alpha, tolerance=tolerance)

    def with_reference(self, X: Any, y: Any, sample_weight: Any = None) -> RuleModel:
        """Set the reference rows that ``monitor`` compares new rows with.

        Use it for models saved by earlier versions, and after edits.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The training rows, or other rows for which the model is known to be valid.
        y : array of shape (n_rows,)
            Their targets.
        sample_weight : array of shape (n_rows,), optional
            Their weights.

        Returns
        -------
        model : RuleModel
        """
        from pysirus._use.monitor import reference_from

        model = self._as_model()
        found = reference_from(model, X, y, sample_weight)
        return self._keep_recipe(replace(model, facts=replace(model.facts, reference=found.to_facts())))

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
        exposure: Any = None,
        memory: int = MEMORY,
        scratch: str | os.PathLike[str] | None = None,
        row_id: str | None = None,
        alpha: float = 0.01,
        n_resamples: int = 0,
    ) -> Refit:
        """Fit the model again on new rows with the same recipe, and compare the two models.

        The recipe comprises the settings, the seed, the constraints and required rules and, if the model was changed
        after the fit, its length, edits, cut-off and reason texts.

        Parameters
        ----------
        X, y, sample_weight
            The new rows, from any source that ``fit`` takes. Columns that the model was not trained on are ignored. An
            edited model needs rows that fit into memory, to repeat the edits.
        groups, time, exposure, memory, scratch, row_id
            As in ``fit``.
        alpha : float, default=0.01
            Upper bound on the probability of reporting a changed output if none has changed.
        n_resamples : int, default=0
            Number of half-samples of the new rows (at least 4) used to estimate how many rules should be selected
            again. 0 skips this step.

        Returns
        -------
        refit : Refit
            Has the new ``model`` and prints as a comparison with the old one. ``alarm`` is True if an output changed by
            more than chance explains or an edit could not be repeated, so that someone should look at the model.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, n_trees=500, random_state=0).fit(X[::2], y[::2])
        >>> again = model.refit(X[1::2], y[1::2])
        >>> again.alarm, len(again.model.rules_)
        (False, 5)
        """
        from pysirus.estimators.recipe import refit

        given = Given(X, y, sample_weight, groups, exposure, (), memory, scratch, row_id)
        return refit(self, given, time=time, alpha=alpha, n_resamples=n_resamples)

    def card(
        self,
        about: Any = None,
        *,
        metrics: Score | None = None,
        groups: GroupMetrics | Sequence[GroupMetrics] | None = None,
        evidence: Any = None,
        monitoring: Any = None,
        title: str | None = None,
        source: str | None = None,
        date: Any = None,
    ) -> Card:
        """Create a model card, a document for people who review models.

        It combines what the model file records with statements that only a person can make.

        Parameters
        ----------
        about : dict, str or path, optional
            Statements by section and key, or a TOML file with them. ``pysirus card --template`` writes a blank file.
            Missing statements are marked "not stated".
        metrics : Score, optional
            The result of ``metrics(X, y)`` on rows that the model was not fitted on.
        groups : GroupMetrics or list of them, optional
            The result of ``metrics(X, y, by=...)``.
        evidence : Evidence or dict, optional
            The result of ``evidence``, or its ``to_dict()``.
        monitoring : Monitoring or dict, optional
            The result of ``monitor``, or its ``to_dict()``.
        title : str, optional
            The heading.
        source : str, optional
            Where the rows of ``metrics`` come from, such as the name of a file.
        date : date or str, optional
            The date of the document. Default: today.

        Returns
        -------
        card : Card
            Prints as Markdown. ``save`` writes Markdown or HTML, and ``missing`` lists the missing statements.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, n_trees=500, random_state=0).fit(X, y)
        >>> card = model.card({"owner": {"name": "A. Smith"}})
        >>> "purpose.use" in card.missing, "owner.name" in card.missing
        (True, False)
        """
        from pysirus.estimators.recipe import ESTIMATORS
        from pysirus.report.card import make_card

        model = self._as_model()
        told: dict[str, Any] = {"metrics": metrics, "groups": groups, "evidence": evidence, "monitoring": monitoring}
        told |= {"title": title, "source": source, "day": date}
        recipe = self._keep_recipe(model).facts.learned_by
        kind = None if recipe is None else ESTIMATORS.get(recipe["name"])
        return make_card(model, about, recipe=recipe, usual=None if kind is None else kind().get_params(), **told)

    def diff(self, new: Any) -> Diff:
        """Compare with a newer model: which rules were kept, shifted, added or removed?

        Parameters
        ----------
        new : RuleModel or fitted estimator
            The newer model.

        Returns
        -------
        diff : Diff
            Prints as a short table.

        Examples
        --------
        >>> from pysirus import SirusRegressor
        >>> from pysirus.datasets import load_ozone
        >>> X, y = load_ozone(return_X_y=True, as_frame=True)
        >>> model = SirusRegressor(n_rules=5, random_state=0).fit(X, y)
        >>> round(model.diff(model.without(2)).stability, 2)
        0.86
        """
        from pysirus._use.diff import diff

        return diff(self, new)
