"""Rule sets, additive models, boosting and scorecards of other packages, each behind one adapter.

Settings are those that the package's documentation recommends or has as defaults, written down before the first result.
What needs numbers sees the columns of `encode.py`; an EBM, LightGBM and the scorecard take categories and missing
values in their own way, as their documentation says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from studies.benchmark.encode import Codes, Encoder
from studies.benchmark.tables import COUNTS, NUMBERS, SEVERAL, TWO, Problem
from studies.benchmark.terms import Fitted, Paths, Terms, words_of

# LightGBM: the usual small grid, the number of trees by early stopping in five folds
GRID = [{"num_leaves": leaves, "min_data_in_leaf": least} for leaves in (7, 31) for least in (5, 20)]
RATE, ROUNDS, PATIENCE, N_FOLDS = 0.05, 1_000, 50, 5
OBJECTIVES = {NUMBERS: "regression", TWO: "binary", SEVERAL: "multiclass", COUNTS: "poisson"}


def _numbers(problem: Problem) -> Any:
    """The target as these packages want it: classes by their rank."""
    if problem.kind in (TWO, SEVERAL):
        return np.searchsorted(np.array(problem.classes, dtype=object), problem.y)
    return problem.y


def _shuffled(problem: Problem, seed: int) -> tuple[Encoder, Any, Any]:
    """Encoded rows in random order: imodels cross-validates without shuffling."""
    encoder = Encoder(problem.X)
    order = np.random.default_rng(seed).permutation(len(problem.y))
    return encoder, encoder(problem.X)[order], _numbers(problem)[order]


def _predict(model: Any, encoder: Encoder, problem: Problem) -> Any:
    if problem.kind == TWO:
        return lambda X: model.predict_proba(encoder(X))
    return lambda X: model.predict(encoder(X))


def imodels_rulefit(problem: Problem, seed: int) -> Fitted:
    """RuleFit of imodels: 30 rules at most, linear terms, the penalty by cross-validation."""
    import imodels

    encoder, A, y = _shuffled(problem, seed)
    cls = imodels.RuleFitRegressor if problem.kind == NUMBERS else imodels.RuleFitClassifier
    model = cls(random_state=seed).fit(A, y)
    paths = Paths(encoder, problem.X)
    weights = np.asarray(model.coef, dtype=float)
    for rule, weight in zip(model.rules_without_feature_names_, weights[len(weights) - len(model.rules_) :]):
        if weight != 0:
            paths.add_rule(str(rule))
    found = paths.terms()
    lines = [own for own, weight in zip(encoder.origins, weights[: len(encoder.origins)]) if weight != 0]
    keys = [*(found.keys or []), *([[own.feature, "line", own.level]] for own in lines)]
    words = found.words + words_of([f"{own.feature} {own.level or ''} +0" for own in lines])
    return Fitted(_predict(model, encoder, problem), Terms(found.size + len(lines), words, keys))


def figs(problem: Problem, seed: int) -> Fitted:
    """FIGS of imodels with its default of 12 splits; each leaf of each tree is a line."""
    import imodels

    encoder, A, y = _shuffled(problem, seed)
    cls = imodels.FIGSRegressor if problem.kind == NUMBERS else imodels.FIGSClassifier
    model = cls(random_state=seed).fit(A, y)
    paths = Paths(encoder, problem.X)
    stack = [(root, ()) for root in model.trees_]
    while stack:
        node, steps = stack.pop()
        if node.left is None and node.right is None:
            paths.add(list(steps))
            continue
        column, threshold = int(node.feature), float(node.threshold)
        stack += [(node.right, (*steps, (column, False, threshold))), (node.left, (*steps, (column, True, threshold)))]
    return Fitted(_predict(model, encoder, problem), paths.terms())


def shrunken_tree(problem: Problem, seed: int) -> Fitted:
    """A tree with hierarchical shrinkage (imodels), 20 leaves at most, the shrinkage by cross-validation."""
    import imodels

    encoder, A, y = _shuffled(problem, seed)
    scored = {} if problem.kind == NUMBERS else {"scoring": "neg_log_loss"}
    cls = imodels.HSTreeRegressorCV if problem.kind == NUMBERS else imodels.HSTreeClassifierCV
    model = cls(**scored).fit(A, y)
    paths = Paths(encoder, problem.X)
    paths.add_tree(model.estimator_.tree_)
    return Fitted(_predict(model, encoder, problem), paths.terms())


def boosted_rules(problem: Problem, seed: int) -> Fitted:
    """Boosted stumps of imodels, 15 by default; each stump is a line."""
    import imodels

    encoder, A, y = _shuffled(problem, seed)
    cls = imodels.BoostedRulesRegressor if problem.kind == NUMBERS else imodels.BoostedRulesClassifier
    model = cls(random_state=seed).fit(A, y)
    paths = Paths(encoder, problem.X)
    for stump in model.estimators_:
        if stump.tree_.node_count > 1:
            paths.add([(int(stump.tree_.feature[0]), True, float(stump.tree_.threshold[0]))])
    return Fitted(_predict(model, encoder, problem), paths.terms())


def skope(problem: Problem, seed: int) -> Fitted:
    """SkopeRules (imodels), rules of the rarer class; its probability is its share of votes."""
    import imodels

    encoder, A, y = _shuffled(problem, seed)
    model = imodels.SkopeRulesClassifier(random_state=seed).fit(A, y)
    paths = Paths(encoder, problem.X)
    for rule in model.rules_without_feature_names_:
        paths.add_rule(str(rule[0] if isinstance(rule, tuple) else rule))
    return Fitted(_predict(model, encoder, problem), paths.terms())


def ebm(problem: Problem, seed: int) -> Fitted:
    """An explainable boosting machine with its defaults; counts by the Poisson deviance."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    if problem.kind in (TWO, SEVERAL):
        model = ExplainableBoostingClassifier(random_state=seed, n_jobs=1).fit(problem.X, problem.y.astype(str))
        return Fitted(model.predict_proba)
    objective = "poisson_deviance" if problem.kind == COUNTS else "rmse"
    model = ExplainableBoostingRegressor(random_state=seed, n_jobs=1, objective=objective).fit(problem.X, problem.y)
    return Fitted(model.predict)


