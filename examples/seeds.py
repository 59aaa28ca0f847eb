"""Checks the stopping rule: forests with two seeds should share at least 95% of their rules, on average.

Fits each shipped dataset with several pairs of seeds and prints the proportion of ``selected_`` that the two share.

Housing is the Boston table, of which one column should not be used: it is here to compare methods, for nothing else.
"""

from __future__ import annotations

import numpy as np

from pysirus import SirusRegressor, datasets, stability

NAMES = ("ozone", "mpg", "prostate", "housing", "diabetes", "machine")
N_PAIRS = 5


def main() -> None:
    """Print one line per dataset, and the mean."""
    shares = []
    for name in NAMES:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        models = [SirusRegressor(n_rules=10, n_jobs=-1, random_state=seed).fit(X, y) for seed in range(2 * N_PAIRS)]
        share = [stability(a.selected_, b.selected_) for a, b in zip(models[::2], models[1::2])]
        shares.append(np.mean(share))
        trees = np.mean([m.n_trees_ for m in models])
        print(f"{name:10s} {shares[-1]:.3f} of the rules shared, {trees:,.0f} trees on average")
    print(f"{'mean':10s} {np.mean(shares):.3f}")


if __name__ == "__main__":
    main()
