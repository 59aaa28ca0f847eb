"""Rules, weights and a schema: a model that predicts. It knows not how it was learned, nor what can be done with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pysirus._data.align import Schema, align_table, warn_unseen
from pysirus._data.derived import ColumnRecipe
from pysirus._data.marks import Marks
from pysirus._data.table import Feature, Table
from pysirus._families.base import Family
from pysirus._families.class_metrics import Decision
from pysirus._families.links import Link, fold_middle
from pysirus._model.facts import ColumnRoles, Facts
from pysirus._model.held_out import HeldOut, held_out_from
from pysirus._model.reference import Reference
from pysirus._model.sums import Addend, Evaluator
from pysirus._model.tuning import Tuning
from pysirus._runtime import changed
from pysirus._runtime.console import warn_user
from pysirus._terms.allowed import Constraints
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.term import LinearTerm, columns_of
from pysirus._terms.words import LINE
from pysirus._text.format import html_lines, one_line
from pysirus._weights.likelihood import Quadratic
from pysirus._weights.moments import Moments
from pysirus._weights.survival import Survival, step_functions

Self = TypeVar("Self", bound="Model")


@dataclass(frozen=True, repr=False)
class Model:
    """A rule list and its weights.

    The score of a row is ``intercept + sum of weight * (inside if the rule applies else outside)``, plus the linear
    terms. For classification, outputs and scores are vectors with an entry for each class. ``link`` relates the score
    to the prediction.

    Attributes
    ----------
    selected : RuleSet
        The selected rules after post-treatment, each with its weight.
    intercept : float or tuple of float
        The number, or a number for each class, added to the weighted outputs.
    family : Family
        The kind of target, with its name and its mean or class proportions.
    features : tuple of Feature
        The columns that the model was trained on.
    named : bool
        Whether the training table had column names.
    facts : Facts
        How the model was fitted: a mapping with the number of trees, seed, penalty, versions and more.
    tuning : Tuning or None
        The tuning path and the lists of all sizes, if the model was tuned.
    moments : Moments or None
        Sums over ten folds, from which the weights of any sublist can be refitted (for a tuned model, of the longest
        list). None if the weights do not come from such sums.
    likelihood : Quadratic or None
        For weights fitted by likelihood, a quadratic approximation of it for the longest list, from which approximate
        weights of any sublist can be computed without the data.
    terms : tuple of LinearTerm
        Linear terms, in addition to the rules.
    constraints : Constraints or None
        The constraints that every rule satisfies: directions of columns, and which columns may occur together.
    recipe : ColumnRecipe or None
        How features are derived from the columns of a table. None if every feature is a column.
    roles : ColumnRoles or None
        The names of the training columns used as target, weights, exposure and groups. None if at most the target is
        known.
    marks : mapping of str to NumberForm
        The format of numbers in the training files, by column, if it is not the usual one.
    """

    selected: RuleSet
    intercept: float | tuple[float, ...]
    family: Family
    features: tuple[Feature, ...]
    named: bool = False
    facts: Facts = field(default_factory=Facts)
    tuning: Tuning | None = None
    moments: Moments | None = field(default=None, compare=False, repr=False)
    likelihood: Quadratic | None = field(default=None, compare=False, repr=False)
    terms: tuple[LinearTerm, ...] = ()
    constraints: Constraints | None = None
    recipe: ColumnRecipe | None = None
    roles: ColumnRoles | None = None
    marks: Marks = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The name of the target."""
        return self.family.target

    @property
    def mean(self) -> float | tuple[float, ...]:
        """The mean of the target, or the class proportions, in the training rows."""
        return self.family.mean

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The class labels; None unless the model is a classifier."""
        return self.family.classes

    @property
    def positive_class(self) -> Any:
        """The class, of two, that texts, metrics and scores refer to; None for the second."""
        return self.family.positive_class

    @property
    def decision_rule(self) -> Decision | None:
        """The rule that decides between classes; None if the most likely class is predicted."""
        return self.family.decides_by

    @property
    def positive(self) -> int:
        """The number of the class that is spoken of: of two the positive one, else the last; 0 without classes."""
        return self.family.positive

    @property
    def link(self) -> Link:
        """What the sum stands for: the prediction itself, scores of classes, the logarithm of the prediction, or the
        logarithm of a hazard relative to the baseline."""
        return self.family.link

    @property
    def survival(self) -> Survival | None:
        """Of times to an event: the baseline hazard, the number of events and the median time."""
        return self.family.survival

    @property
    def target_column(self) -> str:
        """The column of a table that has the target: with an exposure that of the counts."""
        return self.target if self.roles is None else self.roles.target

    @property
    def exposure(self) -> str | None:
        """The column of the exposure, if counts per unit of one are predicted."""
        return None if self.roles is None else self.roles.exposure

    @property
    def schema(self) -> Schema:
        """What the model knows of its tables."""
        return Schema(self.features, self.named, self.recipe)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the training table. They are the features unless ``recipe`` derives these from them."""
        return self.schema.columns

    @property
    def rules(self) -> RuleSet:
        """The rules with positive weight, and all required rules."""
        return self.read(RuleSet([rule for rule in self.selected if rule.weight or rule.given]))

    def read(self, rules: RuleSet) -> RuleSet:
        """Rules of this model that print as they are read in it: with points where their sum is a score.

        Some rules of a list of numbers in stages answer means and others residuals: each is read by what it adds.
        """
        if self.family.is_scored or self.is_staged:
            return RuleSet(rules, self.family)
        return rules if self.positive_class is None else RuleSet(rules, shown=self.positive)

    @property
    def is_staged(self) -> bool:
        """Whether some rules correct others."""
        return any(rule.stage > 1 for rule in self.selected)

    @property
    def rules_(self) -> RuleSet:
        """Same as ``rules``, the name that estimators use."""
        return self.rules

    @property
    def tuned(self) -> Tuning:
        """What tuning found."""
        if self.tuning is None:
            raise AttributeError("This model was not tuned.")
        return self.tuning

    def at_size(self: Self, n_rules: int) -> Self:
        """The model of one size of its tuned list, with the error and stability of such lists among its facts."""
        tuning = self.tuned
        size = next(size for size in tuning.sizes if size.n_rules == n_rules)
        rules = tuning.rules_of(size)
        penalty = None if self.facts.ridge_penalty is None else size.penalty
        facts = replace(
            self.facts, p0=size.p0, cv_error=size.error, cv_stability=size.stability, ridge_penalty=penalty
        ).of_list(rules, size.n_pruned)
        family = self.family.with_hazard(size.hazard)
        return replace(self, selected=rules, intercept=size.intercept, facts=facts, family=family)

    @property
    def out_of_fold(self) -> HeldOut | None:
        """Held-out metrics of lists like this one; None without cross-validation, or if the size has changed."""
        found = held_out_from(self.facts.out_of_fold, len(self.classes or ()))
        return found if found is not None and found.n_rules == len(self.selected) else None

    @property
    def watched_terms(self) -> tuple[Any, ...]:
        """The terms that predictions depend on, which new rows are compared by: those with a weight, linear ones."""
        return (*(rule for rule in self.selected if rule.weight), *self.terms)

    @property
    def reference(self) -> Reference | None:
        """Sums over the training rows, which ``monitor`` compares later rows with; None if there are none."""
        said = self.facts.reference
        return None if said is None else Reference.read(said, len(self.features))

    def speaking_of(self: Self, label: Any) -> Self:
        """The model whose texts and metrics speak of a class; of the one that it has where none is said."""
        return changed(self, family=self.family.speaking_of(label))

    @property
    def labels(self) -> NDArray[Any]:
        """The labels as an array of their original type."""
        return np.asarray(self.classes, dtype=self.facts.label_type)

    def columns_of(self, rules: Iterable[FittedTerm]) -> set[int]:
        """The numbers of the columns that some rules and the linear terms look at."""
        return columns_of((*rules, *self.terms))

    @property
    def needed(self) -> set[int]:
        """The numbers of the columns that predictions depend on."""
        return self.columns_of(rule for rule in self.selected if rule.weight)

    def rules_on(self, table: Table) -> RuleSet:
        """The rules of which a table shows where they hold: not those of weight 0 on columns that it does not have."""
        return self.read(RuleSet([rule for rule in self.rules if not table.absent.intersection(rule.columns)]))

    @property
    def all_rules(self) -> list[FittedTerm]:
        """The selected rules and, of a tuned model, those of its longest list."""
        return [*self.selected, *(() if self.tuning is None else self.tuning.rules)]

    def align(self, X: Any, owner: str = "RuleModel", *, rules: Iterable[FittedTerm] | None = None) -> Table:
        """Read a table as the model's columns; those that no rule looks at may be absent.

        The rules are those with a weight, or ``rules``.
        """
        needed = self.needed if rules is None else self.columns_of(rules)
        table = align_table(X, self.schema, owner=owner, needed=needed)
        warn_unseen(table, warn_user)
        return table

    def decision(self, table: Table) -> NDArray[np.float64]:
        """The prediction of an aligned table: one number per row, or a row of class probabilities."""
        return self._respond(self.family.combine(self._evaluator.sums(table)))

    def raw_predict(self, X: Any, owner: str = "RuleModel") -> NDArray[np.float64]:
        """The prediction of any table: one number per row, or a row of class probabilities."""
        return self._respond(self.scores(X, owner))

    def scores(self, X: Any, owner: str = "RuleModel") -> NDArray[np.float64]:
        """The combined outputs before the link; an array of plain numbers is read where it lies."""
        sums = None if self.recipe is not None else self._evaluator.matrix_sums(X)
        return self.family.combine(self._evaluator.sums(self.align(X, owner)) if sums is None else sums)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """With two classes, the log-odds of the second class; with more, a score for each class."""
        return self.family.decision(self.scores(X))

    def predict_survival_function(self, X: Any, return_array: bool = False) -> NDArray[Any]:
        """The probability of no event up to each time: a function for each row, or an array [row, time]."""
        hazard = self.required_survival.hazard
        values = hazard.survival(self.scores(X), hazard.times)
        return values if return_array else step_functions(hazard.times, values, 1.0)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False) -> NDArray[Any]:
        """The cumulative hazard up to each time: a function for each row, or an array [row, time]."""
        hazard = self.required_survival.hazard
        values = hazard.cumulative_hazard(self.scores(X), hazard.times)
        return values if return_array else step_functions(hazard.times, values, 0.0)

    @property
    def required_survival(self) -> Survival:
        """What a survival model keeps besides its rules."""
        return self.family.required_survival

    def _respond(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """What scores stand for."""
        return self.family.respond(scores) if self.family.shape else self.family.respond(scores[:, None])[:, 0]

    @cached_property
    def _evaluator(self) -> Evaluator:
        """The rules that have a weight, compiled."""
        addends = [Addend(term, *self.family.sides(term)) for term in (*self.rules, *self.terms)]
        return Evaluator(self.features, self.family.start(self.intercept), addends)

    def __getstate__(self) -> dict[str, Any]:
        # what is compiled is made again where it is needed
        return {name: value for name, value in self.__dict__.items() if name != "_evaluator"}

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a number, or a class: by default the most likely one, or as ``decision_rule`` decides."""
        decision = self.raw_predict(X)
        return np.asarray(self.labels[self.choose(decision)]) if self.family.shape else decision

    def choose(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the class that is decided for in each row, by the probabilities of all classes."""
        return np.asarray(self.family.choose(probabilities))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities, one column per class."""
        if not self.family.shape:
            raise AttributeError("predict_proba is for classes; this model predicts numbers.")
        return self.raw_predict(X)

    def _as_model(self: Self) -> Self:
        """Anything fitted answers this with its model."""
        return self

    def average_output(self, rule: FittedTerm) -> NDArray[np.float64]:
        """The mean output of a rule over the training data, by weight.

        Its outputs are means of the target, inside and outside, so theirs is the mean of it; a correction's are means
        of residuals, which in regression is zero.
        """
        return self.family.average_output(rule)

    def added(self, rule: FittedTerm) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What a rule adds to the score where it holds and elsewhere, from what it adds on average.

        Of two classes the points on the log-odds of the positive one, of more a vector with a score per class.
        """
        return self.family.added(rule)

    @property
    def average_score(self) -> NDArray[np.float64]:
        """The score from which rules add their points: the intercept and what they add on average; of two classes the
        log-odds of the positive one."""
        total = np.asarray(self.intercept, dtype=np.float64)
        for rule in self.rules:
            total = total + (rule.weight or 0.0) * self.average_output(rule)
        return self.family.odds(total)

    def _repr_html_(self) -> str:
        """The model for a notebook."""
        terms = html_lines(*self._term_lines()) if self.terms else ""
        return html_lines(*self._head_lines()) + self.rules.html(named=False) + terms

    def __str__(self) -> str:
        return self.text()

    def text(self, *, full: bool = False) -> str:
        """The list as it is printed. ``full`` does not shorten long names and sets of categories."""
        terms = ["", *self._term_lines()] if self.terms else []
        lines = self._head_lines()
        if not full:
            lines[0] = fold_middle(lines[0], LINE)
        return "\n".join([*lines, "", self.rules.text(named=False, full=full), *terms])

    def __repr__(self) -> str:
        return str(self)

    def _head_lines(self) -> list[str]:
        """The head, in two lines where it is long, and what every rule obeys."""
        head = self._head()
        lines = head.split("; ", 1) if len(head) > LINE else [head]
        if self.constraints is None:
            return lines
        return [*lines, one_line(self.constraints.text([feature.name for feature in self.features]))]

    def _term_lines(self) -> list[str]:
        return ["linear terms", *map(str, self.terms)]

    def _head(self) -> str:
        """What the list is about and where it starts, in one line."""
        if self.family.is_scored or self.is_staged:
            approximate = "; weights are approximate" if self.facts.approximate_weights else ""
            return self.family.head(self.average_score) + approximate
        return self.family.plain_head(self.intercept)
