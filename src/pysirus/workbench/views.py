"""A session in, what the page shows of its list out, as plain data, and what leaves it.

Shown are rules, one row, groups, two lists side by side. What leaves is a signature, and files in every format, all of
them in one archive.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from pysirus._model.file import read_document, write_document
from pysirus._parameters import ParameterError
from pysirus._text.format import format_number
from pysirus._text.message import say
from pysirus._use.verify import signatures, with_signature
from pysirus.export import FORMATS, ExportError
from pysirus.report import summary
from pysirus.workbench.plan import Step, command, keywords, python_script, shell_script
from pysirus.workbench.session import Session
from pysirus.workbench.understood import MOST_CLASSES

SHOWN = (
    *("rules", "sizes", "chosen", "errorName", "target", "classes", "positive", "link", "mean", "heldOut", "inSample"),
    *("doubts", "reason", "effects", "effectName", "obeys", "aggregation", "notes", "scaleName"),
)
MOST_ROWS = 12  # of a table of rows to choose from
BATCH = 5000  # rows that are looked through at a time


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
        "errors": [own["error"] for own in model.facts.edits or () if "error" in own],
        "signatures": [] if session.signed is None else [str(own) for own in signatures(session.signed["document"])],
        "is_risk": family.has_hazard,
        "example": _example(model),
        "said": list(learned.said),
        "stale": session.is_stale,
        "directions": session.directions,
        "features": [feature.name for feature in model.features],
        "used": [model.features[index].name for index in sorted(model.columns_of(model.rules))],
        "kept": list(session.kept),
        "code": [step._asdict() for step in session.steps()],
        **session.script(),
    }


def _example(model: Any) -> str:
    """A wanted prediction that somebody might type."""
    mean = model.mean if isinstance(model.mean, float) else 1.0
    return f">= {format_number(mean, 2)}"


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


def some_rows(session: Session, search: str = "", decided: str | None = None) -> dict[str, Any]:
    """Rows of the table that hold a text, or the first ones, to choose one from; of classes, those decided for one."""
    X, model = session._table, session.model
    used = sorted(model.columns_of(model.rules))
    columns = list(dict.fromkeys(model.schema.column_of(model.features[i]) for i in used))
    values, found = [X[name] for name in columns], []
    for start in range(0, X.num_rows, BATCH):
        texts = [list(map(_text, own.slice(start, BATCH).to_pylist())) for own in values]
        answers = session.answers(start, BATCH)
        for i, answer in enumerate(answers):
            if decided in (None, "", answer) and _found(search, start + i, [column[i] for column in texts]):
                found.append([start + i + 1, answer, *(column[i] for column in texts)])
        if len(found) >= MOST_ROWS:
            break
    return {"columns": columns, "rows": found[:MOST_ROWS], "of": X.num_rows}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else str(value)


def _found(search: str, row: int, texts: list[str]) -> bool:
    wanted = search.strip().casefold()
    return not wanted or wanted == str(row + 1) or any(wanted in text.casefold() for text in texts)


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
    if session.model.family.has_hazard:  # whose metrics are not told by group
        return []
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
    old, new, steps = f"{name}.json", session.model_name, session.kept[name].steps
    python = f"{python_script(steps, old)}{python_script(session.steps(), new)}"
    python += f"\nfrom pysirus import load\n\nprint(load({old!r}).diff(load({new!r})))"
    shell = shell_script([*steps, *session.steps()])
    code = Step("compare", python, f"{shell}{command('diff', old, new)}")
    return {"name": name, "summary": found.summary, **_plain(found.to_dict()), "code": code._asdict()}


# what is offered, by the ending of its file: formats of `export`, and what is no export
FILES = {
    "model": ".json",
    "report": ".report.html",
    "excel": ".xlsx",
    "sql": ".sql",
    "python": ".py",
    "javascript": ".js",
    "scorecard": ".scorecard.html",
    "markdown": ".md",
    "pmml": ".pmml",
    "onnx": ".onnx",
    "card": ".card.md",
    "script": ".steps.py",
    "commands": ".steps.sh",
}


def new_key() -> bytes:
    """A new private key of Ed25519 in PEM form, for those who have none."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise ImportError("Signatures need cryptography: pip install pysirus[sign].") from error
    forms = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return bytes(Ed25519PrivateKey.generate().private_bytes(*forms))


def signed(session: Session, by: str, key: bytes, note: str | None = None) -> dict[str, Any]:
    """Sign the list as it is now; another edit takes the signature off."""
    if not by.strip():
        raise ParameterError("Say who signs.")
    path, file = session.folder / "signed.json", session.folder / "key.pem"
    session.save(path)
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(key)
        date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        document = with_signature(read_document(path), file, by=by.strip(), date=date, note=note or None)
    finally:
        file.unlink(missing_ok=True)
    write_document(path, document)
    said = {"by": by.strip(), **({"note": note} if note else {}), "date": date}
    words = [word for name, text in said.items() for word in (f"--{name}", text)]
    python = f"\nfrom pysirus import sign\n\nsign({session.model_name!r}, 'key.pem', {keywords(said)})"
    code = Step("sign", python, command("sign", session.model_name, "--key", "key.pem", *words))
    session.signed = {"document": document, "code": code}
    return {"signatures": [str(own) for own in signatures(document)], "code": code._asdict()}


def offered(session: Session) -> list[str]:
    """The files that can be had of this list."""
    is_card = session.model.classes is not None and len(session.model.classes) == 2
    known = {"model", "report", "script", "commands", *FORMATS, *(["card"] if hasattr(session.model, "card") else [])}
    return [name for name in FILES if name in known and (name != "scorecard" or is_card)]


def file_of(session: Session, what: str) -> tuple[str, bytes]:
    """The name and the content of a file."""
    if what not in FILES:
        raise ParameterError(f"There is no file '{what}'. Take one that the page offers.")
    stem = Path(session.model_name).stem
    content = _content(session, what, session.folder / f"shipped{FILES[what]}")
    return f"{stem}{FILES[what]}", content if isinstance(content, bytes) else content.encode("utf-8")


def _content(session: Session, what: str, path: Path) -> str | bytes:
    if what in ("script", "commands"):
        return session.script()["python" if what == "script" else "shell"]
    if what == "model":
        session.save(path)
        if session.signed is not None:
            write_document(path, session.signed["document"])
        return path.read_bytes()
    model: Any = session.model if session.edits else session.tuned.estimator
    if what == "report":
        X, y, weights = session.tuned.rows
        return str(model.report(None, X, y, sample_weight=weights, data=Path(session.name).name))
    if what == "card":
        return str(model.card())
    options = {"kind": "html"} if what == "scorecard" else {"table": "data"} if what == "sql" else {}
    content = model.export(what, **options)
    return bytes(content) if isinstance(content, bytes) else str(content)


def archive(session: Session) -> tuple[str, bytes]:
    """All files in one archive; what a format cannot say stands in ``NOT-WRITTEN.txt``."""
    content, left = io.BytesIO(), []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for what in offered(session):
            try:
                file.writestr(*file_of(session, what))
            except (ExportError, ImportError, ParameterError) as error:
                left.append(f"{what}: {say(str(error))}")
        if left:
            file.writestr("NOT-WRITTEN.txt", "\n".join(left) + "\n")
    return f"{Path(session.model_name).stem}.zip", content.getvalue()
