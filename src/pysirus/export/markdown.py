"""A model in, a Markdown table out."""

from __future__ import annotations

import re

from pysirus._model.model import Model
from pysirus._plain import one_line
from pysirus.export._table import head_pairs, number_names, rule_rows


def escape(text: str) -> str:
    """Text that Markdown shows as it is, inside a table cell too."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]#!|~$])", r"\\\1", text)
    return re.sub(r"(://|www\.|@)", lambda m: m[0][0] + "\u200b" + m[0][1:], text)  # no automatic links


def to_markdown(model: Model) -> str:
    """The rules as a table of GitHub's Markdown."""
    lines = [", ".join(f"{escape(name)} = {escape(value)}" for name, value in head_pairs(model)), ""]
    stage = ("| stage ", "|---:") if model.is_staged else ("", "")
    names = number_names(model)
    heads = "".join(f" {name} |" for name in names)
    lines += [f"| # {stage[0]}| frequency | rule |{heads}", f"|---:{stage[1]}|---:|:---|{'---:|' * len(names)}"]
    for row in rule_rows(model):
        conditions = " **&amp;** ".join(escape(str(condition)) for condition in row.conditions) or "always"
        rule = f"**if** {conditions} **then** {escape(row.inside)} **else** {escape(row.outside)}"
        stage_cell = f"| {row.stage} " if row.stage else ""
        numbers = "".join(f" {escape(number)} |" for number in row.numbers)
        lines.append(f"| {row.number} {stage_cell}| {row.frequency} | {rule} |{numbers}")
    if model.terms:
        lines += ["", "Linear terms:", "", *(f"- {escape(str(term))}" for term in model.terms)]
    return "\n".join(lines) + "\n"
