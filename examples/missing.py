"""What missing values cost: remove 20% of the values, then compare passing them as missing with median imputation.

Prints, for each dataset, the increase in unexplained variance (10-fold cross-validation) over the complete table: with
values left missing, and with medians of the training rows in their place. Estimator, folds and missing values are the
same. One random pattern of missing values says little, because the two differ by several points between patterns. So
the difference is taken within each pattern and printed with its standard error. Values are missing completely at
random or, with ``--informative``, at random among the values above the median of their column.

Housing is the Boston table, of which one column should not be used: it is here to compare methods, for nothing else.
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from pysirus import SirusRegressor
from pysirus.datasets import load_diabetes, load_housing


def unexplained(model, X, y, seed):
    """Pooled out-of-fold unexplained variance."""
    predicted = cross_val_predict(model, X, y, cv=KFold(10, shuffle=True, random_state=seed))
    return float(np.mean((predicted - y) ** 2) / np.var(y))


def with_gaps(X, seed, share=0.2, informative=False):
    """The table with a share of its values missing, anywhere or only among the high ones."""
    drawn = np.random.default_rng(seed).random(X.shape)
    gaps = (drawn < 2 * share) & (X.rank(pct=True) > 0.5) if informative else drawn < share
    return X.astype(float).mask(pd.DataFrame(gaps, columns=X.columns, index=X.index))


def errors(load, n_patterns=3, n_rules=10, n_trees=3000, informative=False):
    """Errors on the complete table, with values left missing, and with median imputation; one row per pattern."""
    X, y = load(return_X_y=True, as_frame=True)
    model = SirusRegressor(n_rules=n_rules, n_trees=n_trees, random_state=0)
    median = make_pipeline(SimpleImputer(strategy="median").set_output(transform="pandas"), model)
    rows = []
    for seed in range(n_patterns):
        gaps = with_gaps(X, seed, informative=informative)
        rows.append([unexplained(m, data, y, seed) for m, data in ((model, X), (model, gaps), (median, gaps))])
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patterns", type=int, default=10, help="random patterns of missing values")
    parser.add_argument("--rules", type=int, default=10)
    parser.add_argument("--informative", action="store_true")
    arguments = parser.parse_args()
    print(f"{'dataset':10} {'left missing':>14} {'medians':>12} {'difference':>12}   better in")
    for name, load in (("diabetes", load_diabetes), ("housing", load_housing)):
        n = arguments.patterns
        whole, gaps, median = errors(load, n, arguments.rules, informative=arguments.informative).T
        rise_gaps, rise_median = 100 * (gaps / whole - 1), 100 * (median / whole - 1)
        difference = rise_gaps - rise_median
        error = difference.std(ddof=1) / np.sqrt(n) if n > 1 else float("nan")
        paired = f"{difference.mean():+.1f} ± {error:.1f}"
        wins = f"{(difference < 0).sum()} of {n}"
        print(f"{name:10} {rise_gaps.mean():13.1f}% {rise_median.mean():11.1f}% {paired:>12}   {wins}")


if __name__ == "__main__":
    main()
