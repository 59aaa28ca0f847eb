"""Tunes SIRUS on Ozone and draws error and stability: ``python examples/tuning.py [folder]``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from pysirus import SirusRegressorCV, plot
from pysirus.datasets import load_ozone


def main(folder: Path) -> None:
    """Write tuning-ozone.png and pareto-ozone.png into a folder."""
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = SirusRegressorCV(n_repeats=10, n_jobs=-1, random_state=0).fit(X, y)
    print(f"{len(model.rules_)} rules, error {model.cv_error_:.3f}, stability {model.cv_stability_:.3f} between folds")
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    plot.tuning_path(model, axes)
    axes[0].set_xlabel(axes[1].get_xlabel())
    figure.savefig(folder / "tuning-ozone.png", dpi=110)
    plot.pareto(model).figure.savefig(folder / "pareto-ozone.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images")
