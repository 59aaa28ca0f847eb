"""A model in, one HTML file out that opens in any browser and needs no network: summary, then page."""

from __future__ import annotations

import os
from typing import Any

from pysirus._data.column import is_unicode
from pysirus._parameters import ParameterError
from pysirus._runtime.output import DOCUMENT, check_output, write_text, written
from pysirus._text.message import Parameter
from pysirus.report._page import page
from pysirus.report._summary import summary

__all__ = ["page", "report", "summary"]


def report(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    labels: Any = None,
    title: str | None = None,
    data: str | None = None,
    max_rows: int = 1000,
    by: Any = None,
    change: Any = None,
    coverage: float | None = None,
) -> str:
    """Write a report of a model.

    Parameters
    ----------
    model : Model or fitted estimator
        The model; a tuned one adds its path and the list of every size.
    path : str or path, optional
        The file to write. What stands in the way is said before the work.
    X : data frame or array, optional
        Rows to look up, each with an explanation; effects are averaged over them.
    y : array, optional
        The true target of the rows, shown next to the prediction.
    sample_weight : array, optional
        The weights of the rows where a model that was not cross-validated is judged by them; of rates the exposures.
    labels : array, optional
        Names of the rows, to search for; row numbers, from 1, by default.
    title : str, optional
        The heading; by default it names the target.
    data : str, optional
        A description of the training data.
    max_rows : int, default=1000
        Maximum number of rows in the file.
    by : str, array or dict, optional
        A column of ``X``, a value for each row, or these by a name: adds how groups are treated, as
        ``model.metrics(by=...)`` says it.
    change : label, range or dict, optional
        A wanted decision: adds the nearest change of the first 20 rows that are decided otherwise. A dict takes the
        arguments of ``nearest_change``, ``to``, ``fixed``, ``directions`` and ``category_step``, and ``rows``, their
        numbers from 0.
    coverage : float, optional
        Of an estimator that is calibrated: intervals or sets of the rows that hold the target in this share of rows,
        and, with ``y``, how often they do for each rule.

    Returns
    -------
    page : str
        The HTML text, which shows as its ``path`` and ``size``.
    """
    if path is not None:
        check_output(path, kind=DOCUMENT)
    rows = {"y": y, "sample_weight": sample_weight, "labels": labels}
    for name, texts in (("title", [title]), ("data", [data]), ("labels", () if labels is None else labels)):
        if (wrong := next((text for text in texts if not is_unicode(text)), None)) is not None:
            raise ParameterError(f"{Parameter(name)} must be valid Unicode, got {wrong!r}.")
    asked = {"by": by, "change": change, "coverage": coverage}
    text = page(summary(model, X, **rows, title=title, data=data, max_rows=max_rows, **asked))
    if path is not None:
        write_text(path, text)
    return written(text, "report", path)  # type: ignore[no-any-return]
