"""A model in, a LaTeX table out, in booktabs rules and the layout of the paper's Table 1."""

from __future__ import annotations

import re

from pysirus._model.model import Model
from pysirus._plain import one_line
from pysirus.export._table import ConditionText, RuleRow, head_pairs, number_names, rule_rows

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": r"{-}",  # so that -- stays two hyphens
}


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(SPECIAL.get(c, c) for c in one_line(text))


def _thousands(number: str) -> str:
    """A number in mathematics, where a comma would part two of them."""
    return number.replace(",", "{,}")


def _relation(text: str) -> str:
    """What is asked of a feature, the comparison in mathematics."""
    match = re.fullmatch(r" (<|>=) (-?[0-9.,e+-]+)( or missing)?", text)
    if match:
        symbol = {"<": "<", ">=": r"\geq"}[match[1]]
        return f" ${symbol} {_thousands(match[2])}${match[3] or ''}"
    return escape(text)


def _condition(condition: ConditionText) -> str:
    head = f"${_thousands(condition.head.removesuffix(' <= '))} \\leq$ " if condition.head else ""
    text = f"{head}{escape(condition.feature)}{_relation(condition.tail)}"
    return f"({text})" if condition.bracket else text


def _value(text: str) -> str:
    """A number in mathematics, so that its sign is a minus; class proportions as text."""
    return f"${_thousands(text)}$" if re.fullmatch(r"[+-]?[0-9.,e+-]+", text) else escape(text)


def _line(row: RuleRow) -> str:
    conditions = r" \textbf{\&} ".join(map(_condition, row.conditions)) or "always"
    rule = rf"\textbf{{if}} {conditions} \textbf{{then}} {_value(row.inside)} \textbf{{else}} {_value(row.outside)}"
    stage = f"{row.stage} & " if row.stage else ""
    numbers = "".join(f" & {text if text[0].isdigit() else _value(text)}" for text in row.numbers)
    return rf"{row.number} & {stage}{row.frequency} & {rule}{numbers} \\"


def _is_long(row: RuleRow) -> bool:
    return sum(len(str(condition)) for condition in row.conditions) > 70


def to_latex(model: Model, *, caption: str | None = None, label: str | None = None) -> str:
    """A table float with the rules; the document needs the packages array, booktabs and textcomp.

    Parameters
    ----------
    model : Model
        The model.
    caption : str, optional
        The caption, as LaTeX. By default it names the target.
    label : str, optional
        The label for references.

    Returns
    -------
    text : str
    """
    head = r" \quad ".join(f"{escape(name)} = {_value(value)}" for name, value in head_pairs(model))
    caption = caption if caption is not None else f"Rules for {escape(model.target)}."
    rows = rule_rows(model)
    long = any(map(_is_long, rows))
    rule_column = r">{\raggedright\arraybackslash}p{0.7\linewidth}" if long else "l"
    staged = model.is_staged
    column, stage = ("r", "Stage & ") if staged else ("", "")
    names = number_names(model)
    lines = [
        "% needs \\usepackage{array,booktabs,textcomp}",
        r"\begin{table}",
        r"  \centering",
        rf"  \begin{{tabular}}{{r{column}r{rule_column}{'r' * len(names)}}}",
        r"    \toprule",
        rf"    \multicolumn{{{3 + staged + len(names)}}}{{c}}{{{head}}} \\",
        r"    \midrule",
        rf"    \# & {stage}Frequency & Rule{''.join(f' & {name.capitalize()}' for name in names)} \\",
        r"    \midrule",
        *(f"    {_line(row)}" for row in rows),
        *([r"    \midrule"] if model.terms else []),
        *(rf"    {'& ' if staged else ''}& & {escape(str(term))} {'& ' * len(names)}\\" for term in model.terms),
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{caption}}}",
        *([rf"  \label{{{label}}}"] if label else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
