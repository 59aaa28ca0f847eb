"""What tuning found, as a model remembers it: the path, the choice, and the list of every size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pysirus._families.responses import Output
from pysirus._terms.listing import RuleSet, with_weights
from pysirus._text.format import html_table, make_frame, text_table


@dataclass(frozen=True)
class Ideal:
    """The point that a list should be close to: no error, and this stability, which counts ``weight`` times."""

    stability: float = 0.9
    weight: float = 1.0

    def distance(self, error: Any, stability: Any) -> Any:
        """How far numbers or arrays are from it."""
        return np.hypot(error, self.weight * (stability - self.stability))

    def slopes(self, error: float, stability: float) -> tuple[float, float]:
        """How fast the distance grows with the error, and with the stability."""
        far = float(self.distance(error, stability)) or 1.0
        return error / far, self.weight**2 * (stability - self.stability) / far

    def words(self, error_name: str) -> str:
        """The point, and what stability counts where it is not the same as the error."""
        weight = "" if self.weight == 1 else f", which counts {self.weight:g} times"
        return f"{error_name} 0, stability {self.stability:g} between folds{weight}"


IDEAL = Ideal()


@dataclass(frozen=True)
class Size:
    """A model of the first ``n_rules`` rules: its weights, and what cross-validation says of such lists."""

    n_rules: int
    p0: float
    error: float
    stability: float
    weights: tuple[float, ...]
    intercept: Output
    penalty: float
    hazard: tuple[float, ...] | None = None  # cumulative baseline, at the model's times of events
    n_pruned: int = 0  # negligible rules, which left the list
    returned: tuple[int, ...] | None = None  # folds in which each rule was selected too, by lists of this size


@dataclass(frozen=True, eq=False, repr=False)
class TuningPath:
    """Number of rules, error and stability for every p0, averaged over repetitions.

    Attributes
    ----------
    p0 : ndarray
        The frequency thresholds, decreasing; one for each step of the averaged functions.
    n_rules, error, stability : ndarray
        Means over the repetitions of the mean number of rules in a fold, the pooled held-out error, and the mean
        Dice-Sorensen index over pairs of folds.
    n_rules_se, error_se, stability_se : ndarray
        Their standard errors over the repetitions (zero for a single repetition).
    n_repeats : int
        Number of repetitions.
    ideal : Ideal
        The ideal point, which the chosen list is closest to.
    """

    p0: NDArray[np.float64]
    n_rules: NDArray[np.float64]
    error: NDArray[np.float64]
    stability: NDArray[np.float64]
    n_rules_se: NDArray[np.float64]
    error_se: NDArray[np.float64]
    stability_se: NDArray[np.float64]
    n_repeats: int
    ideal: Ideal = IDEAL

    def __len__(self) -> int:
        return len(self.p0)

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        """Rules, error, stability and p0 of each step, with the standard errors of repetitions."""
        lines = []
        for k in range(len(self)):
            pairs = ((self.error[k], self.error_se[k]), (self.stability[k], self.stability_se[k]))
            texts = [f"{value:.3f}" + (f" ± {error:.3f}" if self.n_repeats > 1 else "") for value, error in pairs]
            lines.append([f"{self.n_rules[k]:.1f}", *texts, f"{self.p0[k]:.4f}"])
        return ["rules per fold", "error", "stability between folds", "p0"], lines

    def __repr__(self) -> str:
        return text_table(*self._rows()) if len(self) else "(no steps)"

    def _repr_html_(self) -> str:
        return html_table(*self._rows())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TuningPath):
            return NotImplemented
        return (self.columns(), self.n_repeats, self.ideal) == (other.columns(), other.n_repeats, other.ideal)

    __hash__ = None  # type: ignore[assignment]

    def at(self, p0: float) -> int:
        """The entry that holds at a p0: the nearest one."""
        return int(np.abs(self.p0 - p0).argmin())

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance to the ideal point: error 0, stability 0.9 (``target_stability``)."""
        return np.asarray(self.ideal.distance(self.error, self.stability))

    def columns(self) -> dict[str, list[float]]:
        """The path as plain lists."""
        names = ("p0", "n_rules", "error", "stability", "n_rules_se", "error_se", "stability_se")
        return {name: getattr(self, name).tolist() for name in names}

    def to_frame(self, backend: str | None = None) -> Any:
        """The path as a data frame; ``backend`` is "pandas", "polars" or "pyarrow"."""
        return make_frame(self.columns(), backend)


class RuleNumbers(NamedTuple):
    """The three numbers of rules that a size of a tuned list has."""

    selected: int  # on the full data, those of weight 0 included
    weighted: int  # of these the rules that print: they have a weight, or were given
    per_fold: float  # rules with a weight in the lists of the folds, on average

    def __str__(self) -> str:
        return f"{_count(self.weighted)} ({self.per_fold:.1f} per fold)"

    @property
    def sentence(self) -> str:
        """All three, by their names."""
        return f"{self.weighted} with weight, of {self.selected} selected; {self.per_fold:.1f} per fold on average"


