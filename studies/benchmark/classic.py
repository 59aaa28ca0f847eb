"""Linear models, trees and forests of scikit-learn and scikit-survival, each behind one adapter.

Settings are those that the packages' documentation recommends, written down before the first result; what is tuned is
tuned in five folds of the rows that the method is given. All see the columns of `encode.py`; linear models see them
standardised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, PoissonRegressor, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from studies.benchmark.encode import Encoder
from studies.benchmark.tables import COUNTS, NUMBERS, SEVERAL, SURVIVAL, TWO, Problem
from studies.benchmark.terms import Fitted, Paths, of_coefficients

CLASSES = (TWO, SEVERAL)
N_FOLDS = 5
N_TREES = 500
RIDGES = np.logspace(-3, 4, 15)  # of squared errors
POISSON_RIDGES = np.logspace(-5, 1, 7)  # of a mean deviance
COX_RIDGES = np.logspace(-2, 4, 7)  # of a log-likelihood
MOST_ALPHAS = 30  # along the path of a tree
LEAVES = [2, 3, 4, 6, 8, 12, 16]  # of a survival tree


def _folds(problem: Problem, seed: int) -> list[Any]:
    if problem.kind in CLASSES:
        rows = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed % 2**31).split(problem.X, problem.y)
    elif problem.kind == SURVIVAL:
        rows = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed % 2**31).split(problem.X, problem.y["event"])
    else:
        rows = KFold(N_FOLDS, shuffle=True, random_state=seed % 2**31).split(problem.X)
    return list(rows)


def _scores(model: Any, encoder: Encoder, problem: Problem) -> Any:
    if problem.kind in CLASSES:
        return lambda X: model.predict_proba(encoder(X))
    return lambda X: model.predict(encoder(X))


def _target(problem: Problem) -> Any:
    return problem.y.astype(str) if problem.kind in CLASSES else problem.y


def linear(problem: Problem, seed: int) -> Fitted:
    """Ridge: squared errors by generalised cross-validation; logistic, Poisson and Cox regression in five folds."""
    encoder = Encoder(problem.X)
    A, y, folds = encoder(problem.X), _target(problem), _folds(problem, seed)
    if problem.kind == NUMBERS:
        model: Any = make_pipeline(StandardScaler(), RidgeCV(RIDGES)).fit(A, y)
        last = model[-1]
    elif problem.kind in CLASSES:
        chosen = LogisticRegressionCV(
            Cs=10, cv=folds, scoring="neg_log_loss", max_iter=5_000, l1_ratios=(0.0,), use_legacy_attributes=False
        )
        model = make_pipeline(StandardScaler(), chosen).fit(A, y)
        last = model[-1]
    elif problem.kind == COUNTS:
        steps = make_pipeline(StandardScaler(), PoissonRegressor(max_iter=1_000))
        model = GridSearchCV(
            steps, {"poissonregressor__alpha": POISSON_RIDGES}, cv=folds, scoring="neg_mean_poisson_deviance"
        ).fit(A, y)
        last = model.best_estimator_[-1]
    else:
        from sksurv.linear_model import CoxPHSurvivalAnalysis

        steps = make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis(ties="efron"))
        model = GridSearchCV(steps, {"coxphsurvivalanalysis__alpha": COX_RIDGES}, cv=folds).fit(A, y)
        last = model.best_estimator_[-1]
    return Fitted(_scores(model, encoder, problem), of_coefficients(last.coef_, encoder))


def tree(problem: Problem, seed: int) -> Fitted:
    """A tree, pruned by cost and complexity in five folds; survival: the number of leaves by concordance."""
    encoder = Encoder(problem.X)
    A, y, folds = encoder(problem.X), _target(problem), _folds(problem, seed)
    if problem.kind == SURVIVAL:
        from sksurv.tree import SurvivalTree

        base: Any = SurvivalTree(min_samples_leaf=15, random_state=seed % 2**31)
        model = GridSearchCV(base, {"max_leaf_nodes": LEAVES}, cv=folds).fit(A, y).best_estimator_
    else:
        given = {"min_samples_leaf": 5, "random_state": seed % 2**31}
        if problem.kind in CLASSES:
            base, scoring = DecisionTreeClassifier(**given), "neg_log_loss"
        elif problem.kind == COUNTS:
            base, scoring = DecisionTreeRegressor(criterion="poisson", **given), "neg_mean_poisson_deviance"
        else:
            base, scoring = DecisionTreeRegressor(**given), "neg_mean_squared_error"
        alphas = np.unique(np.maximum(base.cost_complexity_pruning_path(A, y).ccp_alphas, 0.0))
        if len(alphas) > MOST_ALPHAS:
            alphas = alphas[np.linspace(0, len(alphas) - 1, MOST_ALPHAS).round().astype(int)]
        model = GridSearchCV(base, {"ccp_alpha": alphas}, cv=folds, scoring=scoring).fit(A, y).best_estimator_
    paths = Paths(encoder, problem.X)
    paths.add_tree(model.tree_)
    return Fitted(_scores(model, encoder, problem), paths.terms())


def forest(problem: Problem, seed: int) -> Fitted:
    """500 trees; leaves of three rows for classes, of 15 for survival (its default), of five for counts."""
    encoder = Encoder(problem.X)
    given: dict[str, Any] = {"n_estimators": N_TREES, "random_state": seed % 2**31, "n_jobs": 1}
    if problem.kind == SURVIVAL:
        from sksurv.ensemble import RandomSurvivalForest

        model: Any = RandomSurvivalForest(min_samples_leaf=15, low_memory=True, **given)
    elif problem.kind in CLASSES:
        model = RandomForestClassifier(min_samples_leaf=3, **given)
    elif problem.kind == COUNTS:
        model = RandomForestRegressor(criterion="poisson", min_samples_leaf=5, max_features=1 / 3, **given)
    else:
        model = RandomForestRegressor(**given)
    return Fitted(_scores(model.fit(encoder(problem.X), _target(problem)), encoder, problem))


def boosting(problem: Problem, seed: int) -> Fitted:
    """scikit-learn's boosted trees with early stopping, all else by default; survival: those of scikit-survival."""
    encoder = Encoder(problem.X)
    if problem.kind == SURVIVAL:
        from sksurv.ensemble import GradientBoostingSurvivalAnalysis

        model: Any = GradientBoostingSurvivalAnalysis(random_state=seed % 2**31)
    elif problem.kind in CLASSES:
        model = HistGradientBoostingClassifier(early_stopping=True, random_state=seed % 2**31)
    else:
        loss = "poisson" if problem.kind == COUNTS else "squared_error"
        model = HistGradientBoostingRegressor(loss=loss, early_stopping=True, random_state=seed % 2**31)
    return Fitted(_scores(model.fit(encoder(problem.X), _target(problem)), encoder, problem))


