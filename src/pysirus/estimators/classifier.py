"""SIRUS for classes (Bénard, Biau, Da Veiga, Scornet 2021), behind scikit-learn's interface.

Two classes are the mean of the rule outputs, as in the paper on classification; more classes are the same with a vector
of class shares inside and outside each rule. One list of rules serves all classes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from pysirus import _parameters as params
from pysirus._data.table import Table, read_table
from pysirus._data.zero_weights import without_weightless
from pysirus._model.model import RuleModel
from pysirus._response.response import Response, class_response, read_labels, read_weights, target_name
from pysirus._rules.rule import with_weights
from pysirus._weights.weights import Weighed, weigh_by_mean
from pysirus.estimators.files import FitsFiles
from pysirus.estimators.sirus import SirusBase, TrainingBase


class ClassBase(ClassifierMixin, SirusBase):  # type: ignore[misc]
    """What the two classifiers share: reading labels, predicting them."""

    _fitted_facts = ("n_trees", "idle_columns")

    class_weight: Any
    classes_: NDArray[Any]

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Response, str]:
        with without_weightless(X, y, sample_weight) as (X, y, sample_weight):
            table = read_table(X, categorical=self.categorical_features)
            response = class_response(read_labels(y, table.n_rows), read_weights(sample_weight, table.n_rows))
        return table, weigh_classes(response, self.class_weight), target_name(y)

    def _model_of(self, training: TrainingBase, weighed: Weighed, row: int, n_trees: int) -> RuleModel:
        """The model of one of the weighed prefixes."""
        size = weighed.sizes[row]
        classes = training.classes
        assert classes is not None
        return RuleModel(
            selected=with_weights(weighed.rules[:size], weighed.weights[row, :size].tolist()),
            intercept=weighed.intercepts[row],
            mean=weighed.mean,
            features=training.features,
            named=training.named,
            target=training.target,
            classes=tuple(classes.tolist()),
            facts={**training.facts, "n_trees": n_trees, "label_type": classes.dtype.str},
        )

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The share of each class that the rules expect.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are found by name where both tables have names.

        Returns
        -------
        shares : ndarray of shape (n_rows, n_classes)
            In the order of ``classes_``; each row sums to one.
        """
        return self._decide(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest share, the first of ``classes_`` on a tie.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Columns are found by name where both tables have names.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
        """
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def _set_model(self, model: RuleModel) -> None:
        super()._set_model(model)
        self.classes_ = model.labels

    def _restore(self, document: Mapping[str, Any]) -> None:
        super()._restore(document)
        if isinstance(self.class_weight, dict):  # whose labels JSON has made text of
            labels = {label if isinstance(label, str) else json.dumps(label): label for label in self.classes_.tolist()}
            self.class_weight = {labels.get(name, name): weight for name, weight in self.class_weight.items()}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


class SirusClassifier(FitsFiles, ClassBase):
    """Stable and interpretable rules for two classes or more.

    Grows a large forest of shallow trees that cut at quantiles, counts how often each path occurs, keeps the frequent
    ones and drops those that are linear combinations of earlier ones. Each rule answers with the shares of the classes
    inside or outside; the prediction is their mean.

    Parameters
    ----------
    p0 : float, optional
        Keep the rules whose frequency is above p0 (at most ``max_rules``). By default the ``n_rules`` most frequent.
    n_rules : int, default=10
        How many rules to keep when ``p0`` is None.
    max_rules : int, default=25
        At most so many rules when ``p0`` is set.
    n_bins : int, default=10
        Cut columns at the quantiles i / n_bins.
    max_depth : int, default=2
        Depth of the trees, 1 to 4; a rule has at most so many splits.
    max_features : int, optional
        Candidate columns at each node; by default a third of them, at least 2.
    n_trees : int or "auto", default="auto"
        Trees in the forest; "auto" grows until two such forests would share ``1 - alpha`` of their rules.
    alpha : float, default=0.05
        See ``n_trees``.
    discrete_limit : int, default=10
        A column of at most so many distinct values is cut at each of them.
    min_node_size : int, default=5
        A node of at most so many drawn rows is not split.
    max_samples : float or int, optional
        Rows that each tree draws, on average: a share of them, or a number. By default as many as there are. Millions
        of rows need no more than a part of them in each tree, and the paper's theory asks for a vanishing share.
    categorical_features : str, int, list of them or list of bool, optional
        Columns of numbers or text to take as labels, by name, by number or by a flag per column. Columns of text,
        booleans and categories of a data frame are labels without being named.
    class_weight : dict or "balanced", optional
        How much the rows of each class count, on top of ``sample_weight``: a weight per label (1 where not given), or
        "balanced" to make every class weigh the same.
    n_jobs : int, optional
        Threads; the rules do not depend on it. None is 1, -1 is all cores.
    random_state : int, Generator or RandomState, optional
        The seed; the same seed gives the same rules on any machine.
    verbose : int, default=0
        Show progress on standard error.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted; at most 256.
    selected_, rules_ : RuleSet
        The rules after post-treatment, in order of frequency; each has the weight 1 / number of rules.
    n_trees_ : int
        Trees grown.
    idle_columns_ : dict
        Columns that add nothing to the forest, and why: constant, all missing, or the same as another.
    candidates_ : RuleSet
        Every path of the forest, before post-treatment.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, when the table had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pysirus import SirusClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> y = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    >>> model = SirusClassifier(n_rules=3, random_state=0).fit(X, y)
    >>> print(model.rules_[0])
    if petal width (cm) < 1.8 then setosa 48%, versicolor 47%, virginica 5% else virginica 98%, versicolor 2%
    >>> print(model.predict(X[:1])[0])
    setosa
    """

    def __init__(
        self,
        p0: float | None = None,
        n_rules: int = 10,
        max_rules: int = 25,
        n_bins: int = 10,
        max_depth: int = 2,
        max_features: int | None = None,
        n_trees: int | str = "auto",
        alpha: float = 0.05,
        discrete_limit: int = 10,
        min_node_size: int = 5,
        max_samples: float | None = None,
        categorical_features: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SirusClassifier:
        """Learn the rules.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            The table.
        y : array of shape (n_rows,)
            The labels: text, whole numbers or booleans.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts; a weight of zero is the same as leaving the row out.

        Returns
        -------
        self : SirusClassifier
        """
        self._check_parameters()
        self._learn(self._bin(*self._read(X, y, sample_weight)))
        return self

    def _learn(self, training: TrainingBase) -> None:
        paths = self._paths_of(training)
        rules = self._select_rules(training, paths)
        assert training.classes is not None
        weighed = weigh_by_mean(rules, training.moments(rules), training.classes, [len(rules)])
        self._set_model(self._model_of(training, weighed, 0, paths.n_trees))
        self._keep_paths(training, paths)


def weigh_classes(response: Response, class_weight: Any) -> Response:
    """Row weights times the weights of their classes."""
    if class_weight is None:
        return response
    slots, classes, weights = response.slots, response.classes, response.weights
    assert slots is not None and classes is not None
    ones = np.ones(len(slots)) if weights is None else weights
    factors = class_factors(class_weight, classes, [math.fsum(ones[slots == k]) for k in range(len(classes))])
    return replace(response, weights=factors[slots] if weights is None else factors[slots] * weights, repeats=weights)


def class_factors(class_weight: Any, classes: NDArray[Any], totals: Sequence[float]) -> NDArray[np.float64]:
    """The weight of each class, from the parameter and what the rows of each class weigh together."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        # weighed and not counted, so that a weight of two is a row that stands twice
        sizes = np.array(totals)
        return np.asarray(sizes.sum() / (len(classes) * sizes))
    if isinstance(class_weight, Mapping):
        return _given_weights(class_weight, classes)
    raise params.ParameterError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")


def _given_weights(class_weight: Mapping[Any, Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """A weight per class from a dict by label."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown and any(label not in class_weight for label in labels):
        raise params.ParameterError(
            f"class_weight names {unknown[0]!r}, which is no class. Classes are {', '.join(map(repr, labels[:8]))}."
        )
    for label, weight in class_weight.items():
        params.check_real(f"class_weight of {label!r}", weight, 0, np.inf)
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])
