"""A model in production in: is it still true, what do new rows make of it, what is known of it; a method for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysirus._data.elsewhere import is_elsewhere
from pysirus.estimators.decisions import Decisions

if TYPE_CHECKING:
    from pysirus._use.diff import Diff
    from pysirus._use.groups import GroupMetrics
    from pysirus._use.monitoring import Monitoring
    from pysirus._use.refit import Refit
    from pysirus._use.score import Score
    from pysirus.estimators.rule_model import RuleModel
    from pysirus.report.card import Card


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
        return make_card(model, about, title=title, recipe=self._keep_recipe(model).facts.learned_by, **told)

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
