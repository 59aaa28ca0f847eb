"""Results in, docs/classes-study.md out. Every number comes from a result or from a setting of the study."""

from __future__ import annotations

from studies.classes.cells import N_REPETITIONS, problem_of
from studies.classes.claims import Claim, claims
from studies.classes.figures import Figures, Study, read
from studies.classes.measure import BY_FOLD, N_BINS, N_FOLDS, SMALLEST
from studies.classes.methods import METHODS
from studies.classes.problems import TABLES
from studies.results import Store, markdown, say, version_of, versions

COLUMNS = {
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "calibration_error": "calibration error",
    "rules": "rules",
    "stability": "stability between folds",
}


def _cell(figures: Figures, quantity: str) -> str:
    mean = figures.mean(quantity)
    if mean is None:
        return ""
    if quantity == "rules":
        return f"{mean:.1f}"
    error = figures.error(quantity) if quantity in BY_FOLD else None
    return f"{mean:.3f}" if error is None else f"{mean:.3f} ± {error:.3f}"


def _settings(study: Study) -> str:
    """The estimator of each method, as it was made for the first fold."""
    rows = []
    for name, method in METHODS.items():
        texts = sorted({f.about["settings"] for (_, m), f in study.items() if m == name})
        if texts:
            rows.append([method.title, "; ".join(f"`{text}`" for text in texts)])
    return "\n".join(f"- {title}: {text}" for title, text in rows)


def _fewer(study: Study) -> str:
    """Which results are missing, wholly or in part."""
    parts = []
    for name, method in METHODS.items():
        short = [TABLES[t].title for (t, m), f in study.items() if m == name and f.n_repetitions < N_REPETITIONS]
        absent = [TABLES[t].title for t in TABLES if (t, name) not in study]
        if short:
            parts.append(f"- {method.title}: fewer repetitions on {', '.join(short)}")
        if absent:
            which = "any table" if len(absent) == len(TABLES) else ", ".join(absent)
            parts.append(f"- {method.title}: no results for {which}")
    return "Some results are missing:\n\n" + "\n".join(parts) if parts else ""


def _head(study: Study) -> str:
    paragraphs = [
        "# Classifiers, compared",
        f"This study compares classifiers on {len(TABLES)} tables, with {N_FOLDS} stratified folds and at most "
        f"{N_REPETITIONS} repetitions. All methods use the same folds and are tuned inside the training rows. This "
        "command computes the results and writes this page:\n\n    make study-classes",
        f"The results were computed with {versions(study, list(dict.fromkeys(m.package for m in METHODS.values())))}. "
        f"{say(version_of(study))}",
        "SIRUS and EBM get missing values and categories without any preparation. For the other methods, missing "
        "numbers are replaced by the median and missing categories by the most frequent one, and categories are "
        f"one-hot encoded. Columns are standardised for logistic regression. The estimators are:\n\n{_settings(study)}",
        "Results are means over the folds of all repetitions, ± the standard error over folds. The first column has "
        "the number of repetitions. If it differs between two methods, their means are not over the same folds; the "
        "requirements below compare the repetitions that the methods have in common. For several classes, the AUC is "
        "the mean over each class against the rest, and the Brier score is summed over classes. In the log loss, a "
        f"probability of zero counts as {SMALLEST:.1e}, which penalises trees. The calibration error is the expected "
        f"calibration error in {N_BINS} bins of equal count, over the held-out rows of all folds (for several "
        "classes, for the most probable class), averaged over repetitions. The rules of a tree are its leaves. "
        "Stability is the mean Dice-Sorensen index over pairs of lists from different folds of a repetition, which "
        f"share {(N_FOLDS - 2) / (N_FOLDS - 1):.0%} of their training rows.",
        _fewer(study),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _claim(claim: Claim) -> str:
    text = f"**{claim.text}.** {claim.verdict()}"
    if not claim.checks:
        return text
    rows = [[TABLES[c.table].title, c.found, c.asked, "yes" if c.holds else "**no**"] for c in claim.checks]
    return f"{text}\n\n{markdown(['', 'found', 'required', 'met'], rows)}"


def _table(name: str, study: Study) -> str:
    problem = problem_of(name)
    classes = f"{len(problem.classes)} classes, of which the largest has {problem.majority:.1%} of the rows"
    text = (
        f"### {problem.title}\n\nThe table has {len(problem.y):,} rows, {problem.X.shape[1]} columns and {classes}. "
        f"Source: {TABLES[name].origin}."
    )
    rows = [
        [METHODS[m].title, str(study[name, m].n_repetitions), *(_cell(study[name, m], q) for q in COLUMNS)]
        for m in METHODS
        if (name, m) in study
    ]
    return f"{text}\n\n{markdown(['', 'repetitions', *COLUMNS.values()], rows)}"


def make_page(store: Store) -> str:
    """The whole page."""
    study = read(store)
    parts = [_head(study), "## Requirements", *(_claim(claim) for claim in claims(study)), "## Table by table"]
    parts += [_table(name, study) for name in TABLES if any(table == name for table, _ in study)]
    return "\n\n".join(parts) + "\n"
