"""A model in, an HTML table out, to paste into a page: no script, no style sheet, all text escaped."""

from __future__ import annotations

from html import escape

from pysirus._model import RuleModel
from pysirus.export._table import head_pairs, rule_rows

RIGHT = ' style="text-align:right"'
LEFT = ' style="text-align:left"'


def to_html(model: RuleModel) -> str:
    """The rules as an HTML table."""
    caption = ", ".join(f"{escape(name)} = {escape(value)}" for name, value in head_pairs(model))
    lines = [
        '<table class="pysirus-rules">',
        f"<caption>{caption}</caption>",
        f"<thead><tr><th{RIGHT}>frequency</th><th{LEFT}>rule</th><th{RIGHT}>weight</th></tr></thead>",
        "<tbody>",
    ]
    for row in rule_rows(model):
        conditions = " <b>&amp;</b> ".join(escape(str(condition)) for condition in row.conditions) or "always"
        rule = f"<b>if</b> {conditions} <b>then</b> {escape(row.inside)} <b>else</b> {escape(row.outside)}"
        lines.append(f"<tr><td{RIGHT}>{row.frequency}</td><td{LEFT}>{rule}</td><td{RIGHT}>{row.weight}</td></tr>")
    for term in model.terms:
        lines.append(f"<tr><td></td><td{LEFT}>{escape(str(term))}</td><td></td></tr>")
    return "\n".join([*lines, "</tbody>", "</table>", ""])
