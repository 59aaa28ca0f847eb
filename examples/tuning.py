"""Tunes SIRUS on Ozone and Diabetes and draws the paper's figures: ``python examples/tuning.py [folder]``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from pysirus import SirusRegressorCV, plot
from pysirus.datasets import load_diabetes, load_ozone

PROBLEMS = {"ozone": load_ozone, "diabetes": load_diabetes}


def main(folder: Path) -> None:
    """Write pareto-*.png and tuning-*.png into a folder."""
    for name, load in PROBLEMS.items():
        X, y = load(return_X_y=True, as_frame=True)
        model = SirusRegressorCV(n_jobs=-1, random_state=0).fit(X, y)
        print(f"{name}: {len(model.rules_)} rules, error {model.cv_error_:.3f}, stability {model.cv_stability_:.3f}")
        figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        plot.tuning_path(model, axes)
        axes[0].set_xlabel(axes[1].get_xlabel())
        figure.savefig(folder / f"tuning-{name}.png", dpi=110)
        plot.pareto(model).figure.savefig(folder / f"pareto-{name}.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images")
