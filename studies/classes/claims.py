"""Figures in, what was asked of the classifiers out: each requirement with its figure on every table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from studies.classes.figures import Figures, Study, paired, standard_error
from studies.classes.methods import METHODS
from studies.classes.problems import SEVERAL_CLASSES, TABLES, TWO_CLASSES
from studies.results import on_same_folds

LOG_LOSS_RATIO = 1.05
STABILITY = 0.70
CALIBRATION = 0.03
CALIBRATION_BEYOND = 0.01


@dataclass(frozen=True)
class Check:
    """One table: what was found beside what was asked."""

    table: str
    found: str
    asked: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A requirement on a number of tables."""

    text: str
    tables: tuple[str, ...]
    needed: int
    checks: tuple[Check, ...]  # of the tables whose figures are there

    @property
    def n_holds(self) -> int:
        """On how many tables it holds."""
        return sum(check.holds for check in self.checks)

    def verdict(self) -> str:
        """In one sentence."""
        absent = [TABLES[t].title for t in self.tables if t not in {check.table for check in self.checks}]
        count = f"{self.n_holds} of {len(self.checks)} tables"
        if self.n_holds >= self.needed:
            word = "Met"
        elif self.n_holds + len(absent) < self.needed:
            word = "Not met"
        else:
            return f"Undecided: {count}, comparing means ({self.needed} required); no results for {', '.join(absent)}."
        rest = f"; no results for {', '.join(absent)}" if absent else ""
        return f"{word}: {count}, comparing means ({self.needed} required){rest}."


Rule = Callable[..., Check]


def _claim(study: Study, text: str, tables: Sequence[str], needed: int, methods: Sequence[str], rule: Rule) -> Claim:
    """A rule on every table that has figures of all methods it compares."""
    checks = [
        rule(table, *on_same_folds(*(study[table, method] for method in methods)))
        for table in tables
        if all((table, method) in study for method in methods)
    ]
    return Claim(text, tuple(tables), needed, tuple(checks))


def _mean(figures: Figures, quantity: str) -> float:
    value = figures.mean(quantity)
    assert value is not None, quantity
    return value


def _near_the_better(table: str, ours: Figures, logistic: Figures, forest: Figures) -> Check:
    loss, best = _mean(ours, "log_loss"), min(_mean(logistic, "log_loss"), _mean(forest, "log_loss"))
    asked = f"at most {LOG_LOSS_RATIO * best:.4f}"
    return Check(table, f"{loss:.4f} ({loss / best:.3f} times {best:.4f})", asked, loss <= LOG_LOSS_RATIO * best)


def _below_equal(table: str, ours: Figures, equal: Figures) -> Check:
    loss, limit = _mean(ours, "log_loss"), _mean(equal, "log_loss")
    return Check(table, f"{loss:.4f}", f"below {limit:.4f}", loss < limit)


def _stable(table: str, ours: Figures) -> Check:
    found = _mean(ours, "stability")
    return Check(table, f"{found:.3f}", f"at least {STABILITY:.2f}", found >= STABILITY)


def _above_majority(table: str, ours: Figures, majority: Figures) -> Check:
    found, limit = _mean(ours, "accuracy"), _mean(majority, "accuracy")
    return Check(table, f"{found:.4f}", f"above {limit:.4f}", found > limit)


def _as_a_tree(table: str, ours: Figures, tree: Figures) -> Check:
    differences = paired(ours, tree, "accuracy")
    difference, error = float(differences.mean()), standard_error(differences) or 0.0
    found = f"{_mean(ours, 'accuracy'):.4f} ({difference:+.4f})"
    return Check(table, found, f"{_mean(tree, 'accuracy'):.4f} less {error:.4f}", difference >= -error)


def _calibrated(table: str, ours: Figures, logistic: Figures) -> Check:
    found, other = _mean(ours, "calibration_error"), _mean(logistic, "calibration_error")
    limit = max(CALIBRATION, other + CALIBRATION_BEYOND)
    return Check(table, f"{found:.4f}", f"at most {limit:.4f}", found <= limit)


def claims(study: Study) -> list[Claim]:
    """Everything that was asked and can be read from the results."""
    two, several = tuple(TWO_CLASSES), tuple(SEVERAL_CLASSES)
    stages = METHODS["stages"].title
    listed = [
        _claim(
            study,
            f"{stages}: log loss at most {LOG_LOSS_RATIO} times that of the better of logistic regression and forest",
            two,
            5,
            ("stages", "logistic", "forest"),
            _near_the_better,
        ),
        _claim(study, f"{stages}: log loss below that of equal weights", two, 7, ("stages", "equal"), _below_equal),
        _claim(study, f"{stages}: stability between folds at least {STABILITY:.2f}", two, 5, ("stages",), _stable),
        _claim(
            study, f"{stages}: accuracy above the majority's share", two, 7, ("stages", "majority"), _above_majority
        ),
    ]
    for method in ("likelihood", "stages"):
        title = METHODS[method].title
        text = f"{title}: accuracy at least that of a tree of depth 4, within one standard error of the difference"
        listed.append(_claim(study, text, several, 4, (method, "tree"), _as_a_tree))
    for method in ("likelihood", "stages"):
        text = (
            f"{METHODS[method].title}: expected calibration error at most {CALIBRATION}, or at most "
            f"{CALIBRATION_BEYOND} above that of logistic regression"
        )
        listed.append(_claim(study, text, two, 7, (method, "logistic"), _calibrated))
    return listed
