"""What a model can be asked, and what is done with it in production: each method hands it to the module of that name.

Decisions and what people ask about them come first; then whether a model is still true, what new rows make of it, and
what is known of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysirus._data.elsewhere import is_elsewhere

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
    """Methods about decisions that rule models and estimators share."""

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
        """The terms that count most for the decision about each row, or against it: exactly those of its score.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The rows.
        k : int, default=4
            How many reasons each row has at most. Terms that count nothing, or the other way, are no reasons.
        direction : {"for", "against", "both"}, optional
            Whether to list what raises the score, what lowers it, or both by size; with classes what speaks for the
            class or against it. Default: "for" with classes, "both" otherwise.
        outcome : label, optional
            The class that reasons are about. Default: the one that is decided for. Of two classes all is told in the
            score of the positive one, as in ``explain``: reasons for the other have negative contributions.
        reference : {"average", "best"} or a row, default="average"
            What contributions are measured from: the average training row; the best value that each term can have,
            which is the highest with ``direction="against"`` and the lowest with "for"; or a row of the same columns.
        by : {"rule", "column"}, default="rule"
            Whether to sum by column. A rule of several columns that does not hold counts for those whose conditions
            fail, in equal parts; one that holds for all of its columns, or from a given row for those whose
            conditions fail there.

        Returns
        -------
        reasons : Reasons
            Prints row by row, with the decision, its cut-off and the values that were read; ``to_frame()`` has a line
            for each reason; ``base``, ``contributions`` and ``rest`` add up to the score.

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
        """The rows of a file, query or stream with the columns that the model reads, as it reads them.

        Parameters
        ----------
        X : path, Arrow stream or query
            The source; see docs/sources.md.

        Returns
        -------
        rows : pyarrow.Table
            For ``explain``, ``reasons`` and ``nearest_change``.
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
        """The smallest change of a row that changes its decision: exact, fewest columns first, then nearest.

        Parameters
        ----------
        row : data frame of one row, dict, or array of shape (1, n_columns)
            The row.
        to : label, or a range
            The class that is wanted. Of numbers a range of predictions: ``">= 20"``, ``"<= 5.5"``, ``"20 to 30"``, or
            a pair such as ``(20, None)``.
        fixed : list of str, optional
            Columns that must stay as they are, such as age.
        directions : dict, optional
            Columns that may only go ``"up"`` or ``"down"``.
        category_step : float, default=0.25
            What a changed category, or a missing value that is filled in, counts in quantiles.

        Returns
        -------
        change : NearestChange or None
            ``changes`` has the new values by column, ``row`` the changed row, of which ``predict`` says what was
            wanted. None where no change of the columns that may change does it. Distances are in the quantiles of the
            training rows that the model keeps, so the answer depends on nothing but the model and the row.

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
        """Set how a class is decided for: by the cost of mistakes, or by a rate; kept in the model file.

        Parameters
        ----------
        costs : dict, optional
            What a mistake about a row of each class costs, such as ``{"good": 1, "bad": 5}``: to take a bad one for
            good costs five times as much as the other way round.
        rate : float, optional
            Of two classes: the share of rows for which the positive class is to be decided.
        X, y : optional
            Rows that the model was not fitted on, to choose the cut-off of two classes on. By default it is chosen on
            the held-out rows of cross-validation, which a tuned model keeps; without those by the costs alone.
        sample_weight : array of shape (n_rows,), optional
            Weights of these rows.

        Returns
        -------
        model : RuleModel
            ``predict``, metrics, SQL, scorecards and the report decide so. ``decision_rule`` says how. Without costs
            and rate the most likely class is decided for again.

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
        """Set what people are told where a rule is a reason, such as a reason code; kept in the model file.

        Parameters
        ----------
        texts : dict
            From rules, by number in the printed list (from 1), text, or as such, to a text, or to a pair of texts: one
            where the rule applies and one where it does not. None removes the text of a rule.

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
    """Methods about a model in use that rule models and estimators share."""

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
        """Compare new rows with the training rows: have rules, columns, outputs or the error changed?

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns), or anything else that ``fit`` takes
            The new rows. Those that lie elsewhere are read in batches, of which only sums are kept; the target, weights
            and times are then names of columns.
        y : array of shape (n_rows,) or str, optional
            Their targets; without them only shares of rules and columns are compared.
        sample_weight : array of shape (n_rows,) or str, optional
            Their weights.
        time : array of shape (n_rows,) or str, optional
            When each row is from: dates, which are taken by month, or the names of periods. Each is compared too.
        alpha : float, default=0.01
            The chance of an alarm where nothing has changed, at most.
        tolerance : float, default=0.02
            Changes that are smaller, in standard deviations, raise no alarm however sure they are.

        Returns
        -------
        monitoring : Monitoring
            ``alarm`` and ``verdict``; ``rules``, ``columns`` and ``periods`` are data frames. See docs/monitoring.md.
        """
        from pysirus._use.monitor import monitor, monitor_parts

        if is_elsewhere(X):
            from pysirus.estimators.door import truth_of

            rows = truth_of(self._as_model(), X, y, sample_weight, time, every_column=True)
            return monitor_parts(self._as_model(), rows, alpha=alpha, tolerance=tolerance)
        return monitor(self._as_model(), X, y, sample_weight, time=time, alpha=alpha, tolerance=tolerance)

    def with_reference(self, X: Any, y: Any, sample_weight: Any = None) -> RuleModel:
        """The model with new sums to compare later rows with: for models of earlier versions, or after edits.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The training rows, or others that the model is known to be right for.
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
        exposure: Any = None,
        alpha: float = 0.01,
        n_resamples: int = 0,
    ) -> Refit:
        """Learn the model again from new rows, by the same recipe, and compare the two.

        The recipe is the settings, the seed, constraints and required rules and, of a changed model, its length, edits,
        cut-off and texts of reasons.

        Parameters
        ----------
        X, y, sample_weight
            The new rows, in memory. Columns that the model was not learned from are left out.
        groups, exposure
            As in ``fit``.
        alpha : float, default=0.01
            The chance that any output is called changed where none is, at most.
        n_resamples : int, default=0
            Samples of half of the new rows to learn from (at least 4), for how many rules may be expected to return.

        Returns
        -------
        refit : Refit
            ``model`` is the new one; prints as a comparison with the old one. ``alarm`` says whether a person should
            look: outputs that changed beyond chance, or edits that could not be repeated.

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

        options = {"groups": groups, "exposure": exposure}
        return refit(self, X, y, sample_weight, alpha=alpha, n_resamples=n_resamples, **options)

    def card(
        self,
        about: Any = None,
        *,
        metrics: Score | None = None,
        groups: GroupMetrics | None = None,
        evidence: Any = None,
        monitoring: Any = None,
        title: str | None = None,
        source: str | None = None,
        date: Any = None,
    ) -> Card:
        """A model card: a document for those who check models, with what the file knows and what a person says.

        Parameters
        ----------
        about : dict, str or path, optional
            What only a person can say, by section and key, or the TOML file that has it. ``pysirus card --template``
            writes a blank one. What is not there is marked "not stated".
        metrics : Score, optional
            What ``metrics(X, y)`` found for rows that the model was not fitted on.
        groups : GroupMetrics, optional
            What ``metrics(X, y, by=...)`` found.
        evidence : Evidence or dict, optional
            What ``evidence`` found, or its ``to_dict()``.
        monitoring : Monitoring or dict, optional
            What ``monitor`` found, or its ``to_dict()``.
        title : str, optional
            The heading.
        source : str, optional
            Where the rows of ``metrics`` come from, such as the name of a file.
        date : date or str, optional
            When the document was written. Default: today.

        Returns
        -------
        card : Card
            Prints as Markdown; ``save`` writes Markdown or HTML, ``missing`` lists what is not stated.

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
        from pysirus.report.card import make_card

        model = self._as_model()
        told: dict[str, Any] = {"metrics": metrics, "groups": groups, "evidence": evidence, "monitoring": monitoring}
        told |= {"title": title, "source": source, "day": date}
        return make_card(model, about, recipe=self._keep_recipe(model).facts.learned_by, **told)

    def diff(self, new: Any) -> Diff:
        """Compare with a newer model: which rules were kept, shifted, added or removed.

        Parameters
        ----------
        new : RuleModel or fitted estimator
            The newer model.

        Returns
        -------
        diff : Diff
            Prints as a short table.
        """
        from pysirus._use.diff import diff

        return diff(self, new)
