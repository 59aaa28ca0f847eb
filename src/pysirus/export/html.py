"""A model in, an HTML table out, to paste into a page: no script, no style sheet, all text escaped."""

from __future__ import annotations

from html import escape

from pysirus._model.model import Model
from pysirus.export._table import head_pairs, number_names, rule_rows

RIGHT = ' style="text-align:right"'
LEFT = ' style="text-align:left"'


def to_html(model: Model) -> str:
    """The rules as an HTML table."""
    caption = ", ".join(f"{escape(name)} = {escape(value)}" for name, value in head_pairs(model))
    stage_head = f"<th{RIGHT}>stage</th>" if model.is_staged else ""
    heads = "".join(f"<th{RIGHT}>{name}</th>" for name in number_names(model))
    lines = [
        '<table class="pysirus-rules">',
        f"<caption>{caption}</caption>",
        f"<thead><tr><th{RIGHT}>#</th>{stage_head}<th{RIGHT}>frequency</th><th{LEFT}>rule</th>{heads}</tr></thead>",
        "<tbody>",
    ]
    for row in rule_rows(model):
        conditions = " <b>&amp;</b> ".join(escape(str(condition)) for condition in row.conditions) or "always"
        rule = f"<b>if</b> {conditions} <b>then</b> {escape(row.inside)} <b>else</b> {escape(row.outside)}"
        stage = f"<td{RIGHT}>{row.stage}</td>" if row.stage else ""
        numbers = "".join(f"<td{RIGHT}>{escape(text)}</td>" for text in row.numbers)
        cells = f"<td{RIGHT}>{row.frequency}</td><td{LEFT}>{rule}</td>{numbers}"
        lines.append(f"<tr><td{RIGHT}>{row.number}</td>{stage}{cells}</tr>")
    after = "<td></td>" * len(number_names(model))
    for term in model.terms:
        before = "<td></td>" * (3 if stage_head else 2)
        lines.append(f"<tr>{before}<td{LEFT}>{escape(str(term))}</td>{after}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>", ""])
