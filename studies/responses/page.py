"""Results in, docs/responses-study.md out. Every number comes from a result or from a setting of the study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studies.responses.cells import N_REPETITIONS, problem_of
from studies.responses.measure import N_BINS, N_FOLDS, survival_times
from studies.responses.methods import METHODS
from studies.responses.problems import AMOUNTS, COUNTS, SURVIVAL, TABLES
from studies.results import Figures, Store, Study, markdown, on_same_folds, read, say, version_of, versions

STABILITY = 0.65
BETWEEN = "stability between folds"
OLDER_TIES = (
    " For survival, tied events with equal bins counted as one event, and the baseline hazard used Efron's formula for "
    "ties; it is now [Breslow's](method.md#times-to-an-event)."
)
COLUMNS = {
    "counts": {"deviance": "Poisson deviance", "rules": "rules", "stability": BETWEEN},
    "amounts": {"deviance": "gamma deviance", "rules": "rules", "stability": BETWEEN},
    "survival": {
        "concordance": "concordance",
        "brier": "integrated Brier score",
        "rules": "rules",
        "stability": BETWEEN,
    },
}
HEADS = {"counts": "Counts", "amounts": "Amounts", "survival": "Survival"}


def _mean(figures: Figures, quantity: str) -> float:
    value = figures.mean(quantity)
    assert value is not None, quantity
    return value


def _verdicts(study: Study) -> str:
    """What was asked, and on how many tables it holds."""
    parts = []
    for tables, quantity, rival, needed, sign in (
        (SURVIVAL, "concordance", "cox", 3, 1),
        (SURVIVAL, "concordance", "cox_fixed", 3, 1),
        (COUNTS, "deviance", "regression", 3, -1),
        (AMOUNTS, "deviance", "regression", len(AMOUNTS), -1),
    ):
        kind = next(iter(tables.values())).kind
        known = [t for t in tables if (t, "stages") in study and (t, rival) in study]
        if not known:
            continue
        both = {t: on_same_folds(study[t, "stages"], study[t, rival]) for t in known}
        pairs = {t: (_mean(ours, quantity), _mean(theirs, quantity)) for t, (ours, theirs) in both.items()}
        holds = [t for t, (ours, theirs) in pairs.items() if sign * ours >= sign * theirs]
        word = "at least" if sign > 0 else "at most"
        text = ", ".join(f"{TABLES[t].title} {ours:.4f} and {theirs:.4f}" for t, (ours, theirs) in pairs.items())
        parts.append(
            f"- {HEADS[kind]}: the {quantity} of stages is {word} that of {METHODS[rival].title} on {len(holds)} of "
            f"{len(known)} tables ({needed} of {len(tables)} required): {text}."
        )
        if rival == "cox":
            stable = {t: _mean(study[t, "stages"], "stability") for t in known}
            above = sum(value >= STABILITY for value in stable.values())
            figures = ", ".join(f"{TABLES[t].title} {value:.2f}" for t, value in stable.items())
            parts.append(
                f"- {HEADS[kind]}: the stability between folds is at least {STABILITY} on {above} of {len(known)} "
                f"tables: {figures}."
            )
    return "\n".join(parts)


def _cell(figures: Figures, quantity: str) -> str:
    mean = figures.mean(quantity)
    if mean is None:
        return ""
    if quantity == "rules":
        return f"{mean:.1f}"
    error = figures.error(quantity) if quantity != "stability" else None
    return f"{mean:.4f}" if error is None else f"{mean:.4f} ± {error:.4f}"


def _calibration(name: str, study: Study) -> str:
    """Predicted beside observed means in groups, of the first repetition."""
    shown = [m for m in ("regression", "stages") if (name, m) in study]
    rows: list[Sequence[str]] = []
    for method in shown:
        pairs = np.array(study[name, method].by_repetition["0"]["calibration"])
        rows.append([f"{METHODS[method].title}: predicted", *(f"{v:.3g}" for v in pairs[:, 0])])
        rows.append([f"{METHODS[method].title}: observed", *(f"{v:.3g}" for v in pairs[:, 1])])
    if not rows:
        return ""
    n = max(len(row) for row in rows) - 1
    rows = [[*row, *[""] * (n + 1 - len(row))] for row in rows]
    return markdown(["group", *(str(k + 1) for k in range(n))], rows)


def _table(name: str, study: Study) -> str:
    source, problem = TABLES[name], problem_of(name)
    columns = COLUMNS[source.kind]
    events = f" and {int(problem.y['event'].sum()):,} events" if source.kind == "survival" else ""
    joint = "," if events else " and"
    head = f"### {source.title}\n\nThe table has {len(problem.X):,} rows{joint} {problem.X.shape[1]} columns{events}"
    rows = [
        [METHODS[m].title, str(study[name, m].n_repetitions), *(_cell(study[name, m], q) for q in columns)]
        for m in METHODS
        if (name, m) in study
    ]
    parts = [f"{head}. Source: {source.origin}.", markdown(["", "repetitions", *columns.values()], rows)]
    if source.kind != "survival":
        parts.append(_calibration(name, study))
    return "\n\n".join(part for part in parts if part)


def _settings(study: Study) -> str:
    lines = []
    for name, method in METHODS.items():
        texts = sorted({f.about["settings"] for (_, m), f in study.items() if m == name})
        if texts:
            lines.append(f"- {method.title}: {'; '.join(f'`{text}`' for text in texts)}")
    return "\n".join(lines)


def make_page(store: Store) -> str:
    """The whole page."""
    study = read(store, list(TABLES), list(METHODS))
    packages = list(dict.fromkeys(method.package for method in METHODS.values()))
    n_times = len(survival_times(problem_of("gbsg"))) if any(t == "gbsg" for t, _ in study) else 0
    parts = [
        "# Counts, amounts and survival, compared",
        f"This study uses {N_FOLDS} folds and at most {N_REPETITIONS} repetitions, with the same folds for every "
        "method; for the simulated claims, only the first fold is held out. All tuning happens inside the training "
        "rows: of the ridge penalty for regressions, and of the number of rules and stages for SIRUS. This command "
        "computes the results and writes this page:\n\n    make study-responses",
        f"The results were computed with {versions(study, packages)}. {say(version_of(study))}"
        f"{OLDER_TIES if version_of(study) == 1 else ''}",
        f"The estimators are:\n\n{_settings(study)}",
        "Results are means over the folds of all repetitions, ± the standard error over folds; the requirements "
        "below compare the repetitions that both methods have. Stability is the mean Dice-Sorensen index over pairs "
        f"of lists of different folds of a repetition, which share {(N_FOLDS - 2) / (N_FOLDS - 1):.0%} of their "
        f"training rows. Concordance is Harrell's, within folds. The integrated Brier score is taken over {n_times} "
        "times between the 10% and the 90% quantile of the observed times, with inverse-probability-of-censoring "
        "weights from the training rows. Below each table for counts or amounts are the predicted and observed means "
        f"of {N_BINS} groups of held-out rows, from the lowest to the highest predictions (first repetition). The "
        "groups have equal weight.",
        "## Requirements",
        _verdicts(study),
    ]
    for tables in (COUNTS, AMOUNTS, SURVIVAL):
        known = [name for name in tables if any(table == name for table, _ in study)]
        if known:
            parts.append(f"## {HEADS[tables[known[0]].kind]}")
            parts += [_table(name, study) for name in known]
    return "\n\n".join(parts) + "\n"
