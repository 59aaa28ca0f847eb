"""A model and what a person says about it in, a model card out: a document for those who check models.

What the model file knows is filled in. What only a person can say is asked for (``_about.py``), and marked where it is
not stated. Texts of others are escaped, in Markdown and in HTML.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from pysirus import __version__
from pysirus._data.table import Feature
from pysirus._model.agreement import doubts
from pysirus._model.model import Model
from pysirus._model.reference import list_mark, rules_of_few_rows
from pysirus._model.row_sums import LEAST_ROWS
from pysirus._parameters import ParameterError
from pysirus._runtime.output import DOCUMENT, check_output, write_text
from pysirus._text.format import format_date, format_label, format_number, format_percent, one_line
from pysirus._text.message import say, setting
from pysirus._use.edit import trail_lines
from pysirus._use.groups import GroupMetrics
from pysirus._use.score import Score
from pysirus.export.lists import escape_markdown, to_html, to_markdown
from pysirus.report._about import CROSSWALK, QUESTIONS, SOURCES, read_about
from pysirus.report._card_evidence import (
    FEW,
    Block,
    Fact,
    Grid,
    Rules,
    evidence_blocks,
    glance,
    group_blocks,
    training_mark,
)

NOT_STATED = "not stated"
NO_MATTER = ("n_jobs", "verbose")  # settings that change no rule
MOST_LEVELS = 8  # categories of a column that are named
SHORT = 24  # characters of a cell that are not broken
LARGE = 1e4  # numbers that are written with commas
TITLES = {
    "purpose": "Purpose",
    "population": "Population",
    "data": "Data",
    "method": "Method",
    "rules": "Rules",
    "evidence": "Evidence",
    "groups": "Groups",
    "limits": "Limits",
    "monitoring": "Monitoring plan",
    "changes": "Changes and signatures",
    "owner": "Owner",
    "crosswalk": "Crosswalk",
}
LIMITS = (
    "Rules are associations in the training rows. They do not establish causes.",
    "Beyond the range of the training rows a rule says what it says at the end of that range.",
    "Thresholds are quantiles of the training rows: another sample has others near them.",
)


@dataclass(frozen=True)
class Card:
    """A model card.

    Attributes
    ----------
    title : str
        The heading.
    sections : dict of str to list
        The contents of each section.
    missing : list of str
        The missing statements, as ``section.key``.
    date : str
        The date of the card.
    glance : str
        The length of the list and its main figures, in a few sentences.
    """

    title: str
    sections: Mapping[str, Sequence[Block]]
    missing: tuple[str, ...]
    date: str
    glance: str = ""

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<model card '{one_line(self.title)}', {len(self.missing)} answers not stated>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card as HTML (.html) or Markdown (.md)."""
        ending = Path(path).suffix.lower()
        if ending not in (".md", ".html", ".htm"):
            raise ParameterError(f"The name of a model card must end in .md or .html, got '{path}'.")
        check_output(path, kind=DOCUMENT)
        write_text(path, self.to_markdown() if ending == ".md" else self.to_html())

    def to_markdown(self) -> str:
        """The card in GitHub's Markdown."""
        lines = [
            f"# {escape_markdown(self.title)}",
            "",
            escape_markdown(self.glance),
            "",
            self._summary(escape_markdown),
        ]
        for key, blocks in self.sections.items():
            lines += ["", f"## {TITLES[key]}", ""]
            for block in blocks:
                lines += _markdown(block)
        return "\n".join(lines).rstrip() + "\n"

    def _summary(self, escape: Any) -> str:
        asked = sum(map(len, QUESTIONS.values()))
        written = f"Written on {one_line(self.date)} with pysirus {__version__}."
        told: str = escape(f"{written} {asked - len(self.missing)} of {asked} questions to a person are answered.")
        return told

    def to_html(self) -> str:
        """The card as an HTML page without network requests."""
        body = [f"<h1>{html.escape(one_line(self.title))}</h1>", f"<p>{html.escape(one_line(self.glance))}</p>"]
        body.append(f"<p class=note>{self._summary(html.escape)}</p>")
        for key, blocks in self.sections.items():
            body.append(f'<h2 id="{key}">{TITLES[key]}</h2>')
            body += _html_blocks(blocks)
        head = f'<meta charset="utf-8"><title>{html.escape(one_line(self.title))}</title><style>{STYLE}</style>'
        view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
        return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head>\n<body>{chr(10).join(body)}</body></html>\n'


