"""What a model remembers of its training: how it was fitted (``Facts``), and what columns were for (``ColumnRoles``).

Both are records of the model file: each field says what may stand there. Facts that this version does not know are kept
as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pysirus._families.of_model import BY_LOSS
from pysirus._model.held_out import HeldOut
from pysirus._model.keys import key, keys_of, option, record
from pysirus._model.kinds import ANYTHING, LABEL, items, number, one_of, text, whole
from pysirus._model.reference import Reference
from pysirus._terms.fitted import FittedTerm

ROUNDING = 1e-6
STABILITY = number(-ROUNDING, 1 + ROUNDING)  # a mean over pairs of folds, updated fold by fold
Stability = Annotated[float, STABILITY]
Share = Annotated[float, number(0, 1 + ROUNDING)]  # a sum of shares of the training weight
Frequency = Annotated[float, number(0, 1)]
Count = Annotated[int, whole(0)]


@dataclass(frozen=True)
class ColumnRoles:
    """Columns of the training table that were no features."""

    target: str = key("The target column: for counts with an exposure, the counts; for survival, the times.")
    weights: str | None = option("The column of sample weights.")
    exposure: str | None = option("The column of the exposure of counts; the model predicts counts per unit.")
    groups: str | None = option("The column of groups whose rows stayed in the same fold.")
    time: str | None = option("The column of times, for folds that look forward in time.")

    @property
    def says_more(self) -> bool:
        """Whether there is more to remember than the target, whose name a model has anyway."""
        return any(name is not None for name in (self.weights, self.exposure, self.groups, self.time))


@dataclass(frozen=True)
class EditErrorKeys:
    """The error of a model before and after an edit."""

    name: str = key("What the error is.")
    before: float | None = option("Before the edit.")
    after: float | None = option("After it.")


@dataclass(frozen=True)
class EditKeys:
    """A change of the list after the fit."""

    removed: tuple[str, ...] = key("The removed rules, as text.")
    added: tuple[str, ...] = key("The added rules, as text.")
    note: str | None = option("Why.")
    by: str | None = option("By whom.")
    date: str | None = option("When.")
    error: EditErrorKeys | None = option("What it did to the error.")


@dataclass(frozen=True)
class ComparedKeys:
    """The best list of one kind that tuning looked at."""

    name: str = key("The kind.")
    error: float = key("Held-out error.")
    stability: Stability = key("Stability.")


Mark = Annotated[str, text(lambda value: len(value) == 16, "16 hexadecimal digits", "^[0-9a-f]{16}$")]


@dataclass(frozen=True)
class Fingerprint:
    """Of the training rows that count, in their order: a mark of each column, as the model knows it."""

    n_rows: Count = key("Rows.")
    columns: tuple[tuple[str, Mark], ...] = key("The name and the mark of each feature, in order.")
    target: Mark = key("That of the target.")
    weights: Mark | None = option("That of the sample weights, where there are some.")


@dataclass(frozen=True)
class SignatureKeys:
    """Somebody's signature under the file."""

    by: str = key("Who.")
    date: str = key("When.")
    public_key: str = key("The public key (Ed25519), in base64.")
    signature: str = key("The signature of the document without its signatures, as JSON of sorted keys, in base64.")
    note: str | None = option("What it stands for.")


