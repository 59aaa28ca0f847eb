"""``pysirus tune``: a table in, the right number of rules out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pysirus.cli import _options as options
from pysirus.cli._app import app
from pysirus.cli._streams import deliver

MODEL = "a model file"  # as pysirus._output calls what is replaced only by its own kind


@app.command()
def tune(
    table: options.TableArgument,
    target: options.Target = None,
    model: options.ModelOut = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw error and stability to this PNG, PDF or SVG file.")
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Folds of the cross-validation.")] = 10,
    repeats: Annotated[int, typer.Option(metavar="N", help="Repetitions with other folds.")] = 10,
    criterion: options.Criterion = None,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    weights: options.Weights = None,
    class_weight: options.ClassWeight = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    trees: options.Trees = "auto",
    depth: options.Depth = 2,
    bins: options.Bins = 10,
    max_features: options.MaxFeatures = None,
    min_node_size: options.MinNodeSize = 5,
    max_samples: options.MaxSamples = None,
    post_treatment: options.PostTreatment = "sample",
    max_rules: options.MaxRules = 25,
    stages: options.Stages = "1",
) -> None:
    """Choose the number of rules for accuracy and stability, and print the rules.

    Example: [bold]pysirus tune houses.csv --target price --model houses.json --plot path.png[/bold]
    """
    n_trees = options.parse_count(trees, "--trees")
    from pysirus import SirusClassifierCV, SirusRegressorCV
    from pysirus.cli._show import print_learned
    from pysirus.cli._table import Roles, is_files, open_training, paths_of

    if is_files(table):
        raise typer.BadParameter(
            f"tuning takes the whole table into memory, and '{table}' is a folder or a pattern. Tune on one file, such "
            "as a sample of the rows, and give the p0 that it finds to `pysirus fit --p0` for all of them.",
            param_hint="TABLE",
        )
    options.check_output(model, "--model", paths_of(table), MODEL)
    options.check_figure(plot, "--plot", paths_of(table))
    if plot is not None and model is not None and plot.resolve() == model.resolve():
        raise typer.BadParameter(f"'{plot}' is the file of --model. Give another name.", param_hint="--plot")
    training = open_training(table, target, Roles(categorical, drop, weights, task))
    kind: Any = SirusRegressorCV if training.is_regression else SirusClassifierCV
    estimator = kind(
        cv=folds,
        n_repeats=repeats,
        max_rules=max_rules,
        n_bins=bins,
        max_depth=depth,
        max_features=max_features,
        n_trees=n_trees,
        min_node_size=min_node_size,
        max_samples=options.parse_samples(max_samples),
        post_treatment=post_treatment,
        categorical_features=training.categorical,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(sys.stderr.isatty()),
        **options.stages_of(stages, training.is_regression),
        **options.class_weight_of(class_weight, training),
        **({} if criterion is None else {"criterion": criterion}),
    )
    training.fit(estimator)
    files: list[tuple[Callable[[], None], str]] = []
    if model is not None:
        files.append((lambda: save(estimator, model), f"Model written to {model}"))
    if plot is not None:
        files.append((lambda: _draw(estimator, plot), f"Figure written to {plot}"))
    weighed = bool(weights or class_weight)
    deliver(files, lambda: print_learned(estimator, _verdict(estimator), weighed=weighed))


def save(estimator: Any, path: Path) -> None:
    """Write what was learned; to show progress is not part of it."""
    estimator.set_params(verbose=0).save(path)


def _verdict(estimator: Any) -> str:
    """Error and stability of the chosen list, what stability means, and what a rule more or less would give."""
    tuning = estimator.model_.tuning
    if not tuning.sizes:
        return "\nThere are no rules to choose from."
    error_name = "unexplained variance" if estimator.model_.classes is None else "1 - AUC"
    chosen = len(estimator.selected_)
    lines = [
        "",
        f"out of fold: {error_name} {tuning.error:.3f}, stability {tuning.stability:.2f} (p0 = {tuning.p0:.4f})",
        tuning.sentence(len(estimator.rules_), tuning.stability),
    ]
    n_stages = estimator.model_.facts.get("n_stages", 1)
    if n_stages > 1:
        lines[1] += f", {n_stages} stages"
    for size, what in _neighbours(tuning, chosen, n_stages):
        other = tuning.sizes[size - 1]
        lines.append(f"one {what}: {error_name} {other.error:.3f}, stability {other.stability:.2f}")
    return "\n".join(lines)


def _neighbours(tuning: Any, chosen: int, n_stages: int) -> list[tuple[int, str]]:
    """The sizes beside the chosen one: one rule fewer and one more, or a whole stage of a staged list."""
    if n_stages == 1:
        beside = ((chosen - 1, "rule fewer"), (chosen + 1, "rule more"))
        return [(size, what) for size, what in beside if 1 <= size <= len(tuning.sizes)]
    ends = {rule.stage: i for i, rule in enumerate(tuning.rules[: len(tuning.sizes)], start=1)}
    beside = ((n_stages - 1, "stage fewer"), (n_stages + 1, "stage more"))
    return [(ends[stage], what) for stage, what in beside if stage in ends]


def _draw(estimator: Any, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from pysirus._output import writing
    from pysirus.plot import tuning_path

    figure = tuning_path(estimator)[0].figure
    with writing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
