"""``pysirus fit``: a table in, rules out."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from pysirus.cli import _options as options
from pysirus.cli._app import app
from pysirus.cli._streams import deliver
from pysirus.cli.tune import MODEL, save, tune


@app.command()
def fit(
    table: options.TableArgument,
    target: options.Target = None,
    rules: options.Rules = None,
    p0: options.P0 = None,
    tuned: Annotated[
        bool, typer.Option("--tune", help="Choose the number of rules by cross-validation, as `pysirus tune` does.")
    ] = False,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    weights: options.Weights = None,
    class_weight: options.ClassWeight = None,
    memory: options.Memory = None,
    task: options.Task = "auto",
    model: options.ModelOut = None,
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
    """Learn rules from a table and print them. A target of text is classes, a target of numbers is regression.

    Example: [bold]pysirus fit houses.csv --target price --rules 10 --model houses.json[/bold]

    Larger than memory: [bold]pysirus fit 'houses/*.parquet' --target price --memory 2GB[/bold]
    """
    given = [name for name, value in (("--rules", rules), ("--p0", p0), ("--tune", tuned or None)) if value is not None]
    if len(given) > 1:
        raise typer.BadParameter(f"give {' or '.join(given)}, not both.", param_hint=given[0])
    if tuned and memory is not None:
        raise typer.BadParameter(
            "tuning takes the whole table into memory. Leave --memory out, or give --rules or --p0 instead of --tune.",
            param_hint="--memory",
        )
    if tuned:
        columns = {"categorical": categorical, "drop": drop, "weights": weights, "task": task}
        columns["class_weight"] = class_weight
        forest = {"trees": trees, "depth": depth, "bins": bins, "max_features": max_features}
        limits = {"min_node_size": min_node_size, "max_samples": max_samples, "max_rules": max_rules, "stages": stages}
        limits["post_treatment"] = post_treatment
        tune(table, target, model=model, seed=seed, jobs=jobs, **columns, **forest, **limits)  # type: ignore[arg-type]
        return
    n_trees = options.parse_count(trees, "--trees")
    from pysirus import SirusClassifier, SirusRegressor
    from pysirus.cli._show import print_learned
    from pysirus.cli._table import FileTraining, Roles, Training, is_files, open_files, open_training, paths_of

    options.check_output(model, "--model", paths_of(table), MODEL)
    roles = Roles(categorical, drop, weights, task)
    training: Training | FileTraining
    if memory is not None or is_files(table):
        training = open_files(table, target, roles, options.parse_memory(memory))
    else:
        training = open_training(table, target, roles)
    kind: Any = SirusRegressor if training.is_regression else SirusClassifier
    estimator = kind(
        p0=p0,
        n_rules=10 if rules is None else rules,
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
    )
    training.fit(estimator)
    files = [] if model is None else [(lambda: save(estimator, model), f"Model written to {model}")]
    deliver(files, lambda: print_learned(estimator, weighed=bool(weights or class_weight)))