class Later(Mapping[str, Any]):
    """Plain data that is made when somebody asks for it: most models are neither saved nor compared with new rows."""

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The data."""
        found = self._make()
        del self._make
        return found

    def __getitem__(self, name: str) -> Any:
        return self.plain[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plain)

    def __len__(self) -> int:
        return len(self.plain)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.plain,)


@dataclass(frozen=True)
class EstimatorKeys:
    """The Python class that was saved."""

    name: str = key("Its name.")
    parameters: Mapping[str, Annotated[Any, ANYTHING]] = key("Its constructor parameters.")
    n_rules: int | None = option("In facts: the length of list that was asked for after the fit.", low=0)


@dataclass(frozen=True, eq=False, repr=False)
class Facts(Mapping[str, Any]):
    """How a model was fitted, and what was done with it since; keys that are not listed are kept.

    None where nothing is said. As a mapping it has what is said, in the order of a file.
    """

    OPEN: ClassVar = True
    n_rows: Count | None = option("The number of training rows.")
    seed: int | None = option("The seed of the forest.", low=0, high=2**64 - 1)
    draw: int | None = option("The version of the way in which trees draw rows. Default: 1.", low=1, high=2**31)
    idle_columns: Mapping[str, str] | None = option("Columns that no tree can split, and why.")
    versions: Mapping[str, str] | None = option("The versions of the software used for the fit.")
    quantile_error: float | None = option(
        "Upper bound on the distance of cuts from quantiles, as a share of the rows.", low=0
    )
    n_trees: Count | None = option("The number of trees grown.")
    n_candidates: Count | None = option("The number of candidate rules.")
    lasso_penalty: float | None = option("The penalty of RuleFit's weights.", low=0)
    label_type: str | None = option("The NumPy type of the classes, such as `<U8`.")
    ridge_penalty: float | None = option("The penalty of the weights.", low=0)
    n_pruned: int | None = option("The number of negligible rules, which have weight 0, if any.", low=1)
    n_stages: int | None = option("The number of stages in the list.", low=1, high=2**31)
    loss: Annotated[str, one_of(*BY_LOSS)] | None = option("The loss of a model of counts or amounts.")
    power: float | None = option(
        "For the loss tweedie: the variance is proportional to the mean raised to this power.", above=1, below=2
    )
    max_rules: int | None = option("The length of the longest list considered in tuning.", low=1, high=2**31)
    compared: Annotated[Sequence[Mapping[str, Any]], items(record(ComparedKeys))] | None = option(
        "The kinds of lists that tuning compared, the chosen one first."
    )
    out_of_fold: Annotated[Mapping[str, Any], record(HeldOut)] | None = option("Its held-out metrics.")
    last_time: Annotated[Any, LABEL] = option("The last time in the training rows, if folds look forward in time.")
    reference: Annotated[Mapping[str, Any], record(Reference)] | None = option(
        "Sums over the training rows, with which `monitor` compares later rows."
    )
    fingerprint: Annotated[Mapping[str, Any], record(Fingerprint)] | None = option(
        "The fingerprint of the training rows."
    )
    signatures: Annotated[Sequence[Mapping[str, Any]], items(record(SignatureKeys))] | None = option(
        "Who signed the file."
    )
    p0: Frequency | None = option("The frequency threshold for rules.")
    cv_error: float | None = option("The held-out error of such lists.")
    cv_stability: Stability | None = option("The stability of such lists.")
    approximate_weights: bool | None = option(
        "Whether the weights were refitted without the data, from the approximate likelihood in the file."
    )
    estimated_on: Count | None = option(
        "The number of rows that outputs, counts and weights come from, if these are not the rows in which the rules "
        "were found."
    )
    learned_by: Annotated[Mapping[str, Any], record(EstimatorKeys)] | None = option(
        "If the list was changed after the fit, the class that learned it, for `refit`."
    )
    removed_rules: Annotated[Sequence[str], items(text())] | None = option("The removed rules, as text.")
    edits: Annotated[Sequence[Mapping[str, Any]], items(record(EditKeys))] | None = option(
        "The changes made after the fit, in order."
    )
    rest: Mapping[str, Any] = field(default_factory=dict)  # what this version does not know
    order: tuple[str, ...] = ()  # of what is said; what is new comes last

    def __post_init__(self) -> None:
        said = {*(name for name in KEYS if getattr(self, name) is not None), *self.rest}
        known = dict.fromkeys([*self.order, *KEYS, *self.rest])
        object.__setattr__(self, "order", tuple(name for name in known if name in said))

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Facts:
        """The facts of a document, or of a fit."""
        known = {name: value for name, value in said.items() if name in KEYS}
        rest = {name: value for name, value in said.items() if name not in KEYS}
        return cls(**known, rest=rest, order=tuple(said))

    def of_list(self, rules: Sequence[FittedTerm], n_pruned: int) -> Facts:
        """The facts of a model with another list."""
        n_stages = None if self.n_stages is None else max((rule.stage for rule in rules), default=1)
        return replace(replace(self, n_pruned=None), n_pruned=n_pruned or None, n_stages=n_stages)

    @property
    def why_this_kind(self) -> str:
        """What tuning compared, and what it chose; nothing where there was one kind of list."""
        if not self.compared:
            return ""
        first, *others = (
            f"{c['name']} (error {c['error']:.3f}, stability {c['stability']:.2f} between folds)" for c in self.compared
        )
        return f"chosen: {first}; compared with {', '.join(others)}"

    def __getitem__(self, name: str) -> Any:
        if name not in self.order:
            raise KeyError(name)
        found = self.rest[name] if name in self.rest else getattr(self, name)
        return found.plain if isinstance(found, Later) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        return repr(dict(self))


KEYS = keys_of(Facts)
