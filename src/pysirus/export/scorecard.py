"""A model of two classes in, a scorecard out as text, workbook, page or SQL; ``_card`` says what the points are."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pysirus._format import text_table
from pysirus._message import InPython
from pysirus._model.model import Model
from pysirus._plain import one_line
from pysirus.export._card import Card, make_card
from pysirus.export._conditions import ExportError

ENDINGS = {"text": (".txt",), "excel": (".xlsx",), "html": (".html", ".htm"), "sql": (".sql",)}


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """What the ending of a file name asks for."""
    name = os.fspath(path).lower()
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), None)


def _title(card: Card) -> str:
    return f"Scorecard of {card.model.target}: points for {card.label}"


def _to_text(card: Card, options: dict[str, Any]) -> str:
    header = ["rule", f"share of {card.label}: if so", "if not", "points: if so", "if not"]
    rows = [["start", "", "", str(card.start), str(card.start)]]
    for rule, shares, (a, b) in zip(card.model.rules, card.shares(), card.points.tolist()):
        rows.append([rule.condition_text, *shares, str(a), str(b)])
    steps = [[f"{total}", f"{100 * p:.1f}%"] for total, p in card.steps()]
    table = text_table(["points", f"probability of {card.label}"], steps)
    return "\n".join(
        [one_line(_title(card)), "", text_table(header, rows), "", table, "", *map(one_line, card.words()), ""]
    )


def _to_sql(card: Card, options: dict[str, Any]) -> str:
    from pysirus.export.sql import whole_sql

    rules = zip(card.model.rules, card.points.tolist())
    lines = [_title(card), *card.words(), *(f"if {r.condition_text} then {a} points else {b}" for r, (a, b) in rules)]
    comments = "".join(f"-- {one_line(line)}\n" for line in lines)
    return comments + whole_sql(card.total, **{"prediction": "points", **options})


def _to_html(card: Card, options: dict[str, Any]) -> str:
    from pysirus.export._scorecard_html import card_page

    return card_page(card)


def _to_excel(card: Card, options: dict[str, Any]) -> bytes:
    from pysirus.export._scorecard_excel import card_workbook

    return card_workbook(card, options.get("X"))


WRITERS: dict[str, Callable[[Card, dict[str, Any]], str | bytes]] = {
    "text": _to_text,
    "excel": _to_excel,
    "html": _to_html,
    "sql": _to_sql,
}
SQL_OPTIONS = ("table", "dialect", "prediction")


def to_scorecard(
    model: Model,
    *,
    kind: str = "text",
    pdo: float = 20.0,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    positive: Any = None,
    X: Any = None,
    y: Any = None,
    table: str | None = None,
    dialect: str | None = None,
    prediction: str | None = None,
) -> str | bytes:
    """A scorecard of a model of two classes weighed by likelihood.

    Parameters
    ----------
    model : Model
        The model.
    kind : {"text", "excel", "html", "sql"}, default="text"
        What is written; where a path is given, by its ending (.txt, .xlsx, .html, .sql).
    pdo : float, default=20
        Points that double the odds.
    base_score, base_odds : float, default=600 and 50
        The score at which the odds of the positive class are ``base_odds`` to one. With ``base_odds=1``,
        ``base_score`` is where both classes are equally likely.
    positive : label, optional
        The class that more points speak for; by default the model's positive class, else the second.
    X : data frame or array, optional
        Rows over which rounding is to lose least, and on which the loss is measured; they fill the workbook. By default
        rules are taken as independent, each with its share of the training rows.
    y : array, optional
        Their classes: AUC and log loss before and after rounding are printed.
    table, dialect, prediction : str, optional
        Options of the SQL export.

    Returns
    -------
    content : str or bytes
    """
    if kind not in WRITERS:
        raise ExportError(f"kind must be one of {', '.join(WRITERS)}, got {kind!r}.")
    given = dict(zip(SQL_OPTIONS, (table, dialect, prediction)))
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if options and kind != "sql":
        in_python = InPython(" (kind='sql')")
        raise ExportError(f"{', '.join(options)}: only a scorecard in SQL takes this option{in_python}.")
    card = make_card(model, pdo=pdo, base_score=base_score, base_odds=base_odds, positive=positive, X=X, y=y)
    return WRITERS[kind](card, options if kind == "sql" else {"X": X})
