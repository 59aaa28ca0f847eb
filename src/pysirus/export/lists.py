"""A model in, its rule list out to be read: as text without markup; a LaTeX, Markdown or HTML table; its model file.

The cells of the rule table are those of the paper, with numbers: frequency, rule, weight, rows. A list with corrections
has their stage in front. A model with a link has, instead of the weight, what a rule adds to the score where it applies
and elsewhere; of two classes the positive one is named once, above the table.

LaTeX has booktabs rules and the layout of the paper's Table 1. HTML is a table to paste into a page: no script, no
style sheet, all text escaped. JSON is what ``save`` writes and ``pysirus.load`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from pysirus._model.file import document_text, model_to_json
from pysirus._model.model import Model
from pysirus._terms.fitted import FittedTerm
from pysirus._terms.listing import RuleSet
from pysirus._terms.rule import Condition
from pysirus._terms.term import LinearTerm
from pysirus._terms.words import condition_parts
from pysirus._text.format import format_number, one_line
from pysirus.export._addends import Branch, Line


@dataclass(frozen=True)
class ConditionText:
    """A condition around its feature: ``3 <= ``, ``x``, `` < 5 or missing``, and whether it takes brackets."""

    head: str
    feature: str
    tail: str
    bracket: bool = False

    def __str__(self) -> str:
        text = f"{self.head}{self.feature}{self.tail}"
        return f"({text})" if self.bracket else text


@dataclass(frozen=True)
class RuleRow:
    """One rule as text, without markup."""

    number: str
    frequency: str
    conditions: tuple[ConditionText, ...]
    inside: str
    outside: str
    numbers: tuple[str, ...]  # what stands right of the rule, under the names of ``number_names``
    stage: str = ""  # empty where no rule of the list is a correction
    line: str = ""  # of a slope, in place of conditions and outputs


def _condition(condition: Condition, alone: bool) -> ConditionText:
    bracket = bool(condition.missing) and not condition.only_missing and not alone
    return ConditionText(*condition_parts(condition), bracket)


def rule_rows(model: Model) -> list[RuleRow]:
    """The rules as text."""
    staged, shown, names = model.is_staged, model.rules, number_names(model)
    support = list(zip(*shown.support().values())) or [()] * len(shown)

    def row(number: int, rule: FittedTerm) -> RuleRow:
        assert rule.inside is not None and rule.outside is not None
        read = shown.reading
        stage = str(rule.stage) if staged else ""
        often = rule.frequency_text if rule.given else format_number(rule.frequency, 2)
        if rule.line_values:
            own = support[number - 1]
            told = [""] * (len(names) - len(own))
            told[:1] = [format_number(rule.weight or 0.0, 2) if read is None else rule.adds_by(read)] if told else []
            numbers = [*told, *own]
            return RuleRow(str(number), often, (), "", "", tuple(numbers), stage, shown.rule_text(rule, named=False))
        inside, outside = shown.output_texts(rule) if read is None else model.family.mean_texts(rule)
        return RuleRow(
            number=str(number),
            frequency=often,
            conditions=tuple(_condition(c, len(rule.conditions) == 1) for c in rule.conditions),
            inside=inside,
            outside=outside,
            numbers=(
                *((format_number(rule.weight or 0.0, 2),) if read is None else model.family.numbers(rule)),
                *support[number - 1],
            ),
            stage=stage,
        )

    return [row(number, rule) for number, rule in enumerate(shown, start=1)]


def number_names(model: Model) -> tuple[str, ...]:
    """What stands right of the rules."""
    shown = model.rules
    return (*(("weight",) if shown.reading is None else model.family.number_names), *shown.support())


def rule_lines(rules: Iterable[FittedTerm], model: Model) -> list[str]:
    """Rules in a line each, for the comments of a program."""
    read, family = model.read(RuleSet()), model.family  # once: it asks all rules of the model

    def line(rule: FittedTerm) -> str:
        if rule.line_values:
            ends = f": adds {rule.adds_by(family)}" if family.is_scored else ""
            return read.rule_text(rule) + ends
        if rule.effect is not None:
            return f"{rule.text} ({rule.frequency_text})"
        if not family.is_scored:
            return read.rule_text(rule)
        inside, outside = family.mean_texts(rule)
        points = " else ".join(map(family.sum_text, family.added(rule)))
        return f"if {rule.condition_text} then {inside} else {outside}: adds {points}"

    return [line(rule) for rule in rules]


def part_lines(addends: Iterable[Branch | Line], model: Model) -> list[str]:
    """The same of what a program adds up; a linear term in its own words."""
    terms = [own.term if isinstance(own, Line) else own.rule for own in addends]
    return [str(own) if isinstance(own, LinearTerm) else rule_lines([own], model)[0] for own in terms]


def link_lines(model: Model) -> list[str]:
    """What the numbers of a model with a link mean, for the comments of a program."""
    return [", ".join(f"{name} = {value}" for name, value in head_pairs(model))] if model.family.is_scored else []


def head_pairs(model: Model) -> list[tuple[str, str]]:
    """What stands above the table: the mean and the intercept, or the share of each class; where the score starts."""
    if model.rules.reading is not None:
        return model.family.head_pairs(model.average_score)
    return model.family.plain_pairs(model.intercept)


# ---------------------------------------------------------------------------------------------------------------- LaTeX


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


def escape_latex(text: str) -> str:
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
    return escape_latex(text)


def _latex_condition(condition: ConditionText) -> str:
    head = f"${_thousands(condition.head.removesuffix(' <= '))} \\leq$ " if condition.head else ""
    text = f"{head}{escape_latex(condition.feature)}{_relation(condition.tail)}"
    return f"({text})" if condition.bracket else text


def _value(text: str) -> str:
    """A number in mathematics, so that its sign is a minus; class proportions as text."""
    return f"${_thousands(text)}$" if re.fullmatch(r"[+-]?[0-9.,e+-]+", text) else escape_latex(text)


def _cell(text: str) -> str:
    """What stands right of a rule: a number without a sign as it is."""
    return text if re.fullmatch(r"[0-9][0-9.,e-]*", text) else _value(text)


def _line(row: RuleRow) -> str:
    conditions = r" \textbf{\&} ".join(map(_latex_condition, row.conditions)) or "always"
    rule = rf"\textbf{{if}} {conditions} \textbf{{then}} {_value(row.inside)} \textbf{{else}} {_value(row.outside)}"
    rule = _slope(row.line) if row.line else rule
    stage = f"{row.stage} & " if row.stage else ""
    numbers = "".join(f" & {_slope(text) if row.line and ' to ' in text else _cell(text)}" for text in row.numbers)
    return rf"{row.number} & {stage}{row.frequency} & {rule}{numbers} \\"


def _slope(line: str) -> str:
    """A slope, its numbers in mathematics."""
    parts = re.split(r"((?<![^ (])[+×-]?[0-9][0-9.,]*(?:e-?[0-9]+)?(?=[ ,)]|$))", line)
    return "".join(_number(part) if i % 2 else escape_latex(part) for i, part in enumerate(parts))


def _number(text: str) -> str:
    return (
        f"${_thousands(text.replace('×', chr(92) + 'times '))}$" if not text.endswith(",") else f"{_number(text[:-1])},"
    )


def _is_long(row: RuleRow) -> bool:
    return sum(len(str(condition)) for condition in row.conditions) + len(row.line) > 70


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
    head = r" \quad ".join(f"{escape_latex(name)} = {_value(value)}" for name, value in head_pairs(model))
    caption = caption if caption is not None else f"Rules for {escape_latex(model.target)}."
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
        *(
            rf"    \multicolumn{{{3 + staged + len(names)}}}{{l}}{{{escape_latex(note)}}} \\"
            for note in model.rules.notes
        ),
        *(rf"    {'& ' if staged else ''}& & {escape_latex(str(term))} {'& ' * len(names)}\\" for term in model.terms),
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{caption}}}",
        *([rf"  \label{{{label}}}"] if label else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, inside a table cell too."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]#!|~$])", r"\\\1", text)
    return re.sub(r"(://|www\.|@)", lambda m: m[0][0] + "\u200b" + m[0][1:], text)  # no automatic links


def to_markdown(model: Model) -> str:
    """The rules as a table of GitHub's Markdown."""
    lines = [", ".join(f"{escape_markdown(name)} = {escape_markdown(value)}" for name, value in head_pairs(model)), ""]
    stage = ("| stage ", "|---:") if model.is_staged else ("", "")
    names = number_names(model)
    heads = "".join(f" {name} |" for name in names)
    lines += [f"| # {stage[0]}| frequency | rule |{heads}", f"|---:{stage[1]}|---:|:---|{'---:|' * len(names)}"]
    for row in rule_rows(model):
        conditions = " **&amp;** ".join(escape_markdown(str(condition)) for condition in row.conditions) or "always"
        rule = f"**if** {conditions} **then** {escape_markdown(row.inside)} **else** {escape_markdown(row.outside)}"
        rule = escape_markdown(row.line) if row.line else rule
        stage_cell = f"| {row.stage} " if row.stage else ""
        numbers = "".join(f" {escape_markdown(number)} |" for number in row.numbers)
        lines.append(f"| {row.number} {stage_cell}| {row.frequency} | {rule} |{numbers}")
    for note in model.rules.notes:
        lines += ["", escape_markdown(note)]
    if model.terms:
        lines += ["", "Linear terms:", "", *(f"- {escape_markdown(str(term))}" for term in model.terms)]
    return "\n".join(lines) + "\n"


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
        rule = escape(row.line) if row.line else rule
        stage = f"<td{RIGHT}>{row.stage}</td>" if row.stage else ""
        numbers = "".join(f"<td{RIGHT}>{escape(text)}</td>" for text in row.numbers)
        cells = f"<td{RIGHT}>{row.frequency}</td><td{LEFT}>{rule}</td>{numbers}"
        lines.append(f"<tr><td{RIGHT}>{row.number}</td>{stage}{cells}</tr>")
    after = "<td></td>" * len(number_names(model))
    for term in model.terms:
        before = "<td></td>" * (3 if stage_head else 2)
        lines.append(f"<tr>{before}<td{LEFT}>{escape(str(term))}</td>{after}</tr>")
    width = 3 + len(number_names(model)) + bool(stage_head)
    lines += [f'<tr><td{LEFT} colspan="{width}">{escape(note)}</td></tr>' for note in model.rules.notes]
    return "\n".join([*lines, "</tbody>", "</table>", ""])


def to_json(model: Model) -> str:
    """The model file; docs/model-file.md describes it."""
    return document_text(model_to_json(model))
