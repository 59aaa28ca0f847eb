"""What the estimators share: a fitted model behind scikit-learn's interface, and model files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from pysirus._data.marks import Marks
from pysirus._model.facts import ColumnRoles
from pysirus._model.file import ModelFileError, damaged, model_from_json, model_to_json, read_document, write_document
from pysirus._model.kinds import Damage, ensure
from pysirus._model.model import Model
from pysirus._runtime import changed
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Rule
from pysirus._terms.term import Term
from pysirus.estimators.door import anywhere
from pysirus.estimators.recipe import ESTIMATORS, estimator_of
from pysirus.estimators.rule_model import Actions, RuleModel

MACHINE_PARAMETER = "device"  # of the machine that learned, and of no concern to the one that reads


class RuleEstimator(Actions, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator whose fitted state is a ``RuleModel``."""

    _fitted_facts: ClassVar[tuple[str, ...]] = ()
    _is_tuned: ClassVar[bool] = False
    _task: ClassVar[str] = "regression"

    model_: RuleModel
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # a model learned elsewhere (pysirus.dask, .spark) is read back as the estimator in memory, of the same name
        ESTIMATORS.setdefault(cls.__name__, cls)

    @property
    def selected_(self) -> RuleSet:
        """The selected rules after post-treatment, most frequent first."""
        return self._model.read(self._model.selected)

    @property
    def rules_(self) -> RuleSet:
        """The selected rules with positive weight."""
        return self._model.rules

    @property
    def intercept_(self) -> Any:
        """The number added to the weighted outputs."""
        return self._model.intercept

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each column: its share of the sum, over rules, of the weight times the gap between the two
        outputs. Columns in no rule have importance zero. See ``feature_importance``."""
        from pysirus._use.explain import column_importances

        return column_importances(self._model)

    @property
    def _model(self) -> RuleModel:
        # hasattr(estimator, "rules_") must be False before fit, which takes an AttributeError
        if "model_" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} is not fitted yet: call fit first.")
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def _raw_predict(self, X: Any) -> NDArray[np.float64]:
        """The combined outputs of the rules: one number per row, or a row of class proportions."""
        if "model_" not in self.__dict__:
            check_is_fitted(self)
        return self.model_.raw_predict(X, owner=type(self).__name__)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The value of each term in each row; for a rule, 1 if it applies and 0 otherwise.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are matched by name if both tables have names, otherwise by position.

        Returns
        -------
        values : ndarray of shape (n_rows, n_terms)
            A column for each rule in ``rules_``, then one for each linear term. Use ``set_output`` for a data frame.
        """
        check_is_fitted(self)
        terms = self._terms_shown
        table = self.model_.align(X, type(self).__name__, rules=self.model_.rules)
        values = np.empty((table.n_rows, len(terms)))
        for k, term in enumerate(terms):
            values[:, k] = term.values(table)
        return values

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns of ``transform``: the conditions of each term, as text.

        Parameters
        ----------
        input_features : array of str, optional
            The names of the training columns. They are checked but otherwise ignored.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        if input_features is not None:
            given = list(input_features)
            if len(given) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), "
                    f"got {len(given)}."
                )
            if "feature_names_in_" in self.__dict__ and given != self.feature_names_in_.tolist():
                raise ValueError("input_features is not equal to feature_names_in_.")
        return np.array(_distinct([term.condition_text for term in self._terms_shown]), dtype=object)

    @property
    def _terms_shown(self) -> list[Term]:
        """The terms that the model adds up: rules of positive weight, then linear terms."""
        return [*self.model_.rules, *self.model_.terms]

    def _set_model(self, model: Model) -> None:
        self.model_ = RuleModel.of(model)
        self.n_features_in_ = len(model.columns)
        if model.named:
            self.feature_names_in_ = np.array(model.columns, dtype=object)
        elif "feature_names_in_" in self.__dict__:
            del self.feature_names_in_
        for name in self._fitted_facts:
            setattr(self, f"{name}_", model.facts[name])

    def _remember(self, roles: ColumnRoles) -> None:
        """Keep with the model what the columns of its table were for, where that is more than its target."""
        self.model_ = changed(self.model_, roles=roles if roles.says_more else None)

    def _keep_marks(self, marks: Marks) -> None:
        """Keep how numbers were written in the files that the model was learned from."""
        self.model_ = changed(self.model_, marks=marks)

    @property
    def _idle_parameters(self) -> tuple[str, ...]:
        """Those that other parameters make void; a model file does without."""
        return ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file that ``pysirus.load`` reads.

        Parameters
        ----------
        path : str or path
            The file. It is written under a temporary name and then renamed.
        """
        check_is_fitted(self)
        write_document(path, {**model_to_json(self.model_), "estimator": self._record()})

    def _record(self) -> dict[str, Any]:
        """The class and its parameters, as a model file has them."""
        given = {
            name: _plain(value) for name, value in self.get_params(deep=False).items() if name != MACHINE_PARAMETER
        }
        idle = self._idle_parameters
        parameters = {name: value for name, value in given.items() if _is_json(value) and name not in idle}
        return {"name": type(self).__name__, "parameters": parameters}

    def _keep_recipe(self, model: RuleModel, n_rules: int | None = None) -> RuleModel:
        size = {} if n_rules is None else {"n_rules": n_rules}
        return replace(model, facts=replace(model.facts, learned_by={**self._record(), **size}))

    def _as_model(self) -> RuleModel:
        check_is_fitted(self)
        return self.model_

    def _repr_html_(self) -> str:
        if self.__sklearn_is_fitted__():
            return self.model_._repr_html_()
        return str(estimator_html_repr(self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _restore(self, document: Mapping[str, Any]) -> None:
        """Take the fitted state from a model file."""
        self._set_model(model_from_json(document))

    def __str__(self) -> str:
        return str(self.model_) if self.__sklearn_is_fitted__() else repr(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class RuleRegressor(RegressorMixin, RuleEstimator):  # type: ignore[misc]
    """An estimator that predicts a number."""

    @anywhere
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : data frame, array, or anything else that ``fit`` takes
            Columns are matched by name if both tables have names, otherwise by position.

        Returns
        -------
        y : ndarray of shape (n_rows,)
            For Dask input, a lazy collection; for Spark input, the data frame with a column ``prediction``.
        """
        return self._raw_predict(X)