def lasso_cox(problem: Problem, seed: int) -> Fitted:
    """Cox regression with an elastic net (l1 share 0.9), the penalty by concordance in five folds."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    encoder = Encoder(problem.X)
    A, folds = encoder(problem.X), _folds(problem, seed)
    path = CoxnetSurvivalAnalysis(l1_ratio=0.9, alpha_min_ratio=0.01, n_alphas=30)
    alphas = make_pipeline(StandardScaler(), path).fit(A, problem.y)[-1].alphas_
    steps = make_pipeline(StandardScaler(), CoxnetSurvivalAnalysis(l1_ratio=0.9))
    grid = {"coxnetsurvivalanalysis__alphas": [[alpha] for alpha in alphas]}
    model = GridSearchCV(steps, grid, cv=folds, error_score=0.5).fit(A, problem.y)
    terms = of_coefficients(model.best_estimator_[-1].coef_.ravel(), encoder)
    return Fitted(_scores(model, encoder, problem), terms)


def componentwise(problem: Problem, seed: int) -> Fitted:
    """Componentwise gradient boosting of scikit-survival with its defaults, on standardised columns."""
    from sksurv.ensemble import ComponentwiseGradientBoostingSurvivalAnalysis

    encoder = Encoder(problem.X)
    last = ComponentwiseGradientBoostingSurvivalAnalysis(random_state=seed % 2**31)
    model = make_pipeline(StandardScaler(), last).fit(encoder(problem.X), problem.y)
    return Fitted(_scores(model, encoder, problem), of_coefficients(model[-1].coef_[1:], encoder))


def extra_trees(problem: Problem, seed: int) -> Fitted:
    """Extremely randomised survival trees, 500 of them, leaves as the forest's."""
    from sksurv.ensemble import ExtraSurvivalTrees

    encoder = Encoder(problem.X)
    model = ExtraSurvivalTrees(N_TREES, min_samples_leaf=15, low_memory=True, random_state=seed % 2**31, n_jobs=1)
    return Fitted(_scores(model.fit(encoder(problem.X), problem.y), encoder, problem))


def constant(problem: Problem, seed: int) -> Fitted:
    """What the training rows say without their features: the yardstick of errors, and a check of them."""
    if problem.kind in CLASSES:
        shares = np.array([(problem.y == own).mean() for own in problem.classes])
        return Fitted(lambda X: np.tile(shares, (len(X), 1)))
    middle = 0.0 if problem.kind == SURVIVAL else float(problem.y.mean())
    return Fitted(lambda X: np.full(len(X), middle))