def lightgbm(problem: Problem, seed: int) -> Fitted:
    """LightGBM over a small grid, each with its number of trees by early stopping in five folds."""
    import lightgbm as lgb

    codes, y = Codes(problem.X), _numbers(problem)
    fixed: dict[str, Any] = {"objective": OBJECTIVES[problem.kind], "learning_rate": RATE, "num_threads": 1}
    fixed |= {"seed": seed % 2**31, "deterministic": True, "force_row_wise": True, "verbosity": -1}
    if problem.kind == SEVERAL:
        fixed["num_class"] = len(problem.classes)
    data = lgb.Dataset(codes(problem.X), y, categorical_feature=codes.categorical or "auto", free_raw_data=False)
    best: tuple[float, int, dict[str, Any]] | None = None
    for own in GRID:
        given = {**fixed, **own, "feature_pre_filter": False}
        stop = lgb.early_stopping(PATIENCE, verbose=False)
        stratified = problem.kind in (TWO, SEVERAL)
        found = lgb.cv(given, data, ROUNDS, nfold=N_FOLDS, stratified=stratified, shuffle=True, callbacks=[stop])
        means = next(values for name, values in found.items() if name.endswith("-mean"))
        if best is None or means[-1] < best[0]:
            best = (means[-1], len(means), given)
    assert best is not None
    model = lgb.train(best[2], data, best[1])

    def predict(X: pd.DataFrame) -> Any:
        found = np.asarray(model.predict(codes(X)))
        return np.column_stack([1 - found, found]) if problem.kind == TWO else found

    return Fitted(predict)


def aplr(problem: Problem, seed: int) -> Fitted:
    """Automatic piecewise linear regression with its defaults; counts by the Poisson loss with a logarithmic link."""
    from aplr import APLRClassifier, APLRRegressor

    encoder = Encoder(problem.X)
    A = encoder(problem.X)
    if problem.kind in (TWO, SEVERAL):
        model = APLRClassifier(random_state=seed % 2**31, n_jobs=1)
        model.fit(A, [str(value) for value in problem.y])
        names = [name for k in model.get_categories() for name in model.get_logit_model(k).get_term_names()[1:]]
        order = [list(model.get_categories()).index(own) for own in problem.classes]
        return Fitted(lambda X: np.asarray(model.predict_class_probabilities(encoder(X)))[:, order], _named(names))
    loss = {"loss_function": "poisson", "link_function": "log"} if problem.kind == COUNTS else {}
    model = APLRRegressor(random_state=seed % 2**31, n_jobs=1, **loss)
    model.fit(A, problem.y)
    return Fitted(lambda X: np.asarray(model.predict(encoder(X))), _named(model.get_term_names()[1:]))


def _named(names: list[str]) -> Terms:
    return Terms(len(names), words_of([f"{name} +0" for name in names]))


def scorecard(problem: Problem, seed: int) -> Fitted:
    """optbinning's scorecard: optimal bins, their weights of evidence, a logistic regression; a bin is a line."""
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    texts = [str(name) for name in problem.X if problem.X[name].dtype == object]
    process = BinningProcess([str(name) for name in problem.X], categorical_variables=texts or None)
    model = Scorecard(binning_process=process, estimator=LogisticRegression()).fit(problem.X, _numbers(problem))
    table = model.table()
    used = table[~table["Bin"].astype(str).isin(["Special", "Missing"])]
    lines = [f"{row.Variable} {row.Bin} {row.Points:.2f}" for row in used.itertuples()]
    return Fitted(lambda X: np.asarray(model.predict_proba(X)), Terms(len(lines), words_of(lines)))
