"""Times to an event: how they are read, and how held-out rows judge risk scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from numpy.typing import NDArray

from pysirus._data.column import DataError
from pysirus._families.metrics.gain import FoldRows, Gain, concordance_gain
from pysirus._families.metrics.rows import Metrics, Predicted, all_folds
from pysirus._families.metrics.survival import survival_metrics
from pysirus._families.response.read import read_weights
from pysirus._families.response.read_survival import Times, read_survival
from pysirus._families.response.survival import SurvivalResponse, events_and_times, survival_response
from pysirus._families.target import LabelTotals, Target
from pysirus._message import InPython
from pysirus._parameters import ParameterError

IN_MEMORY = (
    "Survival needs all rows in memory: the likelihood of each event depends on all rows still at risk. Fit a sample "
    f"of the rows. Its risk score can be computed elsewhere: SQL{InPython(', or pysirus.spark.transform')}."
)


def read_times(y: Any, n_rows: int, event: Any = None) -> Times:
    """Times and events, at least one of them."""
    found = read_survival(y, n_rows, event)
    if not found.events.any() and event is not None:
        raise DataError(
            f"The event {event!r} is in no row of '{found.event_name}': nothing can be learned of when it happens. "
            "Check which value is the event."
        )
    if not found.events.any():
        raise DataError(
            f"There are no events in '{found.event_name}': nothing can be learned of when they happen. Check "
            "which value is the event, and that it is not the flag of censored rows."
        )
    return found


class TimeTarget(Target):
    """A time per row, and whether it ended with an event."""

    if_constant: ClassVar[str] = "all rows have their event, or are censored, at the same time"
    mean_name: ClassVar[str] = "same hazard for all rows"

    @property
    def event_value(self) -> Any:
        """The value that is an event, where it is not 1."""
        return None

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> SurvivalResponse:
        """Times above zero, with at least one event."""
        found = read_times(y, n_rows, self.event_value)
        weights = read_weights(sample_weight, n_rows)
        return survival_response(found.times, found.events, weights, found.time_name, found.event_name)

    def read_truth(self, y: Any, n_rows: int, labels: NDArray[Any]) -> NDArray[Any]:
        """Events and times; there need be no event."""
        found = read_survival(y, n_rows, self.event_value)
        return events_and_times(found.events, found.times)

    def part_reading(self, ask_labels: Callable[[], LabelTotals]) -> NoReturn:
        """Rows in parts are refused."""
        raise ParameterError(IN_MEMORY)

    def metrics(self, folds: Sequence[Predicted]) -> Metrics:
        """The concordance."""
        return survival_metrics(all_folds(folds))

    def gain(self, folds: Sequence[FoldRows]) -> Gain | None:
        """How far the concordance is above that of chance."""
        return concordance_gain(folds)
