"""From a table to rules that people read and systems run: tune, explain, edit, compare, export, report.

    python examples/ship.py --folder out

writes a report (open ``out/report.html``), figures, and the model as SQL, Python, a workbook and a LaTeX table.
"""

import argparse
from pathlib import Path

from pysirus import SirusRegressorCV, plot
from pysirus.datasets import load_ozone


def learn(X, y):
    """A tuned model."""
    return SirusRegressorCV(n_repeats=2, random_state=0).fit(X, y)


def draw(model, X, folder):
    """The rules, the effect of the most important feature, and one day explained."""
    feature = model.feature_importance("pyarrow")["feature"][0].as_py()
    figures = {"rules": plot.rules(model), "effect": plot.effect(model, feature, X)}
    figures["day"] = plot.waterfall(model, X[12:13])
    for name, ax in figures.items():
        ax.figure.savefig(folder / f"{name}.png", dpi=120)


def ship(model, X, folder):
    """The same model for a database, a program, a spreadsheet and a paper."""
    model.export("sql", folder / "ozone.sql", table="days")
    model.export("python", folder / "ozone.py")
    model.export("excel", folder / "ozone.xlsx", X=X[:20])
    model.export("latex", folder / "ozone.tex", caption="Rules for ozone in Los Angeles.")


def main():
    """Run all steps and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("out"), help="where to write")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_ozone(return_X_y=True, as_frame=True)
    model = learn(X, y)
    print(model, "\n")
    print(model.explain(X)[12], "\n")
    edited = model.without(model.rules_[-1])
    print(model.diff(edited), "\n")
    draw(model, X, folder)
    ship(edited, X, folder)
    model.report(folder / "report.html", X, y=y, data="ozone, Los Angeles 1976")
    print("wrote", ", ".join(sorted(path.name for path in folder.iterdir())))


if __name__ == "__main__":
    main()
