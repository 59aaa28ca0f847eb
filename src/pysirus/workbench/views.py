"""A session in, what the page shows of its list out, as plain data: rules, one row, groups, two lists side by side."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

from pysirus._parameters import ParameterError
from pysirus._use.edit import trail_lines
from pysirus.report import summary
from pysirus.workbench.recorded import Step, command, keywords
from pysirus.workbench.session import Session
from pysirus.workbench.understood import MOST_CLASSES

SHOWN = (
    *("rules", "sizes", "chosen", "errorName", "target", "classes", "positive", "link", "mean", "heldOut", "inSample"),
    *("doubts", "reason", "effects", "effectName", "obeys", "aggregation", "notes", "scaleName"),
)
MOST_ROWS = 12  # of a table of rows to choose from


def front(session: Session) -> dict[str, Any]:
    """Error and stability of every length of the tuned list, and why the chosen one was chosen."""
    told = summary(session.tuned.estimator)
    kept = ("nRules", "nPositive", "error", "stability", "sentence", "perFold", "numbers")
    sizes = [{name: size.get(name) for name in kept} for size in told["sizes"]]
    return {**{name: told[name] for name in ("errorName", "path", "ideal", "chosen", "reason")}, "sizes": sizes}


def listing(session: Session) -> dict[str, Any]:
    """The list as it is now, with its evidence, its trail and its code."""
    model, learned = session.model, session.tuned
    X, y, weights = learned.rows
    told = summary(replace(model, tuning=None), X, y=y, sample_weight=weights, max_rows=1)
    family = model.family
    return {
        **{name: told[name] for name in SHOWN},
        "list": [_rule(own, told, i) for i, own in enumerate(told["rules"]) if _counts(own, told, i)],
        "length": len(model.selected),
        "tuned": len(learned.estimator.model_.selected),
        "how": family.kind_text,
        "edits": [
            {"method": own.method, "value": _shown(own.value), "note": own.note, "by": own.by} for own in session.edits
        ],
        "trail": trail_lines(model),
        "said": list(learned.said),
        "stale": session.is_stale,
        "directions": session.directions,
        "features": [feature.name for feature in model.features],
        "used": [model.features[index].name for index in sorted(model.columns_of(model.rules))],
        "kept": list(session.kept),
        "code": [step._asdict() for step in session.steps()],
        **session.script(),
    }


def _shown(value: Any) -> Any:
    return {str(key): own for key, own in value.items()} if isinstance(value, dict) else value


def _counts(rule: dict[str, Any], told: dict[str, Any], i: int) -> bool:
    return bool(told["sizes"][told["chosen"]]["weights"][i] or rule.get("given"))


def _rule(rule: dict[str, Any], told: dict[str, Any], i: int) -> dict[str, Any]:
    """A rule as a line of the list."""
    size = told["sizes"][told["chosen"]]
    inside, outside = rule.get("added", (rule["insideText"], rule["outsideText"]))
    line = size.get("lines", {}).get(str(i))
    return {
        "text": rule.get("whole", rule["text"]),
        "line": None if line is None else line["text"],
        "then": inside,
        "else": outside,
        "inside": rule["inside"],
        "outside": rule["outside"],
        "adds": rule.get("adds"),
        "weight": size["weights"][i],
        "frequency": rule["frequency"],
        "rows": rule["rowsText"],
        "share": rule["nInside"] / max(1, rule["nInside"] + rule["nOutside"]),
        "returned": size["returned"][i] or None,
        "given": bool(rule.get("given")),
        "stage": rule["stage"],
    }


# ------------------------------------------------------------------------------------------------------------ one row


def some_rows(session: Session, search: str = "") -> dict[str, Any]:
    """Rows of the table that hold a text, or the first ones, to choose one from."""
    X, model = session._table, session.model
    used = sorted(model.columns_of(model.rules))
    columns = list(dict.fromkeys(model.schema.column_of(model.features[i]) for i in used))
    texts = [list(map(_text, X[name].to_pylist())) for name in columns]
    numbers = [i for i in range(X.num_rows) if _found(search, i, texts)][:MOST_ROWS]
    return {"columns": columns, "rows": [[i + 1, *(column[i] for column in texts)] for i in numbers], "of": X.num_rows}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else str(value)


def _found(search: str, row: int, texts: list[list[str]]) -> bool:
    wanted = search.strip().casefold()
    return not wanted or wanted == str(row + 1) or any(wanted in column[row].casefold() for column in texts)


def explained(session: Session, row: int, outcome: Any = None, k: int = 4) -> dict[str, Any]:
    """Why a row, by its number from 1, is predicted as it is."""
    model, own = session.model, _row(session, row)
    label = _label(session, outcome)
    given = {} if label is None else {"outcome": label}
    reasons = model.reasons(own, k, **given)
    every = model.reasons(own, max(1, len(model.rules)), direction="both", **given)
    words = [] if label is None else ["--outcome", label]
    code = _query(session, "reasons", f"model.reasons(rows[{row - 1}:{row}], {', '.join([str(k), *_given(given)])})")
    return {
        "row": row,
        "prediction": _prediction(session, own),
        "reasons": _plain(reasons.to_dict()),
        "steps": _plain(every.to_dict()),
        "code": code("--row", row, "-k", k, *words)._asdict(),
    }


def changed(
    session: Session, row: int, to: Any, fixed: Any = (), directions: dict[str, str] | None = None
) -> dict[str, Any]:
    """The smallest change of a row that changes its decision."""
    model, own = session.model, _row(session, row)
    wanted = _label(session, to) if model.classes else to
    ways = {name: way for name, way in (directions or {}).items() if way in ("up", "down")}
    options: dict[str, Any] = {name: value for name, value in (("fixed", list(fixed)), ("directions", ways)) if value}
    found = model.nearest_change(own, wanted, **options)
    call = ", ".join([f"rows[{row - 1}:{row}]", repr(wanted), *_given(options)])
    code = _query(session, "change", f"model.nearest_change({call})")
    words: list[Any] = ["--to", wanted] + [word for name in fixed for word in ("--fixed", name)]
    words += [word for name, way in ways.items() for word in (f"--{way}", name)]
    told = code("--row", row, *words)._asdict()
    if found is None:
        return {"found": False, "code": told}
    as_text = {name: [_text(found.before[name]), _text(value)] for name, value in found.changes.items()}
    then = _plain(found.to_dict()["then"])
    return {"found": True, "to": found.to, "changes": as_text, "then": then, "text": str(found), "code": told}


def _row(session: Session, row: int) -> Any:
    X = session._table
    if not 1 <= int(row) <= X.num_rows:
        raise ParameterError(f"The table has rows 1 to {X.num_rows}, got {row}.")
    return X.slice(int(row) - 1, 1)


def _label(session: Session, text: Any) -> Any:
    """The class of a text that the page sent back."""
    classes = session.model.classes
    if text in (None, "") or not classes:
        return None
    return next((label for label in classes if str(label) == str(text)), text)


def _prediction(session: Session, own: Any) -> dict[str, Any]:
    """What is predicted of a row, in words and, of classes, with the probability of each."""
    model = session.model
    if model.classes:
        shares = [float(own) for own in model.predict_proba(own)[0]]
        return {"text": str(model.predict(own)[0]), "shares": dict(zip(map(str, model.classes), shares))}
    return {"text": model.family.prediction_text(float(model.predict(own)[0]))}


def _given(options: dict[str, Any]) -> list[str]:
    return [keywords(options)] if options else []


def _query(session: Session, what: str, call: str) -> Any:
    """The code of a question about rows, once its options are known."""
    python = f"rows = model.rows({session.name!r})\nprint({call})"
    return lambda *words: Step(what, python, command(what, session.model_name, session.name, *words))


# ------------------------------------------------------------------------------------------------- groups, two lists


def group_columns(session: Session) -> list[str]:
    """Columns that may part the rows into groups: those of few values."""
    table = session._table
    few = partial(_is_grouping, session)
    return [name for name in table.column_names if few(name)]


def _is_grouping(session: Session, name: str) -> bool:
    import pyarrow.compute as pc

    column, aim = session._table[name], session.tuned.plan.aim
    return name != aim.target and name != aim.event and 2 <= int(pc.count_distinct(column).as_py()) <= MOST_CLASSES


def groups(session: Session, by: str) -> dict[str, Any]:
    """Metrics of the groups that a column makes, whether the list uses it or not."""
    aim = session.tuned.plan.aim
    found = session.model.metrics(str(session.path), aim.y, aim.weights, by=by)
    said = {} if aim.weights is None else {"sample_weight": aim.weights}
    call = ", ".join([repr(session.name), repr(aim.y), *_given({**said, "by": by})])
    typed = command("score", session.model_name, session.name, "--by", by)
    code = Step("groups", f"print(model.metrics({call}))", typed)
    return {**_plain(found.to_dict()), "text": str(found), "code": code._asdict()}


def _plain(value: Any) -> Any:
    """Plain data that JSON can say: no NaN."""
    if isinstance(value, dict):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(own) for own in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def compared(session: Session, name: str) -> dict[str, Any]:
    """The list beside one that was put aside."""
    if name not in session.kept:
        raise ParameterError(f"No list was put aside as '{name}'.")
    first = session.kept[name].model
    found = first.diff(session.model)
    old, new = f"{name}.json", session.model_name
    python = f"from pysirus import load\n\nprint(load({old!r}).diff(load({new!r})))"
    code = Step("compare", python, command("diff", old, new))
    return {"name": name, "summary": found.summary, **_plain(found.to_dict()), "code": code._asdict()}
