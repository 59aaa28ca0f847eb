"""A summary in, one HTML page out: template, style, scripts and data in a single file.

Data enters the page as JSON in which no tag can end, and the scripts put it on the page as text, never as markup. A
content security policy lets nothing be loaded.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from string import Template
from typing import Any

from pysirus.report._sections import checks_html

MAX_BYTES = 2_000_000


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
                items.append(f"<li>{html.escape(size['lines'][str(r)]['text'])} <small>(slope)</small></li>")
                continue
            inside, outside = rule.get("added", (rule["insideText"], rule["outsideText"]))
            text = f"if {rule.get('whole', rule['text'])} then {inside} else {outside}"
            text += f", given with the fixed effect {rule['effect']}" if "effect" in rule else ""
            adds = f"adds {rule['adds']}" if "adds" in rule else f"weight {weight:.3g}"
            adds = "what it adds" if "added" in rule else adds
            items.append(f"<li>{html.escape(text)} <small>({correction}{adds})</small></li>")
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


def page(data: dict[str, Any]) -> str:
    """The report of a summary, under 2 MB."""
    parts = {
        "style": _read("report.css"),
        "d3": _read("vendor/d3.min.js"),
        "plot": _read("vendor/plot.umd.min.js"),
        "charts": _read("charts.js"),
        "quality": _read("quality.js"),
        "script": _read("report.js"),
        "title": html.escape(data["title"]),
        "static_rules": _static_rules(data),
        "checks": checks_html(data),
    }
    template = _read("template.html")
    room = MAX_BYTES - len(template.encode()) - sum(len(part.encode()) for part in parts.values())
    return Template(template).substitute(parts, data=_fit(data, room))