@dataclass(frozen=True)
class Tuning:
    """All that tuning found: the path, the choice, and the list of every size on the full data."""

    path: TuningPath
    p0: float
    error: float
    stability: float
    criterion: str
    step: int  # the entry of the path that was chosen
    changed: float  # share of the rows that a fold leaves out
    rules: RuleSet  # the longest list, with outputs; a model of size k has the first k
    sizes: tuple[Size, ...]
    n_folds: int | None = None  # of all repetitions; None where it was not remembered
    shared: float | None = None  # of folds that look forward: the share of a fold's rows that an earlier one has too

    def rules_of(self, size: Size) -> RuleSet:
        """The rules of a size, with their weights and in how many folds lists of that size have them."""
        rules = with_weights(self.rules[: size.n_rules], size.weights)
        if size.returned is None or self.n_folds is None:
            return rules
        return RuleSet([replace(rule, returned=(n, self.n_folds)) for rule, n in zip(rules, size.returned)])

    def numbers(self, n_rules: int) -> RuleNumbers:
        """How many rules the list of the first ``n_rules`` has, in each way of counting."""
        weighted = self._in_use(self.sizes[n_rules - 1])
        return RuleNumbers(n_rules, weighted, float(self.path.n_rules[self.step_of(n_rules)]))

    def step_of(self, n_rules: int) -> int:
        """The entry of the path that the error and stability of a size are of."""
        size = self.sizes[n_rules - 1]
        found = np.flatnonzero((self.path.error == size.error) & (self.path.stability == size.stability))
        if not len(found):
            return self.path.at(size.p0)
        if self.step in found and size.error == self.error and size.p0 == self.p0:
            return self.step
        return int(found[np.abs(self.path.n_rules[found] - self._in_use(size)).argmin()])

    @property
    def steps(self) -> list[int]:
        """The entries of the path that some size has, from few rules to many: what figures draw."""
        found = {self.step_of(size.n_rules) for size in self.sizes}
        return sorted(found, key=lambda step: (self.path.n_rules[step], step))

    @property
    def smallest_error(self) -> Size:
        """The size of the smallest error, the shortest of several."""
        return min(self.sizes, key=lambda size: size.error)

    def beside(self, n_rules: int) -> list[int]:
        """The nearest sizes with fewer and with more rules that have a weight, where there are some."""
        own = self.numbers(n_rules).weighted
        fewer = (k for k in range(n_rules - 1, 0, -1) if self.numbers(k).weighted < own)
        more = (k for k in range(n_rules + 1, len(self.sizes) + 1) if self.numbers(k).weighted > own)
        return [k for k in (next(fewer, None), next(more, None)) if k is not None]

    def sentence(self, n_rules: int, stability: float) -> str:
        """What stability means, in plain words."""
        if n_rules == 0:
            return "The model has no rules."
        share = "a tenth" if abs(self.changed - 0.1) < 0.005 else f"{100 * self.changed:.0f}%"
        again = (
            f"about {stability * n_rules:.0f} of the {n_rules} rules would be selected again"
            if n_rules > 1
            else f"the one rule would be selected again in {100 * stability:.0f} of 100 cases"
        )
        if self.shared is not None:
            forward = f"between forward folds, {100 * self.shared:.0f}% shared"
            return f"Learned up to an earlier period, {again} (stability {stability:.2f} {forward})."
        common = (1 - 2 * self.changed) / (1 - self.changed)  # of the rows of two folds
        folds = f" between folds, {100 * common:.0f}% shared" if 0 < self.changed < 0.5 else ""
        return f"If {share} of the rows were replaced, {again} (stability {stability:.2f}{folds})."

    def reasons(self, n_rules: int, error_name: str) -> list[str]:
        """Why the list of the first ``n_rules`` was chosen, and what a list that looks better would cost."""
        if not 0 < n_rules <= len(self.sizes):
            return []
        own = self.sizes[n_rules - 1]
        if self.criterion == "error":
            lines = [f"Chosen: the shortest list whose {error_name} is within two standard errors of the smallest."]
        else:
            lines = [f"Chosen because it lies closest to the ideal point ({self.path.ideal.words(error_name)})."]
        best = self.smallest_error
        if best.error < own.error - 0.0005 and self._in_use(best) != self._in_use(own):  # not where both print alike
            cost = f"{self.numbers(best.n_rules)}, at a stability of {best.stability:.2f} between folds"
            lines.append(f"For the lowest error ({error_name} {best.error:.3f}) you would need {cost}.")
        steady = max(self.sizes, key=lambda size: size.stability)
        if steady.stability > own.stability + 0.005 and self._in_use(steady) != self._in_use(own):
            costs = f"{self.numbers(steady.n_rules)} and an {error_name} of {steady.error:.3f}"
            lines.append(f"The highest stability between folds, {steady.stability:.2f}, comes with {costs}.")
        if self.criterion != "error" and self.path.n_repeats > 1 and self._is_nearer(own):
            lines.append(f"The choice is the median over {self.path.n_repeats} repetitions.")
        return lines

    def _is_nearer(self, own: Size) -> bool:
        """Whether a list of another size is nearer to the ideal point on average."""
        away = self.path.ideal.distance
        return any(away(size.error, size.stability) < away(own.error, own.stability) - 0.0005 for size in self.sizes)

    def _in_use(self, size: Size) -> int:
        return sum(bool(weight) or rule.given for weight, rule in zip(size.weights, self.rules))


def _count(n: int) -> str:
    return f"{n} rule{'' if n == 1 else 's'}"