STYLE = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1c2430; --soft: #5b6675; --line: #d9dee6; --mark: #fdf1dc; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161c; --ink: #e7ebf1; --soft: #9aa6b6; --line: #2f3947;
  --mark: #3a2c12; } }
html { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem; } h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 2px solid var(--line); } .note { color: var(--soft); }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; margin: .5rem 0; }
caption { text-align: left; color: var(--soft); } .wide { overflow-x: auto; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
dl { display: grid; grid-template-columns: 13rem 1fr; gap: .3rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
dd.blank { background: var(--mark); padding: 0 .4rem; font-style: italic; }
.pysirus-rules { min-width: 42rem; } td.short, .pysirus-rules td { white-space: nowrap; }
.pysirus-rules td:nth-child(3) { white-space: normal; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } } @media print { html { font-size: 12px; } }
"""


def _markdown(block: Block) -> list[str]:
    if isinstance(block, Fact):
        told = f"**{NOT_STATED}**" if block.text is None else escape_markdown(block.text)
        return [f"- {escape_markdown(block.name)}: {told}"]
    if isinstance(block, Rules):
        return ["", *to_markdown(block.model).splitlines(), ""]
    if isinstance(block, Grid):
        head, *rows = (f"| {' | '.join(map(escape_markdown, row))} |" for row in (block.header, *block.rows))
        return ["", head, f"|{' --- |' * len(block.header)}", *rows, ""]
    return [f"- {escape_markdown(block)}"]


def _html_blocks(blocks: Sequence[Block]) -> Iterator[str]:
    """Facts that follow each other share a list of names and texts."""
    facts: list[str] = []
    for block in (*blocks, ""):
        if isinstance(block, Fact):
            kind = " class=blank" if block.text is None else ""
            text = html.escape(one_line(block.text or NOT_STATED))
            facts.append(f"<dt>{html.escape(block.name)}</dt><dd{kind}>{text}</dd>")
            continue
        if facts:
            yield f"<dl>{''.join(facts)}</dl>"
            facts = []
        if isinstance(block, Rules):
            yield f"<div class=wide>{to_html(block.model)}</div>"
        elif isinstance(block, Grid):
            cells = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in block.rows)
            head = "".join(f"<th>{html.escape(one_line(name))}</th>" for name in block.header)
            yield f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table></div>"
        elif block:
            yield f"<p>{html.escape(one_line(block))}</p>"


def _cell(text: str) -> str:
    """A cell of a table; a short one stays on one line."""
    return f"<td{' class=short' if len(text) <= SHORT else ''}>{html.escape(one_line(text))}</td>"


# ----------------------------------------------------------------------------------------------------------- content


def make_card(
    model: Model,
    about: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    metrics: Score | None = None,
    groups: GroupMetrics | Sequence[GroupMetrics] | None = None,
    evidence: Any = None,
    monitoring: Any = None,
    source: str | None = None,
    day: str | date | None = None,
    recipe: Mapping[str, Any] | None = None,
    usual: Mapping[str, Any] | None = None,
) -> Card:
    """The card of a model; see ``RuleModel.card``."""
    answers = read_about(about)
    groups = [] if groups is None else [groups] if isinstance(groups, GroupMetrics) else groups
    _check_same(model, groups, evidence, monitoring)
    known: dict[str, list[Block]] = {
        "population": [*_population(model)],
        "data": [*_data(model)],
        "method": [*_method(model, recipe, usual or {})],
        "rules": [*_reading(model), Rules(model)],
        "evidence": [*evidence_blocks(model, metrics, evidence, source)],
        "groups": [*group_blocks(groups)],
        "limits": [*LIMITS, *_few_rows(model), *(say(own) for own in doubts(model))],
        "monitoring": [*_monitoring(model, monitoring)],
        "changes": [*_changes(model)],
        "crosswalk": [Grid(("section", "SR 26-2", "AI Act, Annex IV", "TRIPOD+AI"), CROSSWALK), *SOURCES],
    }
    missing = []
    sections: dict[str, list[Block]] = {}
    for key in TITLES:
        asked: list[Block] = []
        for name, (label, _) in QUESTIONS.get(key, {}).items():
            answer = answers.get(key, {}).get(name)
            missing += [] if answer else [f"{key}.{name}"]
            asked.append(Fact(label, answer))
        sections[key] = [*asked, *known.get(key, [])]
    heading = title or f"Model card: {model.target}"
    written = str(day or datetime.now(timezone.utc).date())
    return Card(heading, sections, tuple(missing), written, " ".join(glance(model, metrics, monitoring)))


def _check_same(model: Model, groups: Sequence[GroupMetrics], evidence: Any, monitoring: Any) -> None:
    """Reject results of another model: a card that shows them is wrong."""
    marks = [("groups", list_mark(own.model)) for own in groups]
    if monitoring is not None:
        told = isinstance(monitoring, Mapping)
        marks.append(("monitoring", monitoring.get("model") if told else list_mark(monitoring.model)))
    for name, mark in marks:
        if mark != list_mark(model):
            why = "does not say which model it is of" if mark is None else "is of another model"
            raise ParameterError(
                f"The result given as {name} {why}, or of this one before it was changed. Make it again with this "
                "model: the fingerprints of the lists, their rules, weights and intercepts, must be the same."
            )
    if evidence is not None:
        terms = evidence["terms"] if isinstance(evidence, Mapping) else evidence.to_dict()["terms"]
        known = {own["rule"] for own in terms}
        other = next((term.text for term in model.watched_terms if term.text not in known), None)
        if other is not None:
            raise ParameterError(
                f"The result given as evidence is of another model: it does not say how often the rule "
                f"'{one_line(other)}' returns. Make it again with this model."
            )


def _population(model: Model) -> Iterator[Block]:
    facts = model.facts
    yield Fact("Training rows", "unknown" if facts.n_rows is None else f"{facts.n_rows:,}")
    if model.classes is not None:
        shares = ", ".join(
            f"{format_label(c)} {format_percent(s)}" for c, s in zip(model.classes, np.ravel(model.mean))
        )
        yield Fact(f"Classes of {model.target}", shares)
    elif model.survival is not None:
        yield Fact("Events", f"{model.survival.n_events:,}")
    else:
        yield Fact(f"Mean of {model.target}", format_number(float(np.ravel(model.mean)[0]), 4))


def _data(model: Model) -> Iterator[Block]:
    roles = {} if model.roles is None else vars(model.roles)
    for name, label in (("weights", "Sample weights"), ("exposure", "Exposure"), ("groups", "Groups of rows")):
        if roles.get(name):
            yield Fact(label, roles[name])
    yield Fact("Fingerprint of the training rows", training_mark(model) or "none")
    yield Grid(("feature", "kind", "training rows", "missing", "rules"), [*_columns(model)])


def _columns(model: Model) -> Iterator[list[str]]:
    reference = model.reference
    for i, feature in enumerate(model.features):
        n_rules = sum(i in term.columns for term in model.watched_terms)
        span = missing = ""
        if feature.kind != "numeric":
            named = ", ".join(map(str, feature.levels[:MOST_LEVELS]))
            span = named + (f", ... ({len(feature.levels)} categories)" if len(feature.levels) > MOST_LEVELS else "")
        if reference is not None:
            own = reference.columns[i]
            if own.low is not None and own.high is not None:
                span = f"{_short(feature, own.low)} to {_short(feature, own.high)}"
            missing = format_percent(float(own.sums[-1, 0]) / reference.weight) if own.missing else FEW
        yield [feature.name, feature.kind, span, missing, str(n_rules) if n_rules else "not used"]


def _short(feature: Feature, value: float) -> str:
    return format_date(value) if feature.is_date else f"{value:g}" if abs(value) < LARGE else f"{value:,.0f}"


def _method(model: Model, recipe: Mapping[str, Any] | None, usual: Mapping[str, Any]) -> Iterator[Block]:
    facts = model.facts
    recipe = recipe or facts.learned_by
    yield Fact("Method", "SIRUS: stable and interpretable rule sets (Bénard and others, 2021)")
    yield Fact("Predicts", f"{model.family.predicts}: {model.target}")
    if recipe is not None:
        yield from _settings(recipe, usual)
    yield Fact("Seed", "unknown" if facts.seed is None else str(facts.seed))
    yield Fact("Trees", "unknown" if facts.n_trees is None else f"{facts.n_trees:,}")
    if facts.versions:
        yield Fact("Versions", ", ".join(f"{name} {own}" for name, own in facts.versions.items()))
    constraints = model.constraints
    names = [feature.name for feature in model.features]
    yield Fact("Constraints", "none" if constraints is None else constraints.text(names))
    if model.classes is not None:
        yield Fact("Decides for", model.family.decision_text or "the most likely class")
    if facts.why_this_kind:
        yield Fact("Kinds of lists compared", facts.why_this_kind)


def _settings(recipe: Mapping[str, Any], usual: Mapping[str, Any]) -> Iterator[Block]:
    """The estimator with what was set, then what was left as it is; what changes no rule is left out."""
    told: dict[bool, list[str]] = {True: [], False: []}
    for name, value in recipe["parameters"].items():
        if name not in NO_MATTER and value is not None:
            told[name in usual and usual[name] == value].append(f"{name}={value!r}")
    yield Fact("Estimator and settings", f"{recipe['name']}({', '.join(told[False])})")
    if told[True]:
        yield Fact("Settings left at their defaults", ", ".join(told[True]))


def _reading(model: Model) -> Iterator[str]:
    """How the columns of the list are to be read."""
    parts = ["frequency: the share of trees in which a rule occurs", "rows: the training rows to which it applies"]
    if any(own.returned is not None for own in model.rules):
        parts.append("returned: the lists of cross-validation folds that have it")
    yield f"{'; '.join(parts)}."
    idle = len(model.selected) - len(model.rules)
    if idle:
        which = "more selected rules have weight 0 and are" if idle > 1 else "more selected rule has weight 0 and is"
        yield f"{idle} {which} not shown."


def _few_rows(model: Model) -> Iterator[Block]:
    """Rules whose outputs say what came true of a few persons or things."""
    if which := rules_of_few_rows(model):
        yield say(
            f"Outputs of {which} are of fewer than {LEAST_ROWS} training rows, so that they tell what came true of "
            f"these rows. {setting('min_samples_leaf', LEAST_ROWS)} keeps such rules out of a list, and an edited "
            "file without them does not have their outputs."
        )


def _monitoring(model: Model, monitoring: Any) -> Iterator[Block]:
    reference = model.reference
    if reference is None:
        yield Fact("Compared with", "nothing: the file keeps no sums of its training rows")
    else:
        basis = "held-out residuals" if reference.out_of_fold else "residuals of training rows"
        yield Fact("Compared with", f"sums of {reference.n_rows:,} training rows, {basis}; no rows are kept")
    if monitoring is not None:
        told = monitoring if isinstance(monitoring, Mapping) else monitoring.to_dict()
        if told.get("alpha") is not None:
            yield Fact("Chance of a false alarm", f"at most {format_percent(told['alpha'])} in each comparison")
        yield Fact("Last comparison", monitoring["verdict"] if isinstance(monitoring, Mapping) else monitoring.verdict)


def _changes(model: Model) -> Iterator[Block]:
    edits = trail_lines(model)
    yield Fact("Fingerprint of the list", f"{list_mark(model)} (rules, weights and intercept)")
    yield Fact("To repeat the fit", "pysirus verify MODEL TABLE, with the training rows: every number is compared")
    yield Fact("Edits after the fit", "; ".join(edits) if edits else "none")
    signed = [
        f"{own['by']}, {own['date']}" + (f" ({own['note']})" if own.get("note") else "")
        for own in model.facts.signatures or ()
    ]
    yield Fact("Signatures", f"{'; '.join(signed)}; check them with pysirus verify" if signed else "none")