def _distinct(names: list[str]) -> list[str]:
    """The names, each once: what is there already gets a number."""
    found: dict[str, None] = {}
    for name in names:
        tries = (name, *(f"{name} ({k})" for k in range(2, len(names) + 2)))
        found[next(own for own in tries if own not in found)] = None
    return list(found)


def _plain(value: Any) -> Any:
    """Numbers and labels of NumPy as those of Python."""
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Rule):
        return value.text
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``save`` or ``pysirus fit --model`` wrote.

    Parameters
    ----------
    path : str or path
        The JSON file.

    Returns
    -------
    model : estimator
        A fitted estimator of the saved class (for ``pysirus.dask``, its counterpart in memory), or a bare ``RuleModel``
        if the file names none.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or has an unsupported version.

    Examples
    --------
    >>> from pysirus import SirusRegressor, load
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = SirusRegressor(n_rules=3, random_state=0).fit(X, y)
    >>> model.save("ozone.json")
    >>> bool((load("ozone.json").predict(X) == model.predict(X)).all())
    True
    """
    document = read_document(path)
    record = document.get("estimator")
    try:
        if record is None:
            return RuleModel.of(model_from_json(document))
        if record["name"] not in ESTIMATORS:
            raise ModelFileError(f"'{path}' holds a {record['name']:.60}, which this pysirus does not know.")
        _check_estimator(ESTIMATORS[record["name"]], document)
        estimator = estimator_of(record)
        estimator._restore(document)
    except Damage as damage:
        raise damaged(path, damage) from damage
    return estimator


def _check_estimator(kind: type[RuleEstimator], document: Mapping[str, Any]) -> None:
    """A class whose parameters, task and fitted attributes are those of the document."""
    name, task = kind.__name__, "classification" if issubclass(kind, ClassifierMixin) else kind._task
    for parameter in document["estimator"]["parameters"]:
        known = parameter in kind._get_param_names()
        ensure(known, "estimator.parameters", f"has {parameter!r:.60}, which {name} does not take")
    ensure(document["task"] == task, "task", f"is {document['task']!r}, and {name} is for {task}")
    for fact in kind._fitted_facts:
        ensure(fact in document["facts"], "facts", f"lacks the entry '{fact}', which {name} has")
    has_path = document.get("tuning") is not None
    ensure(has_path or not kind._is_tuned, "tuning", f"is missing, and {name} is tuned")
    ensure(not has_path or kind._is_tuned, "tuning", f"is there, and {name} is not tuned")
