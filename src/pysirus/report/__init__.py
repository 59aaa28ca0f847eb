"""A model in, one HTML file out that opens in any browser and needs no network: summary, then page.

The page is a template with style, scripts and data in a single file. Data enters it as JSON in which no tag can end,
and the scripts put it on the page as text, never as markup. A content security policy lets nothing be loaded, and runs
the scripts and styles of the page alone, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from importlib.resources import files
from string import Template
from typing import Any

from pysirus._data.column import is_unicode
from pysirus._model.file import model_to_json
from pysirus._parameters import ParameterError
from pysirus._runtime.output import DOCUMENT, check_output, write_text, written
from pysirus._text.format import true_minus
from pysirus._text.message import Parameter
from pysirus.report._editing import WORKBENCH, document_of, patterns_of, script_of
from pysirus.report._sections import checks_html
from pysirus.report._summary import summary

__all__ = ["PLOT_STYLE", "page", "report", "summary"]

PLOT_STYLE = "'sha256-jSYQUrW7J0b3jPqhZP9C2Xh1PyJKHKXd4s0fpGGKrww='"  # of the style that Plot writes into each figure


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
    evidence: Any = None,
    time: Any = None,
    edit: bool = False,
    with_patterns: bool = False,
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
    evidence : Evidence, dict, or a list of these, optional
        What ``model.evidence`` returned, or the JSON of it: adds how often each rule returned in half-samples or
        periods, the stability between them, and errors forward in time.
    time : str or array, optional
        Of a model that was tuned with ``cv="forward"`` the times of the rows, by default its column of times where X
        has it: adds the metrics of rows that are later than all training rows.
    edit : bool, default=False
        Whether the list can be edited in the browser: another length, rules removed, effects fixed, with what it costs,
        and the edited model to save. For squared error, whose weights are fitted again from the sums in the model,
        without rows.
    with_patterns : bool, default=False
        Whether other models can be edited so too, classes, counts and amounts: the page then holds which rules apply
        together in ``X``, the training rows, and with which targets ``y``. Patterns of one row are nearly rows.

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
    asked = {"by": by, "change": change, "coverage": coverage, "evidence": evidence, "time": time}
    editable = {}
    if with_patterns:
        plain = model._as_model()
        editable = {"model": model_to_json(plain), "patterns": patterns_of(plain, X, y, sample_weight)}
    elif edit:
        editable = {"model": document_of(model._as_model())}
    text = page(summary(model, X, **rows, title=title, data=data, max_rows=max_rows, **asked), editable)
    if path is not None:
        write_text(path, text)
    return written(text, "report", path)  # type: ignore[no-any-return]


MAX_BYTES = 2_000_000
VENDOR = ("vendor/d3.min.js", "vendor/plot.umd.min.js")


def _read(name: str) -> str:
    return files("pysirus.report").joinpath(name).read_text(encoding="utf-8")


def _json(data: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text


def _static_rules(data: dict[str, Any]) -> str:
    """The chosen list without scripts, for printers and readers that run none."""
    size = data["sizes"][data["chosen"]]
    items = []
    for r, (rule, weight) in enumerate(zip(data["rules"], size["weights"])):
        if weight or rule.get("given"):
            correction = f"correction, stage {rule['stage']}, " if rule["stage"] > 1 else ""
            if str(r) in size.get("lines", {}):
                slope = html.escape(true_minus(size["lines"][str(r)]["text"]))
                items.append(f"<li>{slope} <small>(slope)</small></li>")
                continue
            inside, outside = rule.get("added", (rule["insideText"], rule["outsideText"]))
            text = f"if {rule.get('whole', rule['text'])} then {inside} else {outside}"
            text += f", given with the fixed effect {rule['effect']}" if "effect" in rule else ""
            adds = f"adds {rule['adds']}" if "adds" in rule else f"weight {weight:.3g}"
            adds = "what it adds" if "added" in rule else adds
            items.append(f"<li>{html.escape(true_minus(text))} <small>({correction}{adds})</small></li>")
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in data["notes"])
    return f"<ol>{''.join(items)}</ol>{notes}"


def _fit(data: dict[str, Any], room: int) -> str:
    """The data as JSON, with as many rows as there is room for."""
    text = _json(data)
    while len(text.encode()) > room and data["rows"] and len(data["rows"]["labels"]) > 1:
        kept = max(1, int(len(data["rows"]["labels"]) * 0.9 * room / len(text.encode())))
        rows = {
            k: v[:kept] if isinstance(v, list) and k not in ("columns", "terms") else v for k, v in data["rows"].items()
        }
        data = {**data, "rows": rows}
        text = _json(data)
    return text


def _hashed(page: str, tag: str) -> str:
    """The hashes of the elements of a kind that run in a page."""
    found = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in found)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def page(data: dict[str, Any], editable: dict[str, Any] | None = None) -> str:
    """The report of a summary, under 2 MB; with what an editor needs, a model file and maybe patterns, also that."""
    checks = checks_html(data)
    shares = "".join(
        f".share-{share}{{--share:{int(share) / 100}}}" for share in sorted(set(re.findall(r"share-(\d+)", checks)))
    )
    scripts = [*map(_read, VENDOR), script_of("report.js", *(["editable.js"] if editable else []))]
    own = {
        "style": f"<style>{_read('report.css')}{shares}</style>",
        "scripts": "\n".join(f"<script>{text}</script>" for text in scripts),
    }
    policy = {
        "script_src": _hashed(own["scripts"], "script"),
        "style_src": f"{_hashed(own['style'], 'style')} {PLOT_STYLE}",
    }
    parts = {
        **own,
        **policy,
        "edit": '<section id="edit" aria-labelledby="edit-title"></section>' if editable else "",
        "editable": _json(editable or None),
        "title": html.escape(data["title"]),
        "static_rules": _static_rules(data),
        "checks": checks,
    }
    template = _read("template.html")
    room = MAX_BYTES - len(template.encode()) - sum(len(part.encode()) for part in parts.values())
    if room < MAX_BYTES // 10:
        raise ParameterError(f"The list and its patterns are too long for a page of at most 2 MB; {WORKBENCH}.")
    return Template(template).substitute(parts, data=_fit(data, room))
