"""Accuracy of tuned rules on iris, wine and digits, compared with a tree of depth 4 and a random forest.

Prints 10-fold accuracy and the mean number of rules. One list of rules serves all classes. At most 25 rules of two
splits say little about ten digits, and more than one might expect about three kinds of wine.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from pysirus import SirusClassifierCV


def accuracy(model, X, y, folds):
    """Mean accuracy over folds, and the mean number of rules if the model has rules."""
    scores, sizes = [], []
    for train, test in folds:
        model.fit(X.iloc[train], y.iloc[train])
        scores.append(model.score(X.iloc[test], y.iloc[test]))
        sizes.append(len(getattr(model, "rules_", ())))
    return float(np.mean(scores)), float(np.mean(sizes))


def compare(load, n_folds=10, n_repeats=1, n_jobs=-1):
    """Accuracy and size of the rules, a tree and a forest."""
    X, y = load(return_X_y=True, as_frame=True)
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))
    rules = SirusClassifierCV(n_repeats=n_repeats, random_state=0, n_jobs=n_jobs)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    forest = RandomForestClassifier(500, random_state=0, n_jobs=n_jobs)
    return [accuracy(model, X, y, folds) for model in (rules, tree, forest)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1, help="repetitions of the tuning inside each fold")
    arguments = parser.parse_args()
    print(f"{'dataset':8} {'classes':>7} {'rules':>6} {'tuned rules':>12} {'tree, depth 4':>14} {'forest':>7}")
    for name, load, n_classes in (("iris", load_iris, 3), ("wine", load_wine, 3), ("digits", load_digits, 10)):
        (rules, size), (tree, _), (forest, _) = compare(load, arguments.folds, arguments.repeats)
        print(f"{name:8} {n_classes:7} {size:6.1f} {rules:12.3f} {tree:14.3f} {forest:7.3f}", flush=True)


if __name__ == "__main__":
    main()
